//! The history of documents, and the feed of their changes.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::DocumentKind;
use super::integers::{integers_or_default, pairs_or_default};
use crate::absent::null_is_default;
use crate::number::{integer, optional_integer};

/// What has made a revision.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum RevisionKind {
    /// A content as it was sent.
    Edit,
    /// The merge of an edit with the one before.
    Merge,
    /// A change of the file by another program.
    External,
    /// A change of description, tags or type.
    Metadata,
    /// A change of the id.
    Rename,
    /// An old revision that was made the newest one.
    Restore,
    /// The deletion of the document.
    Delete,
    /// A content that was sent and refused.
    Refused,
}

/// A revision of a document, without its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "PromptRevision")]
pub struct Revision {
    /// Its number, counted from 1.
    #[serde(deserialize_with = "integer")]
    pub rev: u64,
    /// The revision that it was made from; absent for the first.
    #[serde(
        default,
        deserialize_with = "optional_integer",
        skip_serializing_if = "Option::is_none"
    )]
    pub parent: Option<u64>,
    /// What has made it.
    pub kind: RevisionKind,
    /// The author.
    pub author: String,
    /// When it was stored.
    pub timestamp: String,
    /// The hash of the file; empty for a deletion.
    pub hash: String,
    /// Number of bytes of the file.
    #[serde(deserialize_with = "integer")]
    pub bytes: u64,
    /// Whether the document had this text. Contents that were merged or refused are kept, and are
    /// not applied.
    pub applied: bool,
    /// The labels of this revision.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<String>,
}

/// `GET /api/prompts/{id}/history`: revisions, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RevisionList {
    /// The document.
    pub id: String,
    /// The current revision.
    #[serde(deserialize_with = "integer")]
    pub rev: u64,
    /// The revisions.
    pub revisions: Vec<Revision>,
    /// The value of `before` for the next page; absent on the last one.
    #[serde(
        default,
        deserialize_with = "optional_integer",
        skip_serializing_if = "Option::is_none"
    )]
    pub next: Option<u64>,
    /// The labels of the document.
    #[serde(default, deserialize_with = "integers_or_default")]
    pub labels: BTreeMap<String, u64>,
}

/// `GET /api/prompts/{id}/history/{rev}`: one revision with its text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RevisionText {
    /// The document.
    pub id: String,
    /// The revision.
    pub revision: Revision,
    /// The content, without front matter; absent for a deletion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<String>,
    /// The whole file; absent for a deletion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// `GET /api/prompts/{id}/diff`: the lines that differ between two revisions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RevisionDiff {
    /// The document.
    pub id: String,
    /// The older revision of the comparison.
    #[serde(deserialize_with = "integer")]
    pub from: u64,
    /// The newer revision of the comparison.
    #[serde(deserialize_with = "integer")]
    pub to: u64,
    /// The lines of both, in order.
    pub lines: Vec<DiffLine>,
}

/// A line of a comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DiffLine {
    /// In which of the two texts it is.
    pub op: DiffOp,
    /// The text, with its line end.
    pub text: String,
    /// Start and end of the changed words in the line, in UTF-16 units.
    #[serde(default, deserialize_with = "pairs_or_default", skip_serializing_if = "Vec::is_empty")]
    pub words: Vec<(u64, u64)>,
}

/// In which of two texts a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DiffOp {
    /// In both.
    Same,
    /// In the newer one only.
    Insert,
    /// In the older one only.
    Delete,
}

/// `GET /api/prompts/changes`: an event of the feed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ChangeEvent {
    /// What has happened.
    pub change: ChangeKind,
    /// The document. Absent for `reload`: the whole list has to be read again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The id before a rename.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_id: Option<String>,
    /// Whether it is a prompt or a fragment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<DocumentKind>,
    /// Its current revision.
    #[serde(
        default,
        deserialize_with = "optional_integer",
        skip_serializing_if = "Option::is_none"
    )]
    pub rev: Option<u64>,
    /// The hash of that revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
}

/// What has happened to a document.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum ChangeKind {
    /// It is new.
    Created,
    /// Its content or metadata have changed.
    Updated,
    /// It has another id.
    Renamed,
    /// It was deleted.
    Deleted,
    /// A label was set or removed.
    Labelled,
    /// Events may be missing: the reader reads the list again.
    Reload,
}
