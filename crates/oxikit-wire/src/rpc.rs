//! Reflection V2: JSON-RPC 2.0 between a runtime and its manager, over a socket.
//!
//! A message is read as an [`RpcMessage`], whose members stay text; the method
//! decides as which type the parameters are read. Values that are only forwarded (inputs,
//! chunks, results, ids) are never parsed.

pub mod frame;
pub mod method;

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::part::present;
use crate::{ActionDescriptor, JsonObject, SessionActivity};

/// The version of the protocol in runtime files and registrations. The official tools exit
/// when they read a higher one.
pub const REFLECTION_API_SPEC_VERSION: u32 = 1;

/// Names of files that mark a folder as a project for the official tools, which look for
/// runtime files there. `Cargo.toml` is not one of them.
pub const PROJECT_MARKERS: [&str; 8] = [
    "package.json",
    "go.mod",
    "pyproject.toml",
    "requirements.txt",
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
    "pubspec.yaml",
];

/// One message: a request (method and id), a notification (method), or a response
/// (id).
///
/// ```
/// use oxikit_wire::rpc::RpcMessage;
///
/// let text = r#"{"jsonrpc":"2.0","id":"7","method":"runAction","params":{"key":"/flow/f"}}"#;
/// let message: RpcMessage<'_> = serde_json::from_str(text).unwrap();
/// assert_eq!(message.method.as_deref(), Some("runAction"));
/// assert_eq!(message.id.map(|id| id.get()), Some("\"7\""), "the id stays JSON text");
/// ```
#[derive(Debug, Default, Deserialize)]
pub struct RpcMessage<'a> {
    /// Text or number, as the other side gave it: it is sent back unchanged.
    #[serde(default, borrow)]
    pub id: Option<&'a RawValue>,
    /// The method of a request or notification; absent in a response. See [`method`].
    #[serde(default, borrow)]
    pub method: Option<Cow<'a, str>>,
    /// The parameters of the method.
    #[serde(default, borrow)]
    pub params: Option<&'a RawValue>,
    /// The result of a request that succeeded. `None` for `null` too.
    #[serde(default, borrow)]
    pub result: Option<&'a RawValue>,
    /// The error of a request that failed.
    #[serde(default, borrow)]
    pub error: Option<&'a RawValue>,
}

impl RpcMessage<'_> {
    /// Whether the message is neither a request, nor a notification, nor a response.
    pub fn is_empty(&self) -> bool {
        matches!(self, Self { id: None, method: None, result: None, error: None, .. })
    }
}

/// A message of a runtime as its manager reads it: in one pass. Values that the manager only
/// forwards stay text.
///
/// Only the parameters of `streamChunk` and `runActionState`, which are sent most often, are
/// read here. Messages with other parameters, or that do not fit, are read again as an
/// [`RpcMessage`].
#[derive(Debug, Deserialize)]
pub struct RuntimeMessage<'a> {
    /// The id of the request that is made or answered.
    #[serde(default, borrow)]
    pub id: Option<&'a RawValue>,
    /// The method of a request or notification; absent in a response.
    #[serde(default, borrow)]
    pub method: Option<Cow<'a, str>>,
    /// `streamChunk` or `runActionState`.
    #[serde(default, borrow)]
    pub params: Option<RunNotification<'a>>,
    /// The result of a request that succeeded; `null` is a result.
    #[serde(default, borrow, deserialize_with = "present")]
    pub result: Option<&'a RawValue>,
    /// The error of a request that failed.
    #[serde(default, borrow)]
    pub error: Option<&'a RawValue>,
}

/// The parameters of a runtime's notification about a run: [`ChunkParams`] or
/// [`RunActionStateParams`].
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunNotification<'a> {
    /// The id of the request.
    #[serde(default, borrow)]
    pub request_id: Option<&'a RawValue>,
    /// A chunk of the output; `null` is a chunk.
    #[serde(default, borrow, deserialize_with = "present")]
    pub chunk: Option<&'a RawValue>,
    /// A [`RunTelemetry`].
    #[serde(default, borrow)]
    pub state: Option<&'a RawValue>,
}

/// Codes of [`RpcError`].
pub mod rpc_code {
    /// An action, or the reading of parameters, failed.
    pub const FAILED: i32 = -32000;
    /// The message is not valid JSON.
    pub const PARSE_ERROR: i32 = -32700;
    /// The message is JSON, but neither a request nor a response.
    pub const INVALID_REQUEST: i32 = -32600;
    /// There is no such method.
    pub const METHOD_NOT_FOUND: i32 = -32601;
    /// There is no such action, value type or run.
    pub const INVALID_PARAMS: i32 = -32602;
}

