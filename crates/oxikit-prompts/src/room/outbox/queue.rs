//! The queue of an outbox, without its lock.

use std::collections::VecDeque;
use std::sync::Arc;
use std::task::Waker;

use oxikit_http::websocket::{FrameSender, Sent};
use oxikit_wire::close_code;
use tokio::time::Instant;

use super::Outgoing;
use crate::room::SharedText;
use crate::room::seen::{Seen, SeenText};
use crate::room::snapshot::Snapshot;

/// Maximum number of messages that wait. Beyond it the changes among them are replaced by one
/// `initial`; if there are still too many, the member is closed with 1013.
const MAX_MESSAGES: usize = 256;
/// Size of the waiting messages in bytes beyond which the same happens. Contents, which members
/// share, do not count.
const MAX_BYTES: usize = 1 << 20;
/// Maximum number of `patched` messages that wait. More are replaced by one `update`.
const MAX_PATCHES: usize = 16;
#[derive(Debug)]
pub(super) struct Queue {
    pub(super) items: VecDeque<Item>,
    /// Size of the items in bytes, without contents.
    pub(super) bytes: usize,
    /// When the reader took an item last, or the first item came into an empty queue.
    pub(super) progress: Instant,
    /// The newest state that the room has sent to anybody.
    pub(super) current: Arc<Snapshot>,
    /// The revision that the member has when it has read all items.
    pub(super) rev: u64,
    pub(super) has_said_hello: bool,
    pub(super) seen: Seen,
    /// When the member was sent a content, after its first one.
    pub(super) foreign_at: Option<Instant>,
    pub(super) is_closed: bool,
    pub(super) has_left: bool,
    /// Wakes the reader, if it waits: it has passed on all messages before. There is one reader.
    pub(super) reader: Option<Waker>,
    /// Sends past the reader.
    pub(super) sender: Option<FrameSender>,
}

/// A message that waits.
#[derive(Debug)]
pub(super) enum Item {
    Reply(SharedText),
    Initial(Arc<Snapshot>),
    Update(Arc<Snapshot>),
    Patched(Arc<Snapshot>),
    Metadata(Arc<Snapshot>),
    Presence(SharedText),
    DependencyChanged { id: String, text: SharedText },
    Close { code: u16, reason: String },
}

impl Queue {
    /// The next item, for the reader. Until it asks for one more it does not wait, and nothing is sent past
    /// it: that would come before this item.
    pub(super) fn take(&mut self) -> Option<Item> {
        let item = self.pop(Instant::now())?;
        self.reader = None;
        Some(item)
    }

    fn pop(&mut self, now: Instant) -> Option<Item> {
        let item = self.items.pop_front()?;
        self.bytes -= item.bytes().min(self.bytes);
        self.progress = now;
        if let Item::Initial(snapshot) | Item::Update(snapshot) | Item::Patched(snapshot) = &item {
            // Also a content that the member has submitted itself replaces what it has typed since.
            if !self.seen.is_empty() {
                self.foreign_at = Some(now);
            }
            self.seen.push(SeenText::Sent(snapshot.document.clone()));
        }
        Some(item)
    }

    /// Changes the queue and keeps it within its bounds.
    pub(super) fn change(&mut self, now: Instant, change: impl FnOnce(&mut Self)) {
        if self.is_closed || self.has_left {
            return;
        }
        let was_empty = self.items.is_empty();
        change(self);
        if was_empty && !self.items.is_empty() {
            self.progress = now;
        }
        self.enforce_bounds();
    }

    /// Whether the network has taken all that waits. A reader that does not wait has to send its messages
    /// first.
    pub(super) fn send_past_reader(&mut self, now: Instant) -> bool {
        while let Some(item) = self.items.front() {
            let (Some(sender), Some(text), Some(_)) = (&self.sender, item.text(), &self.reader)
            else {
                return false;
            };
            let sent = sender.try_send(text);
            if sent != Sent::Not {
                self.pop(now);
            }
            if sent != Sent::Whole {
                return false;
            }
        }
        true
    }

    pub(super) fn update(&mut self, snapshot: Arc<Snapshot>) {
        self.items.retain(|item| !matches!(item, Item::Update(_) | Item::Patched(_)));
        self.set_current(&snapshot);
        self.items.push_back(Item::Update(snapshot));
    }

    pub(super) fn can_patch(&self, snapshot: &Snapshot) -> bool {
        let patches = self.items.iter().filter(|item| matches!(item, Item::Patched(_)));
        self.has_said_hello && self.rev == snapshot.base_rev() && patches.count() < MAX_PATCHES
    }

    pub(super) fn set_current(&mut self, snapshot: &Arc<Snapshot>) {
        self.rev = snapshot.document.rev;
        self.current = snapshot.clone();
    }

    /// Keeps only answers, and puts `initial` behind them.
    pub(super) fn resynchronise(&mut self) {
        self.items.retain(|item| matches!(item, Item::Reply(_)));
        self.rev = self.current.document.rev;
        self.items.push_back(Item::Initial(self.current.clone()));
    }

    pub(super) fn close(&mut self, code: u16, reason: &str) {
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
    pub(super) fn into_outgoing(self) -> Outgoing {
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
