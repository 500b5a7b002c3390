//! Errors of the protocol, with their codes in all bindings.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{UnsupportedVersion, Version};
use crate::StatusCode;
use crate::absent::null_is_default;

/// The kinds of errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The body is not JSON.
    ParseError,
    /// The body is not a request of JSON-RPC 2.0.
    InvalidRequest,
    /// There is no such method.
    MethodNotFound,
    /// The parameters have the wrong shape.
    InvalidParams,
    /// The server failed.
    InternalError,
    /// There is no such task, or not for this caller.
    TaskNotFound,
    /// The task is in a terminal state.
    TaskNotCancelable,
    /// The agent has no push notifications.
    PushNotificationNotSupported,
    /// The agent cannot do this, or not in the state of the task.
    UnsupportedOperation,
    /// The agent does not read this media type.
    ContentTypeNotSupported,
    /// The agent answered what the protocol does not allow.
    InvalidAgentResponse,
    /// The agent has no card for authenticated callers.
    ExtendedCardNotConfigured,
    /// The client must use an extension that it did not name. Not in version 0.3.
    ExtensionSupportRequired,
    /// The server does not have this version of the protocol. Not in version 0.3.
    VersionNotSupported,
}

/// Code, text, reason, gRPC status, HTTP status in 1.0 and in 0.3.
type Row = (i64, &'static str, &'static str, StatusCode, u16, u16);

impl ErrorKind {
    /// All kinds.
    pub const ALL: [Self; 14] = [
        Self::ParseError,
        Self::InvalidRequest,
        Self::MethodNotFound,
        Self::InvalidParams,
        Self::InternalError,
        Self::TaskNotFound,
        Self::TaskNotCancelable,
        Self::PushNotificationNotSupported,
        Self::UnsupportedOperation,
        Self::ContentTypeNotSupported,
        Self::InvalidAgentResponse,
        Self::ExtendedCardNotConfigured,
        Self::ExtensionSupportRequired,
        Self::VersionNotSupported,
    ];

    #[rustfmt::skip]
    fn row(self) -> Row {
        use StatusCode::{FailedPrecondition, Internal, InvalidArgument, NotFound, Unimplemented};
        match self {
            Self::ParseError => (-32700, "Invalid JSON payload", "PARSE_ERROR", InvalidArgument, 400, 400),
            Self::InvalidRequest => (-32600, "Request payload validation error", "INVALID_REQUEST", InvalidArgument, 400, 400),
            Self::MethodNotFound => (-32601, "Method not found", "METHOD_NOT_FOUND", Unimplemented, 404, 404),
            Self::InvalidParams => (-32602, "Invalid parameters", "INVALID_PARAMS", InvalidArgument, 400, 400),
            Self::InternalError => (-32603, "Internal error", "INTERNAL_ERROR", Internal, 500, 500),
            Self::TaskNotFound => (-32001, "Task not found", "TASK_NOT_FOUND", NotFound, 404, 404),
            Self::TaskNotCancelable => (-32002, "Task cannot be canceled", "TASK_NOT_CANCELABLE", FailedPrecondition, 400, 409),
            Self::PushNotificationNotSupported => (-32003, "Push Notification is not supported", "PUSH_NOTIFICATION_NOT_SUPPORTED", FailedPrecondition, 400, 400),
            Self::UnsupportedOperation => (-32004, "This operation is not supported", "UNSUPPORTED_OPERATION", FailedPrecondition, 400, 400),
            Self::ContentTypeNotSupported => (-32005, "Incompatible content types", "CONTENT_TYPE_NOT_SUPPORTED", InvalidArgument, 400, 400),
            Self::InvalidAgentResponse => (-32006, "Invalid agent response", "INVALID_AGENT_RESPONSE", Internal, 500, 500),
            Self::ExtendedCardNotConfigured => (-32007, "Authenticated Extended Card is not configured", "EXTENDED_AGENT_CARD_NOT_CONFIGURED", FailedPrecondition, 400, 400),
            Self::ExtensionSupportRequired => (-32008, "Extension support required", "EXTENSION_SUPPORT_REQUIRED", FailedPrecondition, 400, 400),
            Self::VersionNotSupported => (-32009, "Version not supported", "VERSION_NOT_SUPPORTED", FailedPrecondition, 400, 400),
        }
    }

