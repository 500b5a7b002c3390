//! Stores inside of the process, for tests and development. Their data is lost when the process
//! ends. Streams and sessions are bounded.
//!
//! ```
//! use oxikit_core::ports::memory::MemorySessions;
//! use oxikit_core::ports::{Owner, SessionStore, SnapshotWrite, StoreError};
//! use oxikit_wire::SessionSnapshot;
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), StoreError> {
//! let (store, owner) = (MemorySessions::default(), Owner::principal("ada"));
//! let write = SnapshotWrite::new(&owner, "guide", "session-7", "snapshot-1");
//! // Only written if there is no such snapshot.
//! let update = |known: Option<&SessionSnapshot>| {
//!     Ok(known.is_none().then(SessionSnapshot::default))
//! };
//! assert!(store.save(write, &update).await?.is_some());
//! assert!(store.save(write, &update).await?.is_none());
//! let latest = store.latest(&owner, "session-7").await?.unwrap();
//! assert_eq!(latest.snapshot.snapshot_id, "snapshot-1");
//! # Ok(()) }
//! ```

mod project;
mod revisions;
mod sessions;
mod streams;
mod tasks;

pub use project::MemoryProject;
pub use revisions::MemoryRevisions;
pub use sessions::{MemorySessionOptions, MemorySessions};
pub use streams::{MemoryStreamOptions, MemoryStreams};
pub use tasks::{MemoryTaskOptions, MemoryTasks};

/// Locks plain data. It is consistent after every statement, so a lock that was poisoned by a
/// panic can be used.
fn lock<T>(mutex: &std::sync::Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
