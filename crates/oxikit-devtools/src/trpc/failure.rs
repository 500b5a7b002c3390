//! Errors in the form of tRPC, without stack traces.

use axum::http::StatusCode as HttpStatus;
use oxikit_core::Status;
use oxikit_wire::rpc::ErrorData;
use serde_json::{Value, json};

/// Why a procedure failed.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) kind: Kind,
    message: String,
}

/// The codes of tRPC that are in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The input is not valid JSON.
    Parse,
    /// The input does not match the procedure.
    BadRequest,
    /// There is no such procedure.
    NotFound,
    /// The procedure needs another HTTP method.
    Method,
    /// The procedure failed.
    Internal,
}

impl Kind {
    /// The code, its name, and the HTTP status, as tRPC defines them.
    fn of(self) -> (i32, &'static str, HttpStatus) {
        match self {
            Self::Parse => (-32700, "PARSE_ERROR", HttpStatus::BAD_REQUEST),
            Self::BadRequest => (-32600, "BAD_REQUEST", HttpStatus::BAD_REQUEST),
            Self::NotFound => (-32004, "NOT_FOUND", HttpStatus::NOT_FOUND),
            Self::Method => (-32005, "METHOD_NOT_SUPPORTED", HttpStatus::METHOD_NOT_ALLOWED),
            Self::Internal => (-32603, "INTERNAL_SERVER_ERROR", HttpStatus::INTERNAL_SERVER_ERROR),
        }
    }

    /// The HTTP status of a response with this error alone.
    pub(crate) fn http(self) -> HttpStatus {
        self.of().2
    }
}

impl Failure {
    /// A failure whose message is shown to the user.
    pub(crate) fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    /// The input is not valid JSON.
    pub(crate) fn unreadable(error: &serde_json::Error) -> Self {
        Self::new(Kind::Parse, format!("the input is not valid JSON: {error}"))
    }

    /// Refuses an input that two parsers could read differently.
    pub(crate) fn check_exact(input: &str) -> Result<(), Self> {
        oxikit_core::check_exact(input.as_bytes())
            .map_err(|status| Self::new(Kind::BadRequest, status.message()))
    }

    /// A member of the input is missing or has another type. Official clients show the message,
    /// which is a list of issues as JSON.
    pub(crate) fn issue(expected: &str, received: &str, path: &[&str]) -> Self {
        let message = match received {
            "undefined" => "Required".to_owned(),
            _ => format!("Expected {expected}, received {received}"),
        };
        let issues = json!([{
            "code": "invalid_type",
            "expected": expected,
            "received": received,
            "path": path,
            "message": message,
        }]);
        Self::new(Kind::BadRequest, serde_json::to_string_pretty(&issues).unwrap_or_default())
    }

    /// The error as JSON. Parse errors have no path.
    pub(crate) fn to_json(&self, path: &str) -> String {
        let (code, name, http) = self.kind.of();
        let mut data = json!({"code": name, "httpStatus": http.as_u16()});
        if self.kind != Kind::Parse {
            data["path"] = Value::from(path);
        }
        json!({"error": {"message": self.message, "code": code, "data": data}}).to_string()
    }
}

/// Errors of runtimes keep their message. tRPC has no codes for them.
impl From<ErrorData> for Failure {
    fn from(error: ErrorData) -> Self {
        Self::new(Kind::Internal, error.message.unwrap_or_else(|| "the runtime failed".to_owned()))
    }
}

/// Errors of the tools show their public message only.
impl From<Status> for Failure {
    fn from(status: Status) -> Self {
        Self::new(Kind::Internal, status.outgoing().message)
    }
}
