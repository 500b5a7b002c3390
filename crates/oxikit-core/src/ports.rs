//! Where an application keeps what must outlive a connection or a process, and
//! how its processes hear of each other: a trait and a contract each.
//!
//! - [`StreamStore`]: the events of durable streams.
//! - [`SessionStore`]: the snapshots of agent sessions.
//! - [`EventBus`]: the bell. The stores are the record: events are committed with
//!   a number first and announced then, so that a lost announcement costs time and
//!   never an event.
//! - [`SpanExporter`](crate::SpanExporter): where traces go.
//!
//! No store and no bus holds a policy. Which snapshot a turn may go on from, when
//! work counts as lost, who may see what kind of thing: the caller decides, and
//! says whose things it means by an [`Owner`].
//!
//! [`memory`] has implementations for tests and development. The feature
//! `contract` adds one suite a port, which every implementation runs.

mod error;
mod event_bus;
mod owner;
mod retention;
mod session_store;
mod session_stores;
mod stream_store;

#[cfg(feature = "contract")]
pub mod contract;
pub mod delta;
pub mod memory;

pub use error::StoreError;
pub use event_bus::{Announcement, EventBus, Heard, Subscription};
pub use owner::Owner;
pub use retention::{Pruned, Pruner, Retention};
pub use session_store::{
    Lease, MAX_ARTIFACT_BYTES, MAX_SESSION_BYTES, MAX_SNAPSHOT_BYTES, SessionPage, SessionQuery,
    SessionStore, SessionSummary, SnapshotNode, SnapshotWrite, StalledWork, StoredSnapshot, Term,
    Update,
};
pub use session_stores::SessionStores;
pub use stream_store::{
    StreamEnd, StreamEntry, StreamEvent, StreamPage, StreamScope, StreamStore, follow,
};
