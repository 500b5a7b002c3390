//! The first comparison of a document's history with its file, when the document is opened.
//!
//! They differ if another program has changed the file while nobody looked, if a process was killed
//! between storing a revision and writing the file, or if other processes have stored revisions. The
//! times of the file tell which.

use std::sync::Arc;

use oxikit_core::ports::{RevisionInfo, RevisionKind, text_hash};

use super::hold::MovePlan;
use super::{Disk, DocumentTask, Failure, Loaded, MAX_ATTEMPTS, RecentContents};
use crate::error::PromptsError;
use crate::files::{FileText, blocking};
use crate::text::{MAX_CANDIDATES, infer_base};

/// Maximum number of revisions that are searched for the text of a file.
const MAX_SEARCHED: usize = 256;
/// Number of revisions whose texts are compared with a file that has none of them. The file may be
/// behind by all changes of a moment.
const MAX_BASES: usize = MAX_CANDIDATES;

impl DocumentTask {
    /// Reads the document, if that has not happened yet.
    pub(super) async fn load(&mut self) -> Result<(), PromptsError> {
        if self.loaded.is_some() {
            return Ok(());
        }
        for _ in 0..MAX_ATTEMPTS {
            match self.try_load().await {
                Ok(()) => return Ok(()),
                Err(Failure::Overtaken) => self.loaded = None,
                Err(Failure::Error(error)) => {
                    self.loaded = None;
                    return Err(error);
                }
            }
        }
        Err(Failure::Overtaken.into())
    }

    async fn try_load(&mut self) -> Result<(), Failure> {
        let key = self.place.key.clone();
        let head = self.state.store.head(&key).await?;
        let (newest, info, text) = match head {
            Some((newest, revision)) => (newest, Some(revision.info), revision.text),
            None => (0, None, None),
        };
        let created_at = self.created_at(newest, info.as_ref()).await?;
        let document = match (&text, &info) {
            (Some(text), Some(info)) => {
                Some(self.place.document(self.place.source(text), info, created_at))
            }
            _ => None,
        };
        let rev = info.as_ref().map_or(0, |info| info.number);
        let mut loaded = Loaded {
            newest,
            rev,
            document: None,
            created_at,
            disk: Disk::default(),
            recent: RecentContents::default(),
        };
        loaded.set_document(document.map(Arc::new));
        self.loaded = Some(loaded);
        self.compare(info).await?;
        let index = self.state.index();
        let known = index.document(&key).cloned();
        let is_new = match (&known, self.document()) {
            (Some(known), Some(document)) => {
                known.rev != document.rev || known.problem != document.problem
            }
            (None, None) => index.deleted(&key).is_none() && newest > 0,
            _ => true,
        };
        if is_new {
            self.publish_to_index(known.as_ref());
        } else if let (Some(known), Some(loaded)) = (known, &mut self.loaded) {
            loaded.document = Some(known);
        }
        Ok(())
    }

    /// Compares the newest revision with the file, and brings them together.
    async fn compare(&mut self, head: Option<RevisionInfo>) -> Result<(), Failure> {
        let read = match self.read_file().await {
            // A process was killed between renaming the document and its file.
            Ok(None) if self.finish_move(head.as_ref()).await? => self.read_file().await,
            read => read,
        };
        match read {
            Err(error) => self.file_has_problem(&error).await,
            Ok(Some(file)) => match head {
                Some(head) if head.is_deletion() => self.compare_deleted(&head, file).await,
                Some(head) => self.compare_text(&head, file).await,
                None => self.import(file).await,
            },
            Ok(None) => match head {
                Some(head) if !head.is_deletion() => self.file_is_missing(&head).await,
                _ => Ok(()),
            },
        }
    }

    async fn read_file(&self) -> std::io::Result<Option<FileText>> {
        let (root, path, max) = (self.place.root(), self.place.path.clone(), self.state.max_file());
        blocking(move || root.read(&path, max)).await
    }

    async fn file_has_problem(&mut self, error: &std::io::Error) -> Result<(), Failure> {
        let (root, path) = (self.place.root(), self.place.path.clone());
        let stamp = blocking(move || root.stamp(&path)).await.ok().flatten();
        let problem = Some(self.place.problem(error));
        let (hash, rev) = match &self.loaded {
            // As soon as the file can be read again, it is compared with the newest revision.
            Some(loaded) => {
                let document = loaded.document.as_ref();
                (document.map(|document| document.hash.clone()).unwrap_or_default(), loaded.rev)
            }
            None => Default::default(),
        };
        self.set_disk(Disk { stamp, hash, rev, problem, was_removed: false });
        Ok(())
    }

