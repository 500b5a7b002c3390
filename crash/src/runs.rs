//! The trial of reflection: managers are killed while an application streams to them, and the
//! checker compares the notes of both sides.

mod callers;
pub(crate) mod check;
pub(crate) mod manager;
mod notes;
pub(crate) mod runtime;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The flow that managers run.
const FLOW: &str = "work";

/// The input of a run. The nonce is repeated in every message about the run, so the checker
/// detects messages of another run.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
struct Work {
    nonce: String,
    chunks: u64,
    /// Whether the run fails after its last chunk.
    fails: bool,
}

/// A chunk with its number, from 0.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
struct Piece {
    nonce: String,
    number: u64,
}
