//! Changes of several documents together: one caller holds all of them and gives each its command.
//!
//! It is used for renaming a document with the references to it. A rename that another process has
//! made is followed here, too.

use std::sync::Arc;

use oxikit_core::ports::{
    NewRevision, Revision, RevisionInfo, RevisionKind, StoreError, revision_topic,
};
use oxikit_core::timestamp::now_millis;
use oxikit_wire::prompts::UpdateReason;
use serde::{Deserialize, Serialize};

use super::commit::reason;
use super::input::{Command, Hold, Reply};
use super::{DocumentTask, Failure, Place};
use crate::document::Document;
use crate::error::PromptsError;
use crate::files::blocking;
use crate::room::{Snapshot, UpToDate};
use crate::source::Source;
use crate::state::State;

/// Number of revisions in which a rename is looked for.
const MAX_SEARCHED: usize = 50;

/// A rename as it is kept beside its revision: enough to finish it after a crash, and to follow it
/// in other processes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MovePlan {
    /// The key before.
    pub(crate) from: String,
    /// The inclusions in other documents that have to be changed.
    #[serde(default)]
    pub(crate) rewrites: Vec<Rewrite>,
}

/// An inclusion in another document that names a renamed one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Rewrite {
    /// The key of the other document.
    pub(crate) key: String,
    /// The name as it is written there.
    pub(crate) old: String,
    /// The name that it has to be.
    pub(crate) new: String,
}

impl MovePlan {
    /// The plan of a revision, if it is a rename.
    pub(crate) fn of(info: &RevisionInfo) -> Option<Self> {
        let json = info.outcome.as_deref().filter(|_| info.kind == RevisionKind::Rename)?;
        serde_json::from_str(json).ok()
    }

    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// The key that a document of the store had before, if it was renamed lately.
    pub(crate) async fn previous_key(
        state: &State,
        key: &str,
    ) -> Result<Option<String>, StoreError> {
        let log = state.store.log(key, None, MAX_SEARCHED).await?;
        Ok(log.iter().find_map(Self::of).map(|plan| plan.from))
    }
}

impl DocumentTask {
    /// Serves one caller alone, until it drops its hold.
    pub(super) async fn hold(&mut self, reply: Reply<Hold>) {
        let document = match self.check().await {
            _ if self.state.options.is_read_only => Err(PromptsError::ReadOnly),
            Ok(document) => document.ok_or_else(|| self.not_found()),
            Err(error) => Err(error),
        };
        let document = document.and_then(|document| match &document.problem {
            Some(problem) => Err(PromptsError::File(problem.clone())),
            None => Ok(document),
        });
        let (hold, mut commands) = match document {
            Ok(document) => Hold::new(document),
            Err(error) => {
                // The caller may have left.
                _ = reply.send(Err(error));
                return;
            }
        };
        // If the caller has left, the channel of its commands is closed.
        _ = reply.send(Ok(hold));
        while let Some(command) = commands.recv().await {
            match command {
                Command::Replace { source, kind, author, reply } => {
                    let replaced = self.replace(source, kind, author).await;
                    _ = reply.send(replaced.map_err(PromptsError::from));
                }
                Command::Move { to, source, author, outcome, reply } => {
                    let moved = self.move_to(to, source, author, outcome).await;
                    _ = reply.send(moved.map_err(PromptsError::from));
                }
            }
        }
    }

    async fn replace(
        &mut self,
        source: Source,
        kind: RevisionKind,
        author: String,
    ) -> Result<Arc<Document>, Failure> {
        let before = self.document().ok_or_else(|| self.not_found())?;
        let revision = new_revision(&before, kind, author, Some(&source), None);
        self.commit(vec![revision], Some(source)).await?;
        self.publish_to_index(Some(&before));
        self.publish_to_room(Some(before), reason(kind), &UpToDate::default());
        self.finish_file().await?;
        if let Some(problem) = self.write_problem() {
            return Err(PromptsError::File(problem.clone()).into());
        }
        Ok(self.document().ok_or_else(|| self.not_found())?)
    }

    /// Moves log and file to another place. After an error nothing has changed.
    async fn move_to(
        &mut self,
        to: Place,
        source: Source,
        author: String,
        outcome: String,
    ) -> Result<Arc<Document>, Failure> {
        let before = self.document().ok_or_else(|| self.not_found())?;
        let exists = || Failure::Error(PromptsError::Exists(to.path.clone()));
        let (root, path) = (to.root(), to.path.clone());
        let is_taken = blocking(move || root.is_taken(&path)).await;
        if is_taken.map_err(|error| PromptsError::File(to.problem(&error)))? {
            return Err(exists());
        }
        self.free_key(&to).await?;
        let revision = new_revision(
            &before,
            RevisionKind::Rename,
            author.clone(),
            Some(&source),
            Some(outcome),
        );
        let newest = self.loaded.as_ref().map_or(0, |loaded| loaded.newest);
        let renamed = self.state.store.rename(&self.place.key, &to.key, newest, revision).await;
        let info = match renamed {
            Err(StoreError::Exists(_)) => return Err(exists()),
            renamed => renamed?,
        };
        if let Err(error) = self.move_file(&to).await {
            let undo =
                new_revision(&before, RevisionKind::Rename, author, Some(&before.source), None);
            let undone =
                self.state.store.rename(&to.key, &self.place.key, info.number, undo).await?;
            self.take_move(&undone, (*before.source).clone()).await;
            return Err(error);
        }
        let from = self.enter(to);
        self.take_move(&info, source).await;
        self.finish_file().await?;
        Ok(self.publish_move(&from, before))
    }

