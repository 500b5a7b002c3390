//! Errors: a status, its message, and details by which clients recognise the kind.

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use oxikit_wire::a2a::{A2aError, ErrorKind, FieldViolation};
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};
use prost::Message;

/// The domain of the reasons.
const DOMAIN: &str = "a2a-protocol.org";
const ERROR_INFO: &str = "type.googleapis.com/google.rpc.ErrorInfo";
const BAD_REQUEST: &str = "type.googleapis.com/google.rpc.BadRequest";

/// The bytes that a header with a message must not have; all beyond ASCII are encoded anyway.
const NOT_PLAIN: &AsciiSet = &CONTROLS.add(b'%');

/// Values of binary headers are written without padding and read with or without it.
const BINARY: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_encode_padding(false)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Names of the headers and trailers.
pub mod header {
    /// The number of the status.
    pub const STATUS: &str = "grpc-status";
    /// The message of the status, percent-encoded.
    pub const MESSAGE: &str = "grpc-message";
    /// The details of the status, in base64.
    pub const DETAILS: &str = "grpc-status-details-bin";
    /// The encodings of messages that a side reads.
    pub const ACCEPT_ENCODING: &str = "grpc-accept-encoding";
    /// The media type of requests and responses.
    pub const MEDIA_TYPE: &str = "application/grpc";
}

/// `google.rpc.Status`.
#[derive(Clone, PartialEq, prost::Message)]
struct RpcStatus {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    message: String,
    #[prost(message, repeated, tag = "3")]
    details: Vec<Any>,
}

/// `google.protobuf.Any`.
#[derive(Clone, PartialEq, prost::Message)]
struct Any {
    #[prost(string, tag = "1")]
    type_url: String,
    #[prost(bytes = "vec", tag = "2")]
    value: Vec<u8>,
}

/// `google.rpc.ErrorInfo`, without its metadata.
#[derive(Clone, PartialEq, prost::Message)]
struct ErrorInfo {
    #[prost(string, tag = "1")]
    reason: String,
    #[prost(string, tag = "2")]
    domain: String,
}

/// `google.rpc.BadRequest`.
#[derive(Clone, PartialEq, prost::Message)]
struct BadRequest {
    #[prost(message, repeated, tag = "1")]
    field_violations: Vec<Violation>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Violation {
    #[prost(string, tag = "1")]
    field: String,
    #[prost(string, tag = "2")]
    description: String,
}

/// The value of the header [`MESSAGE`](header::MESSAGE).
///
/// ```
/// assert_eq!(oxikit_a2a_grpc::write_message("no é\n"), "no %C3%A9%0A");
/// ```
pub fn write_message(message: &str) -> String {
    utf8_percent_encode(message, NOT_PLAIN).to_string()
}

/// The text of the header [`MESSAGE`](header::MESSAGE). Bytes that are not UTF-8 are replaced.
pub fn read_message(value: &str) -> String {
    percent_decode_str(value).decode_utf8_lossy().into_owned()
}

/// The value of the header [`DETAILS`](header::DETAILS): the reason of the error, and the
/// parameters that are wrong.
///
/// ```
/// use oxikit_a2a_grpc::{read_details, write_details};
/// use oxikit_wire::a2a::{A2aError, ErrorKind};
///
/// let details = write_details(&A2aError::new(ErrorKind::TaskNotFound));
/// assert_eq!(read_details(&details).unwrap().kind, ErrorKind::TaskNotFound);
/// ```
pub fn write_details(error: &A2aError) -> String {
    let info = ErrorInfo { reason: error.kind.reason().to_owned(), domain: DOMAIN.to_owned() };
    let mut details = vec![any(ERROR_INFO, &info)];
    if !error.violations.is_empty() {
        let violation = |it: &FieldViolation| Violation {
            field: it.field.clone(),
            description: it.description.clone(),
        };
        let field_violations = error.violations.iter().map(violation).collect();
        details.push(any(BAD_REQUEST, &BadRequest { field_violations }));
    }
    let status = RpcStatus {
        code: error.kind.grpc_status().grpc().into(),
        message: error.to_string(),
        details,
    };
    BINARY.encode(status.encode_to_vec())
}

fn any(type_url: &str, message: &impl Message) -> Any {
    Any { type_url: type_url.to_owned(), value: message.encode_to_vec() }
}

/// The error of the header [`DETAILS`](header::DETAILS), with its kind and the wrong parameters;
/// `None` if the value has no reason that A2A defines.
pub fn read_details(value: &str) -> Option<A2aError> {
    let status = RpcStatus::decode(&*BINARY.decode(value).ok()?).ok()?;
    let detail = |type_url| status.details.iter().find(move |it| it.type_url == type_url);
    let info = ErrorInfo::decode(&*detail(ERROR_INFO)?.value).ok()?;
    let mut error = A2aError::new(ErrorKind::from_reason(&info.reason)?);
    let wrong = detail(BAD_REQUEST).and_then(|it| BadRequest::decode(&*it.value).ok());
    for violation in wrong.unwrap_or_default().field_violations {
        error = error.with_violation(violation.field, violation.description);
    }
    Some(error)
}
