//! API keys, in a header, the query or a cookie.

use std::borrow::Cow;
use std::fmt;

use async_trait::async_trait;
use axum::http::HeaderValue;
use axum::http::header::{AUTHORIZATION, COOKIE};
use oxikit_core::{ActionContext, Result, Secret, Status};
use oxikit_wire::a2a::SecurityScheme;
use percent_encoding::percent_decode_str;
use serde_json::json;
use subtle::ConstantTimeEq;

use super::{ContextProvider, RequestInfo, Security};

/// Accepts callers that send a key, as `Authorization: <key>` or `Authorization: Bearer <key>` if
/// no other place is named.
///
/// A request without a key is answered with 401, one with a wrong key with 403, and an address
/// that sends too many wrong keys with 429. Actions see the key as `auth.apiKey`: all callers
/// without a [name](Self::caller) are one caller.
///
/// ```
/// # use oxikit_serve::ApiKey;
/// let auth = ApiKey::new("a-long-random-text").in_header("X-API-Key");
/// ```
pub struct ApiKey {
    keys: Vec<Key>,
    place: Place,
    scopes: Vec<String>,
}

struct Key {
    text: Secret<String>,
    /// The caller, if the key is that of one.
    uid: Option<String>,
}

/// Where callers send their key.
enum Place {
    /// `Authorization`, with or without `Bearer`.
    Authorization,
    Header(String),
    Query(String),
    Cookie(String),
}

impl ApiKey {
    /// Accepts callers with this key.
    pub fn new(key: impl Into<String>) -> Self {
        Self { keys: vec![Key::new(None, key)], place: Place::Authorization, scopes: Vec::new() }
    }

    /// Accepts another key, too, while keys are being replaced.
    ///
    /// ```
    /// # use oxikit_serve::ApiKey;
    /// let auth = ApiKey::new("the-new-key-of-all-clients").or("the-key-that-some-still-use");
    /// ```
    #[must_use]
    pub fn or(mut self, key: impl Into<String>) -> Self {
        self.keys.push(Key::new(None, key));
        self
    }

    /// Accepts the key of this caller, too, which actions see as `auth.uid`: sessions and tasks of
    /// one caller are not found by another one. A caller may have several keys.
    ///
    /// ```
    /// # use oxikit_serve::ApiKey;
    /// let auth = ApiKey::new("a-long-random-text").caller("billing", "another-long-random-text");
    /// ```
    #[must_use]
    pub fn caller(mut self, uid: impl Into<String>, key: impl Into<String>) -> Self {
        self.keys.push(Key::new(Some(uid.into()), key));
        self
    }

    /// Gives callers with a key these scopes, for agents and actions that
    /// [demand](crate::a2a::A2aAgent::require_scope) them.
    #[must_use]
    pub fn scopes<T: Into<String>>(mut self, scopes: impl IntoIterator<Item = T>) -> Self {
        self.scopes = scopes.into_iter().map(Into::into).collect();
        self
    }

    /// Takes the key from this header.
    #[must_use]
    pub fn in_header(mut self, name: impl Into<String>) -> Self {
        self.place = Place::Header(name.into());
        self
    }

    /// Takes the key from this parameter of the query. Proxies and browsers keep the addresses of
    /// requests, so a header is the better place.
    #[must_use]
    pub fn in_query(mut self, name: impl Into<String>) -> Self {
        self.place = Place::Query(name.into());
        self
    }

    /// Takes the key from this cookie.
    #[must_use]
    pub fn in_cookie(mut self, name: impl Into<String>) -> Self {
        self.place = Place::Cookie(name.into());
        self
    }

    /// The key that has this text.
    fn find(&self, sent: &str) -> Option<&Key> {
        // All keys are compared, in constant time: the duration must not reveal how much of a key
        // is right, or which one is.
        self.keys.iter().fold(None, |found, key| {
            let is_same = bool::from(key.text.expose().as_bytes().ct_eq(sent.as_bytes()));
            if is_same { Some(key) } else { found }
        })
    }
}

