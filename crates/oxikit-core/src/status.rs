//! The error of all calls, and the part of it that may leave the process.
//!
//! The rule is the same for every protocol: only a *public* status shows its message to callers.
//! So code that turns errors of a database or a provider into a status cannot reveal internals by
//! accident, because [`Status::new`] and the `From` implementations make internal ones.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use oxikit_wire::StatusCode;
use oxikit_wire::rpc::ErrorData;
use serde::{Deserialize, Serialize};
use serde_json::Value;

type BoxError = Box<dyn Error + Send + Sync>;

/// The error of a call.
///
/// A status is either *public*, meant for the caller, or internal. Every
/// protocol sends only the part that [`outgoing`](Self::outgoing) returns: an
/// internal status is reduced to its code's standard text there, while logs and
/// traces of the application keep the whole of it.
///
/// ```
/// use oxikit_core::{Status, StatusCode};
///
/// let refused = Status::not_found("there is no order `42`");
/// assert_eq!(refused.outgoing().message, "there is no order `42`");
///
/// let broken = Status::internal("cannot reach db-7.internal with password hunter2");
/// assert_eq!(broken.outgoing().message, "Internal error");
/// ```
#[derive(Clone)]
pub struct Status(Box<Inner>);

#[derive(Clone)]
struct Inner {
    code: StatusCode,
    message: String,
    public: bool,
    details: Option<Value>,
    hint: Option<String>,
    retry_after: Option<Duration>,
    challenge: Option<String>,
    cause: Option<Arc<dyn Error + Send + Sync>>,
    /// Whether a span has been marked as the source of this failure.
    attributed: bool,
}

/// The part of a [`Status`] that may leave the process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OutgoingStatus {
    /// The code.
    pub status: StatusCode,
    /// The message, or the code's standard text.
    pub message: String,
    /// Details of a public status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

