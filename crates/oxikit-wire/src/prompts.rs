//! Messages of the prompt manager: live editing over a WebSocket, and its REST API.
//!
//! The plain protocol is that of Prompt Manager: a client sends whole contents, and the server
//! answers and tells the others. oxikit adds members and actions, by which no edit is lost when two
//! people write at the same time; plain clients ignore them. Times are texts in RFC 3339, UTC, with
//! milliseconds, such as `2025-05-11T17:41:28.226Z`.
//!
//! This module has the JSON only. `oxikit-prompts` decides what a message does.
//!
//! ```
//! use oxikit_wire::prompts::{ClientMessage, SubmitUpdate};
//!
//! let text = r#"{"action": "update", "content": "Tell a joke."}"#;
//! let message: ClientMessage = serde_json::from_str(text).unwrap();
//! let expected = SubmitUpdate { content: "Tell a joke.".to_owned(), ..SubmitUpdate::default() };
//! assert_eq!(message, ClientMessage::Update(expected));
//! ```

mod client;
mod detail;
mod directories;
mod error;
mod expansion;
mod export;
mod history;
mod integers;
mod labels;
mod lint;
mod patch;
mod rest;
mod server;

pub use client::{
    AskHistory, AskRestore, ClientMessage, ExpandText, Hello, OnConflict, Resume, Selection,
    SetPresence, SubmitMetadata, SubmitPatch, SubmitUpdate,
};
pub use detail::{Detail, FieldError};
pub use directories::{
    CompletePath, Completion, Directory, DirectoryChange, DirectoryRemoved, DirectoryToggled,
    NewDirectory, Toggle,
};
pub use error::{ErrorCode, ErrorInfo};
pub use expansion::{ExpandRequest, Expansion, Preview, PreviewRequest, Rendered};
pub use export::{Export, ExportedPrompt};
pub use history::{
    ChangeEvent, ChangeKind, DiffLine, DiffOp, Revision, RevisionDiff, RevisionKind, RevisionList,
    RevisionText,
};
pub use labels::{Label, LabelList, Restore, SetLabel, Undelete};
pub use lint::{Finding, FindingCode, LintReport, Severity};
pub use patch::PatchOp;
pub use rest::{
    Deleted, Dependency, DirectoryInfo, Document, DocumentChange, Existence, NewDocument,
    Reference, Reloaded, Rename, Renamed, Suggestion,
};
pub use server::{
    Conflict, DependencyChanged, ErrorMessage, Expanded, History, IdChanged, Initial,
    MetadataUpdated, Patched, Presence, PresenceList, ServerMessage, Span, UpdateReason,
    UpdateStatus, Updated, Welcome,
};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The name of the extended protocol, in `initial` and in `hello`.
pub const PROTOCOL: &str = "oxikit.prompts";
/// The version of the extended protocol.
pub const VERSION: u32 = 1;
/// The parts of the extended protocol that this version has.
pub const FEATURES: &[&str] = &[
    "base_rev",
    "op",
    "on_conflict",
    "patch",
    "presence",
    "dependency_changed",
    "renamed",
    "history",
    "restore",
];

/// Segments of REST paths that cannot be ids of new documents. A file with such a name is read by
/// `GET /api/prompts/document?id=`.
pub const RESERVED_IDS: &[&str] = &[
    "all",
    "changes",
    "check_exists",
    "debug",
    "diff",
    "directories",
    "document",
    "expand",
    "export",
    "filesystem",
    "fragments",
    "history",
    "labels",
    "lint",
    "openapi.json",
    "preview",
    "referenced_by",
    "reload",
    "rename",
    "render",
    "restore",
    "search_suggestions",
    "templates",
    "undelete",
    "ws",
];

/// Whether an id is the name of a REST path, without regard to case, or begins with one as a
/// folder.
///
/// ```
/// use oxikit_wire::prompts::is_reserved;
///
/// assert!(is_reserved("all"));
/// assert!(is_reserved("Fragments/greeting"));
/// assert!(!is_reserved("allow"));
/// ```
pub fn is_reserved(id: &str) -> bool {
    let first = id.split('/').next().unwrap_or(id);
    RESERVED_IDS.iter().any(|reserved| reserved.eq_ignore_ascii_case(first))
}

/// The use of a prompt. Fragments have none.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum PromptType {
    /// A prompt of no particular use.
    #[default]
    Standard,
    /// A prompt that includes others by `[[name]]`.
    Composite,
    /// Instructions to the model.
    System,
    /// The words of a user.
    User,
    /// Anything else.
    Custom,
}

/// What a document is.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum DocumentKind {
    /// A prompt.
    Prompt,
    /// A text that prompts include.
    Fragment,
}

/// The extended protocol as a peer knows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Protocol {
    /// Its name, [`PROTOCOL`].
    pub name: String,
    /// Its version, [`VERSION`].
    #[serde(deserialize_with = "crate::number::integer")]
    pub version: u32,
    /// Its parts, see [`FEATURES`].
    #[serde(default, deserialize_with = "crate::absent::null_is_default")]
    pub features: Vec<String>,
}

impl Protocol {
    /// The protocol of this crate.
    ///
    /// ```
    /// use oxikit_wire::prompts::Protocol;
    ///
    /// assert_eq!(Protocol::current().name, "oxikit.prompts");
    /// ```
    pub fn current() -> Self {
        Self { name: PROTOCOL.to_owned(), version: VERSION, features: features() }
    }
}

/// [`FEATURES`] as owned texts.
pub fn features() -> Vec<String> {
    FEATURES.iter().map(|feature| (*feature).to_owned()).collect()
}
