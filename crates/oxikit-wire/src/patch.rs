//! JSON Patch (RFC 6902), in which agents send the changes of their custom state.
//!
//! This crate only reads and writes patches; `oxikit-core` computes and applies them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::part::present;

/// Changes of a JSON document, in order.
pub type JsonPatch = Vec<PatchOperation>;

/// One change of a JSON document.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PatchOperation {
    /// The operation.
    pub op: PatchKind,
    /// Location of the change, as a JSON Pointer; the empty pointer is the whole document.
    pub path: String,
    /// Source of a move or a copy, as a JSON Pointer; absent for other operations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The value to add, to replace with or to compare; `null` is a value.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
}

/// The operations of RFC 6902.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PatchKind {
    /// Adds a member or inserts an element; an existing member is replaced.
    Add,
    /// Removes a member or an element.
    Remove,
    /// Replaces an existing value.
    Replace,
    /// Removes the value at `from` and adds it at `path`.
    Move,
    /// Adds the value at `from` at `path` too.
    Copy,
    /// Fails, and the whole patch with it, if the location has another value.
    Test,
}
