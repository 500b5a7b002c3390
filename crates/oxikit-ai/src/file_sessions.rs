//! Sessions in files, in a layout of their own or in that of the official stores.
//!
//! This file has the asynchronous store. `files` and the modules beside it do the blocking work
//! under the locks of `locks`; `disk` makes single writes atomic and durable.
//!
//! The order of writes makes a crash harmless: first the content, then the snapshot that refers
//! to it, then the record of the session, then the pointer. Whatever is missing after a crash is
//! found again from the snapshots (`Record::adopt`).

mod choice;
mod contents;
mod disk;
mod draft;
mod files;
mod index;
mod journal;
mod layout;
mod lease_ages;
mod leases;
mod locks;
mod notes;
mod pieces;
mod queries;
mod record;
mod retention;
mod rows;
mod size;

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use oxikit_core::ports::{
    Lease, LocalNotifier, Notifier, Owner, Pruned, Pruner, Retention, SessionPage, SessionQuery,
    SessionStore, SessionSummary, SnapshotNode, SnapshotWrite, StalledWork, StoreError,
    StoredSnapshot, Term, Topic, Update,
};

pub use choice::FileLayout;
use files::{Files, Lookup};
use layout::{Folder, Place};
use locks::{Guard, number_of};
use record::Record;
use retention::Candidate;
use rows::Change;

/// Interval between two looks for writes of other processes.
const POLL: Duration = Duration::from_millis(500);

/// A [`SessionStore`] in files, for one machine.
///
/// | file | is |
/// | --- | --- |
/// | `<folder>/<snapshot id>.json` | a snapshot |
/// | `<folder>/.oxikit/segments/<session id>/` | messages and artifacts that its snapshots share |
/// | `<folder>/.pointers/<session id>.json` | which snapshot of the session is the newest |
/// | `<folder>/.oxikit/<session id>.json` | a log of the rest: agent, notes, revisions, lease |
/// | `.oxikit/` | locks |
///
/// In [`FileLayout::Segments`] a turn writes only what is new. In
/// [`FileLayout::Official`] a snapshot's file has all of its state, as in the file
/// stores of the official runtimes, so that the directory can be shared with them.
///
/// The folder is `global` for sessions without an owner, else `u-<principal>`,
/// `t-<tenant>` or `t-<tenant>.u-<principal>`. In these names all characters except lower-case
/// letters, digits, `-` and `_` are written as `%` and two hexadecimal digits. Ids must be plain
/// file names of at most 250 bytes.
///
/// A write is durable when it returns. Threads and processes that use this store take locks,
/// so no write is lost; official stores take no locks. A file that cannot be read does not
/// affect others: it is reported and left out.
///
/// ```no_run
/// use oxikit::prelude::*;
/// use oxikit::{Agent, FileSessions};
///
/// # #[tokio::main] async fn main() -> Result<()> {
/// let ai = Oxikit::builder().plugin(Offline).default_model("offline/demo").build()?;
/// let store = FileSessions::open("sessions")?.with_max_chain(20);
/// let agent = ai.define_agent(Agent::builder("support").store(store))?;
/// // A later process continues the conversation.
/// let mut chat = agent.load_session("the-id-of-a-session").await?;
/// chat.send("Where were we?").await?;
/// # Ok(()) }
/// ```
pub struct FileSessions {
    files: Arc<Files>,
    max_chain: Option<usize>,
    notifier: Arc<dyn Notifier>,
    _pruner: Option<Pruner>,
}

impl FileSessions {
    /// Opens the directory, or creates it. New files and folders can only be read by the user
    /// of this process.
    ///
    /// The layout stays as it is: a new directory gets [`FileLayout::Segments`], and one
    /// in which an official runtime has written already stays
    /// [`Official`](FileLayout::Official). For an empty directory that an official runtime will
    /// write into, use [`open_with`](Self::open_with).
    ///
    /// # Errors
    ///
    /// If the directory cannot be made, read or written.
    pub fn open(directory: impl AsRef<Path>) -> io::Result<Self> {
        Self::open_as(directory.as_ref(), None)
    }