/// Why a request failed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RpcError {
    /// One of [`rpc_code`].
    #[serde(deserialize_with = "crate::number::integer")]
    pub code: i32,
    /// Description of the failure.
    pub message: String,
    /// The failure in members. The official tools show no failure without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<ErrorData>,
}

/// A failure as the developer tools show it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ErrorData {
    /// The number of the status code.
    #[serde(
        default,
        deserialize_with = "crate::number::optional_integer",
        skip_serializing_if = "Option::is_none"
    )]
    pub code: Option<u8>,
    /// Description of the failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Stack and trace of the failure. The official tools read it without a check, so
    /// runtimes of oxikit always send it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<ErrorDetails>,
    /// Stack of a request that the JavaScript runtime could not read. Other failures have theirs
    /// in `details`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack: Option<String>,
}

/// Stack and trace of a failure, for the developer tools.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ErrorDetails {
    /// The causes, or the stack of languages that have one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack: Option<String>,
    /// The trace of the run, if it had begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
}

/// `register`, from the runtime: its identity and versions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RegisterParams {
    /// Id of the runtime. It stays the same after a reconnect.
    pub id: String,
    /// Its process.
    #[serde(deserialize_with = "crate::number::integer")]
    pub pid: u32,
    /// The application.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Language and version, such as `rust/0.1.0`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub genkit_version: Option<String>,
    /// See [`REFLECTION_API_SPEC_VERSION`].
    #[serde(
        default,
        deserialize_with = "crate::number::optional_integer",
        skip_serializing_if = "Option::is_none"
    )]
    pub reflection_api_spec_version: Option<u32>,
    /// The environments it is configured for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub envs: Option<Vec<String>>,
}

/// The response to `register`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RegisterResult {
    /// Base URL of the server to which the runtime sends spans and log lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub telemetry_server_url: Option<String>,
    /// Id of the manager, a new one at each start. Managers of oxikit send it. A runtime of
    /// oxikit that reconnects to the same id sends the results of the runs that ended
    /// meanwhile. Official managers do not send it, official runtimes ignore it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manager_id: Option<String>,
}

/// `configure`, from the manager.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConfigureParams {
    /// Base URL of the server to which the runtime sends spans and log lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub telemetry_server_url: Option<String>,
}

/// The response to `listActions`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ListActionsResult {
    /// The actions by key.
    pub actions: BTreeMap<String, ActionDescriptor>,
}

/// `listValues`, from the manager.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ListValuesParams {
    /// `defaultModel` or `middleware`.
    #[serde(rename = "type")]
    pub kind: String,
}

/// The response to `listValues`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ListValuesResult {
    /// The values by name.
    pub values: BTreeMap<String, serde_json::Value>,
}

/// `runAction`, from the manager; also the body of the same over HTTP.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunActionParams<'a> {
    /// The action, `/type/name`.
    #[serde(borrow)]
    pub key: Cow<'a, str>,
    /// The input; absent and `null` are different.
    #[serde(
        borrow,
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub input: Option<&'a RawValue>,
    /// The value that a conversation starts with.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub init: Option<&'a RawValue>,
    /// The caller, and other data for the action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<JsonObject>,
    /// Attributes of the root span.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub telemetry_labels: Option<BTreeMap<String, String>>,
    /// Whether the runtime sends chunks of the output before the result.
    #[serde(default, deserialize_with = "null_is_false")]
    pub stream: bool,
    /// Whether the manager sends further inputs while the action runs.
    #[serde(default, deserialize_with = "null_is_false")]
    pub stream_input: bool,
    /// The runtime that is to run the action. Managers read it; a runtime ignores it.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub runtime_id: Option<Cow<'a, str>>,
}

/// The response to a `runAction` that succeeded.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct RunActionResult<'a> {
    /// The output; absent for an action without output, which is not the same as `null`.
    #[serde(
        borrow,
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub result: Option<&'a RawValue>,
    /// The trace of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub telemetry: Option<RunTelemetry>,
}

/// The body that says why a run or another request over HTTP (V1) failed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ErrorReply<E> {
    /// The failure: an [`ErrorData`] for a run, a text for other requests.
    pub error: E,
}

