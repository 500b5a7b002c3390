//! Requests and responses of JSON-RPC, without trees of values in between.

use std::borrow::Cow;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::error::Category;
use serde_json::value::RawValue;

use super::{A2aError, ErrorKind, ErrorReply, JsonRpcError, Version};
use crate::number::integral;
use crate::rpc::frame;

/// The id of what has none.
const NULL: &str = "null";

/// A request of a client.
///
/// ```
/// use oxikit_wire::a2a::{GetTaskRequest, JsonRpcRequest};
///
/// let body = br#"{"jsonrpc":"2.0","id":7,"method":"GetTask","params":{"id":"t1"}}"#;
/// let request = JsonRpcRequest::read(body).unwrap();
/// assert_eq!((request.id, &*request.method), ("7", "GetTask"));
/// assert_eq!(request.params::<GetTaskRequest>().unwrap().id, "t1");
/// ```
#[derive(Debug, Clone)]
pub struct JsonRpcRequest<'a> {
    /// The id as JSON text: a string, an integer or `null`. The response repeats it.
    pub id: &'a str,
    /// The name of the method.
    pub method: Cow<'a, str>,
    /// The parameters.
    pub params: Option<&'a RawValue>,
}

/// A body that is not a request, with the id that the response has.
#[derive(Debug, Clone, PartialEq)]
pub struct RefusedRequest {
    /// The id as JSON text; `null` if there is no valid one.
    pub id: String,
    /// [`ErrorKind::ParseError`] or [`ErrorKind::InvalidRequest`].
    pub error: A2aError,
}

#[derive(Deserialize)]
struct RequestMembers<'a> {
    #[serde(borrow)]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<&'a RawValue>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

impl<'a> JsonRpcRequest<'a> {
    /// Reads the body of a request. A request without an id is read as one with `null`.
    ///
    /// # Errors
    ///
    /// If the body is not JSON, is a batch, or is not a request of JSON-RPC 2.0.
    pub fn read(body: &'a [u8]) -> Result<Self, RefusedRequest> {
        let members = members(body)?;
        let Some(id) = id(members.id) else {
            return Err(refused(NULL, "`id` must be a string, an integer or null"));
        };
        let text = |member: Option<&'a RawValue>| {
            serde_json::from_str::<Text<'a>>(member?.get()).ok().map(|Text(text)| text)
        };
        if text(members.jsonrpc).as_deref() != Some("2.0") {
            return Err(refused(id, "`jsonrpc` must be \"2.0\""));
        }
        match text(members.method) {
            Some(method) => Ok(Self { id, method, params: members.params }),
            None => Err(refused(id, "`method` must be a string")),
        }
    }

    /// Reads the parameters.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidParams`] if they are missing, not an object, or of another shape.
    /// [`ErrorKind::ParseError`] if they are nested too deeply, or have a number or a text that
    /// cannot be read.
    pub fn params<T: Deserialize<'a>>(&self) -> Result<T, A2aError> {
        let params = self.params.map(RawValue::get).unwrap_or_default();
        if !params.starts_with('{') {
            return Err(A2aError::invalid_params("`params` must be an object"));
        }
        serde_json::from_str(params).map_err(|error| {
            let kind = match error.classify() {
                Category::Data => ErrorKind::InvalidParams,
                _ => ErrorKind::ParseError,
            };
            A2aError::new(kind).with_detail(error.to_string())
        })
    }
}

#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

fn members(body: &[u8]) -> Result<RequestMembers<'_>, RefusedRequest> {
    // Members that are ignored are not checked when they are read.
    if str::from_utf8(body).is_err() {
        let error = A2aError::new(ErrorKind::ParseError).with_detail("the body is not UTF-8");
        return Err(RefusedRequest { id: NULL.to_owned(), error });
    }
    // An array would be read as the members in order.
    let is_batch = body.trim_ascii_start().starts_with(b"[");
    let error = match serde_json::from_slice::<RequestMembers<'_>>(body) {
        Ok(members) if !is_batch => return Ok(members),
        Ok(_) => return Err(refused(NULL, "batches are not supported")),
        Err(error) => error,
    };
    // A body of the wrong shape is refused before it is read to the end.
    let syntax = match error.classify() {
        Category::Data => serde_json::from_slice::<IgnoredAny>(body).err(),
        _ => Some(error),
    };
    Err(match syntax {
        Some(error) => RefusedRequest {
            id: NULL.to_owned(),
            error: A2aError::new(ErrorKind::ParseError).with_detail(error.to_string()),
        },
        None if is_batch => refused(NULL, "batches are not supported"),
        None => refused(NULL, "the body must be one request object"),
    })
}

/// The text of a valid id.
fn id(id: Option<&RawValue>) -> Option<&str> {
    let Some(id) = id.map(RawValue::get) else { return Some(NULL) };
    let is_integer = || id.parse().ok().and_then(integral).is_some();
    (id.starts_with('"') || id == NULL || is_integer()).then_some(id)
}

fn refused(id: &str, detail: &str) -> RefusedRequest {
    let error = A2aError::new(ErrorKind::InvalidRequest).with_detail(detail);
    RefusedRequest { id: id.to_owned(), error }
}

/// A response that a client reads.
#[derive(Debug, Clone, Deserialize)]
pub struct JsonRpcResponse<'a> {
    /// The id of the request.
    #[serde(borrow)]
    pub id: Option<&'a RawValue>,
    /// The result; `None` is also what servers write as `null`.
    #[serde(borrow)]
    pub result: Option<&'a RawValue>,
    /// The error.
    pub error: Option<ErrorReply>,
}

/// Appends a request. `id` is JSON text.
///
/// # Errors
///
/// If the parameters cannot be written; the text is incomplete then.
pub fn write_request(
    text: &mut Vec<u8>,
    id: &str,
    method: &str,
    params: &impl Serialize,
) -> serde_json::Result<()> {
    frame::request(text, id, method, |text| serde_json::to_writer(text, params))
}

/// Appends a response with a result. `id` is JSON text.
///
/// ```
/// use oxikit_wire::a2a::{Task, TaskState, TaskStatus, v0_3, write_result};
///
/// let task = Task::new("t", "c", TaskStatus::new(TaskState::Working));
/// let mut text = Vec::new();
/// write_result(&mut text, "7", &v0_3::Out::new(&task)).unwrap();
/// assert_eq!(
///     String::from_utf8(text).unwrap(),
///     r#"{"jsonrpc":"2.0","result":{"kind":"task","id":"t","contextId":"c","status":{"state":"working"}},"id":7}"#,
/// );
/// ```
///
/// # Errors
///
/// If the result cannot be written; the text is incomplete then.
pub fn write_result(
    text: &mut Vec<u8>,
    id: &str,
    result: &(impl Serialize + ?Sized),
) -> serde_json::Result<()> {
    frame::response(text, id, |text| serde_json::to_writer(text, result))
}

/// Appends a response with an error. `id` is JSON text.
pub fn write_error(text: &mut Vec<u8>, id: &str, error: &A2aError, version: Version) {
    text.extend_from_slice(br#"{"jsonrpc":"2.0","error":"#);
    // Numbers and texts, which can always be written.
    text.extend(serde_json::to_vec(&JsonRpcError(error, version)).unwrap_or_default());
    text.extend_from_slice(br#","id":"#);
    text.extend_from_slice(id.as_bytes());
    text.push(b'}');
}
