//! Errors of the transport and of servers, as a [`Status`].
//!
//! Servers report errors in several forms: in a block of a stream, as a JSON body with an HTTP
//! status, or as plain text. All of them keep their code, message and details here.

use std::fmt;
use std::time::Duration;

use oxikit_core::{Causes, Status, StatusCode};
use oxikit_outgoing::OutgoingError;
use reqwest::Url;
use reqwest::header::{HeaderMap, RETRY_AFTER};
use serde_json::Value;

/// Maximum characters of a server's plain text in a message. The rest is cut.
const TEXT_LIMIT: usize = 1000;

/// A failure, and whether the same request may be sent again.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The request never reached the server: anything may be sent again.
    Unreached(Status),
    /// The connection broke, or a proxy could not reach its server. Requests that only read may
    /// be sent again; others may have had an effect.
    Broken(Status),
    /// Another try would end the same way.
    Lasting(Status),
}

impl Fault {
    pub(crate) fn into_status(self) -> Status {
        match self {
            Self::Unreached(status) | Self::Broken(status) | Self::Lasting(status) => status,
        }
    }

    /// The fault behind an error of the client for foreign URLs.
    pub(crate) fn of_outgoing(url: &Url, error: OutgoingError) -> Self {
        let refused = |error: OutgoingError| {
            let message = format!("{} may not be called: {error}", Place(url));
            Self::Lasting(Status::new(StatusCode::FailedPrecondition, message).caused_by(error))
        };
        match error {
            OutgoingError::NoResponse { host, source } => match source.downcast() {
                Ok(error) => Self::of_transport(url, *error),
                Err(source) => refused(OutgoingError::NoResponse { host, source }),
            },
            error => refused(error),
        }
    }

    /// The fault behind an error of the HTTP client, which kept an answer, or the rest of one,
    /// from arriving.
    pub(crate) fn of_transport(url: &Url, error: reqwest::Error) -> Self {
        let error = error.without_url();
        let (place, chain) = (Place(url), Causes(&error));
        if error.is_connect() {
            let code = match error.is_timeout() {
                true => StatusCode::DeadlineExceeded,
                false => StatusCode::Unavailable,
            };
            let message = format!("cannot connect to {place}{chain}");
            Self::Unreached(Status::new(code, message).caused_by(error))
        } else if error.is_timeout() {
            let message = format!("{place} took too long");
            Self::Lasting(Status::new(StatusCode::DeadlineExceeded, message).caused_by(error))
        } else if error.is_builder() {
            let message = format!("the request to {place} cannot be sent{chain}");
            Self::Lasting(Status::new(StatusCode::InvalidArgument, message).caused_by(error))
        } else if error.is_redirect() {
            let message = format!("{place} redirects too often");
            Self::Lasting(Status::new(StatusCode::FailedPrecondition, message).caused_by(error))
        } else {
            let message = format!("the connection to {place} broke{chain}");
            Self::Broken(Status::new(StatusCode::Unavailable, message).caused_by(error))
        }
    }
}

/// The error that a server reported in a block, or in an answer with a successful HTTP status.
pub(crate) fn reported(error: &Value) -> Status {
    named(error, StatusCode::Unknown)
        .unwrap_or_else(|| remote(StatusCode::Unknown, "the server reported an error"))
}

/// The error that a server reported by an HTTP status. The body decides if it is readable; else
/// the HTTP status does.
pub(crate) fn answered(http: u16, headers: &HeaderMap, body: &[u8], url: &Url) -> Status {
    let status = match serde_json::from_slice::<Value>(body) {
        Ok(body) => body
            .get("error")
            .and_then(|error| named(error, http_code(http)))
            .or_else(|| named(&body, http_code(http))),
        Err(_) => plain(http, &String::from_utf8_lossy(body)),
    };
    let status = status.unwrap_or_else(|| {
        remote(http_code(http), &format!("{} answered HTTP {http}", Place(url)))
    });
    let delay = headers.get(RETRY_AFTER).and_then(|delay| delay.to_str().ok()?.trim().parse().ok());
    match delay {
        Some(seconds) => status.with_retry_after(Duration::from_secs(seconds)),
        None => status,
    }
}

/// The error for an answer that is not part of the protocol. `what` says what was sent instead.
pub(crate) fn garbage(url: &Url, what: &str) -> Status {
    Status::internal(format!("{} sent {what}", Place(url)))
}

/// A remote failure is internal to this process: its message was written for this client,
/// and the callers of this process may be others. Code, message and details are all kept, so code
/// that wants to pass them on makes a public status of them.
fn remote(code: StatusCode, message: &str) -> Status {
    Status::new(code, message)
}

/// `{"status", "message", "details"}`, or only a text.
fn named(error: &Value, default: StatusCode) -> Option<Status> {
    if let Some(text) = error.as_str() {
        return Some(remote(default, text));
    }
    let text = |name: &str| error.get(name).and_then(Value::as_str);
    let code = text("status").and_then(code_named);
    let message = ["message", "error", "detail"].into_iter().find_map(text);
    if code.is_none() && message.is_none() {
        return None;
    }
    let code = code.unwrap_or(default);
    let status = remote(code, message.unwrap_or(code.standard_message()));
    Some(match error.get("details") {
        None | Some(Value::Null) => status,
        Some(details) => status.with_details(details.clone()),
    })
}

/// An error as Go servers write it: text, sometimes with the code before it. An HTML page is not
/// a message.
fn plain(http: u16, text: &str) -> Option<Status> {
    let text = text.trim();
    if text.is_empty() || text.starts_with('<') {
        return None;
    }
    let text = match text.char_indices().nth(TEXT_LIMIT) {
        Some((end, _)) => &format!("{}…", &text[..end]),
        None => text,
    };
    let prefixed = text.split_once(": ").and_then(|(name, rest)| {
        Some((code_named(name).filter(|code| code.http() == http)?, rest))
    });
    let (code, message) = prefixed.unwrap_or((http_code(http), text));
    Some(remote(code, message))
}

/// The code with this name; `None` for `OK`, which is not an error. Express servers write
/// `INVALID ARGUMENT` with a space.
fn code_named(name: &str) -> Option<StatusCode> {
    let code = name.replace(' ', "_").parse().ok()?;
    (code != StatusCode::Ok).then_some(code)
}

/// The code for an HTTP status whose body names none.
fn http_code(http: u16) -> StatusCode {
    match http {
        401 | 407 => StatusCode::Unauthenticated,
        403 => StatusCode::PermissionDenied,
        404 | 410 => StatusCode::NotFound,
        405 | 501 => StatusCode::Unimplemented,
        408 | 504 => StatusCode::DeadlineExceeded,
        409 => StatusCode::Aborted,
        413 | 429 => StatusCode::ResourceExhausted,
        412 => StatusCode::FailedPrecondition,
        499 => StatusCode::Cancelled,
        400..=498 => StatusCode::InvalidArgument,
        502 | 503 => StatusCode::Unavailable,
        500..=599 => StatusCode::Internal,
        // Redirects that are not followed.
        300..=399 => StatusCode::FailedPrecondition,
        _ => StatusCode::Unknown,
    }
}

/// Prints a URL without the parts that may be secret: user, password, query, fragment.
pub(crate) struct Place<'a>(pub(crate) &'a Url);

impl fmt::Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.0.origin().ascii_serialization(), self.0.path())
    }
}
