//! What callers ask the library for, and what it answers. These types hold values only.

use std::collections::BTreeSet;
use std::sync::Arc;

use oxikit_core::ports::Revision;
use oxikit_dotprompt::Rendered;
pub use oxikit_wire::prompts::OnConflict;

use crate::document::{Document, Kind};
use crate::expand::Expansion;
use crate::source::MetadataChange;
use crate::text::{Conflict, Op, Patch};

/// A change of a document's content, its metadata, or both.
///
/// ```
/// use oxikit_prompts::{Base, Submission};
///
/// let mut submission = Submission::content("Tell a short joke.").with_base(Base::Rev(3));
/// submission.op = Some("3f1c".to_owned());
/// submission.author = Some("Ada".to_owned());
/// ```
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Submission {
    /// The new content; `None` if only metadata change.
    pub content: Option<Content>,
    /// The new metadata. Absent members change nothing.
    pub metadata: MetadataChange,
    /// The content that the author has changed.
    pub base: Base,
    /// A text that is unique to this submission. A second submission with the same text on the
    /// same document within 24 hours is answered like the first and changes nothing.
    pub op: Option<String>,
    /// What happens if somebody else has changed the same place.
    pub on_conflict: OnConflict,
    /// The author in the history.
    pub author: Option<String>,
    /// The revision that the document must have, as of `If-Match`. Otherwise the submission is
    /// refused.
    pub expected_rev: Option<u64>,
}

impl Submission {
    /// Replaces the content.
    pub fn content(content: impl Into<String>) -> Self {
        Self { content: Some(Content::Whole(content.into())), ..Self::default() }
    }

    /// Changes parts of the content of a revision.
    pub fn patch(base_rev: u64, patch: Patch) -> Self {
        Self { content: Some(Content::Patch(patch)), base: Base::Rev(base_rev), ..Self::default() }
    }

    /// Changes only metadata.
    pub fn metadata(metadata: MetadataChange) -> Self {
        Self { metadata, ..Self::default() }
    }

    /// Sets the content that the author has changed.
    #[must_use]
    pub fn with_base(self, base: Base) -> Self {
        Self { base, ..self }
    }

    /// Sets the author.
    #[must_use]
    pub fn with_author(self, author: impl Into<String>) -> Self {
        Self { author: Some(author.into()), ..self }
    }

    /// Sets the text that makes a retry safe.
    #[must_use]
    pub fn with_op(self, op: impl Into<String>) -> Self {
        Self { op: Some(op.into()), ..self }
    }
}

/// The new content of a [`Submission`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// The whole content.
    Whole(String),
    /// Steps over the content of the base, which has to be [`Base::Rev`].
    Patch(Patch),
}

impl Content {
    /// Length of the texts in bytes.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Whole(content) => content.len(),
            Self::Patch(patch) => patch
                .0
                .iter()
                .map(|op| if let Op::Insert(text) = op { text.len() } else { 16 })
                .sum(),
        }
    }
}

/// The content that the author of a [`Submission`] has changed. Changes by others since then are
/// merged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Base {
    /// The current one: the submission replaces it.
    #[default]
    Replace,
    /// That of a revision.
    Rev(u64),
    /// The one of these, the oldest first, that differs least from the submission.
    Inferred(Vec<Arc<str>>),
}

/// The answer to a [`Submission`] that was stored.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Submitted {
    /// The document's revision with the submission.
    pub rev: u64,
    /// Hash of the whole text of that revision.
    pub hash: String,
    /// Whether its content differs from the submitted one, because others have changed it too.
    pub merged: bool,
    /// Places that both have changed. The submitted text is in the document.
    pub conflicts: Vec<Conflict>,
    /// When it was stored, in milliseconds since 1970.
    pub at: i64,
}

/// A document to be made.
///
/// ```
/// use oxikit_prompts::{Kind, NewDocument};
///
/// let mut new = NewDocument::new("tone", "Be kind.");
/// new.kind = Kind::Fragment;
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct NewDocument {
    /// The id: the path of the file without extension. Spaces become `_`. With the extension
    /// `.prompt` it becomes a Dotprompt file, otherwise a Markdown file.
    pub id: String,
    /// The content.
    pub content: String,
    /// The path, name or key of a registered directory. Default: the first that is enabled.
    pub directory: Option<String>,
    /// Prompt or fragment. A fragment without a folder is put into the folder `fragments`.
    pub kind: Kind,
    /// Description, tags and type.
    pub metadata: MetadataChange,
    /// The author in the history.
    pub author: Option<String>,
}

