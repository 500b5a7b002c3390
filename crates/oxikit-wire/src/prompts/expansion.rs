//! Bodies and responses of the REST API: inclusion and preview.

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::integers::integers_or_default;
use super::{PromptType, Span};
use crate::absent::null_is_default;
use crate::{JsonObject, Message};

/// `GET /api/prompts/{id}/render`: a document with its inclusions replaced.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Rendered {
    /// The document.
    pub id: String,
    /// Its content.
    pub original: String,
    /// The content with the included documents in place.
    pub rendered: String,
    /// The type; prompts only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_type: Option<PromptType>,
    /// An addition: what could not be included.
    #[serde(default, deserialize_with = "null_is_default")]
    pub warnings: Vec<String>,
}

/// `POST /api/prompts/expand`: a text, or the content of a document, to expand.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExpandRequest {
    /// The text. Default: the content of `prompt_id`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// The document that the text belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_id: Option<String>,
    /// The directory of that document, if its id is ambiguous.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
}

/// The response to [`ExpandRequest`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Expansion {
    /// The text as it was sent.
    pub content: String,
    /// The text with the included documents in place.
    pub expanded: String,
    /// The included documents, direct and indirect, each once.
    #[serde(default, deserialize_with = "null_is_default")]
    pub dependencies: Vec<String>,
    /// What could not be included, and why.
    #[serde(default, deserialize_with = "null_is_default")]
    pub warnings: Vec<String>,
    /// The document, if the request named one without a text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_id: Option<String>,
    /// The same as `content`, if the request named a document without a text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub original_content: Option<String>,
    /// The same as `expanded`, if the request named a document without a text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expanded_content: Option<String>,
    /// An addition: the revisions of the included documents.
    #[serde(default, deserialize_with = "integers_or_default")]
    pub revs: BTreeMap<String, u64>,
    /// An addition: which part of `expanded` comes from which document.
    #[serde(default, deserialize_with = "null_is_default")]
    pub spans: Vec<Span>,
}

/// `POST /api/prompts/preview`, an addition: the messages that a model would get.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PreviewRequest {
    /// The document.
    pub id: String,
    /// A draft of its content. Default: its current content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// The values of the variables in the template.
    #[serde(default, deserialize_with = "null_is_default")]
    pub variables: JsonObject,
}

/// The response to [`PreviewRequest`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Preview {
    /// The document.
    pub id: String,
    /// The text with the included documents in place.
    pub expanded: String,
    /// The included documents, direct and indirect, each once.
    #[serde(default, deserialize_with = "null_is_default")]
    pub dependencies: Vec<String>,
    /// What could not be included, and why.
    #[serde(default, deserialize_with = "null_is_default")]
    pub warnings: Vec<String>,
    /// The revisions of the included documents.
    #[serde(default, deserialize_with = "integers_or_default")]
    pub revs: BTreeMap<String, u64>,
    /// Which part of `expanded` comes from which document.
    #[serde(default, deserialize_with = "null_is_default")]
    pub spans: Vec<Span>,
    /// The messages of the template; absent if it cannot be rendered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<Vec<Arc<Message>>>,
    /// The model that the front matter names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The configuration of the model in the front matter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<Value>,
    /// The variables that the template looks up, as far as they are known without rendering.
    #[serde(default, deserialize_with = "null_is_default")]
    pub variables: Vec<String>,
    /// Why the template cannot be rendered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}
