//! Answers that all routes have in common.

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use oxikit_core::StatusCode as Code;
use oxikit_core::ports::StoreError;
use oxikit_sql::{Damage, TraceError};
use prost::Message;
use serde_json::json;

use crate::manager::gate::Refusal;

pub(super) const PROTOBUF: &str = "application/x-protobuf";

/// Why a request is not served: `{"code", "message", "details"}`, as the official
/// server says it, but for the stack.
#[derive(Debug)]
pub(super) struct Refused {
    http: StatusCode,
    code: Code,
    message: String,
}

/// The same for those who speak protobuf: `google.rpc.Status`.
#[derive(Message)]
struct RpcStatus {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    message: String,
}

impl Refused {
    pub(super) fn new(http: StatusCode, code: Code, message: impl Into<String>) -> Self {
        Self { http, code, message: message.into() }
    }

    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, Code::InvalidArgument, message)
    }

    pub(super) fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, Code::NotFound, message)
    }

    pub(super) fn unsupported(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, Code::InvalidArgument, message)
    }

    pub(super) fn into_protobuf(self) -> Response {
        let status = RpcStatus { code: self.code.grpc().into(), message: self.message };
        (self.http, [(CONTENT_TYPE, PROTOBUF)], status.encode_to_vec()).into_response()
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        let body = json!({"code": self.code.grpc(), "message": self.message, "details": {}});
        (self.http, json_text(body.to_string())).into_response()
    }
}

impl From<Refusal> for Refused {
    fn from((http, message): Refusal) -> Self {
        let code = match http {
            StatusCode::UNAUTHORIZED => Code::Unauthenticated,
            StatusCode::FORBIDDEN => Code::PermissionDenied,
            StatusCode::TOO_MANY_REQUESTS => Code::ResourceExhausted,
            _ => Code::InvalidArgument,
        };
        Self::new(http, code, message)
    }
}

impl From<TraceError> for Refused {
    fn from(error: TraceError) -> Self {
        match error {
            TraceError::Post(_) | TraceError::Query(_) => Self::invalid(error.to_string()),
            TraceError::File(error) => Self::invalid(format!("it cannot be read: {error}")),
            TraceError::Store(StoreError::Full(..)) => Self::new(
                StatusCode::INSUFFICIENT_STORAGE,
                Code::ResourceExhausted,
                "there is no room for traces; make some on the disk",
            ),
            // Logged when it was found.
            TraceError::Damaged(text) => {
                Self::new(StatusCode::INTERNAL_SERVER_ERROR, Code::DataLoss, text)
            }
            TraceError::Gone => {
                let text = error.to_string();
                Self::new(StatusCode::SERVICE_UNAVAILABLE, Code::Unavailable, text)
            }
            error => {
                tracing::warn!(%error, "the trace store does not work");
                let message = "the trace store does not work; the log says why";
                Self::new(StatusCode::SERVICE_UNAVAILABLE, Code::Unavailable, message)
            }
        }
    }
}

/// JSON that is a text already.
pub(super) fn json_text(json: String) -> Response {
    let mut response = Body::from(json).into_response();
    let json = HeaderValue::from_static("application/json; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}

/// `{"<name>":[…],"continuationToken"?,"warning"?}` of texts that are JSON already.
pub(super) fn page(
    name: &str,
    items: impl Iterator<Item = impl AsRef<str>>,
    next: Option<&str>,
    damage: Option<&Damage>,
) -> String {
    let mut json = format!("{{\"{name}\":[");
    for (place, item) in items.enumerate() {
        if place > 0 {
            json.push(',');
        }
        json.push_str(item.as_ref());
    }
    json.push(']');
    if let Some(next) = next {
        json.push_str(&format!(",\"continuationToken\":{}", serde_json::Value::from(next)));
    }
    if let Some(damage) = damage {
        json.push_str(&format!(",\"warning\":{}", serde_json::Value::from(damage.warning())));
    }
    json.push('}');
    json
}
