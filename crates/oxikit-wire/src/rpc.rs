//! Reflection V2: JSON-RPC 2.0 between a runtime and its manager, over a socket.
//!
//! A message is read as an [`RpcMessage`], whose members stay text; the method
//! tells which of the parameters they are. What is only passed on (inputs,
//! chunks, results, ids) is never parsed.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::{ActionDescriptor, JsonObject, SessionActivity};

/// The version of the protocol that runtime files and registrations name. The
/// official tools end when they read a higher one.
pub const REFLECTION_API_SPEC_VERSION: u32 = 1;

/// The header by which managers of oxikit say who asks when they call the REST API for
/// agents of a runtime (V1): a JSON object, percent-encoded. It is the `context` of
/// the same requests over a socket.
pub const CONTEXT_HEADER: &str = "x-oxikit-context";

/// What makes a folder a project for the official tools, which look for runtime
/// files there. `Cargo.toml` is not among it.
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

/// One message: a request (method and id), a notification (method), or an answer
/// (id).
#[derive(Debug, Default, Deserialize)]
pub struct RpcMessage<'a> {
    /// Text or number, as the other side gave it: it is sent back unchanged.
    #[serde(default, borrow)]
    pub id: Option<&'a RawValue>,
    /// What is asked for or told.
    #[serde(default, borrow)]
    pub method: Option<Cow<'a, str>>,
    /// What goes with it.
    #[serde(default, borrow)]
    pub params: Option<&'a RawValue>,
    /// The answer, if it is a good one. `None` for `null` too.
    #[serde(default, borrow)]
    pub result: Option<&'a RawValue>,
    /// The answer, if it is a bad one.
    #[serde(default, borrow)]
    pub error: Option<&'a RawValue>,
}

impl RpcMessage<'_> {
    /// Whether it asks for nothing and answers nothing.
    pub fn is_nothing(&self) -> bool {
        matches!(self, Self { id: None, method: None, result: None, error: None, .. })
    }
}

/// A message of a runtime as its manager reads it: in one pass, with everything
/// that is only passed on left as text.
///
/// Parameters of other methods than the two that come in numbers are read from an
/// [`RpcMessage`], and so is what does not fit.
#[derive(Debug, Deserialize)]
pub struct RuntimeMessage<'a> {
    /// The id of the answer, or of what is asked.
    #[serde(default, borrow)]
    pub id: Option<&'a RawValue>,
    /// What is asked for or told; none in an answer.
    #[serde(default, borrow)]
    pub method: Option<Cow<'a, str>>,
    /// `streamChunk` or `runActionState`.
    #[serde(default, borrow)]
    pub params: Option<RunNotice<'a>>,
    /// The answer, if it is a good one; `null` is one too.
    #[serde(default, borrow, deserialize_with = "present")]
    pub result: Option<&'a RawValue>,
    /// The answer, if it is a bad one.
    #[serde(default, borrow)]
    pub error: Option<&'a RawValue>,
}

/// What a runtime tells of a run: [`ChunkParams`] or [`RunActionStateParams`].
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RunNotice<'a> {
    /// The id of the request.
    #[serde(default, borrow)]
    pub request_id: Option<&'a RawValue>,
    /// A piece of the output; `null` is one too.
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
    /// This is no JSON.
    pub const PARSE_ERROR: i32 = -32700;
    /// This is JSON, but neither a request nor an answer.
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
    /// What went wrong.
    pub message: String,
    /// The same for programs. Official tools show nothing where it is missing.
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
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Where to look. Official tools read it without a check.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<ErrorDetails>,
    /// Where the JavaScript runtime puts the stack of a request it cannot read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack: Option<String>,
}

/// Where to look for the reason of a failure.
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

/// `register`, from the runtime: who is there.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RegisterParams {
    /// The runtime; the same again after a reconnect.
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

/// The answer to `register`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RegisterResult {
    /// Where spans and logs go.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub telemetry_server_url: Option<String>,
    /// Which manager answers: another id at each start of one. Managers of oxikit send
    /// it, and a runtime of oxikit that comes back to the same id owes it the results
    /// of its runs. Official managers do not send it, official runtimes ignore it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manager_id: Option<String>,
}

