//! Failures in the form of tRPC, without stacks.

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
    /// The input is no JSON.
    Parse,
    /// The input is not what the procedure takes.
    BadRequest,
    /// There is no such procedure.
    NotFound,
    /// It is not called like that.
    Method,
    /// It was called and failed.
    Internal,
}

impl Kind {
    fn of(self) -> (i32, &'static str, HttpStatus) {
        match self {
            Self::Parse => (-32700, "PARSE_ERROR", HttpStatus::BAD_REQUEST),
            Self::BadRequest => (-32600, "BAD_REQUEST", HttpStatus::BAD_REQUEST),
            Self::NotFound => (-32004, "NOT_FOUND", HttpStatus::NOT_FOUND),
            Self::Method => (-32005, "METHOD_NOT_SUPPORTED", HttpStatus::METHOD_NOT_ALLOWED),
            Self::Internal => (-32603, "INTERNAL_SERVER_ERROR", HttpStatus::INTERNAL_SERVER_ERROR),
        }
    }

    pub(crate) fn http(self) -> HttpStatus {
        self.of().2
    }
}

impl Failure {
    pub(crate) fn new(kind: Kind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    pub(crate) fn unreadable(error: &serde_json::Error) -> Self {
        Self::new(Kind::Parse, format!("the input is not valid JSON: {error}"))
    }

    /// Refuses an input that readers could understand differently.
    pub(crate) fn check_exact(input: &str) -> Result<(), Self> {
        oxikit_core::check_exact(input.as_bytes())
            .map_err(|status| Self::new(Kind::BadRequest, status.message()))
    }

    /// The input has not this member, or not of this type. Official clients show
    /// the text, which is a list of issues.
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

    /// What cannot be parsed has no path yet.
    pub(crate) fn to_json(&self, path: &str) -> String {
        let (code, name, http) = self.kind.of();
        let mut data = json!({"code": name, "httpStatus": http.as_u16()});
        if self.kind != Kind::Parse {
            data["path"] = Value::from(path);
        }
        json!({"error": {"message": self.message, "code": code, "data": data}}).to_string()
    }
}

impl From<ErrorData> for Failure {
    fn from(error: ErrorData) -> Self {
        Self::new(Kind::Internal, error.message.unwrap_or_else(|| "the runtime failed".to_owned()))
    }
}

impl From<Status> for Failure {
    fn from(status: Status) -> Self {
        Self::new(Kind::Internal, status.outgoing().message)
    }
}
