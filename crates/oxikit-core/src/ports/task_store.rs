//! Tasks of agents that other agents call (A2A).

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use oxikit_wire::JsonObject;
use oxikit_wire::a2a::{Artifact, Message, PushConfig, Task, TaskState, TaskStatus};
use serde::{Deserialize, Serialize};

use super::{Owner, StoreError};

/// Keeps tasks, each as a numbered log of events.
///
/// A *position* is a number of events, as in [`StreamStore`](super::StreamStore): 0 is the start,
/// and the event with sequence number `n` leads to position `n`. Numbers begin at 1 and have no
/// gaps, in every process and after every restart. A write is answered when it is durable, and
/// costs what is new in it: no write depends on the size of the task.
///
/// The store enforces four rules in its transactions, so that they hold between processes:
/// - the first terminal state wins; nothing is added after it ([`Ended`](StoreError::Ended));
/// - one *runner* at a time works on a task; a runner that has lost the task is refused
///   ([`Fenced`](StoreError::Fenced));
/// - each message of a client begins a *turn*, numbered from 1 in the order of arrival;
/// - a task of another [`TaskScope`] is not there ([`NotFound`](StoreError::NotFound)).
///
/// Everything else is the caller's policy: which messages are accepted, when a runner counts as
/// dead, what is sent to a webhook.
///
/// A runner is one process, or one part of it, under a random name. It calls
/// [`renew`](Self::renew) at intervals. Other processes compare the numbers that
/// [`runners`](Self::runners) answers with those they saw before, by their own clock, so that
/// clocks of different machines are never compared.
#[async_trait]
pub trait TaskStore: fmt::Debug + Send + Sync {
    /// Begins a task with its first turn, run by `task.runner`. The entries are those of turn 1;
    /// the first of them has the client's message. Answers the position.
    /// [`Invalid`](StoreError::Invalid) if the first has no status, or if a terminal state is not
    /// the last.
    ///
    /// [`Exists`](StoreError::Exists) if the id is taken, also in another scope. Ids are made by
    /// the server, of 128 random bits.
    async fn create(&self, task: NewTask) -> Result<u64, StoreError>;

    /// Adds entries of the runner that works on the task. A terminal state, and only that, must be
    /// the last entry of the task: it also releases the task.
    ///
    /// The same write once more (the same runner, turn and [`number`](TaskWrite::number)) is
    /// answered like the first and adds nothing, as long as it is the last write to the task.
    /// [`Conflict`](StoreError::Conflict) if its number does not follow the last one.
    async fn append(&self, id: &str, write: TaskWrite) -> Result<Appended, StoreError>;

    /// Adds a message of a client as a new turn. If no runner works on the task, `runner` does
    /// from now on. [`Ended`](StoreError::Ended) if the task is in a terminal state,
    /// [`Full`](StoreError::Full) if `max_waiting` turns wait for the runner already.
    async fn receive(
        &self,
        scope: &TaskScope,
        id: &str,
        received: NewTurn,
    ) -> Result<Received, StoreError>;

    /// Ends the task with this terminal status, whoever works on it; answers the position. The
    /// event belongs to the turn that the runner works on.
    async fn end(&self, scope: &TaskScope, id: &str, status: TaskStatus)
    -> Result<u64, StoreError>;

    /// Ends a task whose runner is dead. [`Ended`](StoreError::Ended) if it has ended,
    /// [`Fenced`](StoreError::Fenced) if another runner has it or none.
    async fn expire(&self, id: &str, runner: &str, status: TaskStatus) -> Result<u64, StoreError>;

    /// The task without its log.
    async fn head(&self, scope: &TaskScope, id: &str) -> Result<TaskHead, StoreError>;

    /// Up to `limit` events after `position`, in order, and how far the task is. All of it is of
    /// one moment. A page ends before the event with which it would have more than
    /// [`MAX_PAGE_BYTES`], unless that is its first one.
    async fn read(
        &self,
        scope: &TaskScope,
        id: &str,
        position: u64,
        limit: usize,
    ) -> Result<TaskPage, StoreError>;

