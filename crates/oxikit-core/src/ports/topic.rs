//! Topics of notifications.

use std::fmt;

/// Names a stored thing whose changes readers wait for.
///
/// A topic is a 64-bit hash of the parts of a name. It is the same in every process,
/// costs no allocation, and fits into the messages of any transport. Two names may
/// have the same topic: then a subscriber of the one reads the store in vain when the
/// other changes.
///
/// ```
/// use oxikit_core::ports::Topic;
///
/// let topic = Topic::of(&["stream", "1f3a"]);
/// assert_eq!(topic, Topic::from_number(topic.number()));
/// assert_ne!(topic, Topic::of(&["stream1", "f3a"]));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Topic(u64);

impl Topic {
    /// The topic of a name: the kind of the thing first, then what identifies it.
    pub fn of(parts: &[&str]) -> Self {
        // FNV-1a. The byte 0xff is in no UTF-8 text, so it separates the parts.
        let bytes = parts.iter().flat_map(|part| part.bytes().chain([0xff]));
        Self(bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        }))
    }

    /// The topic with this number, as a transport received it.
    pub fn from_number(number: u64) -> Self {
        Self(number)
    }

    /// The number by which a transport sends the topic.
    pub fn number(self) -> u64 {
        self.0
    }
}

impl fmt::Debug for Topic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Topic({:016x})", self.0)
    }
}
