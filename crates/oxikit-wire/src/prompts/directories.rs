//! Bodies and responses of the REST API: registered directories.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::absent::null_is_default;
use crate::number::integer;

/// A registered directory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PromptDirectory")]
pub struct Directory {
    /// Its path.
    pub path: String,
    /// Its name.
    pub name: String,
    /// Its description.
    #[serde(default, deserialize_with = "null_is_default")]
    pub description: String,
    /// Whether its documents are listed.
    pub enabled: bool,
}

/// `POST /api/prompts/directories`: another directory.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NewDirectory {
    /// Its path, below an allowed one.
    pub path: String,
    /// Its name. Default: the name of the folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// `PUT /api/prompts/directories/{path}`: a change. Absent members change nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DirectoryChange {
    /// The name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Whether its documents are listed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
}

/// `DELETE /api/prompts/directories/{path}`: the directory is no longer registered. Its files stay.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DirectoryRemoved {
    /// Always true.
    pub success: bool,
    /// Its path.
    pub path: String,
}

/// `POST /api/prompts/directories/{path}/toggle`: lists its documents or not.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Toggle {
    /// Whether its documents are listed. Default: the opposite of now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
}

/// The response to [`Toggle`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DirectoryToggled {
    /// Always true.
    pub success: bool,
    /// Its path.
    pub path: String,
    /// Whether its documents are listed.
    pub enabled: bool,
    /// Number of its documents.
    #[serde(deserialize_with = "integer")]
    pub affected_prompts: usize,
}

/// `POST /api/prompts/filesystem/complete_path`: the beginning of a path.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CompletePath {
    /// The beginning.
    pub partial_path: String,
}

/// The response to [`CompletePath`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Completion {
    /// The longest path that all suggestions begin with.
    pub completed_path: String,
    /// The folders that begin so.
    pub suggestions: Vec<String>,
    /// Whether the completed path is a folder.
    pub is_directory: bool,
}