    /// Waits until there is an event after `position`, or the task has ended. May return early.
    async fn wait(&self, scope: &TaskScope, id: &str, position: u64) -> Result<(), StoreError>;

    /// Tasks, those whose status has changed last first. Pages neither repeat nor leave out a task
    /// whose status does not change meanwhile. [`Invalid`](StoreError::Invalid) if the cursor is
    /// not one of this store.
    async fn list(&self, scope: &TaskScope, query: &TaskQuery) -> Result<TaskList, StoreError>;

    /// Registers a webhook of the task, or replaces the one with its id. It is called for events
    /// after the present position. [`Full`](StoreError::Full) if the task has
    /// [`MAX_PUSH_TARGETS`] others.
    async fn put_push(
        &self,
        scope: &TaskScope,
        id: &str,
        target: PushTarget,
    ) -> Result<(), StoreError>;

    /// The webhooks of the task, in the order of their registration.
    async fn push_targets(
        &self,
        scope: &TaskScope,
        id: &str,
    ) -> Result<Vec<PushTarget>, StoreError>;

    /// Removes a webhook; says whether it was there.
    async fn remove_push(
        &self,
        scope: &TaskScope,
        id: &str,
        target: &str,
    ) -> Result<bool, StoreError>;

    /// Claims webhooks whose task has events that were not delivered yet, and whose next attempt
    /// is due, those that are due longest first. A claimed webhook is not given to another runner until it is
    /// [released](Self::release_push) or its runner is [forgotten](Self::forget).
    async fn claim_pushes(&self, runner: &str, limit: usize) -> Result<Vec<DuePush>, StoreError>;

    /// Gives back a claimed webhook: all events up to `position` are delivered (or need not be),
    /// and the next attempt is due after `pause`, measured from now. `attempts` counts failures
    /// in a row. Does nothing if the runner has not claimed the webhook any more, or if it was
    /// registered anew.
    async fn release_push(
        &self,
        runner: &str,
        push: &DuePush,
        position: u64,
        attempts: u32,
        pause: Duration,
    ) -> Result<(), StoreError>;

    /// Waits until a webhook may be due: one was registered, or a task with webhooks has changed.
    /// May return early; a caller also looks at intervals.
    async fn push_wait(&self) -> Result<(), StoreError>;

    /// Says that this runner is alive.
    async fn renew(&self, runner: &str) -> Result<(), StoreError>;

    /// The runners that have renewed at least once and are not forgotten, each with a number that
    /// grows with every renewal.
    async fn runners(&self) -> Result<Vec<(String, u64)>, StoreError>;

    /// Ids of up to `limit` tasks that this runner works on, of all scopes.
    async fn tasks_of(&self, runner: &str, limit: usize) -> Result<Vec<String>, StoreError>;

    /// Removes a runner and releases the webhooks that it has claimed.
    async fn forget(&self, runner: &str) -> Result<(), StoreError>;

    /// Removes tasks that need not be kept any longer, of all scopes, with their logs and
    /// webhooks; answers their number. See [`TaskRetention`].
    async fn prune(&self, retention: &TaskRetention) -> Result<u64, StoreError>;
}

/// Maximum size in bytes of the events of a [`TaskPage`], as JSON. Only a page of one event may be
/// larger.
pub const MAX_PAGE_BYTES: u64 = 1024 * 1024;

/// Maximum number of webhooks of a task. More are refused with [`StoreError::Full`].
pub const MAX_PUSH_TARGETS: usize = 10;

/// The owner of a task and the agent that works on it. A task of another scope is reported as not
/// found.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TaskScope {
    /// The caller that has made the task.
    pub owner: Owner,
    /// The name of the agent.
    pub agent: Arc<str>,
}

