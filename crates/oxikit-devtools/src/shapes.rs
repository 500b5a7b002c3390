//! Types for the OpenAPI document only, of bodies that the server passes on as text.

#![allow(dead_code, reason = "only described")]

use oxikit_wire::{JsonObject, StatusCode};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// An error response.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Error")]
pub(crate) struct ErrorBody {
    /// The HTTP status.
    code: u16,
    status: StatusCode,
    /// The reason, and how to correct the request.
    message: String,
    /// Further data of the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<Value>,
}

/// An error in an event, which has no HTTP status.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Failed {
    status: StatusCode,
    message: String,
    /// Further data of the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<Value>,
}

/// The parameters of a run.
#[derive(JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct RunRequest {
    /// The action, such as `/flow/greet`.
    key: String,
    /// The input of the action. `null` differs from a missing input.
    #[schemars(default)]
    input: Value,
    /// The initial data of a bidirectional action.
    #[schemars(default)]
    init: Value,
    /// The context of the run, such as the identity of the user.
    context: Option<JsonObject>,
    /// Attributes of the root span.
    telemetry_labels: Option<JsonObject>,
    /// The id of the runtime. The query may name it instead.
    runtime_id: Option<String>,
}

/// The end of a run. It may be an error although the HTTP status is 200: the headers are sent
/// before the run has ended.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum RunEnd {
    Failed(RunFailed),
    Done(RunDone),
}

/// The result of a run.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RunDone {
    /// The output; missing if the action has none.
    #[schemars(default)]
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    telemetry: Option<RunTrace>,
}

/// The trace of a run.
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

/// The error of a runtime.
#[derive(Serialize, JsonSchema)]
pub(crate) struct RunError {
    /// The numeric code of the status.
    code: u8,
    status: StatusCode,
    message: Option<String>,
    details: Option<RunErrorDetails>,
}

/// Details of an error.
#[derive(Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RunErrorDetails {
    /// The causes, or the stack trace in languages that have one.
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
