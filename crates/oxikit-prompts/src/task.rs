//! The task of an open document: the only one that changes it.
//!
//! A change is stored in the history first, then answered and sent to the members of the room. The
//! file is written after that, while the task goes on; only callers that are promised the file wait
//! for it. Changes that wait are handled together, with one commit. The task also imports what other
//! programs write to the file, and what other processes write to the store.
//!
//! | file | holds |
//! | --- | --- |
//! | `input` | what can be asked of the task |
//! | `open` | all open documents; tasks start and end there |
//! | `load` | the first comparison of history and file, also after a crash |
//! | `disk` | the file: what is known about it, changes of other programs |
//! | `save` | the file: writing it |
//! | `commit` | the store: appending, changes of other processes |
//! | `plan`, `job`, `outcome` | what changes do to the text, without input and output |
//! | `batch`, `answers` | changes that are handled together, and their answers |
//! | `publish` | index, feed and members after a change |
//! | `hold` | changes of several documents together: rename |

mod answers;
mod batch;
mod commit;
mod disk;
mod hold;
mod input;
mod job;
mod load;
mod open;
mod outcome;
mod place;
mod plan;
mod publish;
mod recent;
mod save;

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use oxikit_core::ports::{StoreError, Subscription, revision_topic};
use oxikit_wire::close_code;
use tokio::sync::mpsc;
use tokio::time::{Instant, Sleep, sleep_until};

pub(crate) use hold::{MovePlan, Rewrite};
pub(crate) use input::{Change, Hold, Input, Wanted};
pub(crate) use open::{Handle, Tasks};
pub(crate) use place::Place;

use crate::document::Document;
use crate::error::{PromptsError, kind_name};
use crate::files::Stamp;
use crate::room::{Room, Snapshot};
use crate::state::State;
use input::Joined;
use open::Notices;
use recent::RecentContents;
use save::{Saved, Saving};

/// Number of attempts to store a change when other processes are faster.
const MAX_ATTEMPTS: usize = 10;
/// Time between a notification of the store and reading it. A change of our own within this time
/// tells the same.
const SYNC_DELAY: Duration = Duration::from_millis(10);

/// The task of a document.
#[derive(Debug)]
pub(crate) struct DocumentTask {
    tasks: Arc<Tasks>,
    state: Arc<State>,
    place: Place,
    inbox: mpsc::Receiver<Input>,
    /// A request that was received while changes were collected.
    postponed: Option<Input>,
    notices: Arc<Notices>,
    /// Notifies of changes in the store, by this process or others.
    subscription: Subscription,
    loaded: Option<Loaded>,
    room: Option<Room>,
    last_use: Instant,
    /// When the store has to be read.
    sync_at: Option<Instant>,
    saving: Saving,
    /// Ends at [`due_at`](Self::due_at) or before. It is not set later when something is due later:
    /// a change makes several things due, and to set a timer wakes the thread that waits for it.
    alarm: Pin<Box<Sleep>>,
}

/// The document as it is stored.
#[derive(Debug)]
struct Loaded {
    /// The newest number of the log; 0 if there is no log.
    newest: u64,
    /// The number of the current revision.
    rev: u64,
    /// `None` if the document does not exist.
    document: Option<Arc<Document>>,
    created_at: i64,
    disk: Disk,
    recent: RecentContents,
}

/// The file, as far as it is known.
#[derive(Debug, Clone, Default)]
struct Disk {
    /// `None` if there is no file.
    stamp: Option<Stamp>,
    /// Hash of its text; empty if there is no file or it cannot be read.
    hash: String,
    /// The revision with this text.
    rev: u64,
    /// Why the file cannot be read.
    problem: Option<String>,
    /// Whether another program has removed the file. It is written again only with a change.
    was_removed: bool,
}

/// Why a step could not be done.
#[derive(Debug)]
enum Failure {
    /// Another process has changed the document in the store: read it and try again.
    Overtaken,
    Error(PromptsError),
}

/// Something that the task has to react to.
enum Event {
    Input(Input),
    /// There is nobody left who could send a request.
    Unused,
    Notice,
    StoreChanged,
    /// The file was written, or could not be.
    Saved(io::Result<Saved>),
    Timer,
}

/// Whether the task goes on.
enum Next {
    Continue,
    End,
}

impl DocumentTask {
    fn new(
        tasks: Arc<Tasks>,
        place: Place,
        inbox: mpsc::Receiver<Input>,
        notices: Arc<Notices>,
    ) -> Self {
        let state = tasks.state.clone();
        let subscription = state.store.notifier().subscribe(revision_topic(&place.key));
        Self {
            tasks,
            state,
            place,
            inbox,
            postponed: None,
            notices,
            subscription,
            loaded: None,
            room: None,
            last_use: Instant::now(),
            sync_at: None,
            saving: Saving::default(),
            alarm: Box::pin(sleep_until(Instant::now())),
        }
    }

    /// Handles requests until the library is closed or nobody uses the document any more.
    async fn run(mut self) {
        let stop = self.state.stop.clone();
        loop {
            let event = tokio::select! {
                biased;
                () = stop.cancelled() => {
                    self.close_room(close_code::GOING_AWAY, "the server is shutting down");
                    Event::Unused
                }
                event = self.next_event() => event,
            };
            let next = match event {
                Event::Input(input) => self.handle(input).await,
                Event::Unused => Next::End,
                Event::Notice => self.take_notices(),
                Event::StoreChanged => {
                    self.sync_at.get_or_insert_with(|| Instant::now() + SYNC_DELAY);
                    Next::Continue
                }
                Event::Saved(saved) => {
                    self.handle_saved(saved).await;
                    Next::Continue
                }
                Event::Timer => self.work().await,
            };
            if matches!(next, Next::End) {
                return self.end().await;
            }
            self.save_if_due();
        }
    }