    /// A deleted document has a file: it was made again, or the deletion was not finished.
    async fn compare_deleted(
        &mut self,
        head: &RevisionInfo,
        file: FileText,
    ) -> Result<(), Failure> {
        let log = self.state.store.log(&self.place.key, None, MAX_SEARCHED).await?;
        let last = log.iter().find(|info| info.is_applied && !info.is_deletion());
        let hash = text_hash(&file.text);
        let is_leftover = last.is_some_and(|last| last.hash == hash) && self.is_older(&file, head);
        if !is_leftover {
            return self.import(file).await;
        }
        self.set_disk(Disk::known(file.stamp, hash, head.parent));
        self.finish_file().await
    }

    async fn compare_text(&mut self, head: &RevisionInfo, file: FileText) -> Result<(), Failure> {
        let hash = text_hash(&file.text);
        if hash == head.hash {
            self.set_disk(Disk::known(file.stamp, hash, head.number));
            return Ok(());
        }
        let log = self.state.store.log(&self.place.key, None, MAX_SEARCHED).await?;
        let applied = || log.iter().filter(|info| info.is_applied && !info.is_deletion());
        // A text that was imported and merged is known too, although no revision applies it.
        let imported = log.iter().filter(|info| info.kind == RevisionKind::External);
        let base = match applied().chain(imported).find(|info| info.hash == hash) {
            Some(old) if self.is_older(&file, head) => {
                // The file was not written after the last revisions.
                self.set_disk(Disk::known(file.stamp, hash, old.number));
                return self.finish_file().await;
            }
            // Somebody has put an old version back, for example by git.
            Some(_) => head.number,
            None => self.likely_base(applied().take(MAX_BASES), &file).await?,
        };
        let known = applied().find(|info| info.number == base).map(|info| info.hash.clone());
        self.set_disk(Disk::known(file.stamp, known.unwrap_or_default(), base));
        self.import(file).await?;
        self.finish_file().await
    }

    /// The revision that a text was most likely made from.
    async fn likely_base(
        &self,
        newest_first: impl Iterator<Item = &RevisionInfo>,
        file: &FileText,
    ) -> Result<u64, Failure> {
        let mut bases: Vec<(u64, Arc<str>)> = Vec::new();
        for info in newest_first {
            let revision = self.state.store.revision(&self.place.key, info.number).await?;
            if let Some(text) = revision.and_then(|revision| revision.text) {
                bases.insert(0, (info.number, text));
            }
        }
        let best = infer_base(bases.iter().map(|(_, text)| &**text), &file.text);
        Ok(bases.get(best).map_or(0, |(number, _)| *number))
    }

    /// Whether the file was changed before the revision was stored. If the store is shared, clocks of
    /// different machines cannot be compared; there, other processes are the likely reason.
    fn is_older(&self, file: &FileText, head: &RevisionInfo) -> bool {
        self.state.options.is_shared || file.stamp.modified_at() <= head.at
    }

    /// A document has no file: it was removed by another program, or was not written yet.
    async fn file_is_missing(&mut self, head: &RevisionInfo) -> Result<(), Failure> {
        let (root, path) = (self.place.root(), self.place.path.clone());
        let changed_at = blocking(move || Ok(root.folder_changed_at(&path))).await.unwrap_or(None);
        let was_never_written = self.state.unwritten().contains(&self.place.key)
            || changed_at.is_some_and(|at| at <= head.at);
        if self.state.options.is_shared || was_never_written {
            self.finish_file().await?;
            self.state.unwritten().remove(&self.place.key);
            return Ok(());
        }
        self.set_disk(Disk { rev: head.number, was_removed: true, ..Disk::default() });
        self.delete_removed().await
    }

    /// The time of the first revision.
    async fn created_at(&self, newest: u64, head: Option<&RevisionInfo>) -> Result<i64, Failure> {
        match head {
            Some(head) if newest > 1 => {
                let first = self.state.store.log(&self.place.key, Some(2), 1).await?;
                Ok(first.first().map_or(head.at, |first| first.at))
            }
            Some(head) => Ok(head.at),
            None => Ok(0),
        }
    }

    /// Moves the file of a document that was renamed in the store, but not on the disk.
    async fn finish_move(&mut self, head: Option<&RevisionInfo>) -> Result<bool, Failure> {
        let plan = head.filter(|head| head.kind == RevisionKind::Rename).and_then(MovePlan::of);
        let Some(plan) = plan else { return Ok(false) };
        let from = plan.from.split_once('/').map(|(_, path)| path.to_owned());
        let Some(from) = from.filter(|_| !self.state.options.is_read_only) else {
            return Ok(false);
        };
        if self.state.store.head(&plan.from).await?.is_some() {
            return Ok(false);
        }
        let (root, to) = (self.place.root(), self.place.path.clone());
        let moved = blocking(move || match root.is_taken(&from)? {
            true => root.rename(&from, &to).map(|()| true),
            false => Ok(false),
        });
        Ok(moved.await.unwrap_or(false))
    }
}
