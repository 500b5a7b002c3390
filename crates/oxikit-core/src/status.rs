//! The one error, and what of it may leave the process.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use oxikit_wire::StatusCode;
use serde::{Deserialize, Serialize};
use serde_json::Value;

type BoxError = Box<dyn Error + Send + Sync>;

/// Why a call failed.
///
/// A status is either *public*, meant for whoever called, or internal. Every
/// protocol shows a stranger what [`outgoing`](Self::outgoing) answers: an
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
    cause: Option<Arc<dyn Error + Send + Sync>>,
    /// Whether a span has been marked as the source of this failure.
    attributed: bool,
}

/// What a stranger may read of a [`Status`].
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
            cause: None,
            attributed: false,
        }))
    }

    /// A public status: whoever called reads the message.
    pub fn public(code: StatusCode, message: impl Into<String>) -> Self {
        let mut status = Self::new(code, message);
        status.0.public = true;
        status
    }

    /// Public: the call can never work as it was made.
    pub fn invalid_argument(message: impl Into<String>) -> Self {
        Self::public(StatusCode::InvalidArgument, message)
    }

    /// Public: the thing is not there, or not for this caller.
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::public(StatusCode::NotFound, message)
    }

    /// Public: the system is not in the state that the call needs.
    pub fn failed_precondition(message: impl Into<String>) -> Self {
        Self::public(StatusCode::FailedPrecondition, message)
    }

    /// Public: the caller is known and may not do this.
    pub fn permission_denied(message: impl Into<String>) -> Self {
        Self::public(StatusCode::PermissionDenied, message)
    }

    /// Public: the caller is not known.
    pub fn unauthenticated(message: impl Into<String>) -> Self {
        Self::public(StatusCode::Unauthenticated, message)
    }

    /// Public: a quota, a rate or a limit is used up.
    pub fn resource_exhausted(message: impl Into<String>) -> Self {
        Self::public(StatusCode::ResourceExhausted, message)
    }

    /// Public: the work was stopped before its end.
    pub fn cancelled() -> Self {
        Self::public(StatusCode::Cancelled, "Action was cancelled")
    }

    /// Internal: a fault of ours. The message is for logs and traces.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(StatusCode::Internal, message)
    }

    /// Adds details; they leave the process only with a public status.
    #[must_use]
    pub fn with_details(mut self, details: impl Into<Value>) -> Self {
        self.0.details = Some(details.into());
        self
    }

    /// Tells the developer what to do about it. Shown with the message in logs, after
    /// the hints that it already has; never leaves the process.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        let hint = hint.into();
        self.0.hint = Some(match self.0.hint {
            Some(before) => format!("{before}; {hint}"),
            None => hint,
        });
        self
    }

    /// Says when a retry has a chance.
    #[must_use]
    pub fn with_retry_after(mut self, delay: Duration) -> Self {
        self.0.retry_after = Some(delay);
        self
    }

    /// Keeps what caused the failure; it never leaves the process.
    #[must_use]
    pub fn caused_by(mut self, cause: impl Into<BoxError>) -> Self {
        self.0.cause = Some(Arc::from(cause.into()));
        self
    }

    /// The code.
    pub fn code(&self) -> StatusCode {
        self.0.code
    }

    /// The whole message, as it is for logs and traces.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Whether whoever called may read the message.
    pub fn is_public(&self) -> bool {
        self.0.public
    }

    /// Details such as the list of schema errors.
    pub fn details(&self) -> Option<&Value> {
        self.0.details.as_ref()
    }

    /// When a retry has a chance, if the other side said so.
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.retry_after
    }

    /// The cause, if it is of this type.
    pub fn cause<E: Error + 'static>(&self) -> Option<&E> {
        self.0.cause.as_deref()?.downcast_ref()
    }

    /// All that is known, for the developer: the message, its hint, and what
    /// caused it, a line each.
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

    /// What a stranger may read. Every protocol goes through here.
    pub fn outgoing(&self) -> OutgoingStatus {
        let Inner { code, message, details, public, .. } = &*self.0;
        OutgoingStatus {
            status: *code,
            message: if *public { message.clone() } else { code.standard_message().to_owned() },
            details: details.clone().filter(|_| *public),
        }
    }

    /// Marks the failure as seen by a span; says whether this was the first.
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
    fn or_internal(self) -> Result<T, Status>;

    /// A public failure with this code and message; the error is its cause.
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
