//! Errors as they are written and read.

use serde::ser::SerializeSeq;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use super::{A2aError, ErrorKind, FieldViolation, Version};

/// The domain of the reasons.
const DOMAIN: &str = "a2a-protocol.org";
const ERROR_INFO: &str = "type.googleapis.com/google.rpc.ErrorInfo";
const BAD_REQUEST: &str = "type.googleapis.com/google.rpc.BadRequest";

/// Writes the `error` member of a JSON-RPC response.
///
/// ```
/// use oxikit_wire::a2a::{A2aError, ErrorKind, JsonRpcError, Version};
///
/// let error = A2aError::new(ErrorKind::TaskNotFound);
/// let json = serde_json::to_string(&JsonRpcError(&error, Version::V0_3)).unwrap();
/// assert_eq!(json, r#"{"code":-32001,"message":"Task not found"}"#);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct JsonRpcError<'a>(
    /// The error.
    pub &'a A2aError,
    /// The version of the response.
    pub Version,
);

impl Serialize for JsonRpcError<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(error, version) = *self;
        ErrorMembers::new(error, version).serialize(serializer)
    }
}

/// Writes the body of an error in the HTTP binding. Its status is
/// [`ErrorKind::http_status`].
#[derive(Debug, Clone, Copy)]
pub struct HttpError<'a>(
    /// The error.
    pub &'a A2aError,
    /// The version of the response.
    pub Version,
);

impl Serialize for HttpError<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(error, version) = *self;
        if version == Version::V0_3 {
            // The client of JavaScript recognises errors by a `code` at the top, that of Python
            // by a `type`.
            let class_name = Some(error.kind.class_name());
            let members = ErrorMembers { class_name, ..ErrorMembers::new(error, version) };
            return members.serialize(serializer);
        }
        #[derive(Serialize)]
        struct Outer<'a> {
            error: Members<'a>,
        }
        #[derive(Serialize)]
        struct Members<'a> {
            code: u16,
            status: &'static str,
            message: String,
            details: Details<'a>,
        }
        let members = Members {
            code: error.kind.http_status(version),
            status: error.kind.grpc_status().name(),
            message: error.to_string(),
            details: Details(error),
        };
        Outer { error: members }.serialize(serializer)
    }
}

/// The members of an error with a code at the top.
#[derive(Serialize)]
struct ErrorMembers<'a> {
    code: i64,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    class_name: Option<&'static str>,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Details<'a>>,
}

impl<'a> ErrorMembers<'a> {
    fn new(error: &'a A2aError, version: Version) -> Self {
        Self {
            code: error.kind.code(version),
            class_name: None,
            message: error.to_string(),
            data: has_details(error, version).then_some(Details(error)),
        }
    }
}

/// Version 0.3 leaves the details free. They are written where its code says too little.
fn has_details(error: &A2aError, version: Version) -> bool {
    version == Version::V1_0
        || !error.violations.is_empty()
        || ErrorKind::from_code(error.kind.code(version)) != Some(error.kind)
}

/// The list of details.
struct Details<'a>(&'a A2aError);

impl Serialize for Details<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct ErrorInfo {
            #[serde(rename = "@type")]
            type_url: &'static str,
            reason: &'static str,
            domain: &'static str,
        }
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct BadRequest<'a> {
            #[serde(rename = "@type")]
            type_url: &'static str,
            field_violations: &'a [FieldViolation],
        }
        let Self(error) = self;
        let mut details = serializer.serialize_seq(None)?;
        let reason = error.kind.reason();
        details.serialize_element(&ErrorInfo { type_url: ERROR_INFO, reason, domain: DOMAIN })?;
        if !error.violations.is_empty() {
            details.serialize_element(&BadRequest {
                type_url: BAD_REQUEST,
                field_violations: &error.violations,
            })?;
        }
        details.end()
    }
}

/// An error that a server answered with, in any version and binding.
///
/// ```
/// use oxikit_wire::a2a::{ErrorKind, ErrorReply};
///
/// let error: ErrorReply = serde_json::from_str(r#"{"code":-32001,"message":"Task not found: x"}"#).unwrap();
/// assert_eq!(error.kind(), Some(ErrorKind::TaskNotFound));
/// ```
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(from = "ReplyMembers")]
pub struct ErrorReply {
    /// The code of JSON-RPC, or the HTTP status in a body of version 1.0.
    pub code: Option<i64>,
    /// A text about the failure.
    pub message: String,
    /// More about it: the `data` or `details`.
    pub details: Option<Value>,
}

impl ErrorReply {
    /// The kind of the error, by its reason or its code.
    pub fn kind(&self) -> Option<ErrorKind> {
        let details = self.details.as_ref().and_then(Value::as_array);
        let mut reasons = details.into_iter().flatten().filter_map(|it| it["reason"].as_str());
        let by_reason = reasons.find_map(ErrorKind::from_reason);
        by_reason.or_else(|| self.code.and_then(ErrorKind::from_code))
    }
}

#[derive(Deserialize)]
struct ReplyMembers {
    /// The body of the HTTP binding of 1.0 has all members in this one.
    error: Option<InnerMembers>,
    #[serde(flatten)]
    own: InnerMembers,
}

#[derive(Default, Deserialize)]
struct InnerMembers {
    #[serde(default, deserialize_with = "crate::number::optional_integer")]
    code: Option<i64>,
    message: Option<String>,
    #[serde(alias = "data")]
    details: Option<Value>,
}

impl From<ReplyMembers> for ErrorReply {
    fn from(members: ReplyMembers) -> Self {
        let InnerMembers { code, message, details } = members.error.unwrap_or(members.own);
        Self { code, message: message.unwrap_or_default(), details }
    }
}
