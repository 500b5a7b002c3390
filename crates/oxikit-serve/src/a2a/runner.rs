//! Runs the turns of tasks.
//!
//! A runner is one server process under a random name ([`Presence`]). It works on a task from the message that
//! makes it until a state that ends the turn. A task that waits for its client has no runner and
//! costs no memory: the next message makes the process that receives it the runner.
//!
//! Messages for a task that is being worked on are stored as further turns, in whatever process
//! they arrive. The runner finds them when its turn ends. A task is canceled by storing that
//! state, so that it wins over whatever the runner stores later; the runner is told directly if
//! it is this process and its agent has waited once, and finds out by
//! [`Upkeep`](super::upkeep::Upkeep) otherwise.

use std::collections::HashMap;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;

use oxikit_core::ports::{StoreError, TaskEntry, TaskEvent, TaskScope, TaskStore};
use oxikit_core::{ActionContext, Result, Status};
use oxikit_http::reply::shutting_down;
use oxikit_http::{Shutdown, guarded};
use oxikit_wire::a2a::{Message, Part, Task, TaskState};
use tokio_util::sync::CancellationToken;

use super::executor::{AgentExecutor, TaskTurn, Worker};
use super::presence::{Presence, Present};
use super::refusal::Refusal;
use super::storage::Storage;
use super::task_writer::{TaskWriter, TurnEnd, Unstored};
use super::updates::TaskUpdates;

/// Number of events that are read at once.
const BATCH: usize = 64;

/// Runs the turns of all tasks that this process works on.
pub(crate) struct Runner {
    pub(super) storage: Arc<Storage>,
    pub(super) presence: Arc<Presence>,
    pub(super) shutdown: Shutdown,
    running: Mutex<RunningTasks>,
}

/// The tasks that this process works on and that wait for something.
#[derive(Default)]
struct RunningTasks {
    by_id: HashMap<String, RunningTask>,
    /// Number of works that have waited.
    count: u64,
}

/// A task that this process works on and that waits for something.
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
    pub(super) worker: Arc<Worker>,
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
    pub(super) fn new(store: Arc<dyn TaskStore>, shutdown: Shutdown) -> Self {
        let presence = Arc::new(Presence::new(store.clone()));
        Self {
            storage: Arc::new(Storage { store, cut: shutdown.cut.clone() }),
            presence,
            shutdown,
            running: Mutex::default(),
        }
    }

    /// Runs a turn, and those that wait behind it. An agent that need not wait for anything has
    /// answered when this returns: the answer is the events that it has stored, which the request
    /// need not read from the store again. Otherwise the work goes on in a task of its own, and
    /// the answer is `None`.
    pub(super) async fn start(self: &Arc<Self>, mut work: Work) -> Option<Vec<TaskEvent>> {
        let cancel = CancellationToken::new();
        let scope = work.scope.clone();
        let writer = Arc::new(self.writer(&mut work));
        let running = Running { writer: writer.clone(), cancel: cancel.clone() };
        let mut work = Box::pin(running.run(work));
        let is_done = poll_fn(|cx| Poll::Ready(work.as_mut().poll(cx).is_ready())).await;
        let events = writer.take_collected();
        if is_done {
            return Some(events);
        }
        let listed = self.list(writer.task_id(), scope, cancel);
        self.shutdown.background.spawn(async move {
            work.await;
            drop(listed);
        });
        None
    }

    pub(super) fn store(&self) -> &Arc<dyn TaskStore> {
        &self.storage.store
    }

    fn writer(&self, work: &mut Work) -> TaskWriter {
        let TaskTurn { task_id, number, .. } = &work.turn;
        TaskWriter::new(
            self.storage.clone(),
            work.present.name.clone(),
            task_id,
            (*number, work.position),
            work.unstored.take(),
        )
    }

    /// Lists a task among those that this process works on.
    fn list(self: &Arc<Self>, id: &str, scope: TaskScope, cancel: CancellationToken) -> Listed {
        let mut running = self.running();
        running.count += 1;
        let serial = running.count;
        running.by_id.insert(id.to_owned(), RunningTask { scope, serial, cancel });
        Listed { runner: self.clone(), id: id.to_owned(), serial }
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
        if let Some(task) = self.running().by_id.get(id) {
            task.cancel.cancel();
        }
    }

    pub(super) fn is_running(&self, id: &str) -> bool {
        self.running().by_id.contains_key(id)
    }

    /// Number of tasks that this process works on.
    pub(super) fn running_number(&self) -> usize {
        self.running().by_id.len()
    }

    /// The tasks that this process works on.
    pub(super) fn running_tasks(&self) -> Vec<(String, RunningTask)> {
        self.running().by_id.iter().map(|(id, task)| (id.clone(), task.clone())).collect()
    }

    fn running(&self) -> MutexGuard<'_, RunningTasks> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A place in the list of the tasks that this process works on, until this is dropped.