impl TaskScope {
    /// Tasks of this agent that are this owner's.
    pub fn new(owner: Owner, agent: impl Into<Arc<str>>) -> Self {
        Self { owner, agent: agent.into() }
    }
}

/// A task to be made.
#[derive(Debug, Clone)]
pub struct NewTask {
    /// Its owner and agent.
    pub scope: TaskScope,
    /// Its id, random.
    pub id: String,
    /// The conversation that it belongs to.
    pub context_id: String,
    /// Data of the agent about the task.
    pub metadata: Option<JsonObject>,
    /// The runner that works on it.
    pub runner: Arc<str>,
    /// The first events. They are shared, because most callers answer with them too.
    pub entries: Vec<Arc<TaskEntry>>,
    /// A webhook that is called for these events too.
    pub push: Option<PushTarget>,
}

/// Entries that a runner adds to a task.
#[derive(Debug, Clone)]
pub struct TaskWrite {
    /// The runner that works on the task.
    pub runner: Arc<str>,
    /// Grows by one with each write of this runner to this task, so that a repeated write is
    /// recognised. It begins at 1 each time that the runner takes the task.
    pub number: u64,
    /// The turn that the entries belong to: a received one, and never one before that of the last
    /// write.
    pub turn: u64,
    /// The entries to add. May be empty. They are shared, because a write is made again if the
    /// store does not answer.
    pub entries: Vec<Arc<TaskEntry>>,
    /// Whether the runner leaves the task, unless another turn waits.
    pub releases: bool,
}

/// The answer to [`TaskStore::append`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Appended {
    /// The position of the task.
    pub position: u64,
    /// Number of turns that were received, of which those after the runner's turn wait for it.
    pub turns: u64,
    /// Whether the runner has left the task.
    pub is_released: bool,
}

/// A message of a client for a task that exists.
#[derive(Debug, Clone)]
pub struct NewTurn {
    /// Runs the turn if no other runner works on the task.
    pub runner: Arc<str>,
    /// The entry, with the message in [`StatusEntry::received`].
    pub entry: StatusEntry,
    /// Maximum number of turns that may wait for the runner.
    pub max_waiting: u64,
}

/// The answer to [`TaskStore::receive`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Received {
    /// The position that the message's event leads to.
    pub position: u64,
    /// The number of the turn.
    pub turn: u64,
    /// Whether the runner of the message works on the task from now on.
    pub is_claimed: bool,
}

/// An entry of a task's log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TaskEntry {
    /// The status has changed.
    Status(Box<StatusEntry>),
    /// An artifact, or a chunk of one.
    Artifact(Box<ArtifactEntry>),
}

/// A change of a task's status.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StatusEntry {
    /// The new status.
    pub status: TaskStatus,
    /// The client's message that has led to it. It joins the history.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub received: Option<Message>,
    /// Data of the agent about the event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<JsonObject>,
}

/// An artifact, or a chunk of one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ArtifactEntry {
    /// The artifact, or what is added to it.
    pub artifact: Artifact,
    /// Whether the parts are added to the artifact with this id.
    #[serde(default)]
    pub append: bool,
    /// Whether no more chunks of this artifact follow.
    #[serde(default)]
    pub last_chunk: bool,
    /// Data of the agent about the event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<JsonObject>,
}

impl TaskEntry {
    /// Brings a task up to date. A task is what the entries of its log make of
    /// [`TaskHead::unfolded`], applied in order.
    pub fn apply(self, task: &mut Task) {
        match self {
            Self::Status(entry) => {
                let StatusEntry { status, received, metadata: _ } = *entry;
                task.set_status(status);
                task.history.extend(received);
            }
            Self::Artifact(entry) => task.add_artifact(entry.artifact, entry.append),
        }
    }

    /// The state that the entry leads to, if it is a change of the status.
    pub fn state(&self) -> Option<TaskState> {
        match self {
            Self::Status(entry) => Some(entry.status.state),
            Self::Artifact(_) => None,
        }
    }
}