/// The end of a run over HTTP (V1): an [`ErrorReply`], or else a [`RunActionResult`].
#[derive(Debug, Default, Deserialize)]
pub struct RunEnd<'a> {
    /// Why the run failed; `None` if it succeeded.
    #[serde(borrow, default)]
    pub error: Option<&'a RawValue>,
}

/// The trace of a run. A runtime sends it as the state of the run before any chunk, and again
/// with the result.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunTelemetry {
    /// 32 hexadecimal digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
}

/// `runActionState`, from the runtime: once, before any chunk.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunActionStateParams<'a> {
    /// The id of the request.
    #[serde(borrow)]
    pub request_id: &'a RawValue,
    /// The trace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<RunTelemetry>,
}

/// `streamChunk` from the runtime, and `sendInputStreamChunk` from the manager.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ChunkParams<'a> {
    /// The id of the request.
    #[serde(borrow)]
    pub request_id: &'a RawValue,
    /// A chunk of the output or of the input.
    #[serde(borrow)]
    pub chunk: &'a RawValue,
}

/// `endInputStream`, from the manager.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct EndInputParams<'a> {
    /// The id of the request.
    #[serde(borrow)]
    pub request_id: &'a RawValue,
}

/// `cancelAction`, from the manager; also the body of the same over HTTP.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CancelActionParams {
    /// The trace of the run.
    pub trace_id: String,
}

/// The response to `cancelAction`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CancelActionResult {
    /// Confirmation for people.
    pub message: String,
}

/// `listSessions`, from a manager of oxikit to a runtime of oxikit: the official protocol has
/// no methods for sessions. The responses are those of the REST API for agents, here a
/// [`SessionList`](crate::SessionList).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListSessionsParams {
    /// The agent of the sessions.
    pub agent: String,
    /// Maximum number of sessions.
    #[serde(
        default,
        deserialize_with = "crate::number::optional_integer",
        skip_serializing_if = "Option::is_none"
    )]
    pub limit: Option<u64>,
    /// The `continuationToken` of the previous page; the first page if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continuation_token: Option<String>,
    /// Only sessions with this activity; all if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<SessionActivity>,
    /// The context of the caller, as for a run. Only sessions of this caller are found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<JsonObject>,
}

/// `getSession`, answered with [`SessionDetails`](crate::SessionDetails), and
/// `deleteSession`, answered with [`SessionDeleted`](crate::SessionDeleted).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionParams {
    /// The agent of the session.
    pub agent: String,
    /// The session.
    pub session_id: String,
    /// The context of the caller, as for a run. Only sessions of this caller are found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<JsonObject>,
}

/// `forkSession`, answered with [`SessionForked`](crate::SessionForked).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ForkSessionParams {
    /// The agent of the session.
    pub agent: String,
    /// The session.
    pub session_id: String,
    /// The snapshot whose state the new session gets; the latest one if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot_id: Option<String>,
    /// The context of the caller, as for a run. Only sessions of this caller are found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<JsonObject>,
}

/// The body of `/api/notify`, which a manager sends to each runtime that it finds (V1).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NotifyParams {
    /// Base URL of the server to which the runtime sends spans and log lines.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub telemetry_server_url: Option<String>,
    /// Version of the protocol of the manager; see [`REFLECTION_API_SPEC_VERSION`].
    #[serde(
        default,
        deserialize_with = "crate::number::optional_integer",
        skip_serializing_if = "Option::is_none"
    )]
    pub reflection_api_spec_version: Option<u32>,
}

/// The text of the `.gitignore` in a `.genkit` folder. Files that runtimes and tools write
/// there while they run contain tokens and must not be checked in. Data sets that the official
/// tools keep there may be.
pub const GENKIT_GITIGNORE: &str = "/.*\n/runtimes/\n/servers/\n";

/// The file below `.genkit/runtimes` by which tools find a runtime that listens on HTTP (V1).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RuntimeFile {
    /// The runtime.
    pub id: String,
    /// Its process.
    #[serde(deserialize_with = "crate::number::integer")]
    pub pid: u32,
    /// The application.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Base URL of its reflection server.
    pub reflection_server_url: String,
    /// Time at which the runtime started, in ISO 8601.
    pub timestamp: String,
    /// Language and version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub genkit_version: Option<String>,
    /// See [`REFLECTION_API_SPEC_VERSION`].
    #[serde(
        default,
        deserialize_with = "crate::number::optional_integer",
        skip_serializing_if = "Option::is_none"
    )]
    pub reflection_api_spec_version: Option<u32>,
}

fn null_is_false<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(false))
}
