//! Writes the events of a turn to the store.
//!
//! Events are collected while the agent works without waiting, and given to the store together
//! as soon as it waits for anything, ends its turn, or has worked for [`MAX_DELAY`]. Most agents
//! wait after each event (for a model, a tool, another server), so their events are stored one by
//! one; an agent that has its answer at hand needs one transaction for the whole turn.
//!
//! Only one write is on its way at a time. What is published meanwhile is stored by the next one.
//!
//! A write has no task of its own. It is polled by the calls that publish, and while the agent
//! waits for something else by the runner, beside the agent.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker, ready};
use std::time::{Duration, Instant};

use oxikit_core::ports::{
    Appended, NewTask, StoreError, TaskEntry, TaskEvent, TaskStore, TaskWrite,
};
use oxikit_core::{Result, Status};
use oxikit_wire::a2a::{Message, TaskState};
use tokio::sync::oneshot;
use tokio::time::sleep;

use super::storage::Storage;

/// Maximum number of events that wait for the write before them. A call that publishes more
/// waits until they are given to the store.
const MAX_QUEUED: usize = 64;
/// Number of events that most turns have at most, if the agent does not wait.
const USUAL_EVENTS: usize = 8;
/// Time after which collected events are given to the store by the next call that publishes,
/// although the agent has not waited for anything.
const MAX_DELAY: Duration = Duration::from_millis(1);
/// Pause before a write that the store has not answered is made again.
const RETRY: Duration = Duration::from_millis(250);

/// The first thing that an agent answers.
#[derive(Debug)]
pub(super) enum First {
    /// The task is stored.
    Task,
    /// The answer has no task.
    Reply(Box<Message>),
    /// The task could not be stored.
    Failed(StoreError),
}

/// A new task. It is stored with the events that its agent publishes before it first waits, so
/// that an agent that has its answer at hand needs one transaction.
pub(super) struct Unstored {
    pub(super) task: NewTask,
    /// Receives the first answer.
    pub(super) first: oneshot::Sender<First>,
    /// Whether the agent may answer without a task. If so, the task is stored with the first event.
    pub(super) may_reply: bool,
    /// Whether the task is stored before the agent runs: the store may refuse a large message, and
    /// then no work is done for it.
    pub(super) is_large: bool,
}

/// How a turn has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TurnEnd {
    /// This runner has left the task.
    Released,
    /// Another turn waits for this runner.
    Next,
    /// The answer has no task.
    Replied,
    /// The task was ended by others, or another runner has it.
    Lost,
    /// The new task could not be stored.
    Refused,
}

/// Writes the events of a task's turns, in order.
pub(super) struct TaskWriter {
    pub(super) storage: Arc<Storage>,
    /// The name under which the runner works on the task.
    name: Arc<str>,
    task_id: Arc<str>,
    state: Mutex<State>,
}

struct State {
    turn: u64,
    /// Number of the last write of this runner that the task has.
    written: u64,
    unstored: Option<Box<Unstored>>,
    /// Published, and not given to the store yet.
    queue: Vec<Arc<TaskEntry>>,
    /// When the first one of the queue was published.
    queued_at: Option<Instant>,
    /// Whether an event that ends the turn was published.
    is_ending: bool,
    writing: Option<Writing>,
    /// The answer of the store to the write that ended the turn.
    end: Option<TurnEnd>,
    /// The failure of a write, until a call answers it.
    error: Option<Status>,
    /// The call that waits for a write.
    waiter: Option<Waker>,
    /// The events that are stored, while somebody wants them.
    collected: Option<Collected>,
}

/// The events behind a position, as far as this writer has stored them.
struct Collected {
    position: u64,
    events: Vec<TaskEvent>,
}

/// A write that is on its way.
struct Writing {
    answer: Pin<Box<dyn Future<Output = Written> + Send>>,
    ends_turn: bool,
}

/// The answer of the store to a write.
enum Written {
    /// The task was made with these entries after its first one, up to this position.
    Created(u64, Vec<Arc<TaskEntry>>),
    /// These entries were added.
    Appended(Appended, Vec<Arc<TaskEntry>>),
    /// The task could not be made. The client knows why.
    NotCreated,
    Failed(StoreError),
}

impl TaskWriter {
    /// A writer for a task that has stored everything up to `position`. It collects the events that
    /// it stores until they are [taken](Self::take_collected).
    pub(super) fn new(
        storage: Arc<Storage>,
        name: Arc<str>,
        task_id: &str,
        (turn, position): (u64, u64),
        unstored: Option<Box<Unstored>>,
    ) -> Self {
        let state = State {
            turn,
            written: 0,
            unstored,
            queue: Vec::with_capacity(USUAL_EVENTS),
            queued_at: None,
            is_ending: false,
            writing: None,
            end: None,
            error: None,
            waiter: None,
            collected: Some(Collected { position, events: Vec::new() }),
        };
        Self { storage, name, task_id: task_id.into(), state: Mutex::new(state) }
    }

