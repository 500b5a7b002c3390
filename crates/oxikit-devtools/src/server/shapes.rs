//! What the API answers, where that is written as text and not from a type: these types
//! are only described.

#![allow(dead_code, reason = "only described")]

use oxikit_wire::{JsonObject, StatusCode};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// Why a request is not answered.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Error")]
pub(crate) struct ErrorBody {
    /// The HTTP status.
    code: u16,
    status: StatusCode,
    /// What was wrong, and what to do about it.
    message: String,
    /// More about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<Value>,
}

/// The same in an event, where there is no HTTP status.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Failed {
    status: StatusCode,
    message: String,
    /// More about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<Value>,
}

/// Parameters of a run.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct RunRequest {
    /// The action, such as `/flow/greet`.
    key: String,
    /// Its input: `null` is not the same as none.
    #[schemars(default)]
    input: Value,
    /// What a conversation starts with.
    #[schemars(default)]
    init: Value,
    /// Who calls, and what else the action is to know.
    context: Option<JsonObject>,
    /// Attributes of the root span.
    telemetry_labels: Option<JsonObject>,
    /// The runtime; it may also be named by the query.
    runtime_id: Option<String>,
}

/// How a run ended. An error may come in an answer that is 200: the head with the
/// trace goes ahead of the end.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum RunEnd {
    Failed(RunFailed),
    Done(RunDone),
}

/// What a run has answered.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RunDone {
    /// The output; none of an action that has none.
    #[schemars(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    telemetry: Option<RunTrace>,
}

/// Where the trace of a run is.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunTrace {
    trace_id: String,
}

/// Why a run has failed.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RunFailed {
    error: RunError,
}

/// What a runtime says of a failure.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RunError {
    /// The number of the status.
    code: u8,
    status: StatusCode,
    message: Option<String>,
    details: Option<RunErrorDetails>,
}

/// Where to look for the reason of a failure.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunErrorDetails {
    /// The causes, or the stack of languages that have one.
    #[serde(skip_serializing_if = "Option::is_none")]
    stack: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace_id: Option<String>,
}

/// An event of a run: `state` if the run has a trace, chunks, then `done` or `error`. All
/// but the first have their number as `id`.
#[derive(Serialize, JsonSchema)]
#[serde(tag = "event", content = "data", rename_all = "camelCase")]
pub(crate) enum RunEvent {
    State(RunTrace),
    Chunk(Value),
    Done(RunDone),
    Error(RunError),
}
