//! The store for the revision logs of texts that people edit, such as prompt files.
//!
//! It keeps every version of a text and the order in which they came. It does not merge texts and
//! does not write files: the caller decides what a revision contains.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use async_trait::async_trait;
use sha2::{Digest, Sha256};

use super::{Notifier, StoreError, Topic};
use crate::timestamp;

/// Maximum length in bytes of the name of a document, of a label and of an `op`. Longer ones are
/// refused with [`StoreError::Invalid`].
pub const MAX_REVISION_NAME_BYTES: usize = 1024;

/// Keeps documents, each as a numbered log of revisions that is only appended to.
///
/// A revision is a version of the whole text of a document. Its *number* is 1 for the first one
/// of a log and grows by one, without gaps, in every process and after every restart. Some
/// revisions are *applied*: the newest applied one is the document's current text. The others
/// only keep what somebody has sent, such as a text that was merged or refused. A current
/// revision without a text says that the document is deleted; its log stays.
///
/// Revisions are people's work. A write is answered when it is durable, and nothing is ever
/// removed. A store that does not promise this says so in its name and documentation. Each write
/// is one transaction, and names the newest number that its caller has seen, so that of two
/// writers at the same time one wins and the other gets [`Conflict`](StoreError::Conflict).
///
/// The store owns numbers, times and hashes. The name of a document may be any text of up to
/// [`MAX_REVISION_NAME_BYTES`]. After each commit the store publishes [`revision_topic`] of the
/// document and [`all_revisions_topic`] by its [`notifier`](Self::notifier).
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// use oxikit_core::ports::memory::MemoryRevisions;
/// use oxikit_core::ports::{NewRevision, RevisionKind, RevisionStore, StoreError};
///
/// let store = MemoryRevisions::default();
/// let edit = |parent, text: &str| NewRevision {
///     parent,
///     kind: RevisionKind::Edit,
///     author: "ada".to_owned(),
///     text: Some(text.into()),
///     is_applied: true,
///     op: None,
///     outcome: None,
/// };
/// let written = store.append("prompts/joke.md", 0, vec![edit(0, "Tell a joke.")]).await?;
/// assert_eq!(written[0].number, 1);
/// store.append("prompts/joke.md", 1, vec![edit(1, "Tell a short joke.")]).await?;
///
/// // Another writer that has seen only revision 1 has to read and merge first.
/// let late = store.append("prompts/joke.md", 1, vec![edit(1, "Tell two jokes.")]).await;
/// assert!(matches!(late, Err(StoreError::Conflict(_))));
/// let (newest, current) = store.head("prompts/joke.md").await?.unwrap();
/// assert_eq!((newest, &*current.text.unwrap()), (2, "Tell a short joke."));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[async_trait]
pub trait RevisionStore: fmt::Debug + Send + Sync {
    /// Appends revisions to the log of a document, all or none, with the numbers after
    /// `expected`. Returns them without their texts, in the same order.
    ///
    /// `expected` is the newest number of the log; 0 means that there is no log, and begins one.
    /// The first append to a document has at least one applied revision.
    ///
    /// # Errors
    ///
    /// [`Conflict`](StoreError::Conflict) if the newest number is another one,
    /// [`Invalid`](StoreError::Invalid) if there are no revisions, the first ones have no applied
    /// one among them, a parent is not an earlier revision, or a name is too long; others if the
    /// store does not work. After [`Unavailable`](StoreError::Unavailable) the revisions may be
    /// stored or not: [`find_op`](Self::find_op) tells.
    async fn append(
        &self,
        document: &str,
        expected: u64,
        revisions: Vec<NewRevision>,
    ) -> Result<Vec<RevisionInfo>, StoreError>;

    /// The newest number of a document's log, and the newest applied revision with its text.
    /// `None` if there is no log.
    ///
    /// # Errors
    ///
    /// If the revision cannot be read, or the store does not work.
    async fn head(&self, document: &str) -> Result<Option<(u64, Revision)>, StoreError>;

    /// The revision of this number with its text; `None` if there is none.
    ///
    /// # Errors
    ///
    /// If the revision cannot be read, or the store does not work.
    async fn revision(&self, document: &str, number: u64) -> Result<Option<Revision>, StoreError>;

    /// Up to `limit` revisions of a document without their texts, the newest first; with
    /// `before` only those with smaller numbers. Empty if there is no log.
    ///
    /// # Errors
    ///
    /// If the log cannot be read, or the store does not work.
    async fn log(
        &self,
        document: &str,
        before: Option<u64>,
        limit: usize,
    ) -> Result<Vec<RevisionInfo>, StoreError>;

