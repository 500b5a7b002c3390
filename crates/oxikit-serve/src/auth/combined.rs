//! Several context providers: one of them, or all of them.

use std::fmt;

use async_trait::async_trait;
use oxikit_core::{ActionContext, Result, Status, StatusCode};
use serde_json::Value;

use super::{ContextProvider, RequestInfo, Security};

/// Accepts callers that one of several providers accepts. The first one that does makes the
/// context.
///
/// ```
/// use oxikit_serve::{AnyOf, ApiKey};
///
/// let auth = AnyOf::new(ApiKey::new("a-long-random-text").in_header("X-API-Key"))
///     .or(ApiKey::new("another-long-text").in_cookie("session"));
/// ```
///
/// The refusal is that of a provider which knew the caller and did not allow the request, else
/// 401 with the challenges of all.
pub struct AnyOf {
    providers: Vec<Box<dyn ContextProvider>>,
}

impl AnyOf {
    /// Begins with this provider.
    pub fn new(provider: impl ContextProvider + 'static) -> Self {
        Self { providers: vec![Box::new(provider)] }
    }

    /// Adds an alternative.
    #[must_use]
    pub fn or(mut self, provider: impl ContextProvider + 'static) -> Self {
        self.providers.push(Box::new(provider));
        self
    }
}

#[async_trait]
impl ContextProvider for AnyOf {
    async fn context(&self, request: RequestInfo<'_>) -> Result<ActionContext> {
        let mut refusal: Option<Status> = None;
        for provider in &self.providers {
            match provider.context(request).await {
                Ok(context) => return Ok(context),
                Err(status) => {
                    refusal = Some(match refusal {
                        None => status,
                        Some(before) => joined(before, status),
                    });
                }
            }
        }
        Err(refusal.unwrap_or_else(|| Status::internal("there is no context provider")))
    }

    fn is_guess(&self, request: &RequestInfo<'_>) -> bool {
        self.providers.iter().any(|provider| provider.is_guess(request))
    }

    fn security(&self) -> Security {
        let all = self.providers.iter().map(|provider| provider.security());
        all.reduce(Security::or).unwrap_or_default()
    }
}

/// The refusal of two alternatives.
fn joined(first: Status, second: Status) -> Status {
    // A provider that cannot answer might have accepted the caller.
    let rank = |status: &Status| match status.code() {
        StatusCode::Unauthenticated => 0,
        StatusCode::PermissionDenied => 1,
        _ => 2,
    };
    match rank(&first).cmp(&rank(&second)) {
        std::cmp::Ordering::Less => second,
        std::cmp::Ordering::Greater => first,
        std::cmp::Ordering::Equal => match (first.challenge(), second.challenge()) {
            (Some(own), Some(other)) if own != other => {
                let challenge = format!("{own}, {other}");
                first.with_challenge(challenge)
            }
            (None, Some(other)) => {
                let challenge = other.to_owned();
                first.with_challenge(challenge)
            }
            _ => first,
        },
    }
}

/// Accepts callers that all of several providers accept, such as a token and the certificate of
/// the client.
///
/// ```
/// use oxikit_serve::{AllOf, ApiKey};
///
/// let auth = AllOf::new(ApiKey::new("the-key-of-the-gateway").in_header("X-Gateway-Key"))
///     .and(ApiKey::new("a-long-random-text").caller("ada", "another-long-random-text"));
/// ```
///
/// The context has what all providers found. Of two members with the same name, also within
/// `auth`, the one of the first provider counts.
pub struct AllOf {
    providers: Vec<Box<dyn ContextProvider>>,
}

impl AllOf {
    /// Begins with this provider.
    pub fn new(provider: impl ContextProvider + 'static) -> Self {
        Self { providers: vec![Box::new(provider)] }
    }

    /// Adds another one that must accept the caller too.
    #[must_use]
    pub fn and(mut self, provider: impl ContextProvider + 'static) -> Self {
        self.providers.push(Box::new(provider));
        self
    }
}

#[async_trait]
impl ContextProvider for AllOf {
    async fn context(&self, request: RequestInfo<'_>) -> Result<ActionContext> {
        let mut all = ActionContext::default();
        for provider in &self.providers {
            let context = provider.context(request).await.map_err(|status| {
                if provider.is_guess(&request) { status } else { status.caused_by(NotAGuess) }
            })?;
            all = merged(all, &context);
        }
        Ok(all)
    }

    fn is_guess(&self, request: &RequestInfo<'_>) -> bool {
        self.providers.iter().any(|provider| provider.is_guess(request))
    }

    fn security(&self) -> Security {
        let all = self.providers.iter().map(|provider| provider.security());
        all.reduce(Security::and).unwrap_or_default()
    }
}

/// The cause of a refusal by a provider whose credentials cannot be guessed, beside others whose
/// can: it is not counted as a wrong key.
#[derive(Debug)]
pub(crate) struct NotAGuess;

impl fmt::Display for NotAGuess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("one of several credentials is refused, and it is not a key")
    }
}

impl std::error::Error for NotAGuess {}

/// The context with what the other one has besides.
fn merged(mut context: ActionContext, other: &ActionContext) -> ActionContext {
    for (name, value) in other.to_object() {
        let value = match (context.get(&name), value) {
            (None, value) => value,
            (Some(Value::Object(own)), Value::Object(mut auth)) if name == "auth" => {
                auth.extend(own.clone());
                Value::Object(auth)
            }
            (Some(_), _) => continue,
        };
        context = context.with(name, value);
    }
    context
}

impl fmt::Debug for AnyOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnyOf").field("providers", &self.providers.len()).finish()
    }
}

impl fmt::Debug for AllOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AllOf").field("providers", &self.providers.len()).finish()
    }
}
