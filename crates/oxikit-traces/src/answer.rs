//! Error responses and JSON bodies that all routes of the telemetry port share. The developer
//! tools' own API has errors in another form, by `oxikit-http`.

use crate::{Damage, TraceError};
use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use oxikit_core::ports::StoreError;
use oxikit_core::{Status, StatusCode as Code};
use prost::Message;
use serde_json::json;

/// The content type of OTLP's binary form.
pub(super) const PROTOBUF: &str = "application/x-protobuf";

/// An error response: `{"code", "message", "details"}`, as the official server sends it, but
/// without a stack.
#[derive(Debug)]
pub(super) struct Refused {
    http: StatusCode,
    code: Code,
    message: String,
}

/// The same error for clients of protobuf: `google.rpc.Status`.
#[derive(Message)]
struct RpcStatus {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    message: String,
}

impl Refused {
    /// An error with this HTTP status and code. The message is sent to the client.
    pub(super) fn new(http: StatusCode, code: Code, message: impl Into<String>) -> Self {
        Self { http, code, message: message.into() }
    }

    /// 400: the request is not valid.
    pub(super) fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, Code::InvalidArgument, message)
    }

    /// 404: there is nothing at the path.
    pub(super) fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, Code::NotFound, message)
    }

    /// 415: the type or the compression of the body is not supported.
    pub(super) fn unsupported(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, Code::InvalidArgument, message)
    }

    /// The response to a client that has sent protobuf.
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

impl From<Status> for Refused {
    fn from(status: Status) -> Self {
        let http = StatusCode::from_u16(status.code().http());
        let http = http.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Self::new(http, status.code(), status.message())
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
            // The store has logged it already.
            TraceError::Damaged(text) => {
                Self::new(StatusCode::INTERNAL_SERVER_ERROR, Code::DataLoss, text)
            }
            TraceError::Gone => {
                let text = error.to_string();
                Self::new(StatusCode::SERVICE_UNAVAILABLE, Code::Unavailable, text)
            }
            error => {
                tracing::warn!(%error, "the trace store failed");
                let message = "the trace store does not work; the log says why";
                Self::new(StatusCode::SERVICE_UNAVAILABLE, Code::Unavailable, message)
            }
        }
    }
}

/// A response with this JSON text.
pub(super) fn json_text(json: String) -> Response {
    let mut response = Body::from(json).into_response();
    let json = HeaderValue::from_static("application/json; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}

/// `{"<name>":[…],"continuationToken"?,"warning"?}`, where the items are JSON texts.
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
