//! JSON Patch (RFC 6902), as agents send the changes of their state.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::part::present;

/// Changes of a JSON document, in order.
pub type JsonPatch = Vec<PatchOperation>;

/// One change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PatchOperation {
    /// What to do.
    pub op: PatchKind,
    /// Where, as a JSON Pointer; the empty one is the whole document.
    pub path: String,
    /// From where, if something is moved or copied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The new value; `null` is one.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
}

/// What a change does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PatchKind {
    /// Puts in a member or an element.
    Add,
    /// Takes one out.
    Remove,
    /// Puts another value in its place.
    Replace,
    /// Takes a value from one place to another.
    Move,
    /// Puts the same value in another place.
    Copy,
    /// Fails if another value is there.
    Test,
}
