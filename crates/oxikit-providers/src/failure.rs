//! Errors of providers, as a [`Status`].
//!
//! The code tells the application what to do (retry, fix the request, fix the key); the provider's
//! own code and texts are kept in the cause. Keys are removed from every text.

use std::time::SystemTime;

use oxikit_ai::wire::JsonObject;
use oxikit_ai::{Secret, Status, StatusCode};
use rig_core::ProviderResponseError;
use rig_core::error::ProviderError;
use serde_json::{Value, json};

use crate::http::TransportError;
use crate::retry_after::retry_after;

/// Maximum characters of a provider's message. The rest is cut.
const MESSAGE_LIMIT: usize = 1000;

/// The error that a provider reported: the [cause](Status::cause) of the status of a failed call.
///
/// ```
/// use oxikit::Status;
/// use oxikit_providers::ProviderFailure;
///
/// fn support_id(status: &Status) -> Option<&str> {
///     status.cause::<ProviderFailure>()?.request_id()
/// }
/// ```
#[derive(Debug, Clone, thiserror::Error)]
#[error("{provider}: {message}")]
pub struct ProviderFailure {
    provider: String,
    message: String,
    http_status: Option<u16>,
    code: Option<String>,
    request_id: Option<String>,
}

impl ProviderFailure {
    /// The provider's namespace, such as `googleai`.
    pub fn provider(&self) -> &str {
        &self.provider
    }

    /// The HTTP status, if there was an answer.
    pub fn http_status(&self) -> Option<u16> {
        self.http_status
    }

    /// The provider's own code, such as `rate_limit_exceeded`.
    pub fn code(&self) -> Option<&str> {
        self.code.as_deref()
    }

    /// The provider's id of the request, which its support asks for.
    pub fn request_id(&self) -> Option<&str> {
        self.request_id.as_deref()
    }

    /// Makes an internal status: the texts of a provider may name accounts, quotas and prompts, so
    /// only logs and traces get them.
    fn into_status(self, code: StatusCode) -> Status {
        let details = [
            ("provider", Some(json!(self.provider))),
            ("httpStatus", self.http_status.map(Value::from)),
            ("code", self.code.clone().map(Value::from)),
            ("requestId", self.request_id.clone().map(Value::from)),
        ];
        let details: JsonObject = details
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value?)))
            .collect();
        Status::new(code, self.to_string()).with_details(details).caused_by(self)
    }
}

/// Turns an error of rig into a status. The key is removed from every text, because
/// some servers repeat it in their errors.
pub(crate) fn status_of(
    provider: &str,
    key: Option<&Secret<String>>,
    error: ProviderError,
) -> Status {
    let bare = |code, message: String| {
        let failure = ProviderFailure {
            provider: provider.to_owned(),
            message: redact(key, &shorten(&message)),
            http_status: None,
            code: None,
            request_id: None,
        };
        failure.into_status(code)
    };
    if let Some(response) = error.provider_response() {
        return answered(provider, key, response);
    }
    match &error {
        ProviderError::Http(error) => match &**error {
            rig_core::http_client::Error::Instance(error) => {
                let code = error
                    .downcast_ref::<TransportError>()
                    .map_or(StatusCode::Unavailable, transport_code);
                bare(code, error.to_string())
            }
            rig_core::http_client::Error::StreamEnded => {
                bare(StatusCode::Unavailable, error.to_string())
            }
            other => bare(StatusCode::Internal, format!("malformed answer: {other}")),
        },
        ProviderError::Truncated => {
            bare(StatusCode::Unavailable, "the answer ended in the middle".to_owned())
        }
        ProviderError::Request(_) | ProviderError::UnsupportedOption(_) => {
            bare(StatusCode::InvalidArgument, error.to_string())
        }
        ProviderError::Url(_) => bare(StatusCode::FailedPrecondition, error.to_string()),
        // All other errors are about an answer that could not be read.
        _ => bare(StatusCode::Internal, format!("malformed answer: {error}")),
    }
}

/// The code for a failure of the transport: it tells whether a retry may succeed.
fn transport_code(error: &TransportError) -> StatusCode {
    match error {
        TransportError::Connect(_, error) if error.is_timeout() => StatusCode::DeadlineExceeded,
        TransportError::Connect(..) | TransportError::Broken(..) => StatusCode::Unavailable,
        TransportError::Idle(..) => StatusCode::DeadlineExceeded,
        TransportError::TooLarge(_) => StatusCode::ResourceExhausted,
        TransportError::Address(_) => StatusCode::FailedPrecondition,
        TransportError::Multipart => StatusCode::Unimplemented,
    }
}

