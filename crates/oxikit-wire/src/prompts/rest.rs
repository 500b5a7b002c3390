//! Bodies and responses of the REST API below `/api/prompts`, for documents.
//!
//! The names of members are those of Prompt Manager; members that oxikit adds are marked as an
//! addition.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::integers::optional_integers;
use super::{Conflict, DocumentKind, OnConflict, PromptType};
use crate::absent::null_is_default;
use crate::number::{integer, optional_integer};

/// A prompt or a fragment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PromptDocument")]
pub struct Document {
    /// The id: the name of the file without its extension, with its folder if the name is not unique.
    pub id: String,
    /// The path of the file below `directory`.
    pub filename: String,
    /// The path of the registered directory.
    pub directory: String,
    /// The name of the registered directory.
    pub directory_name: String,
    /// The content, without front matter.
    pub content: String,
    /// The description; `null` if there is none.
    pub description: Option<String>,
    /// The type; prompts only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_type: Option<PromptType>,
    /// The tags.
    #[serde(default, deserialize_with = "null_is_default")]
    pub tags: Vec<String>,
    /// When the document was made.
    pub created_at: String,
    /// When it was changed last.
    pub updated_at: String,
    /// The name of the file without folder and extension.
    pub name: String,
    /// The name to show, which is the id.
    pub display_name: String,
    /// The name of the directory and the path of the file, without extension.
    pub unique_id: String,
    /// Whether the content includes others by `[[name]]`.
    pub is_composite: bool,
    /// The directory; in responses for one document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory_info: Option<DirectoryInfo>,
    /// The documents that the content names; in responses for one document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dependencies: Option<Vec<Dependency>>,
    /// What cannot be included or read; in responses for one document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warnings: Option<Vec<String>>,
    /// How the name differs from the one that was asked for; after a creation or a rename.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sanitized_message: Option<String>,
    /// An addition: whether it is a prompt or a fragment.
    pub kind: DocumentKind,
    /// An addition: the revision.
    #[serde(deserialize_with = "integer")]
    pub rev: u64,
    /// An addition: the hash of the file.
    pub hash: String,
    /// An addition: whether the file is a Dotprompt file, whose content has its front matter.
    #[serde(default, deserialize_with = "null_is_default")]
    pub is_dotprompt: bool,
    /// An addition: the labels of revisions; in responses for one document.
    #[serde(
        default,
        deserialize_with = "optional_integers",
        skip_serializing_if = "Option::is_none"
    )]
    pub labels: Option<BTreeMap<String, u64>>,
    /// An addition: whether the content differs from the one that was sent, because others have
    /// changed it too; in the response to a change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merged: Option<bool>,
    /// An addition: the texts that another edit had changed too; in the response to a change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conflicts: Option<Vec<Conflict>>,
}

/// The directory of a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DirectoryInfo {
    /// Its name.
    pub name: String,
    /// Its path.
    pub path: String,
}

/// A document that another one names by `[[name]]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Dependency {
    /// The id, or the name if there is no such document.
    pub id: String,
    /// Whether there is no such document.
    pub is_missing: bool,
}

/// `POST /api/prompts`: a new document.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NewDocument {
    /// The id, which is the name of the file, without extension. Spaces become `_`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The same as `id`, for clients of newer versions of Prompt Manager.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The content.
    #[serde(default, deserialize_with = "null_is_default")]
    pub content: String,
    /// The path or name of a registered directory. Default: the first that is enabled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// The type; prompts only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_type: Option<PromptType>,
    /// The description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The tags.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<String>>,
    /// An addition: the author in the history.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
}

/// `PUT /api/prompts/{id}`: a change. Absent members, and `null`, change nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DocumentChange {
    /// The whole new content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// The description; an empty text removes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The tags; an empty list removes them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<String>>,
    /// The type; prompts only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_type: Option<PromptType>,
    /// An addition: the revision that the content was made from. Edits that came between are
    /// merged. Without it, and without `If-Match`, the content replaces the current one.
    #[serde(
        default,
        deserialize_with = "optional_integer",
        skip_serializing_if = "Option::is_none"
    )]
    pub base_rev: Option<u64>,
    /// An addition: a text that is unique to this change. If it is sent twice, the second changes
    /// nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub op: Option<String>,
    /// An addition: what happens if another edit has changed the same text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_conflict: Option<OnConflict>,
    /// An addition: the author in the history.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
}

/// `DELETE /api/prompts/{id}`: the document was deleted. Its history stays.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PromptDeleted")]
pub struct Deleted {
    /// Always true.
    pub success: bool,
    /// The document.
    pub id: String,
    /// The same, for people.
    pub message: String,
}

/// `POST /api/prompts/rename`: another id for a document.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RenamePrompt")]
pub struct Rename {
    /// The document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_id: Option<String>,
    /// The new id. Spaces become `_`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_id: Option<String>,
    /// The same as `new_id`, for clients of newer versions of Prompt Manager.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_name: Option<String>,
    /// A new content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// A new description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// New tags.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<String>>,
    /// An addition: whether `[[old_id]]` in other documents becomes `[[new_id]]`, in all of them or
    /// in none.
    #[serde(default, deserialize_with = "null_is_default")]
    pub update_references: bool,
    /// An addition: the author in the history.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
}

/// The response to [`Rename`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PromptRenamed")]
pub struct Renamed {
    /// Always true.
    pub success: bool,
    /// The id before.
    pub old_id: String,
    /// The id now.
    pub new_id: String,
    /// The same, for people.
    pub message: String,
    /// How the name differs from the one that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sanitized_message: Option<String>,
    /// An addition: the documents whose inclusions were changed.
    #[serde(default, deserialize_with = "null_is_default")]
    pub updated: Vec<String>,
    /// An addition: the revision of the renamed document.
    #[serde(
        default,
        deserialize_with = "optional_integer",
        skip_serializing_if = "Option::is_none"
    )]
    pub rev: Option<u64>,
}

/// `GET /api/prompts/check_exists/{id}`: whether there is such a document.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Existence {
    /// Whether there is one.
    pub exists: bool,
    /// The id of the request.
    pub id: String,
}

/// `GET /api/prompts/{id}/referenced_by`: a document that includes another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reference {
    /// Its id.
    pub id: String,
    /// Its description; `null` if there is none.
    pub description: Option<String>,
    /// The path of its directory.
    pub directory: String,
}

/// `GET /api/prompts/search_suggestions`: a name for `[[`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Suggestion {
    /// The id.
    pub id: String,
    /// The name to show.
    pub display_name: String,
    /// An addition: whether it is a prompt or a fragment.
    pub kind: DocumentKind,
}

/// The response of routes that read files again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reloaded {
    /// Always true.
    pub success: bool,
    /// Number of documents.
    #[serde(deserialize_with = "integer")]
    pub count: usize,
    /// The same, for people.
    pub message: String,
}
