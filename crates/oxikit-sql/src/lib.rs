//! Agent sessions, durable streams and tasks (A2A) in a SQL database: SQLite for one machine
//! (feature `sqlite`, on by default), PostgreSQL for several (feature `postgres`).
//!
//! Every turn of an agent saves a snapshot of the whole session. The stores write only what
//! is new in it, so that the cost of a turn does not grow with the history:
//!
//! - Messages are in *segments*, which are append-only. A snapshot refers to a segment and a
//!   length. A turn appends its messages to the segment of its parent; a fork begins a new
//!   segment that continues from a place in another one.
//! - Custom state and artifacts are *documents*, which are immutable. A snapshot with the same
//!   content as its parent refers to the same document. A large custom state with a small
//!   change is stored as a JSON Patch to the previous document.
//!
//! This difference is computed without a database; each back end then writes it to its tables.
//!
//! A session has one writer at a time, the holder of its *lease*. Each lease has a number that
//! only grows, its *fence*, and every write states its fence: a previous holder that was paused
//! and comes back has an old fence, and its write is rejected.
//!
//! [`SqliteProject`] holds the data sets and evaluations of a project, and the revision logs of
//! its prompts. A `PostgresStore` holds revision logs, too.
//!
//! ```
//! # #[cfg(feature = "sqlite")]
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
//! # let folder = std::env::temp_dir().join(format!("oxikit-sql-lib-{}", std::process::id()));
//! # let path = folder.join("app.db");
//! use std::time::Duration;
//!
//! use oxikit_core::ports::{Owner, SessionStore, SnapshotWrite, Term};
//! use oxikit_sql::SqliteStore;
//! use oxikit_wire::SessionSnapshot;
//!
//! let (store, owner) = (SqliteStore::open(&path)?, Owner::nobody());
//! // A turn: take the lease, save a snapshot, and release the lease by the same write.
//! let term = Term { ttl: Duration::from_secs(30), by_force: false };
//! let lease = store.lease(&owner, "session-1", term).await?;
//! let write = SnapshotWrite {
//!     lease: Some(&lease),
//!     releases: true,
//!     ..SnapshotWrite::new(&owner, "helper", "session-1", "snapshot-1")
//! };
//! let snapshot = SessionSnapshot {
//!     created_at: "2026-11-15T06:32:35.495Z".to_owned(),
//!     ..SessionSnapshot::default()
//! };
//! store.save(write, &|_previous| Ok(Some(snapshot.clone()))).await?;
//!
//! let latest = store.latest(&owner, "session-1").await?.unwrap();
//! assert_eq!(latest.snapshot.snapshot_id, "snapshot-1");
//! # drop(store);
//! # std::fs::remove_dir_all(folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })
//! # }
//! # #[cfg(not(feature = "sqlite"))]
//! # fn main() {}
//! ```

// Shows on docs.rs which feature an item needs.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(
    not(any(feature = "postgres", feature = "sqlite")),
    allow(dead_code, reason = "the stores of the two databases share these modules")
)]

mod cache;
mod documents;
mod draft;
mod entries;
mod known;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "sqlite")]
mod sqlite;
mod summary;
mod tasks;

#[cfg(feature = "postgres")]
pub use postgres::{PostgresOptions, PostgresStore};
#[cfg(feature = "sqlite")]
pub use sqlite::{
    Damage, OpenError, RepairError, Repaired, SavedPart, SqliteOptions, SqliteProject,
    SqliteProjectOptions, SqliteStore,
};