struct Listed {
    runner: Arc<Runner>,
    id: String,
    serial: u64,
}

impl Drop for Listed {
    fn drop(&mut self) {
        let mut running = self.runner.running();
        if running.by_id.get(&self.id).is_some_and(|task| task.serial == self.serial) {
            running.by_id.remove(&self.id);
        }
    }
}

/// The work on a task.
struct Running {
    writer: Arc<TaskWriter>,
    cancel: CancellationToken,
}

impl Running {
    async fn run(self, work: Work) {
        // The name of this process is kept until the work has ended.
        let Work { worker, scope, mut turn, mut begun, mut position, present: _present, .. } = work;
        let mut updates = TaskUpdates::new(self.writer.clone(), &turn.context_id);
        if begun.is_ok() {
            begun = self.writer.store_large().await;
        }
        loop {
            let (caller, trace_parent) = (turn.caller.clone(), turn.trace_parent);
            let extensions = turn.extensions.clone();
            let result = match begun {
                Ok(()) => self.execute(&*worker.executor, turn, &mut updates).await,
                Err(status) => Err(status),
            };
            match self.settle(&worker, result, &mut updates).await {
                Some(TurnEnd::Next) => {}
                Some(TurnEnd::Lost) if self.cancel.is_cancelled() => {
                    self.clean_up(&worker).await;
                    return;
                }
                _ => return,
            }
            match self.next_turn(&scope, caller, self.writer.next_turn(), position).await {
                Ok((next, read)) => {
                    turn = TaskTurn { extensions, trace_parent, ..next };
                    position = read;
                    // The turn before has asked the client, whose message was there already.
                    begun = updates.status(TaskState::Working, None).await;
                }
                Err(error) => {
                    let failed = Status::from(error);
                    worker.report(&failed);
                    _ = self.settle(&worker, Err(failed), &mut updates).await;
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
    ) -> Result<()> {
        let Self { writer, cancel } = self;
        let cut = &writer.storage.cut;
        // Events that wait for the store are stored while the agent waits for something else.
        let refused = poll_fn(|cx| writer.poll_idle(cx));
        tokio::select! {
            // An agent that never waits does not pay for polling the tokens.
            biased;
            result = guarded(executor.execute(turn, updates)) => result,
            () = refused => Err(Status::cancelled()),
            () = cancel.cancelled() => Err(Status::cancelled()),
            () = cut.cancelled() => Err(shutting_down()),
        }
    }

    /// Makes sure that the turn has an end, and answers it; `None` if none could be stored. In
    /// that case [`Upkeep`](super::upkeep::Upkeep) fails the task.
    async fn settle(
        &self,
        worker: &Worker,
        result: Result<()>,
        updates: &mut TaskUpdates,
    ) -> Option<TurnEnd> {
        let writer = &*self.writer;
        let flushed = writer.flush().await;
        if writer.end().is_none() {
            let stored = match result.and(flushed) {
                Ok(()) => updates.complete().await,
                Err(status) => {
                    // A canceled task has its end already, which the store prefers to this one.
                    let text = worker.report(&status).message;
                    updates.fail(text).await
                }
            };
            if let (Err(error), None) = (stored, writer.end()) {
                tracing::error!(task = writer.task_id(), %error, "the end of a turn could not be stored");
            }
        }
        writer.end()
    }

    async fn clean_up(&self, worker: &Worker) {
        if let Err(status) = guarded(worker.executor.canceled(self.writer.task_id())).await {
            worker.report(&status);
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
        let (store, id) = (&*self.writer.storage.store, self.writer.task_id());
        loop {
            let page = store.read(scope, id, position, BATCH).await?;
            let Some(last) = page.events.last() else {
                return Err(StoreError::Damaged(id.to_owned(), "a turn is missing".into()));
            };
            position = last.sequence;
            let found = page.events.iter().find_map(|event| received(event, number));
            if let Some((sequence, message)) = found {
                let task = fold(store, scope, id, sequence - 1).await?;
                let turn = TaskTurn {
                    task_id: id.to_owned(),
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
