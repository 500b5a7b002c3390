//! Writing the file of a document after its revision is stored.
//!
//! A change is acknowledged and sent to the members when its revision is durable. The file is
//! written afterwards on a thread for such work, while the task goes on: changes that come
//! meanwhile are written together. Requests that promise a file wait for it with
//! [`finish_file`](DocumentTask::finish_file). Nobody else may look at the file while it is being
//! written, so everything that does calls [`wait_saved`](DocumentTask::wait_saved) first.
//!
//! The file gets the time of its revision, so that after a crash an old text that was not replaced
//! is never mistaken for one that somebody has put back later.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::{Disk, DocumentTask, Failure, Loaded, MAX_ATTEMPTS};
use crate::error::PromptsError;
use crate::files::{Prepared, Put, Root, blocking};
use crate::source::Source;

/// Shortest interval between the beginnings of two writes without a caller that waits. A write
/// synchronises the disk twice, which delays the commits of the store: with this interval, at most
/// a few of a hundred changes meet one. People do not notice the delay of the file.
const INTERVAL: Duration = Duration::from_millis(100);
/// Interval of attempts to write a file that could not be written.
const RETRY_INTERVAL: Duration = Duration::from_secs(5);

/// The state of writing the file.
#[derive(Debug, Default)]
pub(super) struct Saving {
    /// Whether a change has to be written also to a file that has a problem or was removed.
    is_wanted: bool,
    /// Whether the last attempt has failed.
    has_failed: bool,
    /// Why the file could not be written. It is shown until the file is written.
    problem: Option<String>,
    /// When the last write has begun.
    began: Option<Instant>,
    /// The write that is under way.
    job: Option<JoinHandle<io::Result<Saved>>>,
    /// The file of a new document, and its text.
    prepared: Option<(Arc<str>, Prepared)>,
}

/// The result of a write.
#[derive(Debug)]
pub(super) enum Saved {
    /// The file as it is now.
    Done(Disk),
    /// Another program has changed the file, which was not replaced.
    Changed,
}

impl Saving {
    /// Removes the file that was prepared for a change which was not stored.
    pub(super) fn drop_prepared(&mut self) {
        self.prepared = None;
    }

    /// Waits for the write that is under way; pending if there is none. Cancel safe.
    pub(super) async fn done(&mut self) -> io::Result<Saved> {
        let Some(job) = &mut self.job else { return std::future::pending().await };
        let saved = job.await.unwrap_or_else(|error| Err(io::Error::other(error)));
        self.job = None;
        saved
    }
}

impl DocumentTask {
    /// Prepares the file of a document that has none, before its revision is stored: if the file
    /// cannot be made, nothing is stored. A crash before the file is in its place leaves a folder
    /// that has not changed since, which distinguishes it from a file that was removed.
    pub(super) async fn prepare_new(&mut self, source: &Source) -> Result<(), Failure> {
        let is_missing = self.loaded.as_ref().is_some_and(|loaded| loaded.disk.stamp.is_none());
        if !is_missing || self.state.options.is_read_only {
            return Ok(());
        }
        let (root, path, text) = (self.place.root(), self.place.path.clone(), source.shared_text());
        let prepared = blocking(move || root.prepare(&path, &text)).await;
        let prepared = prepared.map_err(|error| PromptsError::File(self.not_written(&error)))?;
        self.saving.prepared = Some((source.shared_text(), prepared));
        Ok(())
    }

    /// A change was stored, which has to be written to the file.
    pub(super) fn want_file(&mut self) {
        let is_current = self.loaded.as_ref().is_some_and(Loaded::is_file_current);
        (self.saving.is_wanted, self.saving.has_failed) = (!is_current, false);
    }

    /// The file has another problem than before. It is left alone.
    pub(super) fn leave_file(&mut self) {
        self.saving.is_wanted = false;
    }

    /// Why the file cannot be read, unless a change is about to replace it.
    pub(super) fn read_problem(&self) -> Option<&String> {
        let loaded = self.loaded.as_ref().filter(|_| !self.saving.is_wanted);
        loaded.and_then(|loaded| loaded.disk.problem.as_ref())
    }

    /// When the file has to be written; `None` if it is as the document is, or is being written.
    pub(super) fn save_at(&self) -> Option<Instant> {
        let is_due = self.saving.job.is_none() && self.must_save();
        let interval = if self.saving.has_failed { RETRY_INTERVAL } else { INTERVAL };
        is_due.then(|| self.saving.began.map_or_else(Instant::now, |began| began + interval))
    }