    /// The log of a deleted document at the new place is moved away.
    async fn free_key(&self, to: &Place) -> Result<(), Failure> {
        let Some((newest, Revision { info, text })) = self.state.store.head(&to.key).await? else {
            return Ok(());
        };
        if text.is_some() {
            return Err(PromptsError::Exists(to.path.clone()).into());
        }
        let deletion = NewRevision {
            parent: info.number,
            kind: RevisionKind::Rename,
            author: String::new(),
            text: None,
            is_applied: true,
            op: None,
            outcome: None,
        };
        let away = format!("{}~{}", to.key, now_millis());
        self.state.store.rename(&to.key, &away, newest, deletion).await?;
        Ok(())
    }

    async fn move_file(&self, to: &Place) -> Result<(), Failure> {
        let (root, old, new) = (self.place.root(), self.place.path.clone(), to.path.clone());
        match blocking(move || root.rename(&old, &new)).await {
            Ok(()) => Ok(()),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                Err(PromptsError::Exists(to.path.clone()).into())
            }
            Err(error) => {
                let (old, new) = (&self.place.path, &to.path);
                Err(PromptsError::File(format!("`{old}` cannot be renamed to `{new}`: {error}"))
                    .into())
            }
        }
    }

    /// The task serves another place from now on. Returns the key before.
    fn enter(&mut self, to: Place) -> String {
        let from = std::mem::replace(&mut self.place, to).key;
        let topic = revision_topic(&self.place.key);
        self.subscription = self.state.store.notifier().subscribe(topic);
        self.tasks.move_key(&from, &self.place.key);
        from
    }

    /// Takes over the revision of a rename.
    async fn take_move(&mut self, info: &RevisionInfo, source: Source) {
        let (root, path) = (self.place.root(), self.place.path.clone());
        let stamp = blocking(move || root.stamp(&path)).await.ok().flatten();
        let Some(loaded) = &mut self.loaded else { return };
        (loaded.newest, loaded.rev) = (info.number, info.number);
        let document = self.place.document(source, info, loaded.created_at);
        loaded.set_document(Some(Arc::new(document)));
        // The file has other times now. Its text is compared when it is written.
        loaded.disk.stamp = stamp;
    }

    /// Tells everybody that the document has another key and id.
    fn publish_move(&mut self, from: &str, before: Arc<Document>) -> Arc<Document> {
        let Some(document) = self.document() else { return before };
        let (document, new_ids) = self.state.change_index(|index| {
            let mut new_ids = index.remove(from, None);
            let (document, more) = index.put(Document::clone(&document));
            new_ids.extend(more);
            (document, new_ids)
        });
        if let Some(loaded) = &mut self.loaded {
            loaded.document = Some(document.clone());
        }
        self.publish_ids(&new_ids);
        self.state.changes.report_rename(&before.id, &document);
        if let Some(room) = &mut self.room {
            let snapshot = Snapshot::after(before, document.clone(), UpdateReason::Edit);
            room.announce(snapshot, &UpToDate::default());
            room.renamed(&document.id);
        }
        document
    }

    /// Another process has moved the log: looks for its new name and goes there. Answers whether it
    /// was found.
    pub(super) async fn follow_move(&mut self) -> Result<bool, Failure> {
        let Some(to) = self.moved_to().await? else { return Ok(false) };
        let Some(before) = self.document() else { return Ok(false) };
        self.wait_saved().await;
        if !self.state.options.is_read_only {
            // Where both processes use the same files, the other one has moved it already.
            _ = self.move_file(&to).await;
        }
        let Some((_, Revision { info, text: Some(text) })) = self.state.store.head(&to.key).await?
        else {
            return Ok(false);
        };
        let from = self.enter(to);
        let hash = self.loaded.as_ref().map(|loaded| loaded.disk.hash.clone());
        self.take_move(&info, self.place.source(&text)).await;
        if let (Some(loaded), Some(hash)) = (&mut self.loaded, hash) {
            loaded.disk.hash = hash;
        }
        self.publish_move(&from, before);
        Ok(true)
    }

    async fn moved_to(&self) -> Result<Option<Place>, Failure> {
        let index = self.state.index();
        for head in self.state.store.documents().await? {
            if index.document(&head.document).is_some() {
                continue;
            }
            let previous = MovePlan::previous_key(&self.state, &head.document).await?;
            if previous.as_ref() == Some(&self.place.key) {
                return Ok(Place::of(&head.document, &self.state.registry()).ok());
            }
        }
        Ok(None)
    }
}

fn new_revision(
    before: &Document,
    kind: RevisionKind,
    author: String,
    source: Option<&Source>,
    outcome: Option<String>,
) -> NewRevision {
    NewRevision {
        parent: before.rev,
        kind,
        author,
        text: source.map(Source::shared_text),
        is_applied: true,
        op: None,
        outcome,
    }
}