    /// Opens the directory in this layout. Sessions in the other layout are still read, and the
    /// next [`open`](Self::open) uses this layout, too.
    ///
    /// ```no_run
    /// use oxikit::{FileLayout, FileSessions};
    ///
    /// let shared_with_official = FileSessions::open_with("sessions", FileLayout::Official)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the directory cannot be made, read or written.
    pub fn open_with(directory: impl AsRef<Path>, layout: FileLayout) -> io::Result<Self> {
        Self::open_as(directory.as_ref(), Some(layout))
    }

    fn open_as(directory: &Path, layout: Option<FileLayout>) -> io::Result<Self> {
        let files = Arc::new(Files::open(directory, layout)?);
        let notifier = Arc::new(LocalNotifier::default());
        Ok(Self { files, max_chain: None, notifier, _pruner: None })
    }

    /// Sets the maximum number of snapshots in a chain. Each write removes the oldest beyond
    /// it, as `maxPersistedChainLength` of the official stores does. Without this, all are kept.
    #[must_use]
    pub fn with_max_chain(mut self, snapshots: usize) -> Self {
        self.max_chain = Some(snapshots.max(1));
        self
    }

    /// Publishes the changes that this store makes by this notifier, in place of a
    /// [`LocalNotifier`]. Changes by other processes are found without it, within half a
    /// second. Call this before [`with_retention`](Self::with_retention), which starts
    /// to publish.
    #[must_use]
    pub fn with_notifier(mut self, notifier: Arc<dyn Notifier>) -> Self {
        self.notifier = notifier;
        self
    }

    /// Removes sessions beyond these limits in the background. Without this, all are kept.
    /// Processes that share the directory should use the same limits: one of them prunes.
    ///
    /// ```no_run
    /// use std::time::Duration;
    /// use oxikit::FileSessions;
    /// use oxikit_core::ports::Retention;
    ///
    /// let week = Duration::from_secs(7 * 24 * 60 * 60);
    /// let retention = Retention { max_age: Some(week), ..Retention::default() };
    /// let store = FileSessions::open("sessions")?.with_retention(retention)?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the system does not give a thread for it.
    pub fn with_retention(mut self, retention: Retention) -> io::Result<Self> {
        let (files, notifier) = (Arc::downgrade(&self.files), self.notifier.clone());
        let store = move || {
            let (files, notifier) = (files.upgrade()?, notifier.clone());
            let store = Self { files, notifier, max_chain: None, _pruner: None };
            Some(Arc::new(store) as Arc<dyn SessionStore>)
        };
        self._pruner = Pruner::start(retention, store)?;
        Ok(self)
    }

    /// Runs blocking work on a thread for it.
    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Files) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let files = self.files.clone();
        let done = tokio::task::spawn_blocking(move || work(&files)).await;
        done.unwrap_or_else(|error| Err(StoreError::Unavailable(Box::new(error))))
    }

    fn place(&self, owner: &Owner, session: &str) -> Result<Place, StoreError> {
        self.files.folder(owner)?.session(session)
    }

    async fn lock(&self, place: &Place) -> Result<Guard, StoreError> {
        let guard = self.files.locks.take(number_of(&place.folder.name, &place.session)).await;
        guard.map_err(|error| disk::failure(&place.session, error))
    }

    /// The same under the lock of the session.
    async fn run_locked<T: Send + 'static>(
        &self,
        place: Place,
        work: impl FnOnce(&Files, &Place) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let guard = self.lock(&place).await?;
        self.run(move |files| {
            let _guard = guard;
            work(files, &place)
        })
        .await
    }

    fn publish_snapshots(&self, folder: &Folder, snapshots: &[String]) {
        snapshots.iter().for_each(|id| self.notifier.publish(snapshot_topic(folder, id)));
    }

    async fn find(&self, folder: Folder, id: String) -> Result<Option<StoredSnapshot>, StoreError> {
        let (of, asked) = (folder.clone(), id.clone());
        match self.run(move |files| files.get(&of, &asked)).await? {
            Lookup::Nothing => Ok(None),
            Lookup::Found(stored) => Ok(Some(*stored)),
            Lookup::Unsettled(place) => {
                self.run_locked(place, move |files, place| files.get_locked(place, &id)).await
            }
        }
    }
}

