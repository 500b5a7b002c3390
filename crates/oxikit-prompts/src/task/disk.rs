//! The file of a document: what is known about it, and what other programs write to it.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use oxikit_core::ports::{NewRevision, RevisionKind, text_hash};
use oxikit_wire::prompts::UpdateReason;
use tokio::time::sleep;

use super::{Disk, DocumentTask, Failure, Loaded};
use crate::files::{FILE_AUTHOR, FileText, Root, Stamp, blocking};
use crate::room::UpToDate;
use crate::source::Source;
use crate::text::merge;

/// Interval of looks at a file that another program is writing.
const SETTLE_INTERVAL: Duration = Duration::from_millis(25);
/// Maximum number of such looks. After them the file is taken although it changes.
const MAX_SETTLES: usize = 20;

/// The result of a look at the file.
enum Look {
    /// It is as it was.
    Same,
    Missing,
    Text(FileText),
    /// It cannot be read.
    Problem(String, Option<Stamp>),
}

impl DocumentTask {
    /// Imports the text of the file, if another program has changed it.
    pub(super) async fn import_file(&mut self) -> Result<(), Failure> {
        // If the write that is under way has found a change, it is found here again.
        self.wait_saved().await;
        match self.look().await {
            Look::Same => Ok(()),
            Look::Missing => {
                // Some programs remove a file before they write it again: the watcher decides
                // whether it stays away.
                self.set_disk(Disk {
                    stamp: None,
                    was_removed: true,
                    problem: None,
                    ..self.disk()
                });
                Ok(())
            }
            Look::Problem(error, stamp) => {
                let known = self.disk();
                if known.problem.is_none() || known.stamp != stamp {
                    self.leave_file();
                }
                let problem = Some(self.place.problem(&error));
                self.set_disk(Disk { stamp, problem, was_removed: false, ..known });
                Ok(())
            }
            Look::Text(file) => self.import(file).await,
        }
    }

    /// Takes over a text that the file has.
    pub(super) async fn import(&mut self, file: FileText) -> Result<(), Failure> {
        if self.take_known(&file) {
            return Ok(());
        }
        let file = self.settled(file).await;
        if self.take_known(&file) {
            return Ok(());
        }
        let Some(loaded) = &self.loaded else { return Ok(()) };
        let hash = text_hash(&file.text);
        let document = loaded.document.clone();
        let parent = loaded.disk.rev.min(loaded.newest);
        let revisions;
        let source;
        match &document {
            Some(document) if loaded.disk.rev != loaded.rev => {
                let base = self.text_of(parent).await?;
                let merged = merge(&base, document.text(), &file.text).text;
                source = self.place.source(&merged);
                revisions = self.external(parent, &file.text, Some(&source));
            }
            _ => {
                source = self.place.source(&file.text);
                revisions = self.external(loaded.rev, &file.text, None);
            }
        }
        // The file has the imported text, which no revision has yet.
        let before = self.disk();
        self.set_disk(Disk::known(file.stamp, hash, parent));
        if let Err(failure) = self.commit(revisions, Some(source)).await {
            // Still no revision has the text. Without a known stamp the next look at the file
            // imports it, and until then nothing replaces it.
            self.set_disk(Disk { stamp: None, ..before });
            return Err(failure);
        }
        self.disk_is_current();
        self.publish_to_index(document.as_ref());
        self.publish_to_room(document, UpdateReason::External, &UpToDate::default());
        Ok(())
    }

    /// Takes over a file whose text is known. Answers `false` if it is not.
    fn take_known(&mut self, file: &FileText) -> bool {
        let Some(loaded) = &self.loaded else { return false };
        let hash = text_hash(&file.text);
        let is_current = loaded.document.as_ref().is_some_and(|document| document.hash == hash);
        if !is_current && loaded.disk.hash != hash {
            return false;
        }
        let rev = if is_current { loaded.rev } else { loaded.disk.rev };
        self.set_disk(Disk::known(file.stamp, hash, rev));
        true
    }

    /// The revisions of an imported text: itself and, if it was merged with newer ones, the result.
    fn external(&self, parent: u64, text: &str, merged: Option<&Source>) -> Vec<NewRevision> {
        let merged = merged.filter(|merged| merged.text() != text);
        let revision = |parent, kind, text: Arc<str>, is_applied| NewRevision {
            parent,
            kind,
            author: FILE_AUTHOR.to_owned(),
            text: Some(text),
            is_applied,
            op: None,
            outcome: None,
        };
        let current = self.loaded.as_ref().map_or(0, |loaded| loaded.rev);
        let own = revision(parent, RevisionKind::External, text.into(), merged.is_none());
        let merge =
            merged.map(|merged| revision(current, RevisionKind::Merge, merged.shared_text(), true));
        std::iter::once(own).chain(merge).collect()
    }

    /// After a commit whose text the file has already.
    fn disk_is_current(&mut self) {
        let Some(loaded) = &mut self.loaded else { return };
        if loaded.document.as_ref().is_some_and(|document| document.hash == loaded.disk.hash) {
            loaded.disk.rev = loaded.rev;
        }
    }

