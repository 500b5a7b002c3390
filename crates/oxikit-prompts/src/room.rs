//! The members who have a document open, and the messages that wait for them.
//!
//! A room is owned by the task of its document, which is the only one that puts messages into it,
//! so that every member sees changes in their order. What a change means is decided there, not here.

mod outbox;
mod seen;
mod snapshot;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use oxikit_http::websocket::TextFrame;
use oxikit_wire::close_code;
use oxikit_wire::prompts::{
    DependencyChanged, Hello, IdChanged, Presence, PresenceList, ServerMessage, SetPresence,
    Welcome, features,
};
use tokio::time::Instant;
use uuid::Uuid;

pub(crate) use outbox::Outbox;
pub use outbox::Outgoing;
use outbox::{Delivery, News, Told};
pub(crate) use seen::SeenText;
pub(crate) use snapshot::{Snapshot, message_text};

/// Interval of messages about presence. Changes within it are sent together.
const PRESENCE_INTERVAL: Duration = Duration::from_millis(100);
/// Number of members that one task sends a change to. Waking a task for each of them costs about as much
/// as sending; in a large room several tasks send, on all threads.
const SENT_TOGETHER: usize = 100;
/// Maximum number of members in a list of presence. Others are not shown.
const MAX_SHOWN: usize = 200;
/// Maximum length in bytes of the label of a member. Longer ones are cut.
const MAX_LABEL: usize = 100;

/// Identifies a member, in all rooms of the process: a late request of a member whose room was
/// closed is not mistaken for one of somebody else.
pub(crate) type MemberId = u64;

static LAST_ID: AtomicU64 = AtomicU64::new(0);

/// The members of a document.
#[derive(Debug)]
pub(crate) struct Room {
    members: BTreeMap<MemberId, Entry>,
    /// The document as all members will have it when they have read their messages.
    current: Arc<Snapshot>,
    /// When the list of presence has to be sent.
    presence_at: Option<Instant>,
    /// When members that do not read have to be looked for.
    sweep_at: Option<Instant>,
    stall_time: Duration,
}

/// A member as its room knows it.
#[derive(Debug)]
struct Entry {
    outbox: Arc<Outbox>,
    session: Arc<str>,
    label: Option<String>,
    has_said_hello: bool,
    presence: SetPresence,
}

/// Which members have a new state already, because they made it.
#[derive(Debug, Default)]
pub(crate) struct UpToDate {
    pub(crate) content: BTreeSet<MemberId>,
    pub(crate) metadata: BTreeSet<MemberId>,
}

impl Room {
    pub(crate) fn new(current: Snapshot, stall_time: Duration) -> Self {
        Self {
            members: BTreeMap::new(),
            current: Arc::new(current),
            presence_at: None,
            sweep_at: None,
            stall_time,
        }
    }

    /// Whether nobody has the document open.
    pub(crate) fn is_empty(&mut self) -> bool {
        self.remove_left();
        self.members.is_empty()
    }

    /// Lets somebody in. `initial` is the first message in the outbox.
    pub(crate) fn join(&mut self, label: Option<String>) -> (MemberId, Arc<Outbox>, Arc<str>) {
        let id = LAST_ID.fetch_add(1, Ordering::Relaxed) + 1;
        let outbox = Arc::new(Outbox::new(self.current.clone()));
        let session: Arc<str> = Uuid::new_v4().simple().to_string().into();
        let entry = Entry {
            outbox: outbox.clone(),
            session: session.clone(),
            label: label.as_deref().map(short_label),
            has_said_hello: false,
            presence: SetPresence::default(),
        };
        self.members.insert(id, entry);
        (id, outbox, session)
    }

    /// The author of a member's edits.
    pub(crate) fn label(&self, member: MemberId) -> Option<&str> {
        self.members.get(&member)?.label.as_deref()
    }

    /// The texts that a member has seen, the oldest first.
    pub(crate) fn seen(&self, member: MemberId) -> Vec<SeenText> {
        self.members.get(&member).map(|entry| entry.outbox.seen()).unwrap_or_default()
    }