    /// Writes what is not yet in the file.
    async fn end(mut self) {
        if let Err(failure) = self.finish_file().await {
            let (document, error) = (&self.place.key, PromptsError::from(failure));
            tracing::error!(%document, %error, "prompt file not written; its text is in the history");
        }
    }

    /// Waits for the next event. Nothing is lost if the future is dropped.
    async fn next_event(&mut self) -> Event {
        if let Some(input) = self.postponed.take() {
            return Event::Input(input);
        }
        let due = self.due_at();
        loop {
            if due < self.alarm.deadline() || self.alarm.is_elapsed() {
                self.alarm.as_mut().reset(due);
            }
            return tokio::select! {
                biased;
                saved = self.saving.done() => Event::Saved(saved),
                input = self.inbox.recv() => input.map_or(Event::Unused, Event::Input),
                () = self.notices.ready.notified() => Event::Notice,
                () = self.alarm.as_mut() => match Instant::now() < due {
                    true => continue,
                    false => Event::Timer,
                },
                _ = self.subscription.next() => Event::StoreChanged,
            };
        }
    }

    fn due_at(&self) -> Instant {
        let idle_at = self.last_use + self.state.options.idle_time;
        let room = self.room.as_ref().and_then(Room::due_at);
        let others = room.into_iter().chain(self.sync_at).chain(self.save_at());
        others.fold(idle_at, Instant::min)
    }

    async fn handle(&mut self, input: Input) -> Next {
        self.last_use = Instant::now();
        match input {
            Input::Change(change) => self.handle_changes(*change).await,
            Input::Join { label, reply } => _ = reply.send(self.join(label).await),
            Input::Hello { member, hello, done } => {
                if let Some(room) = &mut self.room {
                    room.hello(member, hello);
                }
                _ = done.send(());
            }
            Input::Presence { member, presence } => {
                if let Some(room) = &mut self.room {
                    room.presence(member, presence);
                }
            }
            Input::Check { reply } => {
                let checked = self.check().await;
                if let Some(reply) = reply {
                    _ = reply.send(checked);
                }
            }
            Input::FileRemoved => self.file_removed().await,
            Input::Hold { reply } => self.hold(reply).await,
            Input::Evict => {
                let reason = self.not_found_reason();
                self.close_room(close_code::NOT_FOUND, &reason);
                return Next::End;
            }
        }
        Next::Continue
    }

    async fn join(&mut self, label: Option<String>) -> Result<Joined, PromptsError> {
        self.load().await?;
        let document = self.document().ok_or_else(|| self.not_found())?;
        let stall_time = self.state.options.stall_time;
        let room =
            self.room.get_or_insert_with(|| Room::new(Snapshot::first(document), stall_time));
        let (member, outbox, session) = room.join(label);
        Ok(Joined { member, session, outbox })
    }

    /// Does what has to be done at its time. Ends the task if nobody uses the document.
    async fn work(&mut self) -> Next {
        let now = Instant::now();
        if let Some(room) = &mut self.room {
            room.work();
        }
        if self.sync_at.take_if(|at| *at <= now).is_some() {
            // It is tried again after the next notification.
            if let Err(failure) = self.sync().await {
                let error = PromptsError::from(failure);
                tracing::warn!(document = %self.place.key, %error, "document not compared with its store");
            }
        }
        if self.last_use + self.state.options.idle_time > now {
            return Next::Continue;
        }
        self.last_use = now;
        let is_empty = self.room.as_mut().is_none_or(Room::is_empty) && !self.must_save();
        match is_empty && self.tasks.remove_idle(&self.place.key, &self.inbox) {
            true => Next::End,
            false => Next::Continue,
        }
    }

    fn take_notices(&mut self) -> Next {
        let waiting = self.notices.take();
        if let Some(room) = &mut self.room {
            room.work();
            for (id, rev) in &waiting.dependencies {
                room.dependency_changed(id, *rev);
            }
        }
        if waiting.has_new_id {
            self.take_id();
        }
        Next::Continue
    }

    fn close_room(&mut self, code: u16, reason: &str) {
        if let Some(mut room) = self.room.take() {
            room.close(code, reason);
        }
    }

    /// The current document; `None` if it does not exist or is not loaded.
    fn document(&self) -> Option<Arc<Document>> {
        self.loaded.as_ref()?.document.clone()
    }

    fn not_found(&self) -> PromptsError {
        let path = &self.place.path;
        let id = crate::document::stem(path);
        PromptsError::not_found(id, Some(crate::document::kind_of(path)))
    }

    /// The reason with which members of a deleted document are closed.
    fn not_found_reason(&self) -> String {
        match self.document() {
            Some(document) => format!("{} '{}' not found", kind_name(document.kind), document.id),
            None => self.not_found().to_string(),
        }
    }
}

impl From<PromptsError> for Failure {
    fn from(error: PromptsError) -> Self {
        Self::Error(error)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Conflict(_) => Self::Overtaken,
            error => Self::Error(error.into()),
        }
    }
}

impl From<Failure> for PromptsError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Overtaken => Self::Store(StoreError::Conflict("the document".to_owned())),
            Failure::Error(error) => error,
        }
    }
}
