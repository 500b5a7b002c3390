//! The messages that wait for one member. They are bounded, so that a member that does not read
//! costs little memory and never makes a writer wait.
//!
//! Changes that wait are merged into the newest one. All messages come from the task of the
//! document, except the answers to questions, so their order is that of the changes.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use oxikit_http::websocket::{FrameSender, Sent, TextFrame};
use oxikit_wire::close_code;
use tokio::time::Instant;

use super::SharedText;
use super::seen::{Seen, SeenText};
use super::snapshot::Snapshot;

/// Maximum number of messages that wait. Beyond it the changes among them are replaced by one
/// `initial`; if there are still too many, the member is closed with 1013.
const MAX_MESSAGES: usize = 256;
/// Size of the waiting messages in bytes beyond which the same happens. Contents, which members
/// share, do not count.
const MAX_BYTES: usize = 1 << 20;
/// Maximum number of `patched` messages that wait. More are replaced by one `update`.
const MAX_PATCHES: usize = 16;
/// Time after which a member has certainly received a message that its transport has taken.
const ON_ITS_WAY: Duration = Duration::from_secs(2);

/// A message for the peer of a [`Member`](crate::Member).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outgoing {
    /// A text to send: a [`ServerMessage`](oxikit_wire::prompts::ServerMessage) as JSON. Members
    /// share the texts of broadcasts.
    Text(TextFrame),
    /// The connection has to be closed. No more messages follow.
    Close {
        /// The close code.
        code: u16,
        /// The reason in the close frame.
        reason: String,
    },
}

/// The messages that wait for a member.
#[derive(Debug)]
pub(crate) struct Outbox(Mutex<Queue>);

/// How a member is told about a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// The room sends the message if the reader waits and the network takes it: nothing has to be woken.
    PastReader,
    /// The reader sends it.
    Reader,
}

/// What the room learns about a member when it tells it about a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    /// The member had read all messages before.
    InTime,
    /// Messages were waiting before.
    Behind,
    /// The member has left.
    Left,
}

#[derive(Debug)]
struct Queue {
    items: VecDeque<Item>,
    /// Size of the items in bytes, without contents.
    bytes: usize,
    /// When the reader took an item last, or the first item came into an empty queue.
    progress: Instant,
    /// The newest state that the room has sent to anybody.
    current: Arc<Snapshot>,
    /// The revision that the member has when it has read all items.
    rev: u64,
    has_said_hello: bool,
    seen: Seen,
    /// When the member was sent a content, after its first one.
    foreign_at: Option<Instant>,
    is_closed: bool,
    has_left: bool,
    /// Wakes the reader, if it waits: it has passed on all messages before. There is one reader.
    reader: Option<Waker>,
    /// Sends past the reader.
    sender: Option<FrameSender>,
}

/// A message that waits.
#[derive(Debug)]
enum Item {
    Reply(SharedText),
    Initial(Arc<Snapshot>),
    Update(Arc<Snapshot>),
    Patched(Arc<Snapshot>),
    Metadata(Arc<Snapshot>),
    Presence(SharedText),
    DependencyChanged { id: String, text: SharedText },
    Close { code: u16, reason: String },
}

impl Outbox {
    /// An outbox with `initial` in it.
    pub(super) fn new(current: Arc<Snapshot>) -> Self {
        let queue = Queue {
            items: VecDeque::from([Item::Initial(current.clone())]),
            bytes: 0,
            progress: Instant::now(),
            rev: current.document.rev,
            current,
            has_said_hello: false,
            seen: Seen::default(),
            foreign_at: None,
            is_closed: false,
            has_left: false,
            reader: None,
            sender: None,
        };
        Self(Mutex::new(queue))
    }

    /// The next message. Cancel safe; after a close it never returns.
    pub(crate) async fn next(&self) -> Outgoing {
        poll_fn(|cx| self.poll_next(cx)).await
    }

    /// [`next`](Self::next) for a reader that polls several sources itself.
    pub(crate) fn poll_next(&self, cx: &Context<'_>) -> Poll<Outgoing> {
        let mut queue = self.lock();
        match queue.pop() {
            Some(item) => {
                drop(queue);
                Poll::Ready(item.into_outgoing())
            }
            None => {
                if !queue.reader.as_ref().is_some_and(|reader| reader.will_wake(cx.waker())) {
                    queue.reader = Some(cx.waker().clone());
                }
                Poll::Pending
            }
        }
    }

    /// Lets the room send messages by itself while the reader waits for one. The reader must have sent all
    /// messages that it has taken before it asks for the next one.
    pub(crate) fn send_through(&self, sender: FrameSender) {
        self.lock().sender = Some(sender);
    }

