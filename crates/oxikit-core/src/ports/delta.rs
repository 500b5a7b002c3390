//! What a snapshot adds to another one: the pure part of a store that keeps once
//! what snapshots have in common.
//!
//! Such a store finds [how many messages](common_prefix) a snapshot shares with its
//! parent and writes the rest; it finds the parent's [equal](shared) artifacts and
//! custom state; and it counts [how large](json_size) the rest is. Equal is what is
//! equal as JSON: the order of an object's keys does not count.

use std::io;
use std::sync::Arc;

use serde::Serialize;

/// How many of the first pieces are the same in both. What is the same object is
/// not compared, so that a chain of turns costs a look at each pointer.
pub fn common_prefix<'a, T: PartialEq + 'a>(
    before: impl IntoIterator<Item = &'a Arc<T>>,
    after: &[Arc<T>],
) -> usize {
    before.into_iter().zip(after).take_while(|(before, after)| is_same(before, after)).count()
}

/// The one of `before` that is the same object as this piece, or else is equal.
pub fn shared<'a, T: PartialEq>(before: &'a [Arc<T>], piece: &Arc<T>) -> Option<&'a Arc<T>> {
    let same = before.iter().find(|before| Arc::ptr_eq(before, piece));
    same.or_else(|| before.iter().find(|before| *before == piece))
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

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0 += bytes.len();
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