/// `configure`, from the manager.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConfigureParams {
    /// Where spans and logs go.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub telemetry_server_url: Option<String>,
}

/// The answer to `listActions`.
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

/// The answer to `listValues`.
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
    /// The input: `null` is not the same as none.
    #[serde(
        borrow,
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub input: Option<&'a RawValue>,
    /// What a conversation starts with.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub init: Option<&'a RawValue>,
    /// Who calls, and what else the action is to know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<JsonObject>,
    /// Attributes of the root span.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub telemetry_labels: Option<BTreeMap<String, String>>,
    /// Whether chunks are wanted.
    #[serde(default, deserialize_with = "null_is_false")]
    pub stream: bool,
    /// Whether inputs are sent while it runs.
    #[serde(default, deserialize_with = "null_is_false")]
    pub stream_input: bool,
    /// Which runtime was meant; for managers.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub runtime_id: Option<Cow<'a, str>>,
}

/// The good answer to `runAction`.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct RunActionResult<'a> {
    /// The output; none of an action that has none: `null` is not the same.
    #[serde(
        borrow,
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    pub result: Option<&'a RawValue>,
    /// Where its trace is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub telemetry: Option<RunTelemetry>,
}

/// Names the trace of a run: in its answer, and as its state before that.
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
    /// A piece of the output or of the input.
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

/// The answer to `cancelAction`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CancelActionResult {
    /// What was done.
    pub message: String,
}

/// `listSessions`, from a manager of oxikit to a runtime of oxikit: what is asked of
/// sessions has no method in the official protocol. The answers are those of the
/// REST API for agents, here a [`SessionList`](crate::SessionList).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListSessionsParams {
    /// Whose sessions.
    pub agent: String,
    /// At most so many.
    #[serde(
        default,
        deserialize_with = "crate::number::optional_integer",
        skip_serializing_if = "Option::is_none"
    )]
    pub limit: Option<u64>,
    /// Goes on where a page ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continuation_token: Option<String>,
    /// Only those that wait for something, or only the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<SessionActivity>,
    /// Who asks, as for a run: whose sessions they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<JsonObject>,
}

/// `getSession`, answered with [`SessionDetails`](crate::SessionDetails), and
/// `deleteSession`, answered with [`SessionDeleted`](crate::SessionDeleted).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionParams {
    /// Whose session.
    pub agent: String,
    /// The session.
    pub session_id: String,
    /// Who asks, as for a run: whose sessions they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<JsonObject>,
}

/// `forkSession`, answered with [`SessionForked`](crate::SessionForked).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ForkSessionParams {
    /// Whose session.
    pub agent: String,
    /// The session.
    pub session_id: String,
    /// Where the new one begins; without it where this one would go on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshot_id: Option<String>,
    /// Who asks, as for a run: whose sessions they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<JsonObject>,
}

/// What a manager tells a runtime that it has found (V1).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NotifyParams {
    /// Where spans and logs go.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub telemetry_server_url: Option<String>,
    /// What the manager speaks; see [`REFLECTION_API_SPEC_VERSION`].
    #[serde(
        default,
        deserialize_with = "crate::number::optional_integer",
        skip_serializing_if = "Option::is_none"
    )]
    pub reflection_api_spec_version: Option<u32>,
}

/// The text of the `.gitignore` in a `.genkit` folder: what runtimes and tools write there
/// while they run holds tokens and is not to be checked in. Data sets that the official
/// tools keep there may be.
pub const GENKIT_GITIGNORE: &str = "/.*\n/runtimes/\n/servers/\n";

/// A runtime that is reached over HTTP (V1), as its file below
/// `.genkit/runtimes` says.
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
    /// Where it listens.
    pub reflection_server_url: String,
    /// Since when, in ISO 8601.
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

fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

fn null_is_false<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(false))
}
