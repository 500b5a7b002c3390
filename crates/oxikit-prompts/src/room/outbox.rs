//! The messages that wait for one member. They are bounded, so that a member that does not read
//! costs little memory and never makes a writer wait.
//!
//! Changes that wait are merged into the newest one. All messages come from the task of the
//! document, except the answers to questions, so their order is that of the changes.

mod queue;

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use oxikit_http::websocket::{FrameSender, TextFrame};
use tokio::time::Instant;

use super::SharedText;
use super::seen::{Seen, SeenText};
use super::snapshot::Snapshot;
use queue::{Item, Queue};

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

/// What is new to a member.
#[derive(Debug, Clone, Copy)]
pub(super) struct News {
    pub(super) content: bool,
    pub(super) metadata: bool,
}

/// When a message is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Delivery {
    /// With the call that makes it.
    Now,
    /// By [`deliver`](Outbox::deliver), which has to follow.
    Later,
}

/// What the room learns about a member when it tells it about a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    /// The member had read all messages before, and nothing is new to it.
    Nothing,
    /// The member had read all messages before.
    InTime,
    /// Messages were waiting before.
    Behind,
    /// The member has left.
    Left,
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
        match queue.take() {
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
        let item = self.lock().take()?;
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

    /// Puts a new state of the document behind the messages that wait, as far as it is new to the
    /// member. The content comes in steps if the member understands them and has the state before, else
    /// as a whole.
    ///
    /// The message is made here: readers on several threads would wait for the one that makes it.
    pub(super) fn announce(
        &self,
        next: &Arc<Snapshot>,
        news: News,
        delivery: Delivery,
        now: Instant,
    ) -> Told {
        let mut queue = self.lock();
        let told = match queue.items.is_empty() {
            _ if queue.has_left => return Told::Left,
            false => Told::Behind,
            true if news.content || news.metadata => Told::InTime,
            true => Told::Nothing,
        };
        queue.change(now, |queue| {
            match news.content {
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
            if news.metadata {
                queue.items.retain(|item| !matches!(item, Item::Metadata(_)));
                queue.items.push_back(Item::Metadata(next.clone()));
            }
            queue.set_current(next);
        });
        if delivery == Delivery::Now {
            Self::deliver_from(queue, now);
        }
        told
    }

    /// Sends what waits, as far as the network takes it, if the reader has sent all that it has taken.
    /// The reader is woken for the rest.
    pub(super) fn deliver(&self) {
        Self::deliver_from(self.lock(), Instant::now());
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

    /// Changes the queue, and sends what waits then.
    fn push(&self, change: impl FnOnce(&mut Queue)) {
        let now = Instant::now();
        let mut queue = self.lock();
        queue.change(now, change);
        Self::deliver_from(queue, now);
    }

    fn deliver_from(mut queue: MutexGuard<'_, Queue>, now: Instant) {
        let is_complete = queue.send_past_reader(now);
        let reader = if is_complete { None } else { queue.reader.take() };
        drop(queue);
        if let Some(reader) = reader {
            reader.wake();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        // The queue is consistent after every statement.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
