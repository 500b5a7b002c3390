//! What the server sends over the WebSocket.

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::integers::{integers_or_default, optional_integers};
use super::{
    DocumentKind, ErrorCode, ErrorInfo, PatchOp, PromptType, Protocol, Revision, Selection,
};
use crate::absent::null_is_default;
use crate::number::{integer, optional_integer};

/// A message of the server.
///
/// The first five are the plain protocol. The others are sent to clients that have said `hello`,
/// except `error`, which answers every message that cannot be read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum ServerMessage {
    /// The first message of a connection: the document as it is.
    Initial(Initial),
    /// The answer to an edit, to its sender.
    UpdateStatus(UpdateStatus),
    /// The content has changed.
    Update(Updated),
    /// Description, tags or type have changed.
    UpdateMetadata(MetadataUpdated),
    /// The answer to `expand`.
    Expanded(Expanded),
    /// The answer to `hello`.
    Welcome(Welcome),
    /// The content has changed; in place of `update` for clients that have said `hello`.
    Patched(Patched),
    /// Everybody who has the document open.
    Presence(PresenceList),
    /// A document that this one includes has changed.
    DependencyChanged(DependencyChanged),
    /// The document has another id. The connection stays with it.
    Renamed(IdChanged),
    /// The answer to `history`.
    History(History),
    /// A message of the client could not be read or fulfilled.
    Error(ErrorMessage),
}

/// The document at the moment of the connection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Initial {
    /// The content, without front matter.
    pub content: Arc<str>,
    /// The description; `null` if there is none.
    pub description: Option<String>,
    /// The tags.
    #[serde(default, deserialize_with = "null_is_default")]
    pub tags: Vec<String>,
    /// The type; prompts only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_type: Option<PromptType>,
    /// When the document was changed last.
    pub updated_at: String,
    /// The current revision.
    #[serde(
        default,
        deserialize_with = "optional_integer",
        skip_serializing_if = "Option::is_none"
    )]
    pub rev: Option<u64>,
    /// The hash of the current file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// The id of the document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Whether it is a prompt or a fragment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<DocumentKind>,
    /// The additions that the server understands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Protocol>,
}

/// The answer to an edit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct UpdateStatus {
    /// Whether the edit is stored, and will be found after a crash.
    pub success: bool,
    /// When it was stored or refused.
    pub timestamp: String,
    /// The revision that the edit has made.
    #[serde(
        default,
        deserialize_with = "optional_integer",
        skip_serializing_if = "Option::is_none"
    )]
    pub rev: Option<u64>,
    /// The hash of that revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// The `op` of the edit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub op: Option<String>,
    /// Whether the stored content differs from the one that was sent, because another edit came
    /// between. The stored content follows in an `update`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub merged: Option<bool>,
    /// The texts that another edit had changed too. The incoming text was stored.
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub conflicts: Vec<Conflict>,
    /// Why the edit was refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorInfo>,
}

/// A text that two edits have changed in different ways.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Conflict {
    /// The text before both edits.
    pub base: String,
    /// The text of the earlier edit.
    pub stored: String,
    /// The text of the later edit.
    pub incoming: String,
}

/// Why a content has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum UpdateReason {
    /// A client has changed it.
    Edit,
    /// The edits of two clients were merged.
    Merge,
    /// The file was changed by another program.
    External,
    /// An old revision was restored.
    Restore,
}

/// The new content.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Updated {
    /// The content.
    pub content: Arc<str>,
    /// When it was changed.
    pub timestamp: String,
    /// The revision.
    #[serde(
        default,
        deserialize_with = "optional_integer",
        skip_serializing_if = "Option::is_none"
    )]
    pub rev: Option<u64>,
    /// The revision before.
    #[serde(
        default,
        deserialize_with = "optional_integer",
        skip_serializing_if = "Option::is_none"
    )]
    pub base_rev: Option<u64>,
    /// The hash of the revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// Why it has changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<UpdateReason>,
    /// The author of the change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
}

/// The metadata after a change, complete.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MetadataUpdated {
    /// The description; `null` if there is none.
    pub description: Option<String>,
    /// The tags.
    #[serde(default, deserialize_with = "null_is_default")]
    pub tags: Vec<String>,
    /// The type; prompts only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt_type: Option<PromptType>,
    /// When it was changed.
    pub timestamp: String,
    /// The revision.
    #[serde(
        default,
        deserialize_with = "optional_integer",
        skip_serializing_if = "Option::is_none"
    )]
    pub rev: Option<u64>,
    /// The `op` of the change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub op: Option<String>,
    /// The author of the change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
}

/// A text with its inclusions replaced.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Expanded {
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
    /// The `op` of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub op: Option<String>,
    /// The revisions of the included documents.
    #[serde(
        default,
        deserialize_with = "optional_integers",
        skip_serializing_if = "Option::is_none"
    )]
    pub revs: Option<BTreeMap<String, u64>>,
    /// Which part of `expanded` comes from which document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spans: Option<Vec<Span>>,
}

/// A part of an expanded text, in UTF-16 units.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ExpansionSpan")]
pub struct Span {
    /// Position of its first unit.
    #[serde(deserialize_with = "integer")]
    pub start: u64,
    /// Position behind its last unit.
    #[serde(deserialize_with = "integer")]
    pub end: u64,
    /// The document that it comes from.
    pub id: String,
}

/// The answer to `hello`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Welcome {
    /// The id of this connection in lists of presence.
    pub session: String,
    /// The current revision.
    #[serde(deserialize_with = "integer")]
    pub rev: u64,
    /// The additions that the server understands.
    #[serde(default, deserialize_with = "null_is_default")]
    pub features: Vec<String>,
}

/// A change of the content, in steps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Patched {
    /// The revision.
    #[serde(deserialize_with = "integer")]
    pub rev: u64,
    /// The revision that the steps apply to.
    #[serde(deserialize_with = "integer")]
    pub base_rev: u64,
    /// The steps.
    pub ops: Vec<PatchOp>,
    /// The hash of the revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// Why the content has changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<UpdateReason>,
    /// The author of the change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// When the content was changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<String>,
}

/// Everybody who has the document open.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PresenceList {
    /// The others and the receiver itself.
    #[serde(default, deserialize_with = "null_is_default")]
    pub clients: Vec<Presence>,
}

/// A connection that has the document open.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Presence {
    /// The id of the connection, see [`Welcome::session`].
    pub session: String,
    /// The name of the person or program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Position of the cursor, in UTF-16 units.
    #[serde(
        default,
        deserialize_with = "optional_integer",
        skip_serializing_if = "Option::is_none"
    )]
    pub cursor: Option<u64>,
    /// The selected part.
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

/// An included document has changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DependencyChanged {
    /// The included document.
    pub id: String,
    /// Its current revision.
    #[serde(deserialize_with = "integer")]
    pub rev: u64,
}

/// The document has another id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IdChanged {
    /// The new id.
    pub id: String,
}

/// Revisions of the document, newest first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct History {
    /// The revisions.
    pub revisions: Vec<Revision>,
    /// The labels of revisions.
    #[serde(default, deserialize_with = "integers_or_default")]
    pub labels: BTreeMap<String, u64>,
    /// The `op` of the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub op: Option<String>,
}

/// A message that could not be read or fulfilled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorMessage {
    /// The kind of error, for programs.
    pub code: ErrorCode,
    /// The error, for people.
    pub message: String,
    /// The `op` of the message, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub op: Option<String>,
}