    /// Records a text that a member has submitted.
    pub(crate) fn submitted(&self, member: MemberId, content: &Arc<str>) {
        if let Some(entry) = self.members.get(&member) {
            entry.outbox.submitted(content.clone());
        }
    }

    /// Whether a change by others is on its way to a member, which then shows an older content than
    /// the one that it has submitted.
    pub(crate) fn has_change_on_its_way(&self, member: MemberId) -> bool {
        self.members.get(&member).is_some_and(|entry| entry.outbox.has_change_on_its_way())
    }

    /// Records that a member has been told the revision with what it has submitted. Steps from an
    /// older revision do not fit its text any more.
    pub(crate) fn acknowledged(&self, member: MemberId, rev: u64) {
        if let Some(entry) = self.members.get(&member) {
            entry.outbox.acknowledged(rev);
        }
    }

    /// Puts an answer behind the messages that wait for a member.
    pub(crate) fn reply(&mut self, member: MemberId, message: &ServerMessage) {
        if let Some(entry) = self.members.get(&member) {
            entry.outbox.reply(message_text(message));
        }
    }

    /// Sends a member the current content.
    pub(crate) fn resend(&mut self, member: MemberId) {
        if let Some(entry) = self.members.get(&member) {
            entry.outbox.update(self.current.clone());
        }
    }

    /// A member understands the extended protocol.
    pub(crate) fn hello(&mut self, member: MemberId, hello: Hello) {
        let Some(entry) = self.members.get_mut(&member) else { return };
        entry.has_said_hello = true;
        if let Some(client) = hello.client.filter(|client| !client.trim().is_empty()) {
            entry.label = Some(short_label(&client));
        }
        entry.outbox.set_hello();
        let session = entry.session.to_string();
        let rev = self.current.document.rev;
        let welcome = Welcome { session, rev, features: features() };
        entry.outbox.reply(message_text(&ServerMessage::Welcome(welcome)));
        self.touch_presence();
    }

    /// A member shows its cursor to the others.
    pub(crate) fn presence(&mut self, member: MemberId, presence: SetPresence) {
        if let Some(entry) = self.members.get_mut(&member).filter(|entry| entry.has_said_hello) {
            let name = presence.name.as_deref().map(short_label);
            entry.presence = SetPresence { name, ..presence };
            self.touch_presence();
        }
    }

    /// Tells all members about a new state of the document. This task sends to the first members;
    /// tasks that start before send to the others.
    pub(crate) fn announce(&mut self, next: Snapshot, up_to_date: &UpToDate) {
        let next = Arc::new(next);
        let (has_content, has_metadata) = (next.has_new_content(), next.has_new_metadata());
        let (mut is_somebody_slow, mut has_somebody_left) = (false, false);
        let now = Instant::now();
        let mut tell = |id: &MemberId, outbox: &Outbox, delivery: Delivery| {
            let news = News {
                content: has_content && !up_to_date.content.contains(id),
                metadata: has_metadata && !up_to_date.metadata.contains(id),
            };
            let told = outbox.announce(&next, news, delivery, now);
            is_somebody_slow |= told == Told::Behind;
            has_somebody_left |= told == Told::Left;
            told
        };
        let mut others = Vec::with_capacity(self.members.len().saturating_sub(SENT_TOGETHER));
        for (id, Entry { outbox, .. }) in self.members.iter().skip(SENT_TOGETHER) {
            if matches!(tell(id, outbox, Delivery::Later), Told::InTime | Told::Behind) {
                others.push(outbox.clone());
            }
        }
        while !others.is_empty() {
            let piece = others.split_off(others.len().saturating_sub(SENT_TOGETHER));
            tokio::spawn(async move { piece.iter().for_each(|outbox| outbox.deliver()) });
        }
        for (id, Entry { outbox, .. }) in self.members.iter().take(SENT_TOGETHER) {
            tell(id, outbox, Delivery::Now);
        }
        self.current = next;
        if has_somebody_left {
            self.remove_left();
        }
        if is_somebody_slow && self.sweep_at.is_none() {
            self.sweep_at = Some(now + self.stall_time);
        }
    }