impl Key {
    fn new(uid: Option<String>, text: impl Into<String>) -> Self {
        Self { text: Secret::new(text.into()), uid }
    }
}

impl Place {
    /// The key that a request has here. One that is there twice is not used, because a proxy in
    /// front may have checked the other one.
    fn sent<'a>(&self, request: &'a RequestInfo<'_>) -> Option<Cow<'a, str>> {
        match self {
            Self::Authorization => {
                let sent = request.bearer().or_else(|| request.header(AUTHORIZATION));
                sent.map(Cow::Borrowed)
            }
            Self::Header(name) => request.header(name.as_str()).map(Cow::Borrowed),
            Self::Query(name) => {
                let pairs = request.uri.query().unwrap_or_default().split('&');
                only(pairs, name, |text| percent_decode_str(text).decode_utf8().ok())
            }
            Self::Cookie(name) => {
                let headers = request.headers.get_all(COOKIE).iter();
                let texts = headers.filter_map(|header: &HeaderValue| header.to_str().ok());
                let pairs = texts.flat_map(|text| text.split(';')).map(str::trim);
                only(pairs, name, |text| Some(Cow::Borrowed(text)))
            }
        }
    }

    /// Whether a request has something here, be it a key or not.
    fn is_used(&self, request: &RequestInfo<'_>) -> bool {
        match self {
            Self::Authorization => request.headers.contains_key(AUTHORIZATION),
            Self::Header(name) => request.headers.contains_key(name),
            Self::Query(_) | Self::Cookie(_) => self.sent(request).is_some(),
        }
    }

    fn challenge(&self) -> String {
        let (place, name) = match self {
            Self::Authorization => return "Bearer".to_owned(),
            Self::Header(name) => ("header", name),
            Self::Query(name) => ("query", name),
            Self::Cookie(name) => ("cookie", name),
        };
        let name: String = name.chars().filter(|it| !matches!(it, '"' | '\\')).collect();
        format!("ApiKey in=\"{place}\", name=\"{name}\"")
    }
}

/// The value of the only pair with this name.
fn only<'a>(
    pairs: impl Iterator<Item = &'a str>,
    name: &str,
    decode: impl Fn(&'a str) -> Option<Cow<'a, str>>,
) -> Option<Cow<'a, str>> {
    let mut found = pairs.filter_map(|pair| {
        let (own, value) = pair.split_once('=')?;
        (decode(own)? == name).then_some(value)
    });
    let value = found.next()?;
    if found.next().is_some() { None } else { decode(value) }
}

#[async_trait]
impl ContextProvider for ApiKey {
    async fn context(&self, request: RequestInfo<'_>) -> Result<ActionContext> {
        let sent = self.place.sent(&request).ok_or_else(|| {
            Status::unauthenticated("Unauthenticated").with_challenge(self.place.challenge())
        })?;
        let Some(key) = self.find(&sent) else {
            return Err(Status::permission_denied("Permission Denied"));
        };
        let mut auth = json!({ "apiKey": sent });
        if let Some(uid) = &key.uid {
            auth["uid"] = json!(uid);
        }
        if !self.scopes.is_empty() {
            auth["scopes"] = json!(self.scopes);
        }
        Ok(ActionContext::default().with("auth", auth))
    }

    fn is_guess(&self, request: &RequestInfo<'_>) -> bool {
        self.place.is_used(request)
    }

    fn security(&self) -> Security {
        let description = Some("An API key.".to_owned());
        let (location, name) = match &self.place {
            Place::Authorization => {
                let scheme = "bearer".to_owned();
                let scheme = SecurityScheme::HttpAuth { description, scheme, bearer_format: None };
                return Security::of("apiKey", scheme);
            }
            Place::Header(name) => ("header", name),
            Place::Query(name) => ("query", name),
            Place::Cookie(name) => ("cookie", name),
        };
        let (location, name) = (location.to_owned(), name.clone());
        Security::of("apiKey", SecurityScheme::ApiKey { description, location, name })
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiKey").field("keys", &self.keys.len()).finish_non_exhaustive()
    }
}