    /// The newest revision of a document that carries this `op`, if its time is not before
    /// `since`, in milliseconds since 1970.
    ///
    /// # Errors
    ///
    /// If the log cannot be read, or the store does not work.
    async fn find_op(
        &self,
        document: &str,
        op: &str,
        since: i64,
    ) -> Result<Option<RevisionInfo>, StoreError>;

    /// All documents that have a log, also deleted ones, in the order of their names' bytes.
    ///
    /// # Errors
    ///
    /// If the store does not work. In a damaged store, documents that cannot be read are left
    /// out; [`head`](Self::head) of such a document is an error.
    async fn documents(&self) -> Result<Vec<DocumentHead>, StoreError>;

    /// Moves a log and its labels to another name, and appends `revision`, all or nothing. Then
    /// the old name has no log, and a new one may begin there.
    ///
    /// # Errors
    ///
    /// [`NotFound`](StoreError::NotFound) if `from` has no log, [`Conflict`](StoreError::Conflict)
    /// if its newest number is not `expected`, [`Exists`](StoreError::Exists) if `to` has a log,
    /// also if that document is deleted, or is the same name;
    /// [`Invalid`](StoreError::Invalid) as for [`append`](Self::append).
    async fn rename(
        &self,
        from: &str,
        to: &str,
        expected: u64,
        revision: NewRevision,
    ) -> Result<RevisionInfo, StoreError>;

    /// Sets a label of a document to the revision of this number, or removes the label. Removing
    /// a label that is not there does nothing.
    ///
    /// # Errors
    ///
    /// [`NotFound`](StoreError::NotFound) if there is no such revision,
    /// [`Invalid`](StoreError::Invalid) if the label is too long; others if the store does not
    /// work.
    async fn set_label(
        &self,
        document: &str,
        label: &str,
        number: Option<u64>,
    ) -> Result<(), StoreError>;

    /// The labels of a document, each with the number of its revision.
    ///
    /// # Errors
    ///
    /// If the labels cannot be read, or the store does not work.
    async fn labels(&self, document: &str) -> Result<BTreeMap<String, u64>, StoreError>;

    /// Notifies of changes by this process and, if the store is shared, by others. It works as
    /// long as the store is open. A subscriber reads the store after every notification,
    /// [`Changed`](super::Notification::Changed) or [`Lagged`](super::Notification::Lagged).
    fn notifier(&self) -> &dyn Notifier;
}

/// A revision without its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RevisionInfo {
    /// Its number in the log, from 1 on.
    pub number: u64,
    /// The number of the revision that it was made from; 0 if there is none.
    pub parent: u64,
    /// How it was made.
    pub kind: RevisionKind,
    /// A label of the author, such as a name. May be empty.
    pub author: String,
    /// When the store took it, in milliseconds since 1970. The order of revisions is that of
    /// their numbers: clocks may be set back.
    pub at: i64,
    /// [`text_hash`] of the text; empty if the revision has none.
    pub hash: String,
    /// Length of the text in bytes.
    pub bytes: u64,
    /// Whether it became the current text of the document.
    pub is_applied: bool,
    /// A unique text by which a client finds again what it has sent.
    pub op: Option<String>,
    /// The answer to `op`, as JSON.
    pub outcome: Option<String>,
}

impl RevisionInfo {
    /// Whether the revision has no text, because it deletes the document. An empty text has a
    /// hash.
    pub fn is_deletion(&self) -> bool {
        self.hash.is_empty()
    }
}

/// A revision with its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Revision {
    /// What is known about it.
    pub info: RevisionInfo,
    /// The whole text; `None` if the revision deletes the document.
    pub text: Option<Arc<str>>,
}

/// A revision to be appended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRevision {
    /// The number of the revision that it was made from; 0 if there is none.
    pub parent: u64,
    /// How it was made.
    pub kind: RevisionKind,
    /// A label of the author, such as a name. May be empty.
    pub author: String,
    /// The whole text; `None` if the revision deletes the document.
    pub text: Option<Arc<str>>,
    /// Whether it becomes the current text of the document.
    pub is_applied: bool,
    /// A unique text by which a client finds again what it has sent.
    pub op: Option<String>,
    /// The answer to `op`, as JSON.
    pub outcome: Option<String>,
}

impl NewRevision {
    /// Gives the revisions of one append their numbers after `expected`, the current time and
    /// their hashes. Implementations of [`RevisionStore`] call this before they write.
    ///
    /// # Errors
    ///
    /// [`Invalid`](StoreError::Invalid) as [`RevisionStore::append`] says.
    pub fn number_all(expected: u64, revisions: Vec<Self>) -> Result<Vec<Revision>, StoreError> {
        if revisions.is_empty() {
            return Err(StoreError::Invalid("an append without revisions"));
        }
        if expected == 0 && !revisions.iter().any(|revision| revision.is_applied) {
            return Err(StoreError::Invalid("a new log without an applied revision"));
        }
        let at = timestamp::now_millis();
        let number = |place: u64| expected.saturating_add(1).saturating_add(place);
        (0..).zip(revisions).map(|(place, revision)| revision.number(number(place), at)).collect()
    }

