//! Capabilities of a model, as its action's metadata lists them.
//!
//! The developer tools show them. A call of the model reads two of them: documents and output
//! schemas are written out as text for models that do not take them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The member `model` of a model action's metadata.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelInfo {
    /// The name shown to people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Versions that `config.version` may name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub versions: Option<Vec<String>>,
    /// Capabilities of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supports: Option<ModelSupports>,
    /// JSON Schema of the model's configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom_options: Option<Value>,
    /// The newer name of `custom_options`; runtimes send one or both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config_schema: Option<Value>,
    /// Maturity of the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage: Option<ModelStage>,
}

/// Capabilities of a model. An absent member means that the model does not have it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModelSupports {
    /// Conversations of several turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub multiturn: Option<bool>,
    /// Media parts in messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub media: Option<bool>,
    /// Tool calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<bool>,
    /// System messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_role: Option<bool>,
    /// Output formats, such as `text` and `json`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Vec<String>>,
    /// Output media types.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<Vec<String>>,
    /// Documents in the request's `docs`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<bool>,
    /// Output that must follow a schema.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constrained: Option<ConstrainedSupport>,
    /// The request's `toolChoice`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<bool>,
    /// Answers with an operation to be checked later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub long_running: Option<bool>,
}

/// The requests in which a model can be forced to follow an output schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ConstrainedSupport {
    /// Never.
    None,
    /// Always.
    All,
    /// Only without tools in the same request.
    NoTools,
}

/// Maturity of a model, by which the tools sort and mark it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ModelStage {
    /// Recommended; listed first.
    Featured,
    /// For production; changes are compatible.
    Stable,
    /// May change or fail without notice.
    Unstable,
    /// Works, but a newer model replaces it.
    Legacy,
    /// Will be removed by its provider.
    Deprecated,
}
