//! Runs the turns of tasks.
//!
//! A runner is one server process under a random name ([`Presence`]). It works on a task from the message that
//! makes it until a state that ends the turn. A task that waits for its client has no runner and
//! costs no memory: the next message makes the process that receives it the runner.
//!
//! Messages for a task that is being worked on are stored as further turns, in whatever process
//! they arrive. The runner finds them when its turn ends. A task is canceled by storing that
//! state, so that it wins over whatever the runner stores later; the runner is told directly if
//! it is this process, and finds out by [`Upkeep`](super::upkeep::Upkeep) otherwise.

use std::collections::HashMap;
use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;

use oxikit_core::ports::{StoreError, TaskEntry, TaskEvent, TaskScope, TaskStore};
use oxikit_core::{ActionContext, Registry, Result, Status};
use oxikit_http::reply::shutting_down;
use oxikit_http::{Shutdown, guarded};
use oxikit_wire::a2a::{Message, Part, Task, TaskState};
use tokio_util::sync::CancellationToken;

use super::executor::{AgentExecutor, TaskTurn};
use super::presence::{Presence, Present};
use super::refusal::Refusal;
use super::task_writer::{TaskWriter, TurnEnd, Unstored};
use super::updates::TaskUpdates;

/// Number of events that are read at once.
const BATCH: usize = 64;

/// Runs the turns of all tasks that this process works on.
pub(crate) struct Runner {
    pub(super) store: Arc<dyn TaskStore>,
    pub(super) presence: Arc<Presence>,
    pub(super) registry: Registry,
    pub(super) shutdown: Shutdown,
    running: Mutex<HashMap<String, RunningTask>>,
    /// Number of works that were started.
    started: AtomicU64,
}

/// A task that this process works on.
#[derive(Clone)]
pub(super) struct RunningTask {
    pub(super) scope: TaskScope,
    /// Tells apart two works on one task: the first may not have ended here when a message makes
    /// this process the runner again.
    serial: u64,
    cancel: CancellationToken,
}

/// A turn to be run.
pub(super) struct Work {
    pub(super) executor: Arc<dyn AgentExecutor>,
    /// The key by which failures are reported.
    pub(super) action: Arc<str>,
    pub(super) scope: TaskScope,
    pub(super) turn: TaskTurn,
    /// The reason why the turn cannot be given to the agent, and fails.
    pub(super) begun: Result<()>,
    /// Position of the task's log up to which the turns are known.
    pub(super) position: u64,
    pub(super) unstored: Option<Box<Unstored>>,
    /// Keeps the name of this process, under which the task is stored.
    pub(super) present: Present,
}

impl Runner {
    pub(super) fn new(store: Arc<dyn TaskStore>, registry: Registry, shutdown: Shutdown) -> Self {
        let presence = Arc::new(Presence::new(store.clone()));
        Self {
            store,
            presence,
            registry,
            shutdown,
            running: Mutex::default(),
            started: AtomicU64::new(0),
        }
    }

    /// Runs a turn, and those that wait behind it. An agent that need not wait for anything has
    /// answered when this returns: the answer is the events that it has stored, which the request
    /// need not read from the store again. Otherwise the work goes on in a task of its own, and
    /// the answer is `None`.
    pub(super) async fn start(self: &Arc<Self>, mut work: Work) -> Option<Vec<TaskEvent>> {
        let cancel = CancellationToken::new();
        let id = work.turn.task_id.clone();
        let serial = self.started.fetch_add(1, Ordering::Relaxed);
        let task = RunningTask { scope: work.scope.clone(), serial, cancel: cancel.clone() };
        self.running().insert(id.clone(), task);
        let running = Running { runner: self.clone(), id, serial };
        let writer = Arc::new(self.writer(&mut work));
        let mut work = Box::pin(running.run(work, writer.clone(), cancel));
        let is_done = poll_fn(|cx| Poll::Ready(work.as_mut().poll(cx).is_ready())).await;
        let events = writer.take_collected();
        if !is_done {
            self.shutdown.background.spawn(work);
        }
        is_done.then_some(events)
    }

