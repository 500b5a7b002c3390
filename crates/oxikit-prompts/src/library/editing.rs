//! Making, changing, deleting and restoring documents.

use std::sync::Arc;

use crate::Prompts;
use crate::directories::Directory;
use crate::document::{Document, Kind};
use crate::error::PromptsError;
use crate::files::blocking;
use crate::names::new_path;
use crate::requests::{Content, Created, NewDocument, RevisionName, Submission, Submitted};
use crate::task::{Place, Wanted};

/// Maximum length of an `op` in bytes. Longer ones are refused.
const MAX_OP: usize = 200;

impl Prompts {
    /// Makes a document and its file.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use std::sync::Arc;
    /// # use oxikit_core::ports::memory::MemoryRevisions;
    /// # use oxikit_prompts::{NewDocument, Prompts, PromptsOptions};
    /// # let folder = tempfile::tempdir()?;
    /// # let options = PromptsOptions::new([folder.path()]);
    /// # let prompts = Prompts::open(options, Arc::new(MemoryRevisions::default())).await?;
    /// let created = prompts.create(NewDocument::new("my joke", "Tell a joke.")).await?;
    /// assert_eq!(created.document.id, "my_joke");
    /// assert!(created.sanitized_message.is_some());
    /// assert!(folder.path().join("my_joke.md").is_file());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// [`Exists`](PromptsError::Exists), [`Reserved`](PromptsError::Reserved),
    /// [`NoDirectory`](PromptsError::NoDirectory), or [`Invalid`](PromptsError::Invalid) if the id
    /// cannot be the name of a file; others if it cannot be stored.
    pub async fn create(&self, new: NewDocument) -> Result<Created, PromptsError> {
        if self.state.options.is_read_only {
            return Err(PromptsError::ReadOnly);
        }
        self.check_size(new.content.len())?;
        let path = new_path(&new.id, new.kind)?;
        let directory = self.directory_for(new.directory.as_deref())?;
        let place = Place::new(directory, &path.path);
        if self.index().has_id(&path.id, new.kind) {
            return Err(PromptsError::Exists(path.id));
        }
        self.check_place(&place, &path.id).await?;
        let mut metadata = new.metadata;
        if new.kind == Kind::Fragment {
            metadata.prompt_type = None;
        }
        let source = place.source("").with_content(&new.content).with_metadata(&metadata);
        let source = source.map_err(|error| PromptsError::Invalid(error.to_string()))?;
        let author = new.author.as_deref();
        let created = self.tasks.change(&place.key, Wanted::Create(source), author, None).await;
        match created {
            Err(PromptsError::Exists(_)) => return Err(PromptsError::Exists(path.id)),
            created => created?,
        };
        let document = self.document(&place.key)?;
        Ok(Created { document, sanitized_message: path.message })
    }

    /// Changes a document. The submission is in the history when this returns, also if it is
    /// refused; one that is larger than the limit is not.
    ///
    /// # Errors
    ///
    /// [`Conflict`](PromptsError::Conflict) and [`Changed`](PromptsError::Changed) if the submission
    /// asked for it; [`NotFound`](PromptsError::NotFound) and the others if it is refused or cannot
    /// be stored.
    pub async fn submit(
        &self,
        id: &str,
        kind: Option<Kind>,
        submission: Submission,
    ) -> Result<Submitted, PromptsError> {
        let key = self.key_of(id, kind)?;
        self.check_size(submission.content.as_ref().map_or(0, Content::bytes))?;
        let op = submission.op.clone();
        check_op(op.as_deref())?;
        let author = submission.author.clone();
        self.tasks.change(&key, Wanted::Submit(submission), author.as_deref(), op).await
    }

    /// Waits until the file of a document has its newest text. What members change is in the history
    /// when it is acknowledged, and in the file a moment later; all other changes are in the file
    /// when they return.
    ///
    /// # Errors
    ///
    /// If there is no such document, or its file cannot be read or written.
    pub async fn saved(&self, id: &str, kind: Option<Kind>) -> Result<Arc<Document>, PromptsError> {
        let key = self.find(id, kind)?.key.clone();
        let document = self.tasks.check(&key).await?;
        let document = document.ok_or_else(|| PromptsError::not_found(id, kind))?;
        match &document.problem {
            Some(problem) => Err(PromptsError::File(problem.clone())),
            None => Ok(document),
        }
    }