    /// The text of a revision; empty if it has none.
    async fn text_of(&self, number: u64) -> Result<Arc<str>, Failure> {
        let revision = self.state.store.revision(&self.place.key, number).await?;
        Ok(revision.and_then(|revision| revision.text).unwrap_or_default())
    }

    /// Another program has removed the file: the document is deleted.
    pub(super) async fn file_removed(&mut self) {
        let removed = self.try_file_removed().await;
        if let Err(Failure::Error(error)) = removed {
            tracing::warn!(document = %self.place.key, %error, "removal of a prompt file not stored");
        }
    }

    async fn try_file_removed(&mut self) -> Result<(), Failure> {
        self.load().await?;
        self.sync().await?;
        self.wait_saved().await;
        let is_missing = match self.look().await {
            Look::Missing => true,
            Look::Same => self.loaded.as_ref().is_some_and(|loaded| loaded.disk.was_removed),
            Look::Text(_) | Look::Problem(..) => false,
        };
        match is_missing {
            true => self.delete_removed().await,
            false => Ok(()),
        }
    }

    /// Stores that another program has removed the file.
    pub(super) async fn delete_removed(&mut self) -> Result<(), Failure> {
        let Some(document) = self.document() else { return Ok(()) };
        self.set_disk(Disk::default());
        let deletion = NewRevision {
            parent: document.rev,
            kind: RevisionKind::Delete,
            author: FILE_AUTHOR.to_owned(),
            text: None,
            is_applied: true,
            op: None,
            outcome: None,
        };
        self.commit(vec![deletion], None).await?;
        self.publish_to_index(Some(&document));
        self.publish_to_room(Some(document), UpdateReason::External, &UpToDate::default());
        Ok(())
    }

    async fn look(&self) -> Look {
        let Some(loaded) = &self.loaded else { return Look::Same };
        let known = loaded.disk.stamp;
        let (root, path, max) = (self.place.root(), self.place.path.clone(), self.state.max_file());
        let looked = blocking(move || {
            let stamp = root.stamp(&path);
            let read = match (&stamp, known) {
                (Ok(None), None) => return Ok(Look::Same),
                (Ok(Some(now)), Some(known)) if *now == known && !now.is_fresh() => {
                    return Ok(Look::Same);
                }
                (Ok(None), _) => Ok(None),
                (Ok(Some(_)), _) => root.read(&path, max),
                (Err(error), _) => return Ok(Look::Problem(error.to_string(), None)),
            };
            Ok(match read {
                Ok(Some(file)) => Look::Text(file),
                Ok(None) => Look::Missing,
                Err(error) => Look::Problem(error.to_string(), stamp.ok().flatten()),
            })
        });
        looked.await.unwrap_or_else(|error| Look::Problem(error.to_string(), None))
    }

    /// The text of a file once the program that writes it has finished: some write in several steps.
    async fn settled(&self, mut file: FileText) -> FileText {
        for _ in 0..MAX_SETTLES {
            if !file.stamp.is_fresh() {
                break;
            }
            sleep(SETTLE_INTERVAL).await;
            let (root, path) = (self.place.root(), self.place.path.clone());
            let max = self.state.max_file();
            // Between two steps the file may be missing.
            if let Ok(Some(read)) = blocking(move || root.read(&path, max)).await {
                file = read;
            }
        }
        file
    }

    /// What is known about the file.
    fn disk(&self) -> Disk {
        self.loaded.as_ref().map(|loaded| loaded.disk.clone()).unwrap_or_default()
    }

    /// Records what is known about the file, and shows its problem.
    pub(super) fn set_disk(&mut self, disk: Disk) {
        let Some(loaded) = &mut self.loaded else { return };
        let has_changed = loaded.disk.problem != disk.problem;
        loaded.disk = disk;
        if has_changed {
            self.publish_problem();
        }
    }
}

impl Loaded {
    /// Whether the file is as the document is.
    pub(super) fn is_file_current(&self) -> bool {
        let Disk { stamp, hash, problem, .. } = &self.disk;
        match &self.document {
            Some(document) => stamp.is_some() && problem.is_none() && document.hash == *hash,
            None => self.disk.stamp.is_none(),
        }
    }
}

impl Disk {
    /// The stamp of the file, if it is as it was: the outer `None` means that another program has
    /// changed it, the inner one that there is none.
    pub(super) fn unchanged(
        &self,
        root: &Root,
        path: &str,
        max: usize,
    ) -> io::Result<Option<Option<Stamp>>> {
        let now = root.stamp(path)?;
        let Some(stamp) = now else { return Ok(Some(None)) };
        if self.stamp != Some(stamp) {
            return Ok(None);
        }
        if stamp.is_fresh() && self.problem.is_none() {
            let read = root.read(path, max)?;
            let is_same = read.is_some_and(|file| text_hash(&file.text) == self.hash);
            return Ok(is_same.then_some(now));
        }
        Ok(Some(now))
    }

    /// A file with a known text.
    pub(super) fn known(stamp: Stamp, hash: String, rev: u64) -> Self {
        Self { stamp: Some(stamp), hash, rev, ..Self::default() }
    }
}
