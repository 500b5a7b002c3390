//! Error responses of the REST API.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Document;

/// An error response.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PromptError")]
pub struct Detail {
    /// The error for people; for a body that is not valid (422) the list of its errors.
    #[schemars(with = "DetailSchema")]
    pub detail: Value,
    /// An addition: the documents that an ambiguous id may mean (409).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub candidates: Option<Vec<String>>,
    /// An addition: the current document, if `If-Match` names another revision (412) or the change
    /// conflicts (409).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document: Option<Box<Document>>,
}

/// The forms of [`Detail::detail`], for the schema.
#[derive(JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
#[allow(dead_code, reason = "only its schema is used")]
enum DetailSchema {
    Text(String),
    Fields(Vec<FieldError>),
}

/// An error of a body that is not valid.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FieldError {
    /// Where the error is, such as `["body", "content"]`.
    pub loc: Vec<String>,
    /// The error for people.
    pub msg: String,
    /// The kind of error.
    #[serde(rename = "type")]
    pub error_type: String,
}
