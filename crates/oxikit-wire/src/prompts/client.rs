//! What clients send over the WebSocket.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{PatchOp, PromptType, Protocol};
use crate::number::{integer, optional_integer};

/// A message of a client.
///
/// `update`, `update_metadata` and `expand` are the plain protocol; the others are additions. A
/// client sends `hello` before it uses them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum ClientMessage {
    /// Replaces the content.
    Update(SubmitUpdate),
    /// Changes description, tags or type.
    UpdateMetadata(SubmitMetadata),
    /// Asks for the content with its inclusions replaced. Nothing is saved.
    Expand(ExpandText),
    /// Says that the client understands the additions.
    Hello(Hello),
    /// Changes parts of the content.
    Patch(SubmitPatch),
    /// Shows the client's cursor to the others.
    Presence(SetPresence),
    /// Asks for the newest revisions.
    History(AskHistory),
    /// Makes an old revision the newest one.
    Restore(AskRestore),
}

/// The whole new content.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SubmitUpdate {
    /// The content.
    pub content: String,
    /// The revision that the client has changed. Without it the server finds the most similar text
    /// among those that this connection has seen.
    #[serde(
        default,
        deserialize_with = "optional_integer",
        skip_serializing_if = "Option::is_none"
    )]
    pub base_rev: Option<u64>,
    /// A text that is unique to this edit. If it is sent twice, the second is answered like the first
    /// and changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub op: Option<String>,
    /// What happens if another edit has changed the same text. Default: `merge`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_conflict: Option<OnConflict>,
    /// The author in the history. Default: the label of the connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
}

/// What happens if another edit has changed the same text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnConflict {
    /// The new text replaces the other one, which stays in the history.
    #[default]
    Merge,
    /// The edit is refused.
    Reject,
}

/// New metadata. Absent members, and `null`, change nothing; an empty text or list clears.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SubmitMetadata {
    /// The description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The tags.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<String>>,
    /// The type; prompts only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_type: Option<PromptType>,
    /// See [`SubmitUpdate::op`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub op: Option<String>,
    /// See [`SubmitUpdate::author`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
}

/// A text to expand.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExpandText {
    /// The text, which may be a draft.
    pub content: String,
    /// A text that the answer repeats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub op: Option<String>,
}

/// The first message of a client that understands the additions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Hello {
    /// The protocol that the client knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Protocol>,
    /// The client's label, which is the author of its edits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<String>,
    /// What the client had before it lost its connection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<Resume>,
}

/// The last state that a client has seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Resume {
    /// The revision.
    #[serde(deserialize_with = "integer")]
    pub rev: u64,
    /// Its hash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
}

/// A change of parts of the content.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SubmitPatch {
    /// The revision that the change applies to.
    #[serde(deserialize_with = "integer")]
    pub base_rev: u64,
    /// The steps, over the whole content of that revision.
    pub ops: Vec<PatchOp>,
    /// See [`SubmitUpdate::op`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub op: Option<String>,
    /// See [`SubmitUpdate::on_conflict`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_conflict: Option<OnConflict>,
    /// See [`SubmitUpdate::author`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
}

/// Where a client's cursor is. It is shown to the others and not stored.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SetPresence {
    /// The name that the others see. Default: the label of `hello`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Position of the cursor in the content, in UTF-16 units.
    #[serde(
        default,
        deserialize_with = "optional_integer",
        skip_serializing_if = "Option::is_none"
    )]
    pub cursor: Option<u64>,
    /// The selected part of the content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selection: Option<Selection>,
    /// The revision that the positions refer to.
    #[serde(
        default,
        deserialize_with = "optional_integer",
        skip_serializing_if = "Option::is_none"
    )]
    pub rev: Option<u64>,
}

/// A part of a content, in UTF-16 units.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Selection {
    /// Position of its first unit.
    #[serde(deserialize_with = "integer")]
    pub start: u64,
    /// Position behind its last unit.
    #[serde(deserialize_with = "integer")]
    pub end: u64,
}

/// A request for revisions, newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AskHistory {
    /// Maximum number of revisions.
    #[serde(
        default,
        deserialize_with = "optional_integer",
        skip_serializing_if = "Option::is_none"
    )]
    pub limit: Option<u32>,
    /// Only revisions with a smaller number.
    #[serde(
        default,
        deserialize_with = "optional_integer",
        skip_serializing_if = "Option::is_none"
    )]
    pub before: Option<u64>,
    /// A text that the answer repeats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub op: Option<String>,
}

/// A request to make an old revision the newest one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AskRestore {
    /// The revision.
    #[serde(deserialize_with = "integer")]
    pub rev: u64,
    /// See [`SubmitUpdate::op`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub op: Option<String>,
    /// See [`SubmitUpdate::author`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
}