    /// Tells members of the extended protocol that an included document has changed.
    pub(crate) fn dependency_changed(&mut self, id: &str, rev: u64) {
        let changed = DependencyChanged { id: id.to_owned(), rev };
        let text = message_text(&ServerMessage::DependencyChanged(changed));
        self.to_hello(|outbox| outbox.dependency_changed(id, text.clone()));
    }

    /// Tells members of the extended protocol the new id of the document.
    pub(crate) fn renamed(&mut self, id: &str) {
        let text = message_text(&ServerMessage::Renamed(IdChanged { id: id.to_owned() }));
        self.to_hello(|outbox| outbox.reply(text.clone()));
    }

    /// Ends the connections of all members.
    pub(crate) fn close(&mut self, code: u16, reason: &str) {
        for entry in std::mem::take(&mut self.members).into_values() {
            entry.outbox.close(code, reason);
        }
        (self.presence_at, self.sweep_at) = (None, None);
    }

    /// When [`work`](Self::work) has to be called.
    pub(crate) fn due_at(&self) -> Option<Instant> {
        self.presence_at.into_iter().chain(self.sweep_at).min()
    }

    /// Sends the list of presence and replaces what waits for members that do not read, if it is
    /// time.
    pub(crate) fn work(&mut self) {
        let now = Instant::now();
        self.remove_left();
        if self.presence_at.is_some_and(|at| at <= now) {
            self.presence_at = None;
            self.send_presence();
        }
        if self.sweep_at.is_some_and(|at| at <= now) {
            self.sweep_at = None;
            self.sweep(now);
        }
    }

    /// Gives members that have read nothing for the stall time one `initial` message in place of
    /// all changes that wait for them.
    fn sweep(&mut self, now: Instant) {
        for entry in self.members.values() {
            let Some(since) = entry.outbox.waiting_since() else { continue };
            let due = since + self.stall_time;
            if due <= now {
                entry.outbox.resynchronise(self.current.clone());
            } else {
                self.sweep_at = Some(self.sweep_at.map_or(due, |at| at.min(due)));
            }
        }
    }

    fn send_presence(&mut self) {
        let shown = self.members.values().filter(|entry| entry.has_said_hello).take(MAX_SHOWN);
        let clients = shown.map(Entry::shown).collect();
        let text = message_text(&ServerMessage::Presence(PresenceList { clients }));
        self.to_hello(|outbox| outbox.presence(text.clone()));
    }

    fn touch_presence(&mut self) {
        self.presence_at.get_or_insert_with(|| Instant::now() + PRESENCE_INTERVAL);
    }

    fn to_hello(&self, send: impl Fn(&Outbox)) {
        let hello = self.members.values().filter(|entry| entry.has_said_hello);
        hello.for_each(|entry| send(&entry.outbox));
    }

    fn remove_left(&mut self) {
        let mut has_changed = false;
        self.members.retain(|_, entry| {
            let has_left = entry.outbox.has_left();
            has_changed |= has_left && entry.has_said_hello;
            !has_left
        });
        if has_changed {
            self.touch_presence();
        }
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        // After an orderly end nobody is left. Otherwise the task of the document has failed.
        self.close(close_code::INTERNAL_ERROR, "internal server error");
    }
}

impl Entry {
    fn shown(&self) -> Presence {
        let SetPresence { name, cursor, selection, rev } = self.presence.clone();
        let name = name.or_else(|| self.label.clone());
        Presence { session: self.session.to_string(), name, cursor, selection, rev }
    }
}

/// A label without control characters, of at most [`MAX_LABEL`] bytes.
pub(crate) fn short_label(label: &str) -> String {
    let mut short = String::new();
    for character in label.trim().chars().filter(|character| !character.is_control()) {
        if short.len() + character.len_utf8() > MAX_LABEL {
            break;
        }
        short.push(character);
    }
    short
}

/// A text that is shared by the outboxes of all members.
pub(crate) type SharedText = TextFrame;

#[cfg(test)]
mod tests;