    /// The revision with its number, time and hash.
    fn number(self, number: u64, at: i64) -> Result<Revision, StoreError> {
        let Self { parent, kind, author, text, is_applied, op, outcome } = self;
        if parent >= number {
            return Err(StoreError::Invalid("a parent that is not an earlier revision"));
        }
        if op.as_ref().is_some_and(|op| op.len() > MAX_REVISION_NAME_BYTES) {
            return Err(StoreError::Invalid("an `op` of more than 1,024 bytes"));
        }
        let hash = text.as_deref().map(text_hash).unwrap_or_default();
        let bytes = text.as_ref().map_or(0, |text| text.len() as u64);
        let info =
            RevisionInfo { number, parent, kind, author, at, hash, bytes, is_applied, op, outcome };
        Ok(Revision { info, text })
    }
}

/// Refuses the name of a document or a label that is longer than [`MAX_REVISION_NAME_BYTES`].
/// Implementations of [`RevisionStore`] call this before they write.
///
/// # Errors
///
/// [`Invalid`](StoreError::Invalid) if the name is too long.
pub fn check_revision_name(name: &str) -> Result<(), StoreError> {
    if name.len() > MAX_REVISION_NAME_BYTES {
        return Err(StoreError::Invalid("a name of more than 1,024 bytes"));
    }
    Ok(())
}

/// How a revision was made.
///
/// ```
/// use oxikit_core::ports::RevisionKind;
///
/// assert_eq!(RevisionKind::External.as_str(), "external");
/// assert_eq!("external".parse(), Ok(RevisionKind::External));
/// assert!("copy".parse::<RevisionKind>().is_err());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RevisionKind {
    /// Somebody has changed the text.
    Edit,
    /// The store's text and a text that was sent were merged.
    Merge,
    /// The file was changed by another program, such as an editor or git.
    External,
    /// Description, tags or type were changed.
    Metadata,
    /// The document got another name.
    Rename,
    /// An earlier text became the current one again.
    Restore,
    /// The document was deleted.
    Delete,
    /// A text that was sent and not applied.
    Refused,
}

impl RevisionKind {
    /// All kinds.
    pub const ALL: [Self; 8] = [
        Self::Edit,
        Self::Merge,
        Self::External,
        Self::Metadata,
        Self::Rename,
        Self::Restore,
        Self::Delete,
        Self::Refused,
    ];

    /// The name in protocols and databases, such as `edit`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Edit => "edit",
            Self::Merge => "merge",
            Self::External => "external",
            Self::Metadata => "metadata",
            Self::Rename => "rename",
            Self::Restore => "restore",
            Self::Delete => "delete",
            Self::Refused => "refused",
        }
    }
}

impl fmt::Display for RevisionKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for RevisionKind {
    type Err = UnknownRevisionKind;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let kind = Self::ALL.into_iter().find(|kind| kind.as_str() == text);
        kind.ok_or_else(|| UnknownRevisionKind(text.to_owned()))
    }
}

/// The error of a text that is not a [`RevisionKind`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a kind of revision")]
pub struct UnknownRevisionKind(pub String);

/// A document of a [`RevisionStore`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentHead {
    /// Its name.
    pub document: String,
    /// The newest number of its log.
    pub newest: u64,
    /// The newest applied revision.
    pub current: RevisionInfo,
}

/// The hash of a text: the first 16 bytes of its SHA-256, as 32 hexadecimal digits.
///
/// ```
/// use oxikit_core::ports::text_hash;
///
/// assert_eq!(text_hash("Tell a joke."), "126b108c1b2b007434cccb6cf88b215c");
/// assert_ne!(text_hash("Tell a joke."), text_hash("Tell a joke.\n"));
/// ```
pub fn text_hash(text: &str) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let hash = Sha256::digest(text);
    let digits =
        |byte: &u8| [byte >> 4, byte & 0xf].map(|digit| DIGITS[usize::from(digit)] as char);
    hash.iter().take(16).flat_map(digits).collect()
}

/// The topic of changes of a document's log or labels.
///
/// ```
/// use oxikit_core::ports::{all_revisions_topic, revision_topic};
///
/// assert_eq!(revision_topic("prompts/joke.md"), revision_topic("prompts/joke.md"));
/// assert_ne!(revision_topic(""), all_revisions_topic());
/// ```
pub fn revision_topic(document: &str) -> Topic {
    Topic::of(&["revisions", document])
}

/// The topic of changes of any document.
pub fn all_revisions_topic() -> Topic {
    Topic::of(&["revisions"])
}