#[async_trait]
impl SessionStore for FileSessions {
    fn name(&self) -> &'static str {
        "files"
    }

    async fn get(
        &self,
        owner: &Owner,
        snapshot: &str,
    ) -> Result<Option<StoredSnapshot>, StoreError> {
        self.find(self.files.folder(owner)?, snapshot.to_owned()).await
    }

    async fn latest(
        &self,
        owner: &Owner,
        session: &str,
    ) -> Result<Option<StoredSnapshot>, StoreError> {
        let place = self.place(owner, session)?;
        match self.run(move |files| files.latest(&place)).await? {
            Lookup::Nothing => Ok(None),
            Lookup::Found(stored) => Ok(Some(*stored)),
            Lookup::Unsettled(place) => self.run_locked(place, Files::latest_locked).await,
        }
    }

    async fn save(
        &self,
        write: SnapshotWrite<'_>,
        update: Update<'_>,
    ) -> Result<Option<u64>, StoreError> {
        let place = self.place(write.owner, write.session)?;
        let folder = place.folder.clone();
        folder.snapshot(write.snapshot)?;
        let change = Change::of(&write)?;
        // The lock is held over three steps: reading the row, the caller's update, and writing.
        // The update is not `'static`, so it runs here and not on the blocking thread.
        let guard = self.lock(&place).await?;
        let open = move |files: &Files| {
            let opened = files.open_row(&place, &change)?;
            Ok((place, change, opened))
        };
        let (place, change, opened) = self.run(open).await?;
        let updated = update(opened.snapshot()).map_err(StoreError::Refused)?;
        let Some(snapshot) = updated else { return Ok(None) };
        let max_chain = self.max_chain;
        let written = self
            .run(move |files| {
                let _guard = guard;
                files.write_row(&place, change, opened, snapshot, max_chain)
            })
            .await?;
        self.notifier.publish(snapshot_topic(&folder, write.snapshot));
        self.publish_snapshots(&folder, &written.removed);
        Ok(Some(written.revision))
    }

    async fn changed(
        &self,
        owner: &Owner,
        snapshot: &str,
        revision: u64,
    ) -> Result<(), StoreError> {
        let folder = self.files.folder(owner)?;
        let path = folder.snapshot(snapshot)?;
        let mut subscription = self.notifier.subscribe(snapshot_topic(&folder, snapshot));
        let mut seen = None;
        loop {
            let (file, id) = (path.clone(), snapshot.to_owned());
            let stamp = self
                .run(move |_| disk::stamp(&file).map_err(|error| disk::failure(&id, error)))
                .await?;
            // The file is read only if its stamp has changed.
            if seen != Some(stamp) {
                // A missing snapshot has revision 0, so its deletion is a change as well.
                let found = self.find(folder.clone(), snapshot.to_owned()).await?;
                if found.map_or(0, |found| found.revision) != revision {
                    return Ok(());
                }
                seen = Some(stamp);
            }
            // Writes of other processes are looked for.
            _ = tokio::time::timeout(POLL, subscription.next()).await;
        }
    }

    async fn lease(&self, owner: &Owner, session: &str, term: Term) -> Result<Lease, StoreError> {
        let place = self.place(owner, session)?;
        let folder = place.folder.clone();
        let lease = self.run_locked(place, move |files, place| files.lease(place, term)).await?;
        self.notifier.publish(lease_topic(&folder, session));
        Ok(lease)
    }

    async fn lease_lost(&self, owner: &Owner, lease: &Lease) -> Result<(), StoreError> {
        let (place, fence) = (self.place(owner, &lease.session)?, lease.fence);
        let mut subscription = self.notifier.subscribe(lease_topic(&place.folder, &place.session));
        loop {
            let of = place.clone();
            if self.run(move |files| files.is_lost(&of, fence)).await? {
                return Ok(());
            }
            // Writes of other processes are looked for.
            _ = tokio::time::timeout(POLL, subscription.next()).await;
        }
    }

    async fn renew(&self, owner: &Owner, lease: &Lease) -> Result<(), StoreError> {
        let (place, fence) = (self.place(owner, &lease.session)?, lease.fence);
        self.run_locked(place, move |files, place| files.renew(place, fence)).await
    }

    async fn release(&self, owner: &Owner, lease: Lease) -> Result<(), StoreError> {
        let place = self.place(owner, &lease.session)?;
        self.run_locked(place, move |files, place| files.release(place, lease.fence)).await
    }

    async fn list(&self, owner: &Owner, query: &SessionQuery) -> Result<SessionPage, StoreError> {
        let folder = self.files.folder(owner)?;
        let query = query.clone();
        self.run(move |files| files.list(&folder, &query)).await
    }

    async fn summary(
        &self,
        owner: &Owner,
        session: &str,
    ) -> Result<Option<SessionSummary>, StoreError> {
        let place = self.place(owner, session)?;
        self.run(move |files| {
            let sessions = files.sessions(&place.folder)?;
            let record = sessions.get(&place.session).filter(|record| !record.rows.is_empty());
            Ok(record.and_then(|record| record.summary(&place.session)))
        })
        .await
    }

    async fn tree(&self, owner: &Owner, session: &str) -> Result<Vec<SnapshotNode>, StoreError> {
        let place = self.place(owner, session)?;
        self.run(move |files| {
            let sessions = files.sessions(&place.folder)?;
            Ok(sessions.get(&place.session).map(Record::nodes).unwrap_or_default())
        })
        .await
    }

    async fn delete(&self, owner: &Owner, session: &str) -> Result<bool, StoreError> {
        let place = self.place(owner, session)?;
        let folder = place.folder.clone();
        let removed = self.run_locked(place, Files::delete).await?;
        self.publish_snapshots(&folder, &removed.snapshots);
        self.notifier.publish(lease_topic(&folder, session));
        Ok(removed.is_gone)
    }

    async fn prune(&self, retention: &Retention) -> Result<Pruned, StoreError> {
        let wanted = *retention;
        let candidates = self.run(move |files| files.candidates(&wanted)).await?;
        let mut pruned = Pruned::default();
        let max_snapshots = retention.max_snapshots;
        for Candidate { place, written, is_to_go } in candidates {
            let folder = place.folder.clone();
            let prune = move |files: &Files, place: &Place| {
                files.prune(place, written, is_to_go, max_snapshots)
            };
            let removed = self.run_locked(place, prune).await?;
            self.publish_snapshots(&folder, &removed.snapshots);
            match removed.is_gone {
                true => pruned.sessions += 1,
                false => pruned.snapshots += removed.snapshots.len() as u64,
            }
        }
        Ok(pruned)
    }

    async fn stalled(&self, agent: &str, limit: usize) -> Result<Vec<StalledWork>, StoreError> {
        let agent = agent.to_owned();
        self.run(move |files| files.stalled(&agent, limit)).await
    }
}

fn snapshot_topic(folder: &Folder, snapshot: &str) -> Topic {
    Topic::of(&["snapshot", &folder.name, snapshot])
}

fn lease_topic(folder: &Folder, session: &str) -> Topic {
    Topic::of(&["lease", &folder.name, session])
}

impl fmt::Debug for FileSessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileSessions").field("directory", &self.files.root()).finish()
    }
}
