//! Snapshots that were read or written lately, so that the next turn of a long
//! session neither reads nor parses its history.
//!
//! A cache is never trusted: whoever takes a snapshot out of it compares its place
//! and revision with the row, or lets the transaction that writes do so.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::known::Known;

/// Parsed JSON needs about so many times the memory of its text.
const PARSED: usize = 3;

#[derive(Debug)]
pub(crate) struct Cache {
    max_bytes: usize,
    entries: Mutex<Entries>,
}

#[derive(Debug, Default)]
struct Entries {
    by_id: HashMap<(String, String), Entry>,
    /// Those used longest ago first.
    by_use: BTreeMap<u64, (String, String)>,
    uses: u64,
    bytes: usize,
}

#[derive(Debug)]
struct Entry {
    known: Arc<Known>,
    used: u64,
    bytes: usize,
}

impl Cache {
    /// Holds about so many bytes.
    pub(crate) fn new(max_bytes: usize) -> Self {
        Self { max_bytes, entries: Mutex::default() }
    }

    pub(crate) fn get(&self, owner: &str, snapshot: &str) -> Option<Arc<Known>> {
        let key = (owner.to_owned(), snapshot.to_owned());
        let mut entries = self.lock();
        let Entries { by_id, by_use, uses, .. } = &mut *entries;
        let entry = by_id.get_mut(&key)?;
        *uses += 1;
        by_use.remove(&std::mem::replace(&mut entry.used, *uses));
        by_use.insert(*uses, key);
        Some(entry.known.clone())
    }

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
        while entries.bytes > self.max_bytes {
            let Some((_, oldest)) = entries.by_use.pop_first() else { break };
            entries.remove(&oldest);
        }
    }

    /// Forgets a snapshot that the next turn will not go on from.
    pub(crate) fn forget(&self, owner: &str, snapshot: &str) {
        self.lock().remove(&(owner.to_owned(), snapshot.to_owned()));
    }

    fn lock(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entries {
    fn remove(&mut self, key: &(String, String)) {
        if let Some(entry) = self.by_id.remove(key) {
            self.by_use.remove(&entry.used);
            self.bytes -= entry.bytes;
        }
    }
}