    pub(super) fn task_id(&self) -> &str {
        &self.task_id
    }

    pub(super) fn end(&self) -> Option<TurnEnd> {
        self.state().end
    }

    /// The events that were stored so far, without a gap; later ones are not collected. Empty if
    /// somebody else has added an event in between.
    pub(super) fn take_collected(&self) -> Vec<TaskEvent> {
        self.state().collected.take().map(|collected| collected.events).unwrap_or_default()
    }

    /// Stores the task now if that has to come before the agent runs.
    pub(super) async fn store_large(&self) -> Result<()> {
        let is_large = |new: &Unstored| new.is_large && !new.may_reply;
        let is_first = self.state().unstored.as_deref().is_some_and(is_large);
        if is_first { self.flush().await } else { Ok(()) }
    }

    /// Goes on with the next turn, and answers its number.
    pub(super) fn next_turn(&self) -> u64 {
        let mut state = self.state();
        state.turn += 1;
        state.end = None;
        state.is_ending = false;
        state.turn
    }

    /// Ends the turn with an answer that has no task; `None` if the task is stored or has events.
    pub(super) fn reply(&self) -> Option<oneshot::Sender<First>> {
        let mut state = self.state();
        if !state.queue.is_empty() {
            return None;
        }
        let unstored = state.unstored.take_if(|unstored| unstored.may_reply)?;
        state.end = Some(TurnEnd::Replied);
        Some(unstored.first)
    }

    /// Adds an event. An event that ends the turn, or that asks the client for something, is
    /// stored when this returns; another one is given to the store when the agent waits.
    pub(super) async fn publish(&self, entry: TaskEntry) -> Result<()> {
        // An agent that publishes without ever waiting lets other tasks run in between.
        tokio::task::coop::consume_budget().await;
        let is_awaited = entry.state().is_some_and(is_awaited);
        if self.push(entry)? || is_awaited {
            std::future::poll_fn(|cx| self.poll_published(cx, is_awaited)).await?;
        }
        Ok(())
    }

    /// Waits until all that was published is stored.
    pub(super) async fn flush(&self) -> Result<()> {
        std::future::poll_fn(|cx| self.poll_published(cx, true)).await
    }

    /// Adds an event to those that wait. Says whether they have to be given to the store now.
    fn push(&self, entry: TaskEntry) -> Result<bool> {
        let mut state = self.state();
        if state.end.is_some() || state.is_ending {
            tracing::warn!(task = &*self.task_id, "an event after the end of a turn was dropped");
            return Err(state
                .error
                .take()
                .unwrap_or_else(|| Status::failed_precondition("the turn is over")));
        }
        state.is_ending = entry.state().is_some_and(ends_turn);
        state.queue.push(Arc::new(entry));
        let queued_at = *state.queued_at.get_or_insert_with(Instant::now);
        let is_due = state.queue.len() >= MAX_QUEUED || queued_at.elapsed() >= MAX_DELAY;
        Ok(is_due || state.error.is_some())
    }

    fn poll_published(&self, cx: &mut Context<'_>, is_awaited: bool) -> Poll<Result<()>> {
        let mut state = self.state();
        state.waiter = None;
        let is_stored = self.poll_write(&mut state, cx).is_ready();
        if let Some(error) = state.error.take() {
            return Poll::Ready(Err(error));
        }
        if is_stored || (!is_awaited && state.queue.len() < MAX_QUEUED) {
            return Poll::Ready(Ok(()));
        }
        state.waiter = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Polls the write that is on its way, and begins the next one. Between two calls of the
    /// agent, its runner does this. Ready if the task could not be stored: the client was told, so
    /// the agent need not go on.
    pub(super) fn poll_idle(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut state = self.state();
        _ = self.poll_write(&mut state, cx);
        if state.end == Some(TurnEnd::Refused) { Poll::Ready(()) } else { Poll::Pending }
    }

    /// Ready when nothing is left to be stored.
    fn poll_write(&self, state: &mut State, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            if state.writing.is_none() {
                if !state.has_unwritten() {
                    return Poll::Ready(());
                }
                state.writing = Some(self.begin(state));
            }
            let Some(writing) = &mut state.writing else { return Poll::Ready(()) };
            let written = ready!(writing.answer.as_mut().poll(cx));
            let ends_turn = writing.ends_turn;
            state.writing = None;
            state.settle(written, ends_turn);
            if let Some(waiter) = state.waiter.take() {
                waiter.wake();
            }
        }
    }

