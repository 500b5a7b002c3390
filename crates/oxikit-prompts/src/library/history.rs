//! The history of documents, and labels of revisions.

use std::collections::BTreeMap;
use std::sync::Arc;

use oxikit_core::ports::{Revision, RevisionInfo};
use oxikit_wire::prompts::ChangeKind;

use crate::Prompts;
use crate::document::{Document, Kind};
use crate::error::PromptsError;
use crate::requests::{PastRevision, RevisionName};
use crate::task::Place;
use crate::text::{DiffLine, diff};

/// Maximum number of revisions of one answer.
const MAX_REVISIONS: usize = 1000;
/// Maximum length of a label in bytes.
const MAX_LABEL: usize = 64;

impl Prompts {
    /// Up to `limit` revisions, the newest first; with `before` only those with smaller numbers. Also
    /// of a deleted document. At most 1,000 are returned.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use std::sync::Arc;
    /// # use oxikit_core::ports::memory::MemoryRevisions;
    /// # use oxikit_prompts::{NewDocument, Prompts, PromptsOptions, Submission};
    /// # let folder = tempfile::tempdir()?;
    /// # let options = PromptsOptions::new([folder.path()]);
    /// # let prompts = Prompts::open(options, Arc::new(MemoryRevisions::default())).await?;
    /// prompts.create(NewDocument::new("joke", "Tell a joke.")).await?;
    /// prompts.submit("joke", None, Submission::content("Tell two jokes.").with_author("Ada")).await?;
    /// let history = prompts.history("joke", None, None, 50).await?;
    /// assert_eq!((history[0].number, history[0].author.as_str()), (2, "Ada"));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// [`NotFound`](PromptsError::NotFound), or if the history cannot be read.
    pub async fn history(
        &self,
        id: &str,
        kind: Option<Kind>,
        before: Option<u64>,
        limit: usize,
    ) -> Result<Vec<RevisionInfo>, PromptsError> {
        let key = self.key_of(id, kind)?;
        Ok(self.state.store.log(&key, before, limit.min(MAX_REVISIONS)).await?)
    }

    /// A revision with its text. Also of a deleted document.
    ///
    /// # Errors
    ///
    /// [`NoRevision`](PromptsError::NoRevision) if there is none with this number or label.
    pub async fn revision(
        &self,
        id: &str,
        kind: Option<Kind>,
        revision: &RevisionName,
    ) -> Result<PastRevision, PromptsError> {
        let key = self.key_of(id, kind)?;
        let found = self.revision_of(&key, id, revision).await?;
        let place = Place::of(&key, &self.state.registry())?;
        let content = found.text.as_deref().map(|text| place.source(text).content().to_owned());
        Ok(PastRevision { revision: found, content })
    }

    /// The document as it was at a revision.
    ///
    /// # Errors
    ///
    /// [`NoRevision`](PromptsError::NoRevision) if there is none with this number or label, or it
    /// has no text.
    pub async fn document_at(
        &self,
        id: &str,
        kind: Option<Kind>,
        revision: &RevisionName,
    ) -> Result<Arc<Document>, PromptsError> {
        let current = self.find(id, kind)?;
        let Revision { info, text } = self.revision_of(&current.key, id, revision).await?;
        let missing =
            || PromptsError::NoRevision { id: id.to_owned(), revision: revision.to_string() };
        let text = text.ok_or_else(missing)?;
        let place = Place::of(&current.key, &self.state.registry())?;
        let mut document = place.document(place.source(&text), &info, current.created_at);
        document.id.clone_from(&current.id);
        Ok(Arc::new(document))
    }

    /// The lines in which the texts of two revisions differ. A deletion has the empty text.
    ///
    /// # Errors
    ///
    /// [`NoRevision`](PromptsError::NoRevision) if one of them does not exist.
    pub async fn diff(
        &self,
        id: &str,
        kind: Option<Kind>,
        from: &RevisionName,
        to: &RevisionName,
    ) -> Result<Vec<DiffLine>, PromptsError> {
        let key = self.key_of(id, kind)?;
        let from = self.revision_of(&key, id, from).await?.text.unwrap_or_default();
        let to = self.revision_of(&key, id, to).await?.text.unwrap_or_default();
        // Large texts would keep the other work of this thread waiting.
        let lines = tokio::task::spawn_blocking(move || diff(&from, &to)).await;
        lines.map_err(|_| PromptsError::Closed)
    }

    /// The labels of a document, each with the number of its revision.
    ///
    /// # Errors
    ///
    /// [`NotFound`](PromptsError::NotFound), or if the labels cannot be read.
    pub async fn labels(
        &self,
        id: &str,
        kind: Option<Kind>,
    ) -> Result<BTreeMap<String, u64>, PromptsError> {
        let key = self.key_of(id, kind)?;
        Ok(self.state.store.labels(&key).await?)
    }

    /// Sets a label to a revision, or removes it. A label has up to 64 letters, digits, `-`, `_` and
    /// `.`, and begins with a letter.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use std::sync::Arc;
    /// # use oxikit_core::ports::memory::MemoryRevisions;
    /// # use oxikit_prompts::{NewDocument, Prompts, PromptsOptions, RevisionName, Submission};
    /// # let folder = tempfile::tempdir()?;
    /// # let options = PromptsOptions::new([folder.path()]);
    /// # let prompts = Prompts::open(options, Arc::new(MemoryRevisions::default())).await?;
    /// prompts.create(NewDocument::new("joke", "Tell a joke.")).await?;
    /// prompts.set_label("joke", None, "production", Some(1)).await?;
    /// prompts.submit("joke", None, Submission::content("An experiment.")).await?;
    /// let production = RevisionName::parse("production");
    /// let document = prompts.document_at("joke", None, &production).await?;
    /// assert_eq!(document.content(), "Tell a joke.");
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// [`NoRevision`](PromptsError::NoRevision) if there is no such revision or it has no text,
    /// [`Invalid`](PromptsError::Invalid) if the label is not valid.
    pub async fn set_label(
        &self,
        id: &str,
        kind: Option<Kind>,
        label: &str,
        rev: Option<u64>,
    ) -> Result<(), PromptsError> {
        check_label(label)?;
        if self.state.options.is_read_only {
            return Err(PromptsError::ReadOnly);
        }
        let document = self.find(id, kind)?;
        if let Some(rev) = rev {
            let revision = self.revision_of(&document.key, id, &RevisionName::Number(rev)).await?;
            if revision.text.is_none() {
                return Err(PromptsError::NoRevision {
                    id: id.to_owned(),
                    revision: rev.to_string(),
                });
            }
        }
        self.state.store.set_label(&document.key, label, rev).await?;
        self.state.changes.report(ChangeKind::Labelled, &document);
        Ok(())
    }

    /// A revision of a document by its key. `id` is for the error.
    pub(super) async fn revision_of(
        &self,
        key: &str,
        id: &str,
        revision: &RevisionName,
    ) -> Result<Revision, PromptsError> {
        let missing =
            || PromptsError::NoRevision { id: id.to_owned(), revision: revision.to_string() };
        self.state.revision(key, revision).await?.ok_or_else(missing)
    }
}

fn check_label(label: &str) -> Result<(), PromptsError> {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let begins = label.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic());
    if begins && label.len() <= MAX_LABEL && label.bytes().all(is_allowed) {
        return Ok(());
    }
    Err(PromptsError::Invalid(
        "a label has up to 64 letters, digits, `-`, `_` and `.`, and begins with a letter"
            .to_owned(),
    ))
}
