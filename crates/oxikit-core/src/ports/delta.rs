//! The differences between a snapshot and its parent, for stores that keep common content once.
//! These functions only compare and measure; they store nothing.
//!
//! Such a store finds [how many messages](common_prefix) a snapshot shares with its
//! parent and writes the rest; it finds the parent's [equal](shared) artifacts and
//! custom state; and it counts [how large](json_size) the rest is. Values are compared as JSON:
//! the order of an object's keys does not count.
//!
//! ```
//! use std::sync::Arc;
//!
//! use oxikit_core::ports::delta::{common_prefix, json_size};
//!
//! let parent = [Arc::new("Hello"), Arc::new("Hi")];
//! let next = [parent[0].clone(), parent[1].clone(), Arc::new("Bye")];
//! let known = common_prefix(&parent, &next);
//! assert_eq!(known, 2);
//! assert_eq!(json_size(&next[known..].iter().map(|m| **m).collect::<Vec<_>>()).unwrap(), 7);
//! ```

use std::io;
use std::sync::Arc;

use serde::Serialize;

/// The number of leading elements that both lists share. Elements that are the same object are
/// not compared, so that a long conversation costs one comparison of pointers per message.
pub fn common_prefix<'a, T: PartialEq + 'a>(
    before: impl IntoIterator<Item = &'a Arc<T>>,
    after: &[Arc<T>],
) -> usize {
    before.into_iter().zip(after).take_while(|(before, after)| is_same(before, after)).count()
}

/// The element of `before` that is the same object as `piece`, or else one that is equal to it.
pub fn shared<'a, T: PartialEq>(before: &'a [Arc<T>], piece: &Arc<T>) -> Option<&'a Arc<T>> {
    let same = before.iter().find(|before| Arc::ptr_eq(before, piece));
    same.or_else(|| before.iter().find(|before| *before == piece))
}

/// Whether both are the same object or equal. Pointers are compared first.
pub fn is_same<T: PartialEq>(one: &Arc<T>, other: &Arc<T>) -> bool {
    Arc::ptr_eq(one, other) || one == other
}

/// The number of bytes of the value as JSON text. The text itself is not built.
///
/// # Errors
///
/// If the value cannot be written as JSON, such as a map whose keys are not strings.
pub fn json_size(value: &impl Serialize) -> serde_json::Result<usize> {
    let mut counted = Counter(0);
    serde_json::to_writer(&mut counted, value)?;
    Ok(counted.0)
}

/// A writer that only counts bytes.
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
