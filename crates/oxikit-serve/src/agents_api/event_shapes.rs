//! The events of a turn as the descriptions of the API show them. What is sent is written
//! from the agent's own text: these types are only described.

#![allow(dead_code, reason = "only described")]

use oxikit_wire::{
    Artifact, ExecuteResult, GenerateResponseChunk, JsonPatch, StatusCode, Telemetry, TurnEnd,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// An event of a turn: `chunk`, `stateUpdate`, `artifact` and `turnEnd` in any number,
/// then `done` or `error`, then `telemetry`. Every event has an `id`.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(tag = "event", content = "data", rename_all = "camelCase")]
pub enum TurnEvent {
    /// A piece of a model's answer.
    Chunk(TurnChunk),
    /// The custom state has changed.
    StateUpdate(TurnState),
    /// Something that the agent has made.
    Artifact(TurnArtifact),
    /// The agent has ended one of its turns.
    TurnEnd(TurnEnded),
    /// The result of the turn.
    Done(ExecuteResult),
    /// Why nothing came of it.
    Error(TurnError),
    /// Where its trace is.
    Telemetry(Telemetry),
}

/// A piece of a model's answer.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnChunk {
    session_id: String,
    chunk: GenerateResponseChunk,
}

/// The custom state has changed.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnState {
    session_id: String,
    /// The state as it is now.
    state_update: Value,
    /// Makes the state before that of now.
    patch: JsonPatch,
}

/// Something that the agent has made.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnArtifact {
    session_id: String,
    artifact: Artifact,
}

/// The agent has ended one of its turns.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TurnEnded {
    session_id: String,
    turn_end: TurnEnd,
}

/// Why nothing came of a turn.
#[derive(Debug, Serialize, JsonSchema)]
pub struct TurnError {
    error: HttpError,
}

/// A failure, where there is no HTTP status.
#[derive(Debug, Serialize, JsonSchema)]
struct HttpError {
    status: StatusCode,
    message: String,
    /// More about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<Value>,
}