    fn writer(&self, work: &mut Work) -> TaskWriter {
        let TaskTurn { task_id, number, .. } = &work.turn;
        TaskWriter::new(
            self.store.clone(),
            self.shutdown.cut.clone(),
            work.present.name.clone(),
            task_id,
            (*number, work.position),
            work.unstored.take(),
        )
    }

    /// Does something that must not stop halfway when its client leaves. If it has to wait, it
    /// goes on in a task of its own.
    pub(super) async fn whole<T: Send + 'static>(
        &self,
        mut work: Pin<Box<impl Future<Output = Result<T, Refusal>> + Send + 'static>>,
    ) -> Result<T, Refusal> {
        match poll_fn(|cx| Poll::Ready(work.as_mut().poll(cx))).await {
            Poll::Ready(result) => result,
            Poll::Pending => self.shutdown.background.spawn(work).await.unwrap_or_else(|error| {
                Err(Refusal::internal(format!("the message was not taken: {error}")))
            }),
        }
    }

    /// Ends the work on a task, if this process does it. The task's end is stored already.
    pub(super) fn cancel(&self, id: &str) {
        if let Some(task) = self.running().get(id) {
            task.cancel.cancel();
        }
    }

    pub(super) fn is_running(&self, id: &str) -> bool {
        self.running().contains_key(id)
    }

    /// Number of tasks that this process works on.
    pub(super) fn running_number(&self) -> usize {
        self.running().len()
    }

    /// The tasks that this process works on.
    pub(super) fn running_tasks(&self) -> Vec<(String, RunningTask)> {
        self.running().iter().map(|(id, task)| (id.clone(), task.clone())).collect()
    }

    fn running(&self) -> MutexGuard<'_, HashMap<String, RunningTask>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A task that this process works on, until this is dropped.
struct Running {
    runner: Arc<Runner>,
    id: String,
    serial: u64,
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut running = self.runner.running();
        if running.get(&self.id).is_some_and(|task| task.serial == self.serial) {
            running.remove(&self.id);
        }
    }
}

impl Running {
    async fn run(self, work: Work, writer: Arc<TaskWriter>, cancel: CancellationToken) {
        // The name of this process is kept until the work has ended.
        let Work {
            executor,
            action,
            scope,
            mut turn,
            mut begun,
            mut position,
            present: _present,
            ..
        } = work;
        let runner = &self.runner;
        let mut updates = TaskUpdates::new(writer.clone(), &turn.context_id);
        loop {
            let (caller, trace_parent) = (turn.caller.clone(), turn.trace_parent);
            let extensions = turn.extensions.clone();
            let result = match begun {
                Ok(()) => self.execute(&*executor, turn, &mut updates, &writer, &cancel).await,
                Err(status) => Err(status),
            };
            match self.settle(&action, result, &mut updates, &writer).await {
                Some(TurnEnd::Next) => {}
                Some(TurnEnd::Lost) if cancel.is_cancelled() => {
                    self.clean_up(&*executor, &action).await;
                    return;
                }
                _ => return,
            }
            match self.next_turn(&scope, caller, writer.next_turn(), position).await {
                Ok((next, read)) => {
                    turn = TaskTurn { extensions, trace_parent, ..next };
                    position = read;
                    // The turn before has asked the client, whose message was there already.
                    begun = updates.status(TaskState::Working, None).await;
                }
                Err(error) => {
                    let failed = Status::from(error);
                    runner.registry.report_failure(&action, None, &failed);
                    _ = self.settle(&action, Err(failed), &mut updates, &writer).await;
                    return;
                }
            }
        }
    }

