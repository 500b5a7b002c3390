//! A cache of recently used snapshots, so that the next turn of a long session neither reads
//! nor parses its history.
//!
//! A cached snapshot may be outdated, since other processes write the same tables. Its user
//! compares the place and the revision with the row, or lets the writing transaction do so.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::known::Known;

/// Estimated memory of parsed JSON, as a multiple of the length of its text.
const PARSED: usize = 3;

/// The cache of a store, shared by all its clones. The least recently used snapshots are evicted
/// first.
#[derive(Debug)]
pub(crate) struct Cache {
    max_bytes: usize,
    entries: Mutex<Entries>,
}

/// The cached snapshots, by owner and id.
#[derive(Debug, Default)]
struct Entries {
    by_id: HashMap<(String, String), Entry>,
    /// In the order of their last use, the oldest first.
    by_use: BTreeMap<u64, (String, String)>,
    /// Number of uses so far. The current value is the time of a use: no clock is needed.
    uses: u64,
    /// Estimated memory of all entries.
    bytes: usize,
}

/// A cached snapshot, and when it was used last.
#[derive(Debug)]
struct Entry {
    known: Arc<Known>,
    used: u64,
    bytes: usize,
}

impl Cache {
    /// A cache that evicts the least recently used snapshots beyond about `max_bytes`.
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self { max_bytes, entries: Mutex::default() }
    }

    /// The cached snapshot, if there is one. It may be older than the row: the caller compares
    /// the revision.
    pub(crate) fn get(&self, owner: &str, snapshot: &str) -> Option<Arc<Known>> {
        let key = (owner.to_owned(), snapshot.to_owned());
        let mut entries = self.lock();
        let Entries { by_id, by_use, uses, .. } = &mut *entries;
        let entry = by_id.get_mut(&key)?;
        // The entry moves to the end of the order of use.
        *uses += 1;
        by_use.remove(&std::mem::replace(&mut entry.used, *uses));
        by_use.insert(*uses, key);
        Some(entry.known.clone())
    }

    /// Caches a snapshot, in place of an older revision of it. A snapshot that would take more
    /// than a quarter of the cache is not cached: it would evict all others.
    pub(crate) fn put(&self, owner: &str, known: &Arc<Known>) {
        let content = &known.content;
        let texts = content.messages.map_or(0, |messages| messages.bytes)
            + content.custom.map_or(0, |custom| custom.bytes)
            + content.artifacts.iter().flatten().map(|artifact| artifact.bytes).sum::<i64>()
            + content.head_bytes;
        let bytes = usize::try_from(texts).unwrap_or_default() * PARSED;
        if bytes > self.max_bytes / 4 {
            return;
        }
        let key = (owner.to_owned(), known.stored.snapshot.snapshot_id.clone());
        let mut entries = self.lock();
        entries.remove(&key);
        entries.uses += 1;
        let used = entries.uses;
        entries.bytes += bytes;
        entries.by_use.insert(used, key.clone());
        entries.by_id.insert(key, Entry { known: known.clone(), used, bytes });
        // The new entry is the most recently used one, so it is evicted last.
        while entries.bytes > self.max_bytes {
            let Some((_, oldest)) = entries.by_use.pop_first() else { break };
            entries.remove(&oldest);
        }
    }

    /// Evicts a snapshot that the next turn will not continue from.
    pub(crate) fn forget(&self, owner: &str, snapshot: &str) {
        self.lock().remove(&(owner.to_owned(), snapshot.to_owned()));
    }

    fn lock(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entries {
    /// Removes an entry, if there is one, and its bytes from the sum.
    fn remove(&mut self, key: &(String, String)) {
        if let Some(entry) = self.by_id.remove(key) {
            self.by_use.remove(&entry.used);
            self.bytes -= entry.bytes;
        }
    }
}