    /// The next message if there is one.
    pub(crate) fn try_next(&self) -> Option<Outgoing> {
        let item = self.lock().pop()?;
        Some(item.into_outgoing())
    }

    /// The newest state of the document.
    pub(crate) fn current(&self) -> Arc<Snapshot> {
        self.lock().current.clone()
    }

    /// The member is gone. The room forgets it.
    pub(crate) fn leave(&self) {
        let mut queue = self.lock();
        queue.has_left = true;
        queue.items.clear();
    }

    /// Puts an answer behind all messages.
    pub(crate) fn reply(&self, text: SharedText) {
        self.push(|queue| queue.items.push_back(Item::Reply(text)));
    }

    pub(super) fn has_left(&self) -> bool {
        self.lock().has_left
    }

    pub(super) fn set_hello(&self) {
        self.lock().has_said_hello = true;
    }

    pub(super) fn seen(&self) -> Vec<SeenText> {
        self.lock().seen.texts()
    }

    pub(super) fn submitted(&self, content: Arc<str>) {
        self.lock().seen.push(SeenText::Submitted(content));
    }

    /// The member has this revision when it has read all items.
    pub(super) fn acknowledged(&self, rev: u64) {
        let mut queue = self.lock();
        queue.rev = queue.rev.max(rev);
    }

    /// Since when messages wait without the reader taking one; `None` if none wait.
    pub(super) fn waiting_since(&self) -> Option<Instant> {
        let queue = self.lock();
        (!queue.items.is_empty()).then_some(queue.progress)
    }

    /// Whether a change of the content by others waits, or was sent so lately that the member may not
    /// have had it when it made its last submission.
    pub(super) fn has_change_on_its_way(&self) -> bool {
        let queue = self.lock();
        queue.foreign_at.is_some_and(|at| at.elapsed() < ON_ITS_WAY)
            || queue.items.iter().any(|item| matches!(item, Item::Update(_) | Item::Patched(_)))
    }

    /// Tells the member about a new state of the document: its content and its metadata if they are
    /// new to it. The content comes in steps if the member understands them and has the state
    /// before, else as a whole. If it is not sent by `way`, the caller wakes the reader that is returned.
    ///
    /// The message is made here: readers on several threads, which are woken together, would wait for
    /// the one that makes it.
    pub(super) fn announce(
        &self,
        next: &Arc<Snapshot>,
        has_content: bool,
        has_metadata: bool,
        (now, way): (Instant, Way),
    ) -> (Told, Option<Waker>) {
        let queue = self.lock();
        let told = match queue.items.is_empty() {
            _ if queue.has_left => return (Told::Left, None),
            true => Told::InTime,
            false => Told::Behind,
        };
        let reader = Self::change(queue, now, |queue| {
            match has_content {
                true if queue.can_patch(next) => {
                    next.patched();
                    queue.items.push_back(Item::Patched(next.clone()));
                }
                true => {
                    next.update();
                    queue.update(next.clone());
                }
                false => {}
            }
            if has_metadata {
                queue.items.retain(|item| !matches!(item, Item::Metadata(_)));
                queue.items.push_back(Item::Metadata(next.clone()));
            }
            queue.set_current(next);
            if told == Told::InTime && way == Way::PastReader {
                queue.send_past_reader();
            }
        });
        (told, reader)
    }

    /// The whole content.
    pub(super) fn update(&self, snapshot: Arc<Snapshot>) {
        self.push(|queue| queue.update(snapshot));
    }

    /// A list of presence, in place of an older one that waits.
    pub(super) fn presence(&self, text: SharedText) {
        self.push(|queue| {
            queue.items.retain(|item| !matches!(item, Item::Presence(_)));
            queue.items.push_back(Item::Presence(text));
        });
    }

    /// A change of an included document, in place of an older one that waits.
    pub(super) fn dependency_changed(&self, id: &str, text: SharedText) {
        self.push(|queue| {
            queue.items.retain(|item| {
                !matches!(item, Item::DependencyChanged { id: waiting, .. } if waiting == id)
            });
            queue.items.push_back(Item::DependencyChanged { id: id.to_owned(), text });
        });
    }

    /// Replaces all changes that wait by one `initial`.
    pub(super) fn resynchronise(&self, current: Arc<Snapshot>) {
        self.push(|queue| {
            queue.current = current;
            queue.resynchronise();
            // The next look at this member comes after another stall time.
            queue.progress = Instant::now();
        });
    }

    /// Ends the connection after the answers that wait.
    pub(super) fn close(&self, code: u16, reason: &str) {
        self.push(|queue| queue.close(code, reason));
    }

    fn push(&self, change: impl FnOnce(&mut Queue)) {
        if let Some(reader) = Self::change(self.lock(), Instant::now(), change) {
            reader.wake();
        }
    }