    /// Deletes a document and its file. Members are closed with 4004. The history stays, and
    /// [`undelete`](Self::undelete) brings the document back.
    ///
    /// # Errors
    ///
    /// If there is no such document, or the change cannot be stored.
    pub async fn delete(
        &self,
        id: &str,
        kind: Option<Kind>,
        author: Option<&str>,
    ) -> Result<(), PromptsError> {
        let key = self.find(id, kind)?.key.clone();
        self.tasks.change(&key, Wanted::Delete, author, None).await.map(drop)
    }

    /// Brings a deleted document back, with its last text.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # use std::sync::Arc;
    /// # use oxikit_core::ports::memory::MemoryRevisions;
    /// # use oxikit_prompts::{NewDocument, Prompts, PromptsOptions};
    /// # let folder = tempfile::tempdir()?;
    /// # let options = PromptsOptions::new([folder.path()]);
    /// # let prompts = Prompts::open(options, Arc::new(MemoryRevisions::default())).await?;
    /// prompts.create(NewDocument::new("joke", "Tell a joke.")).await?;
    /// prompts.delete("joke", None, None).await?;
    /// assert!(prompts.find("joke", None).is_err());
    /// let document = prompts.undelete("joke", None, Some("Ada")).await?;
    /// assert_eq!((document.content(), document.rev), ("Tell a joke.", 3));
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// [`NotFound`](PromptsError::NotFound) if no document with this id was deleted,
    /// [`Exists`](PromptsError::Exists) if there is a document with this id.
    pub async fn undelete(
        &self,
        id: &str,
        kind: Option<Kind>,
        author: Option<&str>,
    ) -> Result<Arc<Document>, PromptsError> {
        let key = match self.find(id, kind) {
            Ok(_) => return Err(PromptsError::Exists(id.to_owned())),
            Err(error) => {
                let index = self.index();
                index.find_deleted(id, kind).map(|deleted| deleted.key.clone()).ok_or(error)?
            }
        };
        self.tasks.change(&key, Wanted::Undelete, author, None).await?;
        self.document(&key)
    }

    /// Makes an old revision the current one, as a new revision.
    ///
    /// # Errors
    ///
    /// [`NoRevision`](PromptsError::NoRevision) if there is no such revision or it has no text.
    pub async fn restore(
        &self,
        id: &str,
        kind: Option<Kind>,
        revision: &RevisionName,
        author: Option<&str>,
    ) -> Result<Arc<Document>, PromptsError> {
        let key = self.find(id, kind)?.key.clone();
        self.tasks.change(&key, Wanted::Restore(revision.clone()), author, None).await?;
        self.document(&key)
    }

    /// The document of a key after a change.
    pub(super) fn document(&self, key: &str) -> Result<Arc<Document>, PromptsError> {
        let index = self.index();
        index.document(key).cloned().ok_or_else(|| PromptsError::not_found(key, None))
    }

    /// Refuses a place where a file cannot be made.
    pub(super) async fn check_place(&self, place: &Place, id: &str) -> Result<(), PromptsError> {
        let (root, path) = (place.root(), place.path.clone());
        match blocking(move || root.is_taken(&path)).await {
            Ok(false) => Ok(()),
            Ok(true) => Err(PromptsError::Exists(id.to_owned())),
            Err(error) => Err(PromptsError::Invalid(format!(
                "'{id}' cannot be the name of a file here: {error}"
            ))),
        }
    }

    pub(super) fn check_size(&self, bytes: usize) -> Result<(), PromptsError> {
        let max = self.state.options.max_content;
        if bytes > max { Err(PromptsError::TooLarge { bytes, max }) } else { Ok(()) }
    }

    /// The directory of a new document.
    fn directory_for(&self, name: Option<&str>) -> Result<Directory, PromptsError> {
        let registry = self.state.registry();
        let directory = match name.filter(|name| !name.is_empty()) {
            Some(name) => registry.find(name)?,
            None => registry.enabled().next().ok_or_else(|| {
                PromptsError::NoDirectory("that is enabled: register one first".to_owned())
            })?,
        };
        if !directory.enabled {
            return Err(PromptsError::Invalid(format!(
                "the directory `{}` is disabled",
                directory.name
            )));
        }
        Ok(directory.clone())
    }
}

/// Refuses an `op` that cannot be stored.
pub(crate) fn check_op(op: Option<&str>) -> Result<(), PromptsError> {
    match op {
        Some(op) if op.is_empty() || op.len() > MAX_OP => {
            Err(PromptsError::Invalid("`op` has to have 1 to 200 bytes".to_owned()))
        }
        _ => Ok(()),
    }
}