    /// Gives a turn to the agent, until it answers or the task or the server ends.
    async fn execute(
        &self,
        executor: &dyn AgentExecutor,
        turn: TaskTurn,
        updates: &mut TaskUpdates,
        writer: &TaskWriter,
        cancel: &CancellationToken,
    ) -> Result<()> {
        let cut = &self.runner.shutdown.cut;
        // Events that wait for the store are stored while the agent waits for something else.
        let writing = poll_fn(|cx| {
            writer.poll_idle(cx);
            Poll::<Infallible>::Pending
        });
        tokio::select! {
            // An agent that never waits does not pay for polling the tokens.
            biased;
            result = guarded(executor.execute(turn, updates)) => result,
            never = writing => match never {},
            () = cancel.cancelled() => Err(Status::cancelled()),
            () = cut.cancelled() => Err(shutting_down()),
        }
    }

    /// Makes sure that the turn has an end, and answers it; `None` if none could be stored. In
    /// that case [`Upkeep`](super::upkeep::Upkeep) fails the task.
    async fn settle(
        &self,
        action: &str,
        result: Result<()>,
        updates: &mut TaskUpdates,
        writer: &TaskWriter,
    ) -> Option<TurnEnd> {
        let flushed = writer.flush().await;
        if writer.end().is_none() {
            let stored = match result.and(flushed) {
                Ok(()) => updates.complete().await,
                Err(status) => {
                    // A canceled task has its end already, which the store prefers to this one.
                    let text = self.runner.registry.report_failure(action, None, &status).message;
                    updates.fail(text).await
                }
            };
            if let (Err(error), None) = (stored, writer.end()) {
                tracing::error!(task = self.id, %error, "the end of a turn could not be stored");
            }
        }
        writer.end()
    }

    async fn clean_up(&self, executor: &dyn AgentExecutor, action: &str) {
        if let Err(status) = guarded(executor.canceled(&self.id)).await {
            self.runner.registry.report_failure(action, None, &status);
        }
    }

    /// Finds the message of a turn that was received while another one ran.
    async fn next_turn(
        &self,
        scope: &TaskScope,
        caller: ActionContext,
        number: u64,
        mut position: u64,
    ) -> Result<(TaskTurn, u64), StoreError> {
        loop {
            let page = self.runner.store.read(scope, &self.id, position, BATCH).await?;
            let Some(last) = page.events.last() else {
                return Err(StoreError::Damaged(self.id.clone(), "a turn is missing".into()));
            };
            position = last.sequence;
            let found = page.events.iter().find_map(|event| received(event, number));
            if let Some((sequence, message)) = found {
                let task = fold(&*self.runner.store, scope, &self.id, sequence - 1).await?;
                let turn = TaskTurn {
                    task_id: self.id.clone(),
                    context_id: page.head.context_id,
                    number,
                    message,
                    metadata: None,
                    task: Some(task),
                    caller,
                    extensions: Vec::new(),
                    trace_parent: None,
                };
                return Ok((turn, position));
            }
        }
    }
}

/// The message that begins this turn, if this event has it.
fn received(event: &TaskEvent, turn: u64) -> Option<(u64, Message)> {
    match &*event.entry {
        TaskEntry::Status(entry) if event.turn == turn => {
            Some((event.sequence, entry.received.clone()?))
        }
        _ => None,
    }
}

/// The task as it was at a position.
pub(super) async fn fold(
    store: &dyn TaskStore,
    scope: &TaskScope,
    id: &str,
    position: u64,
) -> Result<Task, StoreError> {
    let mut page = store.read(scope, id, 0, BATCH).await?;
    let mut task = page.head.unfolded();
    loop {
        let Some(last) = page.events.last().map(|event| event.sequence) else { return Ok(task) };
        for event in page.events {
            if event.sequence > position {
                return Ok(task);
            }
            event.apply(&mut task);
        }
        if last >= page.head.position.min(position) {
            return Ok(task);
        }
        page = store.read(scope, id, last, BATCH).await?;
    }
}

/// A part with this text, for messages of the server about a task.
pub(super) fn text_parts(text: &str) -> Vec<Part> {
    vec![Part::text(text)]
}