impl NewDocument {
    /// A prompt in the first directory.
    pub fn new(id: impl Into<String>, content: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            content: content.into(),
            directory: None,
            kind: Kind::Prompt,
            metadata: MetadataChange::default(),
            author: None,
        }
    }
}

/// A document that was made.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Created {
    /// The document.
    pub document: Arc<Document>,
    /// How the id differs from the one that was asked for, for people; `None` if it does not.
    pub sanitized_message: Option<String>,
}

/// Another id for a document.
///
/// ```
/// use oxikit_prompts::Rename;
///
/// let mut rename = Rename::new("joke", "jokes/short");
/// rename.updates_references = true;
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Rename {
    /// The document.
    pub old_id: String,
    /// Its kind; `None` if it may be any.
    pub kind: Option<Kind>,
    /// The new id: the path of the file below its directory, without extension. Without a folder
    /// the file stays in its folder. Spaces become `_`.
    pub new_id: String,
    /// A new content, which replaces the current one.
    pub content: Option<String>,
    /// New metadata. Absent members change nothing.
    pub metadata: MetadataChange,
    /// Whether `[[old]]` in other documents becomes `[[new]]`, in all of them or in none.
    pub updates_references: bool,
    /// The author in the history.
    pub author: Option<String>,
}

impl Rename {
    /// A rename that changes nothing else.
    pub fn new(old_id: impl Into<String>, new_id: impl Into<String>) -> Self {
        Self {
            old_id: old_id.into(),
            kind: None,
            new_id: new_id.into(),
            content: None,
            metadata: MetadataChange::default(),
            updates_references: false,
            author: None,
        }
    }
}

/// A document that got another id.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Renamed {
    /// The document with its new id.
    pub document: Arc<Document>,
    /// The id before.
    pub old_id: String,
    /// The ids of the documents whose inclusions were changed.
    pub updated: Vec<String>,
    /// How the id differs from the one that was asked for, for people; `None` if it does not.
    pub sanitized_message: Option<String>,
}

/// Names a revision of a document.
///
/// ```
/// use oxikit_prompts::RevisionName;
///
/// assert_eq!(RevisionName::parse("12"), RevisionName::Number(12));
/// assert_eq!(RevisionName::parse("production"), RevisionName::Label("production".to_owned()));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RevisionName {
    /// By its number.
    Number(u64),
    /// By a label.
    Label(String),
}

impl RevisionName {
    /// Reads a text: digits are a number, anything else is a label.
    pub fn parse(text: &str) -> Self {
        let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        match text.parse() {
            Ok(number) if is_number => Self::Number(number),
            _ => Self::Label(text.to_owned()),
        }
    }
}

impl std::fmt::Display for RevisionName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Label(label) => f.write_str(label),
        }
    }
}

/// A revision of a document with its text.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct PastRevision {
    /// The revision as stored.
    pub revision: Revision,
    /// Its content without front matter, as clients edit it; `None` for a deletion.
    pub content: Option<String>,
}

/// A name that a document includes by `[[name]]`.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Reference {
    /// The name as it is written, without a revision behind `@`.
    pub name: String,
    /// The document that it means now; `None` if there is none.
    pub document: Option<Arc<Document>>,
}

/// A document as a model would get it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Preview {
    /// The document.
    pub document: Arc<Document>,
    /// The content with the included documents in place.
    pub expansion: Expansion,
    /// The messages and settings, or why the template cannot be rendered.
    pub rendered: Result<Rendered, oxikit_dotprompt::Error>,
    /// The variables that the template looks up, as far as they are known without rendering.
    pub variables: BTreeSet<String>,
}

/// A file that cannot be served.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// The key of the directory and the path below it; only the key if the directory itself cannot
    /// be read.
    pub key: String,
    /// What is wrong, and what to do.
    pub message: String,
}
