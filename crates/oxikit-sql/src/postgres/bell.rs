//! Who waits for a change, and what has changed.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, watch};

/// So many changes wait to be announced; of more, other processes hear when they
/// look by themselves.
const MAX_RUNG: usize = 10_000;

/// What can change: a row, by what it is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Key {
    /// The id of a stream.
    Stream(String),
    /// Owner and id of a snapshot, as in their columns.
    Snapshot(String, String),
    /// Owner and session of a lease, as in their columns.
    Lease(String, String),
}

impl Key {
    /// The name under which it is announced, the same in every process. That two
    /// keys have the same one costs a look in vain.
    pub(super) fn topic(&self) -> u64 {
        let texts = match self {
            Self::Stream(id) => ["stream", "", id],
            Self::Snapshot(owner, id) => ["snapshot", owner, id],
            Self::Lease(owner, session) => ["lease", owner, session],
        };
        // FNV-1a, with a byte that is in no text between the texts.
        let bytes = texts.iter().flat_map(|text| text.bytes().chain([0xff]));
        bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
    }
}

/// Wakes those who wait. Cheap to clone; clones are one bell.
#[derive(Debug, Clone, Default)]
pub(super) struct Bell(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    waiting: Mutex<HashMap<u64, Waiting>>,
    rung: Mutex<HashSet<u64>>,
    has_rung: Notify,
}

#[derive(Debug)]
struct Waiting {
    key: Key,
    /// As it was when somebody last looked.
    version: Option<i64>,
    woken: watch::Sender<()>,
}

impl Bell {
    /// From now on no change is missed.
    pub(super) fn listen(&self, key: Key) -> Ear {
        let topic = key.topic();
        let mut waiting = lock(&self.0.waiting);
        let new = || Waiting { key, version: None, woken: watch::Sender::new(()) };
        let woken = waiting.entry(topic).or_insert_with(new).woken.subscribe();
        Ear { bell: self.clone(), topic, woken }
    }

    /// Somebody has looked. What is not as it was before wakes all.
    pub(super) fn saw(&self, topic: u64, version: i64) {
        if let Some(waiting) = lock(&self.0.waiting).get_mut(&topic) {
            if waiting.version.is_some_and(|before| before != version) {
                waiting.woken.send_replace(());
            }
            waiting.version = Some(version);
        }
    }

    /// Another process says that something has changed.
    pub(super) fn wake(&self, topic: u64) {
        if let Some(waiting) = lock(&self.0.waiting).get(&topic) {
            waiting.woken.send_replace(());
        }
    }

    /// This process has changed something: wakes its own readers, and has the
    /// others told.
    pub(super) fn ring(&self, topic: u64) {
        self.wake(topic);
        let mut rung = lock(&self.0.rung);
        if rung.len() < MAX_RUNG {
            rung.insert(topic);
        }
        drop(rung);
        self.0.has_rung.notify_one();
    }

    /// What is to be announced, as soon as there is something.
    pub(super) async fn rung(&self) -> Vec<u64> {
        loop {
            let rung: Vec<u64> = lock(&self.0.rung).drain().collect();
            if !rung.is_empty() {
                return rung;
            }
            self.0.has_rung.notified().await;
        }
    }

    /// All that somebody waits for.
    pub(super) fn keys(&self) -> Vec<Key> {
        lock(&self.0.waiting).values().map(|waiting| waiting.key.clone()).collect()
    }
}

/// One who waits; the last one of a key takes it along.
#[derive(Debug)]
pub(super) struct Ear {
    bell: Bell,
    pub(super) topic: u64,
    woken: watch::Receiver<()>,
}

impl Ear {
    /// Waits until the bell rings, or has rung since this was made.
    pub(super) async fn heard(&mut self) {
        // The sender is there as long as a receiver is.
        _ = self.woken.changed().await;
    }
}

impl Drop for Ear {
    fn drop(&mut self) {
        let mut waiting = lock(&self.bell.0.waiting);
        // Under the lock nobody subscribes, so one means this one.
        if waiting.get(&self.topic).is_some_and(|waiting| waiting.woken.receiver_count() <= 1) {
            waiting.remove(&self.topic);
        }
    }
}

/// Locks plain data that is whole after every statement.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
