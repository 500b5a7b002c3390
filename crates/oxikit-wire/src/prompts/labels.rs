//! Bodies and responses of the REST API: old revisions and labels.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::integers::integers;
use crate::number::{integer, optional_integer};

/// `POST /api/prompts/{id}/restore`, an addition: an old revision becomes the newest one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Restore {
    /// The revision.
    #[serde(deserialize_with = "integer")]
    pub rev: u64,
    /// The author in the history.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
}

/// `POST /api/prompts/{id}/undelete`, an addition: a deleted document returns.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Undelete {
    /// The author in the history.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
}

/// `PUT /api/prompts/{id}/labels/{label}`, an addition: the revision of a label.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SetLabel {
    /// The revision.
    #[serde(deserialize_with = "integer")]
    pub rev: u64,
}

/// The response to [`SetLabel`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PromptLabel")]
pub struct Label {
    /// The document.
    pub id: String,
    /// The label.
    pub label: String,
    /// Its revision; absent if the label was removed.
    #[serde(
        default,
        deserialize_with = "optional_integer",
        skip_serializing_if = "Option::is_none"
    )]
    pub rev: Option<u64>,
}

/// `GET /api/prompts/{id}/labels`, an addition: the labels of a document.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LabelList {
    /// The document.
    pub id: String,
    /// The revision of each label.
    #[serde(deserialize_with = "integers")]
    pub labels: BTreeMap<String, u64>,
}