impl Status {
    /// An internal status: the message is for logs and traces.
    pub fn new(code: StatusCode, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            code,
            message: message.into(),
            public: false,
            details: None,
            hint: None,
            retry_after: None,
            challenge: None,
            cause: None,
            attributed: false,
        }))
    }

    /// A public status: the caller may read the message.
    pub fn public(code: StatusCode, message: impl Into<String>) -> Self {
        let mut status = Self::new(code, message);
        status.0.public = true;
        status
    }

    /// Public: the arguments are wrong; the same call will never succeed. HTTP 400.
    pub fn invalid_argument(message: impl Into<String>) -> Self {
        Self::public(StatusCode::InvalidArgument, message)
    }

    /// Public: the thing does not exist, or this caller may not know that it exists. HTTP 404.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::public(StatusCode::NotFound, message)
    }

    /// Public: the system is not in the state that the call needs. Retry after that has changed.
    /// HTTP 400.
    pub fn failed_precondition(message: impl Into<String>) -> Self {
        Self::public(StatusCode::FailedPrecondition, message)
    }

    /// Public: the caller is authenticated and may not do this. HTTP 403.
    pub fn permission_denied(message: impl Into<String>) -> Self {
        Self::public(StatusCode::PermissionDenied, message)
    }

    /// Public: the caller is not authenticated. HTTP 401.
    pub fn unauthenticated(message: impl Into<String>) -> Self {
        Self::public(StatusCode::Unauthenticated, message)
    }

    /// Public: a quota, a rate or a limit is used up. HTTP 429; add
    /// [`with_retry_after`](Self::with_retry_after) if the time is known.
    pub fn resource_exhausted(message: impl Into<String>) -> Self {
        Self::public(StatusCode::ResourceExhausted, message)
    }

    /// Public: the work was cancelled before its end. HTTP 499.
    pub fn cancelled() -> Self {
        Self::public(StatusCode::Cancelled, "Action was cancelled")
    }

    /// Internal: a fault of this application. The message is for logs and traces; callers read
    /// "Internal error". HTTP 500.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(StatusCode::Internal, message)
    }

    /// Adds details; they leave the process only with a public status.
    #[must_use]
    pub fn with_details(mut self, details: impl Into<Value>) -> Self {
        self.0.details = Some(details.into());
        self
    }

    /// Adds advice for the developer. It is shown with the message in logs, after
    /// earlier hints, and never leaves the process.
    ///
    /// ```
    /// use oxikit_core::Status;
    ///
    /// let status = Status::internal("no database").with_hint("set `DATABASE_URL`");
    /// assert_eq!(status.to_string(), "INTERNAL: no database (set `DATABASE_URL`)");
    /// assert_eq!(status.outgoing().message, "Internal error");
    /// ```
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        let hint = hint.into();
        self.0.hint = Some(match self.0.hint {
            Some(before) => format!("{before}; {hint}"),
            None => hint,
        });
        self
    }

    /// Sets the delay after which a retry may succeed. HTTP servers send it as `Retry-After`.
    #[must_use]
    pub fn with_retry_after(mut self, delay: Duration) -> Self {
        self.0.retry_after = Some(delay);
        self
    }

    /// Sets how the caller can authenticate. HTTP servers send it as `WWW-Authenticate`, so it must
    /// be a list of challenges of RFC 9110, without secrets.
    ///
    /// ```
    /// use oxikit_core::Status;
    ///
    /// let status = Status::unauthenticated("the token has expired")
    ///     .with_challenge(r#"Bearer error="invalid_token""#);
    /// assert_eq!(status.challenge(), Some(r#"Bearer error="invalid_token""#));
    /// ```
    #[must_use]
    pub fn with_challenge(mut self, challenge: impl Into<String>) -> Self {
        self.0.challenge = Some(challenge.into());
        self
    }

    /// Sets the cause of the failure, for logs and [`report`](Self::report). It never leaves the
    /// process.
    #[must_use]
    pub fn caused_by(mut self, cause: impl Into<BoxError>) -> Self {
        self.0.cause = Some(Arc::from(cause.into()));
        self
    }

    /// The code.
    pub fn code(&self) -> StatusCode {
        self.0.code
    }

    /// The whole message, for logs and traces. Send [`outgoing`](Self::outgoing) to callers
    /// instead.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Whether the caller may read the message.
    pub fn is_public(&self) -> bool {
        self.0.public
    }

    /// Details such as the list of schema errors.
    pub fn details(&self) -> Option<&Value> {
        self.0.details.as_ref()
    }

    /// The delay after which a retry may succeed, if it is known.
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.retry_after
    }

    /// How the caller can authenticate, if it is known.
    pub fn challenge(&self) -> Option<&str> {
        self.0.challenge.as_deref()
    }

    /// The cause, if it is of this type.
    pub fn cause<E: Error + 'static>(&self) -> Option<&E> {
        self.0.cause.as_deref()?.downcast_ref()
    }

    /// The whole failure, for the developer: the message with its hint, and the causes, a line
    /// each.
    ///
    /// ```
    /// use oxikit_core::Status;
    ///
    /// let cause = std::io::Error::other("connection refused");
    /// let status = Status::internal("cannot save the order").caused_by(cause);
    /// assert_eq!(
    ///     status.report(),
    ///     "INTERNAL: cannot save the order\ncaused by: connection refused",
    /// );
    /// ```
    pub fn report(&self) -> String {
        let mut report = self.to_string();
        let mut cause = self.source();
        while let Some(error) = cause {
            let text = error.to_string();
            // Many errors repeat their cause in their own message.
            if !report.ends_with(&text) {
                report.push_str("\ncaused by: ");
                report.push_str(&text);
            }
            cause = error.source();
        }
        report
    }

    /// The part that may leave the process. Every protocol sends errors through here.
    pub fn outgoing(&self) -> OutgoingStatus {
        let Inner { code, message, details, public, .. } = &*self.0;
        OutgoingStatus {
            status: *code,
            message: if *public { message.clone() } else { code.standard_message().to_owned() },
            details: details.clone().filter(|_| *public),
        }
    }

    /// Marks the failure as recorded by a span. `true` the first time: the innermost span is the
    /// source of the failure, and the spans above only pass it on.
    pub(crate) fn attribute(&mut self) -> bool {
        !std::mem::replace(&mut self.0.attributed, true)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.code, self.0.message)?;
        match &self.0.hint {
            Some(hint) => write!(f, " ({hint})"),
            None => Ok(()),
        }
    }
}

