//! What a snapshot adds to another one: the pure part of writing only what is new.
//!
//! A store that keeps messages in pieces finds [how many a snapshot shares with its
//! parent](common_prefix), writes the rest, and counts [how large](json_size) that is.

use std::io;
use std::sync::Arc;

use serde::Serialize;

/// How many of the first pieces are the same in both. Pieces that are the same
/// object are not compared, so that a chain of turns costs a look at each pointer.
pub fn common_prefix<T: PartialEq>(before: &[Arc<T>], after: &[Arc<T>]) -> usize {
    before.iter().zip(after).take_while(|(before, after)| is_same(before, after)).count()
}

/// Whether both are the same object, or else equal.
pub fn is_same<T: PartialEq>(one: &Arc<T>, other: &Arc<T>) -> bool {
    Arc::ptr_eq(one, other) || one == other
}

/// How many bytes the value has as JSON. The text is not kept.
///
/// # Errors
///
/// If the value is no JSON, such as a map with keys that are no text.
pub fn json_size(value: &impl Serialize) -> serde_json::Result<usize> {
    let mut counted = Counter(0);
    serde_json::to_writer(&mut counted, value)?;
    Ok(counted.0)
}

/// Takes everything and counts it.
struct Counter(usize);

impl io::Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