/// An entry with its number.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskEvent {
    /// The position that it leads to.
    pub sequence: u64,
    /// The turn that it belongs to.
    pub turn: u64,
    /// Its content. Shared, because many readers follow one task.
    pub entry: Arc<TaskEntry>,
}

impl TaskEvent {
    /// Brings a task up to date, as [`TaskEntry::apply`] does. Of a shared entry, only what the
    /// task keeps is copied.
    pub fn apply(self, task: &mut Task) {
        match Arc::try_unwrap(self.entry) {
            Ok(entry) => entry.apply(task),
            Err(shared) => match &*shared {
                TaskEntry::Artifact(entry) if entry.append => task.append_artifact(&entry.artifact),
                entry => entry.clone().apply(task),
            },
        }
    }
}

/// A task without its log.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskHead {
    /// Its id.
    pub id: String,
    /// Its conversation.
    pub context_id: String,
    /// The current status.
    pub status: TaskStatus,
    /// Data of the agent about the task.
    pub metadata: Option<JsonObject>,
    /// Number of events.
    pub position: u64,
    /// Number of turns that were received.
    pub turns: u64,
    /// The runner that works on it, if one does.
    pub runner: Option<Arc<str>>,
}

impl TaskHead {
    /// The task before the first entry of its log.
    pub fn unfolded(&self) -> Task {
        let status = TaskStatus::new(TaskState::Submitted);
        let mut task = Task::new(self.id.clone(), self.context_id.clone(), status);
        task.metadata.clone_from(&self.metadata);
        task
    }
}

/// A part of a task's log, and how far the task was when it was read.
#[derive(Debug, Clone)]
pub struct TaskPage {
    /// The events after the position that was asked for.
    pub events: Vec<TaskEvent>,
    /// The task at the same moment.
    pub head: TaskHead,
}

/// Which tasks to list.
#[derive(Debug, Clone, Default)]
pub struct TaskQuery {
    /// Only tasks of this conversation.
    pub context_id: Option<String>,
    /// Only tasks in this state.
    pub state: Option<TaskState>,
    /// Only tasks whose status has changed at or after this time, in milliseconds since 1970. The
    /// time of a change is the status's own, or the store's if it has none.
    pub changed_since: Option<u64>,
    /// Goes on behind the page that answered this.
    pub cursor: Option<String>,
    /// Maximum number of tasks on the page.
    pub limit: usize,
}

/// A page of tasks.
#[derive(Debug, Clone, Default)]
pub struct TaskList {
    /// The tasks.
    pub tasks: Vec<TaskHead>,
    /// The position behind this page; `None` on the last one.
    pub cursor: Option<String>,
    /// Number of tasks on all pages.
    pub total: u64,
}

/// A registered webhook.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PushTarget {
    /// Identifies the webhook within its task.
    pub id: String,
    /// As the client has sent it, with its credentials.
    pub config: PushConfig,
    /// The version of the protocol that the client speaks, such as `0.3`: it decides the body.
    pub version: String,
}

/// A webhook with events to deliver.
#[derive(Debug, Clone)]
pub struct DuePush {
    /// The owner and agent of the task.
    pub scope: TaskScope,
    /// The task.
    pub task: String,
    /// The webhook.
    pub target: PushTarget,
    /// All events up to this position are delivered.
    pub delivered: u64,
    /// Number of failed attempts in a row.
    pub attempts: u32,
}

/// Limits for what a task store keeps. Without limits it keeps everything. A task that a runner
/// works on is always kept, as is one with undelivered events for a webhook.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TaskRetention {
    /// Tasks in a terminal state are removed this long after their end.
    pub ended: Option<Duration>,
    /// Tasks in an interrupted state are removed when nothing has changed for this time.
    pub waiting: Option<Duration>,
    /// Maximum number of tasks in a terminal state, of all scopes. Of more, those that ended
    /// first are removed.
    pub max_ended: Option<usize>,
}
