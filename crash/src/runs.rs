//! The trial of reflection: managers are killed while an application streams to them.

mod callers;
pub(crate) mod check;
pub(crate) mod manager;
mod notes;
pub(crate) mod runtime;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The flow that managers run.
const FLOW: &str = "work";

/// What a manager asks for. The nonce comes back in all that is told of the run, so
/// that what belongs to another one shows.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
struct Work {
    nonce: String,
    chunks: u64,
    /// Whether it fails behind its last chunk.
    fails: bool,
}

/// A chunk: the one of this number, from 0.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
struct Piece {
    nonce: String,
    number: u64,
}
