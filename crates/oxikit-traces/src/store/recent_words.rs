//! A cache of the words of spans that were stored recently.
//!
//! The words are computed when a post is parsed, outside of the writer. If they are still
//! cached when the span is indexed, the row need not be read and parsed again. A cached span
//! has never been indexed, so the index needs no lookup for older words of it.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;

use oxikit_sqlite::failure::Outcome;

/// Maximum size of the cache in bytes. Beyond it the whole cache is cleared; the words are
/// then computed from the rows.
const MAX_BYTES: usize = 4 << 20;

/// The words of spans, by the numbers of the spans.
#[derive(Debug, Default)]
pub(super) struct RecentWords(Mutex<Recent>);

/// The cached words, and the state of the file that they belong to.
#[derive(Debug, Default)]
struct Recent {
    words: HashMap<i64, String>,
    bytes: usize,
    /// SQLite's `data_version` at the last check: it changes when another process writes.
    foreign_writes: i64,
}

impl RecentWords {
    /// Caches the words of a committed span that had not ended before.
    pub(super) fn keep(&self, number: i64, words: String) {
        let mut recent = self.recent();
        if recent.bytes + words.len() > MAX_BYTES {
            recent.clear();
        }
        recent.bytes += words.len();
        if let Some(previous) = recent.words.insert(number, words) {
            recent.bytes -= previous.len();
        }
    }

    /// Removes and returns the words of a span.
    pub(super) fn take(&self, number: i64) -> Option<String> {
        let mut recent = self.recent();
        let words = recent.words.remove(&number)?;
        recent.bytes -= words.len();
        Some(words)
    }

    /// Clears the cache if another process has written: the number may belong to another
    /// span now.
    pub(super) fn check(&self, connection: &Connection) -> Outcome<()> {
        let writes = connection.pragma_query_value(None, "data_version", |row| row.get(0))?;
        let mut recent = self.recent();
        if recent.foreign_writes != writes {
            recent.clear();
            recent.foreign_writes = writes;
        }
        Ok(())
    }

    fn recent(&self) -> MutexGuard<'_, Recent> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Recent {
    fn clear(&mut self) {
        self.words.clear();
        self.bytes = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_given_once_and_a_limited_amount_is_kept() {
        let recent = RecentWords::default();
        recent.keep(1, "one".to_owned());
        recent.keep(1, "uno".to_owned());
        assert_eq!(recent.take(1).as_deref(), Some("uno"));
        assert_eq!(recent.take(1), None);
        assert_eq!(recent.recent().bytes, 0);
        recent.keep(2, "x".repeat(MAX_BYTES));
        recent.keep(3, "three".to_owned());
        assert_eq!((recent.take(2), recent.take(3).as_deref()), (None, Some("three")));
    }

    #[test]
    fn a_write_of_another_connection_makes_them_forgotten() {
        let folder = std::env::temp_dir().join(format!("oxikit-recent-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("words.db");
        let (own, other) = (Connection::open(&path).unwrap(), Connection::open(&path).unwrap());
        own.execute_batch("CREATE TABLE t (n)").unwrap();
        let recent = RecentWords::default();
        recent.check(&own).unwrap();
        recent.keep(1, "one".to_owned());
        own.execute_batch("INSERT INTO t VALUES (1)").unwrap();
        recent.check(&own).unwrap();
        assert!(recent.take(1).is_some());
        recent.keep(1, "one".to_owned());
        other.execute_batch("INSERT INTO t VALUES (2)").unwrap();
        recent.check(&own).unwrap();
        assert!(recent.take(1).is_none());
        std::fs::remove_dir_all(folder).unwrap();
    }
}