/// The status for an error that the provider itself has sent.
fn answered(
    provider: &str,
    key: Option<&Secret<String>>,
    response: &ProviderResponseError,
) -> Status {
    let body: Value = serde_json::from_str(&response.body).unwrap_or_default();
    let failed = response.status.filter(|status| !status.is_success());
    let message = message_of(&body).unwrap_or(&response.body);
    let message = match failed {
        Some(status) => format!("HTTP {status}: {}", shorten(message)),
        None => shorten(message),
    };
    let failure = ProviderFailure {
        provider: provider.to_owned(),
        message: redact(key, &message),
        http_status: response.status.map(|status| status.as_u16()),
        code: response.machine_code().map(|code| redact(key, &code)),
        request_id: request_id(response).map(|id| redact(key, &id)),
    };
    let code = match failed {
        Some(status) => http_code(status.as_u16(), &body),
        None => named_code(failure.code(), response.is_retryable()),
    };
    let delay = retry_after(response.headers.as_ref(), &body, SystemTime::now());
    let status = failure.into_status(code);
    match delay {
        Some(delay) => status.with_retry_after(delay),
        None => status,
    }
}

/// The explanation in the body of an error, at one of the places where providers put it.
fn message_of(body: &Value) -> Option<&str> {
    ["/error/message", "/error", "/message", "/detail"]
        .iter()
        .find_map(|pointer| body.pointer(pointer)?.as_str())
}

/// The id of the request, from the body or from one of the headers that providers use for it.
fn request_id(response: &ProviderResponseError) -> Option<String> {
    let in_header = || {
        let headers = response.headers.as_ref()?;
        let value = headers.get("x-request-id").or_else(|| headers.get("request-id"))?;
        value.to_str().ok().map(str::to_owned)
    };
    response.provider_request_id.clone().or_else(in_header)
}

/// The code for an HTTP status of a provider.
fn http_code(status: u16, body: &Value) -> StatusCode {
    match status {
        // Google answers 400 for an invalid key.
        400 if says_bad_key(body) => StatusCode::Unauthenticated,
        401 => StatusCode::Unauthenticated,
        402 => StatusCode::FailedPrecondition,
        403 => StatusCode::PermissionDenied,
        404 => StatusCode::NotFound,
        408 | 504 => StatusCode::DeadlineExceeded,
        409 => StatusCode::Aborted,
        429 => StatusCode::ResourceExhausted,
        400..=499 => StatusCode::InvalidArgument,
        500 => StatusCode::Internal,
        501..=599 => StatusCode::Unavailable,
        // Redirects are not followed: they would send the key to another server.
        _ => StatusCode::FailedPrecondition,
    }
}

fn says_bad_key(body: &Value) -> bool {
    let details = body.pointer("/error/details").and_then(Value::as_array);
    details
        .into_iter()
        .flatten()
        .any(|detail| detail.get("reason").and_then(Value::as_str) == Some("API_KEY_INVALID"))
}

/// The code of an error inside of an answer with a successful HTTP status, usually a stream.
fn named_code(name: Option<&str>, is_retryable: bool) -> StatusCode {
    match name.unwrap_or_default() {
        "overloaded_error" | "server_overloaded" => StatusCode::Unavailable,
        "rate_limit_error" | "rate_limit_exceeded" | "insufficient_quota" => {
            StatusCode::ResourceExhausted
        }
        "invalid_request_error" | "context_length_exceeded" | "request_too_large" => {
            StatusCode::InvalidArgument
        }
        "authentication_error" | "invalid_api_key" => StatusCode::Unauthenticated,
        "permission_error" => StatusCode::PermissionDenied,
        "not_found_error" | "model_not_found" => StatusCode::NotFound,
        "timeout_error" => StatusCode::DeadlineExceeded,
        // Google uses the same names of codes.
        other => other.parse().unwrap_or(if is_retryable {
            StatusCode::Unavailable
        } else {
            StatusCode::Internal
        }),
    }
}

/// The text without the key.
fn redact(key: Option<&Secret<String>>, text: &str) -> String {
    match key {
        Some(key) if !key.expose().is_empty() => text.replace(key.expose(), "[redacted]"),
        _ => text.to_owned(),
    }
}

fn shorten(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(MESSAGE_LIMIT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
