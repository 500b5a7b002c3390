//! The interface of agents that are served.

use std::sync::Arc;

use async_trait::async_trait;
use oxikit_core::{ActionContext, OutgoingStatus, Registry, Result, Status, TraceParent};
use oxikit_wire::JsonObject;
use oxikit_wire::a2a::{Message, Task};

use super::TaskUpdates;
use crate::auth::check_scopes;

/// Works on the messages of clients.
///
/// Every oxikit agent is one already, see [`A2aAgent::new`](super::A2aAgent::new). This trait is
/// for agents that decide themselves which states and artifacts a task has:
///
/// ```
/// use oxikit_core::Result;
/// use oxikit_serve::a2a::{AgentExecutor, Artifact, Part, TaskTurn, TaskUpdates};
///
/// struct Echo;
///
/// #[async_trait::async_trait]
/// impl AgentExecutor for Echo {
///     async fn execute(&self, turn: TaskTurn, updates: &mut TaskUpdates) -> Result<()> {
///         let text = turn.message.text();
///         if text.is_empty() {
///             return updates.ask("What shall I repeat?").await;
///         }
///         updates.artifact(Artifact::new("echo", vec![Part::text(text)])).await?;
///         updates.complete().await
///     }
/// }
/// ```
///
/// [`TaskUpdates`] says which calls wait until their event is stored. The messages of one task are
/// given to [`execute`](Self::execute) one after the other; those of different tasks at the same
/// time.
#[async_trait]
pub trait AgentExecutor: Send + Sync + 'static {
    /// Works on one message.
    ///
    /// The task is completed if this returns without another state that ends the turn. It is
    /// failed if this returns an error or panics; clients see the text of
    /// [public](oxikit_core::Status::public) errors only. If the task is canceled, the future is
    /// dropped at its next await.
    ///
    /// The future is polled first by the request that brings the message, so that an agent that
    /// need not wait costs no task of its own. Long computations belong in
    /// `tokio::task::spawn_blocking`, as everywhere in asynchronous code.
    ///
    /// A new task is stored when the agent first waits, together with the events that it has
    /// published until then; if the store refuses the task, the future is dropped. An agent that
    /// must not begin before that awaits [`TaskUpdates::flush`] first. The task of a message of more
    /// than 16 KiB is stored before this is called.
    ///
    /// # Errors
    ///
    /// Whatever keeps the agent from answering. Errors of `updates` are passed on with `?`.
    async fn execute(&self, turn: TaskTurn, updates: &mut TaskUpdates) -> Result<()>;

    /// Called after a task that this process worked on was canceled, to clean up outside of it.
    ///
    /// # Errors
    ///
    /// An error is logged; the task stays canceled.
    async fn canceled(&self, _task_id: &str) -> Result<()> {
        Ok(())
    }

    /// Whether the agent may answer with [`TaskUpdates::reply`], a message without a task. If it
    /// may, the task is stored with the first event that is published instead of when the agent
    /// first waits, and a client that does not want to wait still waits for that event.
    fn may_reply(&self) -> bool {
        false
    }
}

/// An executor, and how its failures are reported.
pub(super) struct Worker {
    pub(super) executor: Arc<dyn AgentExecutor>,
    /// The key of the agent, by which calls and failures are reported.
    pub(super) key: Arc<str>,
    pub(super) registry: Registry,
}

impl Worker {
    /// Reports a failure; answers what clients may read of it.
    pub(super) fn report(&self, failed: &Status) -> OutgoingStatus {
        self.registry.report_failure(&self.key, None, failed)
    }
}

/// One message of a client, and where it belongs.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TaskTurn {
    /// The task.
    pub task_id: String,
    /// The conversation.
    pub context_id: String,
    /// The number of this message among those of the task, from 1.
    pub number: u64,
    /// The message, with the ids of the task and the conversation.
    pub message: Message,
    /// The client's data about the request.
    pub metadata: Option<JsonObject>,
    /// The task before this message; `None` for the first one.
    pub task: Option<Task>,
    /// The caller.
    pub caller: ActionContext,
    /// URIs of the extensions that the client asks for.
    pub extensions: Vec<String>,
    /// The span of the client that the message belongs to: calls of actions are given it by
    /// [`Call::below`](oxikit_core::Call::below), so that one trace shows both sides.
    pub trace_parent: Option<TraceParent>,
}

impl TaskTurn {
    /// Checks that the caller has this scope, such as the one that a skill needs. The error fails
    /// the task, and the client reads which scope is missing.
    ///
    /// ```
    /// # use oxikit_core::Result;
    /// # use oxikit_serve::a2a::TaskTurn;
    /// # fn example(turn: &TaskTurn) -> Result<()> {
    /// if turn.message.text().starts_with("delete ") {
    ///     turn.require_scope("files:delete")?;
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// `PERMISSION_DENIED` if the caller's credentials lack the scope.
    pub fn require_scope(&self, scope: &str) -> Result<()> {
        check_scopes(&self.caller, &[scope.to_owned()])
    }
}