    /// The code of JSON-RPC. Version 0.3 has no code for two kinds and uses that of
    /// [`UnsupportedOperation`](Self::UnsupportedOperation).
    pub fn code(self, version: Version) -> i64 {
        match (self, version) {
            (Self::ExtensionSupportRequired | Self::VersionNotSupported, Version::V0_3) => {
                Self::UnsupportedOperation.row().0
            }
            _ => self.row().0,
        }
    }

    /// The kind with this code.
    pub fn from_code(code: i64) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.row().0 == code)
    }

    /// The words of the specification. Clients look for them in the message.
    pub fn text(self) -> &'static str {
        self.row().1
    }

    /// The reason in the details of an error of version 1.0, such as `TASK_NOT_FOUND`.
    pub fn reason(self) -> &'static str {
        self.row().2
    }

    /// The kind with this reason.
    pub fn from_reason(reason: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.reason() == reason)
    }

    /// The name of the error's class in the official SDK for Python, which reads errors of the HTTP
    /// binding of 0.3 by it.
    pub(super) fn class_name(self) -> &'static str {
        match self {
            Self::ParseError => "JSONParseError",
            Self::InvalidRequest => "InvalidRequestError",
            Self::MethodNotFound => "MethodNotFoundError",
            Self::InvalidParams => "InvalidParamsError",
            Self::InternalError => "InternalError",
            Self::TaskNotFound => "TaskNotFoundError",
            Self::TaskNotCancelable => "TaskNotCancelableError",
            Self::PushNotificationNotSupported => "PushNotificationNotSupportedError",
            Self::UnsupportedOperation => "UnsupportedOperationError",
            Self::ContentTypeNotSupported => "ContentTypeNotSupportedError",
            Self::InvalidAgentResponse => "InvalidAgentResponseError",
            Self::ExtendedCardNotConfigured => "ExtendedAgentCardNotConfiguredError",
            Self::ExtensionSupportRequired => "ExtensionSupportRequiredError",
            Self::VersionNotSupported => "VersionNotSupportedError",
        }
    }

    /// The status in the gRPC binding, and in the body of the HTTP binding of 1.0.
    pub fn grpc_status(self) -> StatusCode {
        self.row().3
    }

    /// The status in the HTTP binding.
    pub fn http_status(self, version: Version) -> u16 {
        match version {
            Version::V0_3 => self.row().5,
            Version::V1_0 => self.row().4,
        }
    }
}

/// An error that a server answers with.
///
/// [`JsonRpcError`](super::JsonRpcError) and [`HttpError`](super::HttpError) write it.
///
/// ```
/// use oxikit_wire::a2a::{A2aError, ErrorKind};
///
/// let error = A2aError::new(ErrorKind::TaskNotFound).with_detail("t1");
/// assert_eq!(error.to_string(), "Task not found: t1");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct A2aError {
    /// The kind.
    pub kind: ErrorKind,
    /// A text about the failure, in addition to the text of the kind.
    pub detail: Option<String>,
    /// The parameters that are wrong.
    pub violations: Vec<FieldViolation>,
}

impl A2aError {
    /// An error without details.
    pub fn new(kind: ErrorKind) -> Self {
        Self { kind, detail: None, violations: Vec::new() }
    }

    /// An error of wrong parameters.
    pub fn invalid_params(detail: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidParams).with_detail(detail)
    }

    /// The same error with what happened.
    #[must_use]
    pub fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// The same error with one more parameter that is wrong.
    #[must_use]
    pub fn with_violation(
        mut self,
        field: impl Into<String>,
        description: impl Into<String>,
    ) -> Self {
        self.violations
            .push(FieldViolation { field: field.into(), description: description.into() });
        self
    }
}

impl fmt::Display for A2aError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.text())?;
        if let Some(detail) = &self.detail {
            write!(f, ": {detail}")?;
        }
        let mut separator = if self.detail.is_some() { "; " } else { ": " };
        for FieldViolation { field, description } in &self.violations {
            write!(f, "{separator}{field}: {description}")?;
            separator = "; ";
        }
        Ok(())
    }
}

impl std::error::Error for A2aError {}

impl From<UnsupportedVersion> for A2aError {
    fn from(version: UnsupportedVersion) -> Self {
        Self::new(ErrorKind::VersionNotSupported).with_detail(version.to_string())
    }
}

/// A parameter that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FieldViolation {
    /// The path of the parameter, such as `message.parts`.
    #[serde(default, deserialize_with = "null_is_default")]
    pub field: String,
    /// The fault.
    #[serde(default, deserialize_with = "null_is_default")]
    pub description: String,
}