    /// Whether the file is not as the document is, and may be written.
    pub(super) fn must_save(&self) -> bool {
        let Some(loaded) = self.loaded.as_ref().filter(|_| !self.state.options.is_read_only) else {
            return false;
        };
        let is_left_alone = loaded.disk.problem.is_some() || loaded.disk.was_removed;
        !loaded.is_file_current() && (self.saving.is_wanted || !is_left_alone)
    }

    /// Begins to write the file, if it is time.
    pub(super) fn save_if_due(&mut self) {
        if self.save_at().is_some_and(|at| at <= Instant::now()) {
            self.start_saving();
        }
    }

    /// Waits for the write that is under way. Answers whether another program has changed the file.
    pub(super) async fn wait_saved(&mut self) -> bool {
        if self.saving.job.is_none() {
            return false;
        }
        let saved = self.saving.done().await;
        self.take_saved(saved)
    }

    /// Handles the result of a write that nobody has waited for.
    pub(super) async fn handle_saved(&mut self, saved: io::Result<Saved>) {
        if self.take_saved(saved)
            && let Err(failure) = self.import_file().await
        {
            let error = PromptsError::from(failure);
            self.saving.has_failed = true;
            self.set_write_problem(Some(self.not_written(&error)));
        }
    }

    /// Writes or removes the file now, if it is not as the document is, and waits for it. What other
    /// programs have written meanwhile is imported.
    pub(super) async fn finish_file(&mut self) -> Result<(), Failure> {
        self.saving.has_failed = false;
        for _ in 0..MAX_ATTEMPTS {
            if self.wait_saved().await {
                self.import_file().await?;
            }
            if self.saving.has_failed {
                return Ok(());
            }
            if !self.must_save() {
                self.set_write_problem(None);
                return Ok(());
            }
            self.start_saving();
        }
        self.wait_saved().await;
        Ok(())
    }

    /// Why the file could not be written.
    pub(super) fn write_problem(&self) -> Option<&String> {
        self.saving.problem.as_ref()
    }

    fn start_saving(&mut self) {
        let Some(loaded) = &self.loaded else { return };
        let (root, path, max) = (self.place.root(), self.place.path.clone(), self.state.max_file());
        let (disk, rev) = (loaded.disk.clone(), loaded.rev);
        let prepared = self.saving.prepared.take();
        let document = loaded.document.clone();
        let job = move || {
            // If the file cannot even be looked at, importing it tells why.
            let Ok(Some(expected)) = disk.unchanged(&root, &path, max) else {
                return Ok(Saved::Changed);
            };
            let Some(document) = document else { return remove(&root, &path, &disk, rev) };
            let prepared = match prepared {
                Some((text, prepared)) if *text == *document.text() => prepared,
                _ => root.prepare(&path, document.text())?,
            };
            Ok(match prepared.put(expected, document.updated_at)? {
                Put::Done(stamp) => Saved::Done(Disk::known(stamp, document.hash.clone(), rev)),
                Put::Changed => Saved::Changed,
            })
        };
        self.saving.began = Some(Instant::now());
        self.saving.job = Some(tokio::task::spawn_blocking(job));
    }

    /// Takes over the result of a write. Answers whether another program has changed the file.
    fn take_saved(&mut self, saved: io::Result<Saved>) -> bool {
        match saved {
            Ok(Saved::Done(disk)) => {
                (self.saving.is_wanted, self.saving.has_failed) = (false, false);
                self.set_disk(disk);
                self.set_write_problem(None);
                false
            }
            Ok(Saved::Changed) => true,
            Err(error) => {
                self.saving.has_failed = true;
                self.set_write_problem(Some(self.not_written(&error)));
                false
            }
        }
    }

    fn set_write_problem(&mut self, problem: Option<String>) {
        if self.saving.problem != problem {
            self.saving.problem = problem;
            self.publish_problem();
        }
    }

    fn not_written(&self, error: &dyn std::fmt::Display) -> String {
        format!("the file `{}` could not be written: {error}", self.place.path)
    }
}

/// Removes the file, if it is as it was.
fn remove(root: &Root, path: &str, disk: &Disk, rev: u64) -> io::Result<Saved> {
    if root.stamp(path)? != disk.stamp {
        return Ok(Saved::Changed);
    }
    root.remove(path)?;
    Ok(Saved::Done(Disk { rev, ..Disk::default() }))
}