/// `{:?}` is the [report](Status::report), as it is what a `main` prints that returns
/// a `Result`. `{:#?}` shows all members.
impl fmt::Debug for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !f.alternate() {
            return f.write_str(&self.report());
        }
        f.debug_struct("Status")
            .field("code", &self.0.code)
            .field("message", &self.0.message)
            .field("public", &self.0.public)
            .field("details", &self.0.details)
            .field("hint", &self.0.hint)
            .field("cause", &self.0.cause)
            .finish_non_exhaustive()
    }
}

impl Error for Status {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.cause.as_deref().map(|cause| cause as &(dyn Error + 'static))
    }
}

/// The failure of an action in another process, as its runtime has reported it.
impl From<ErrorData> for Status {
    fn from(error: ErrorData) -> Self {
        let code = error.code.and_then(StatusCode::from_grpc).unwrap_or(StatusCode::Unknown);
        let message = error.message.unwrap_or_else(|| code.standard_message().to_owned());
        Self::public(code, message)
    }
}

impl From<serde_json::Error> for Status {
    fn from(error: serde_json::Error) -> Self {
        Self::internal(format!("JSON: {error}")).caused_by(error)
    }
}

impl From<std::io::Error> for Status {
    fn from(error: std::io::Error) -> Self {
        Self::internal(error.to_string()).caused_by(error)
    }
}

impl From<BoxError> for Status {
    fn from(error: BoxError) -> Self {
        match error.downcast::<Self>() {
            Ok(status) => *status,
            Err(error) => Self::internal(error.to_string()).caused_by(error),
        }
    }
}

/// Errors of the standard library that `?` turns into an internal status. There is no
/// implementation for all errors: it would include `Status` itself, which Rust does not
/// allow beside the identity conversion. [`ResultExt`] is for all others.
macro_rules! from_standard_errors {
    ($($error:ty),* $(,)?) => {$(
        impl From<$error> for Status {
            fn from(error: $error) -> Self {
                Self::internal(error.to_string()).caused_by(error)
            }
        }
    )*};
}

from_standard_errors!(
    std::char::ParseCharError,
    std::env::VarError,
    std::fmt::Error,
    std::net::AddrParseError,
    std::num::ParseFloatError,
    std::num::ParseIntError,
    std::num::TryFromIntError,
    std::str::ParseBoolError,
    std::str::Utf8Error,
    std::string::FromUtf8Error,
    std::time::SystemTimeError,
    tokio::task::JoinError,
    tokio::time::error::Elapsed,
);

/// With the feature `anyhow`, `?` works for its errors too. A [`Status`] inside is kept.
#[cfg(feature = "anyhow")]
impl From<anyhow::Error> for Status {
    fn from(error: anyhow::Error) -> Self {
        match error.downcast::<Self>() {
            Ok(status) => status,
            Err(error) => BoxError::from(error).into(),
        }
    }
}

/// Turns the errors of other libraries into a [`Status`].
///
/// ```
/// use oxikit_core::{Result, ResultExt, StatusCode};
///
/// fn port(text: &str) -> Result<u16> {
///     text.parse().or_status(StatusCode::InvalidArgument, "the port is not a number")
/// }
/// assert_eq!(port("x").unwrap_err().code(), StatusCode::InvalidArgument);
/// ```
pub trait ResultExt<T> {
    /// An internal failure with the error's own message.
    ///
    /// # Errors
    ///
    /// An `INTERNAL` status in place of the error.
    fn or_internal(self) -> Result<T, Status>;

    /// A public failure with this code and message; the error is its cause.
    ///
    /// # Errors
    ///
    /// The status of this code in place of the error.
    fn or_status(self, code: StatusCode, message: impl Into<String>) -> Result<T, Status>;
}

impl<T, E: Into<BoxError>> ResultExt<T> for Result<T, E> {
    fn or_internal(self) -> Result<T, Status> {
        self.map_err(|error| Status::from(error.into()))
    }

    fn or_status(self, code: StatusCode, message: impl Into<String>) -> Result<T, Status> {
        self.map_err(|error| Status::public(code, message).caused_by(error))
    }
}
