//! Actions as the developer tools list them, in both versions of the reflection protocol.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::JsonObject;

/// One entry of `listActions`.
///
/// The official manager rejects a whole list for one `null`, so every absent
/// member is left out.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ActionDescriptor {
    /// The full key, `/type/name`.
    pub key: String,
    /// The name without its type.
    pub name: String,
    /// The type, such as `flow`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action_type: Option<String>,
    /// Description for people, and for models if the action is a tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// JSON Schema of one input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_schema: Option<Value>,
    /// JSON Schema of the output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
    /// JSON Schema of one chunk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream_schema: Option<Value>,
    /// JSON Schema of the value that a conversation starts with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub init_schema: Option<Value>,
    /// Members that the tools show, such as labels and capabilities.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<JsonObject>,
}
