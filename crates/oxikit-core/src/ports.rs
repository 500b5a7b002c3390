//! Storage for data that must outlive a connection or a process, and notifications between
//! processes. Each port is a trait with a written contract.
//!
//! - [`StreamStore`]: the events of durable streams.
//! - [`SessionStore`]: the snapshots of agent sessions.
//! - [`TaskStore`]: the tasks of agents that other agents call.
//! - [`ProjectStore`]: the documents of a project, such as datasets and evaluation runs.
//! - [`PromptSource`]: prompts that are kept outside of the application.
//! - [`RevisionStore`]: the revision logs of texts that people edit, such as prompt files.
//! - [`Notifier`]: notifies readers that something stored has changed. It only notifies;
//!   the stores hold the data. A change is committed first and published then, so that
//!   a lost notification costs time and never data.
//! - [`SpanExporter`](crate::SpanExporter): the destination of traces.
//!
//! No store and no notifier holds a policy. Which snapshot a turn may continue from, when
//! work counts as lost, and who may see which documents: the caller decides, and
//! names the owner of the data by an [`Owner`].
//!
//! [`memory`] has implementations for tests and development; durable ones are in other crates,
//! such as `oxikit-sql`. The feature `contract` adds one test suite for each port, which every
//! implementation runs.
//!
//! ```
//! use oxikit_core::Payload;
//! use oxikit_core::ports::memory::MemoryStreams;
//! use oxikit_core::ports::{Owner, StoreError, StreamEnd, StreamScope, StreamStore};
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), StoreError> {
//! let store = MemoryStreams::default();
//! let scope = StreamScope::new(Owner::principal("ada"), "/flow/greet");
//! store.open(&scope, "4f1c").await?;
//! let position = store.append("4f1c", 0, vec![Payload::of("Hello")]).await?;
//! store.finish("4f1c", position, StreamEnd::Done(Payload::of("Hello, Ada!"))).await?;
//!
//! let page = store.read(&scope, "4f1c", 0, 10).await?;
//! assert_eq!((page.events.len(), page.has_ended), (2, true));
//!
//! // For another owner the stream does not exist.
//! let other = StreamScope::new(Owner::principal("bob"), "/flow/greet");
//! assert!(matches!(store.read(&other, "4f1c", 0, 10).await, Err(StoreError::NotFound(_))));
//! # Ok(()) }
//! ```

mod error;
mod notifier;
mod owner;
mod project_store;
mod prompt_source;
mod retention;
mod revision_store;
mod session_store;
mod session_stores;
mod stream_store;
mod subscribers;
mod task_store;
mod topic;

#[cfg(feature = "contract")]
pub mod contract;
pub mod delta;
pub mod memory;
pub mod task_progress;

pub use error::StoreError;
pub use notifier::{LocalNotifier, Notifier};
pub use owner::Owner;
pub use project_store::{DocumentList, ProjectError, ProjectStore, StoredDocument};
pub use prompt_source::{PromptOrigin, PromptSource, PromptText, PromptTextKind};
pub use retention::{Pruned, Pruner, Retention};
pub use revision_store::{
    DocumentHead, MAX_REVISION_NAME_BYTES, NewRevision, Revision, RevisionInfo, RevisionKind,
    RevisionStore, UnknownRevisionKind, all_revisions_topic, check_revision_name, revision_topic,
    text_hash,
};
pub use session_store::{
    Lease, MAX_ARTIFACT_BYTES, MAX_SESSION_BYTES, MAX_SNAPSHOT_BYTES, SessionPage, SessionQuery,
    SessionStore, SessionSummary, SnapshotNode, SnapshotWrite, StalledWork, StoredSnapshot, Term,
    Update,
};
pub use session_stores::SessionStores;
pub use stream_store::{
    StreamEnd, StreamEntry, StreamEvent, StreamPage, StreamScope, StreamStore, follow,
};
pub use subscribers::{Notification, Subscribers, Subscription, SubscriptionMark};
pub use task_store::{
    Appended, ArtifactEntry, DuePush, MAX_PAGE_BYTES, MAX_PUSH_TARGETS, NewTask, NewTurn,
    PushTarget, Received, StatusEntry, TaskEntry, TaskEvent, TaskHead, TaskList, TaskPage,
    TaskQuery, TaskRetention, TaskScope, TaskStore, TaskWrite,
};
pub use topic::Topic;