    /// Gives all that waits to the store.
    fn begin(&self, state: &mut State) -> Writing {
        state.queued_at = None;
        if let Some(unstored) = state.unstored.take() {
            return self.create(state, unstored);
        }
        let entries = std::mem::take(&mut state.queue);
        let ends_turn = state.is_ending;
        let write = TaskWrite {
            runner: self.name.clone(),
            number: state.written + 1,
            turn: state.turn,
            entries,
            releases: ends_turn,
        };
        let (storage, id) = (self.storage.clone(), self.task_id.clone());
        let answer = Box::pin(async move {
            match append(&storage, &id, &write).await {
                Ok(appended) => Written::Appended(appended, write.entries),
                Err(error) => Written::Failed(error),
            }
        });
        Writing { answer, ends_turn }
    }

    /// Stores a new task with all that waits.
    fn create(&self, state: &mut State, mut unstored: Box<Unstored>) -> Writing {
        let is_terminal = |entry: &TaskEntry| entry.state().is_some_and(TaskState::is_terminal);
        let ends_task = state.queue.last().is_some_and(|last| is_terminal(last));
        // The runner leaves a task that waits for its client by a write of its own.
        let is_last_left = state.is_ending && !ends_task;
        let rest = state.queue.split_off(state.queue.len() - usize::from(is_last_left));
        let entries = std::mem::replace(&mut state.queue, rest);
        unstored.task.entries.extend_from_slice(&entries);
        let storage = self.storage.clone();
        let answer = Box::pin(async move { unstored.store(&*storage.store, entries).await });
        Writing { answer, ends_turn: ends_task }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Whether something is left to be given to the store.
    fn has_unwritten(&self) -> bool {
        !self.queue.is_empty() || self.unstored.as_ref().is_some_and(|new| !new.may_reply)
    }

    /// Takes the answer to a write. What was published after a write that failed is not stored:
    /// the log has no gaps.
    fn settle(&mut self, written: Written, ends_turn: bool) {
        let error = match written {
            Written::Created(position, entries) => {
                self.collect(position, entries);
                self.end = ends_turn.then_some(TurnEnd::Released);
                return;
            }
            Written::Appended(Appended { position, is_released, .. }, entries) => {
                self.written += 1;
                self.collect(position, entries);
                let end = if is_released { TurnEnd::Released } else { TurnEnd::Next };
                self.end = ends_turn.then_some(end);
                return;
            }
            Written::NotCreated => {
                self.end = Some(TurnEnd::Refused);
                Status::internal("the task could not be stored")
            }
            Written::Failed(error) => {
                use StoreError::{Ended, Fenced, NotFound};
                if matches!(error, Ended(_) | Fenced(_) | NotFound(_)) {
                    self.end = Some(TurnEnd::Lost);
                }
                error.into()
            }
        };
        self.queue.clear();
        self.is_ending = false;
        self.error = Some(error);
    }

    /// Collects the entries of a write that has led to this position.
    fn collect(&mut self, position: u64, entries: Vec<Arc<TaskEntry>>) {
        let turn = self.turn;
        self.collected = self.collected.take().and_then(|mut collected| {
            // Another position has events of others before it: a reader finds them in the store.
            let is_next = collected.position + entries.len() as u64 == position;
            let numbered = (collected.position + 1..).zip(entries);
            let events = numbered.map(|(sequence, entry)| TaskEvent { sequence, turn, entry });
            collected.events.extend(events);
            collected.position = position;
            is_next.then_some(collected)
        });
    }
}

impl Unstored {
    /// Stores the task. `entries` are those that it has after its first one.
    async fn store(
        self: Box<Self>,
        store: &dyn TaskStore,
        entries: Vec<Arc<TaskEntry>>,
    ) -> Written {
        let Self { task, first, .. } = *self;
        match store.create(task).await {
            Ok(position) => {
                // A client that has left needs no answer.
                _ = first.send(First::Task);
                Written::Created(position, entries)
            }
            Err(error) => {
                _ = first.send(First::Failed(error));
                Written::NotCreated
            }
        }
    }
}

/// Makes a write until the store answers it. A write whose answer was lost may have been stored:
/// it has its number, by which the store recognises it.
async fn append(
    storage: &Storage,
    id: &str,
    write: &TaskWrite,
) -> std::result::Result<Appended, StoreError> {
    loop {
        let error = match storage.store.append(id, write.clone()).await {
            Err(error @ StoreError::Unavailable(_)) => error,
            answer => return answer,
        };
        tracing::warn!(task = id, %error, "events of a task were not stored and are sent again");
        if storage.cut.run_until_cancelled(sleep(RETRY)).await.is_none() {
            return Err(error);
        }
    }
}

/// Whether an event with this state ends the turn. `auth-required` keeps the runner: it goes on by
/// itself once it is authorised.
fn ends_turn(state: TaskState) -> bool {
    state.is_terminal() || state == TaskState::InputRequired
}

/// Whether the agent waits until an event with this state is stored.
fn is_awaited(state: TaskState) -> bool {
    state.is_terminal() || state.is_interrupted()
}
