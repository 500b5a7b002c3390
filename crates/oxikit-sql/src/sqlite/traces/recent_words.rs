//! Words of spans that were stored a moment ago.
//!
//! They are known when a span is read; those that are still here when the index wants them
//! need not be made again from the row of the span, and the index has no others of that span.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;

use super::super::failure::Outcome;

/// Bytes of words that are kept. More are forgotten, all at once: the rows have them.
const MAX_BYTES: usize = 4 << 20;

/// The words of spans, by the numbers of the spans.
#[derive(Debug, Default)]
pub(super) struct RecentWords(Mutex<Recent>);

#[derive(Debug, Default)]
struct Recent {
    words: HashMap<i64, String>,
    bytes: usize,
    /// SQLite's count of the writes of others, when it was last asked for.
    foreign_writes: i64,
}

impl RecentWords {
    /// Keeps the words of a span that has been committed, and has never ended before.
    pub(super) fn keep(&self, number: i64, words: String) {
        let mut recent = self.recent();
        if recent.bytes + words.len() > MAX_BYTES {
            recent.clear();
        }
        recent.bytes += words.len();
        if let Some(former) = recent.words.insert(number, words) {
            recent.bytes -= former.len();
        }
    }

    /// The words of a span, which are not kept any longer.
    pub(super) fn take(&self, number: i64) -> Option<String> {
        let mut recent = self.recent();
        let words = recent.words.remove(&number)?;
        recent.bytes -= words.len();
        Some(words)
    }

    /// Forgets everything if another process has written: it may have given a number to
    /// another span.
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