    /// Changes the queue and keeps it within its bounds. Returns the reader to be woken, if messages
    /// wait for it.
    fn change(
        mut queue: MutexGuard<'_, Queue>,
        now: Instant,
        change: impl FnOnce(&mut Queue),
    ) -> Option<Waker> {
        if queue.is_closed || queue.has_left {
            return None;
        }
        let was_empty = queue.items.is_empty();
        change(&mut queue);
        if queue.items.is_empty() {
            return None;
        }
        if was_empty {
            queue.progress = now;
        }
        queue.enforce_bounds();
        queue.reader.take()
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        // The queue is consistent after every statement.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    fn pop(&mut self) -> Option<Item> {
        let item = self.items.pop_front()?;
        self.bytes -= item.bytes().min(self.bytes);
        self.progress = Instant::now();
        if let Item::Initial(snapshot) | Item::Update(snapshot) | Item::Patched(snapshot) = &item {
            // Also a content that the member has submitted itself replaces what it has typed since.
            if !self.seen.is_empty() {
                self.foreign_at = Some(self.progress);
            }
            self.seen.push(SeenText::Sent(snapshot.document.clone()));
        }
        Some(item)
    }

    /// Sends what waits, as far as the network takes it, if the reader has sent all that came before.
    fn send_past_reader(&mut self) {
        while let (Some(sender), Some(text), true) =
            (&self.sender, self.items.front().and_then(Item::text), self.reader.is_some())
        {
            match sender.try_send(text) {
                Sent::Whole => {}
                // The reader sends the rest.
                Sent::Partly => self.reader.take().into_iter().for_each(Waker::wake),
                Sent::Not => return,
            }
            self.pop();
        }
    }

    fn update(&mut self, snapshot: Arc<Snapshot>) {
        self.items.retain(|item| !matches!(item, Item::Update(_) | Item::Patched(_)));
        self.set_current(&snapshot);
        self.items.push_back(Item::Update(snapshot));
    }

    fn can_patch(&self, snapshot: &Snapshot) -> bool {
        let patches = self.items.iter().filter(|item| matches!(item, Item::Patched(_)));
        self.has_said_hello && self.rev == snapshot.base_rev() && patches.count() < MAX_PATCHES
    }

    fn set_current(&mut self, snapshot: &Arc<Snapshot>) {
        self.rev = snapshot.document.rev;
        self.current = snapshot.clone();
    }

    /// Keeps only answers, and puts `initial` behind them.
    fn resynchronise(&mut self) {
        self.items.retain(|item| matches!(item, Item::Reply(_)));
        self.rev = self.current.document.rev;
        self.items.push_back(Item::Initial(self.current.clone()));
    }

    fn close(&mut self, code: u16, reason: &str) {
        self.items.retain(|item| matches!(item, Item::Reply(_)));
        self.items.push_back(Item::Close { code, reason: reason.to_owned() });
        self.is_closed = true;
    }

    fn enforce_bounds(&mut self) {
        self.count();
        if self.is_full() {
            self.resynchronise();
            self.count();
        }
        if self.is_full() {
            self.items.clear();
            self.close(close_code::TRY_AGAIN_LATER, "too many messages are not read");
            self.count();
        }
    }

    /// The last item does not count: a single large answer is always possible.
    fn is_full(&self) -> bool {
        let last = self.items.back().map_or(0, Item::bytes);
        !self.is_closed && (self.items.len() > MAX_MESSAGES || self.bytes - last > MAX_BYTES)
    }

    fn count(&mut self) {
        self.bytes = self.items.iter().map(Item::bytes).sum();
    }
}

impl Item {
    /// The message. Its text is made without the lock of the queue.
    fn into_outgoing(self) -> Outgoing {
        match self {
            Self::Close { code, reason } => Outgoing::Close { code, reason },
            item => Outgoing::Text(item.text().cloned().unwrap_or_else(|| "".into())),
        }
    }

    /// The text of a message that is not the close.
    fn text(&self) -> Option<&SharedText> {
        Some(match self {
            Self::Reply(text) | Self::Presence(text) | Self::DependencyChanged { text, .. } => text,
            Self::Initial(snapshot) => snapshot.initial(),
            Self::Update(snapshot) => snapshot.update(),
            Self::Patched(snapshot) => snapshot.patched(),
            Self::Metadata(snapshot) => snapshot.metadata(),
            Self::Close { .. } => return None,
        })
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Reply(text) | Self::Presence(text) => text.len(),
            Self::DependencyChanged { id, text } => id.len() + text.len(),
            Self::Close { reason, .. } => reason.len(),
            Self::Initial(_) | Self::Update(_) | Self::Patched(_) | Self::Metadata(_) => 0,
        }
    }
}
