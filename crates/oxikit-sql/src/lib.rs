//! Agent sessions and durable streams in a SQL database: SQLite for one machine
//! (feature `sqlite`, on by default), PostgreSQL for several (feature `postgres`).
//!
//! Both write what is new and nothing else. The messages of a session stand in
//! *segments* that only grow: a snapshot is a segment and a length, a turn adds its
//! messages to the end, a fork begins a segment that goes on from a place in
//! another one. Custom state and artifacts are *documents* that never change: a
//! snapshot that has the same as its parent names the same document, and a large
//! custom state of which little has changed is stored as the change. Which is which
//! is decided here, without a database; a back end puts it into its tables.
//!
//! Beside them, what the developer tools keep, in SQLite only: the [`TraceStore`], whose file
//! may be deleted, and the [`ProjectStore`], which holds people's work.

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

#[cfg(feature = "postgres")]
pub use postgres::{PostgresOptions, PostgresStore};
#[cfg(feature = "sqlite")]
pub use sqlite::{
    Damage, DocumentList, FilterValue, FilterValues, Imported, LogPage, LogQuery, ModelPrice,
    OpenError, ProjectError, ProjectStore, PrunedTraces, RepairError, Repaired, SavedPart,
    SeenSession, SeenSessionPage, SeenSessionQuery, SqliteOptions, SqliteStore, StoredDocument,
    StoredSpan, TokenUsage, TraceError, TraceEvent, TraceFeed, TraceFilter, TraceOptions,
    TracePage, TraceQuery, TraceStatus, TraceStore, TraceSummary, TraceWriter,
};
