//! The messages of a session's snapshots, in segments that only grow.
//!
//! A snapshot has a *stretch*: the first `length` messages of a segment. A turn that
//! continues from the end of a segment appends to it. A branch, or a history that was
//! rewritten, begins another segment, whose base is the stretch that it shares. So a
//! conversation of n turns keeps n messages, and not n copies of its history:
//!
//! ```text
//! segment 1:  m1 m2 m3 m4         snapshots a (length 2) and b (length 4)
//! segment 2:  base = (1, 2), x3   snapshot c (length 3): m1 m2 x3
//! ```

use std::collections::BTreeMap;
use std::sync::Arc;

use oxikit_wire::Message;

use super::pieces::{Measured, Pieces};
use crate::ports::delta::common_prefix;

/// All segments of a session.
#[derive(Debug, Default)]
pub(super) struct History {
    segments: BTreeMap<u64, Segment>,
    /// The id of the newest segment. Ids are not used again.
    next: u64,
}

#[derive(Debug, Default)]
struct Segment {
    /// The messages before its own. At least one of them is in the base segment itself (see
    /// [`History::root`]), so that a path of segments is never longer than its messages.
    base: Option<Stretch>,
    messages: Vec<Arc<Message>>,
    /// Bytes of all messages up to each, those of the base included.
    bytes: Vec<usize>,
    /// Number of snapshots and segments that use it. At zero it is removed.
    uses: usize,
}

/// The first messages of a segment, its base included.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stretch {
    segment: u64,
    pub(super) length: usize,
}

/// The writes that a list of messages needs: which stretch is shared, and which messages are new.
#[derive(Debug, Default)]
pub(super) struct Plan {
    shared: Option<Stretch>,
    new: Vec<Measured>,
    /// Bytes of all messages.
    pub(super) bytes: usize,
    /// Bytes that the session grows by.
    pub(super) added: usize,
}

impl Segment {
    fn shared(&self) -> usize {
        self.base.map_or(0, |base| base.length)
    }

    fn length(&self) -> usize {
        self.shared() + self.messages.len()
    }
}

impl History {
    /// Finds the longest prefix that the messages share with one of these stretches, and measures
    /// the rest. Nothing is changed.
    pub(super) fn plan(
        &self,
        known: [Option<Stretch>; 2],
        messages: &[Arc<Message>],
        pieces: &Pieces,
    ) -> serde_json::Result<Plan> {
        let share = |stretch: Stretch| {
            let length = common_prefix(self.slices(stretch).into_iter().flatten(), messages);
            Stretch { length, ..stretch }
        };
        let longest = known.into_iter().flatten().map(share).max_by_key(|shared| shared.length);
        let shared = longest.filter(|shared| shared.length > 0);
        let rest = &messages[shared.map_or(0, |shared| shared.length)..];
        let new = rest.iter().map(|message| pieces.measure(message));
        let new = new.collect::<serde_json::Result<Vec<_>>>()?;
        let bytes = new.iter().map(|new| new.bytes).sum::<usize>();
        let added = new.iter().map(|new| new.added).sum();
        let bytes = bytes + shared.map_or(0, |shared| self.bytes(shared));
        Ok(Plan { shared, new, bytes, added })
    }

    /// Keeps the messages as planned.
    pub(super) fn add(
        &mut self,
        plan: &Plan,
        messages: &[Arc<Message>],
        pieces: &mut Pieces,
    ) -> Stretch {
        let rest = &messages[messages.len() - plan.new.len()..];
        let segment = self.segment_for(plan.shared, !rest.is_empty());
        let mut bytes = plan.shared.map_or(0, |shared| self.bytes(shared));
        let entry = self.segments.entry(segment).or_default();
        entry.uses += 1;
        for (message, measured) in rest.iter().zip(&plan.new) {
            bytes += measured.bytes;
            pieces.add(message, measured.bytes);
            entry.messages.push(message.clone());
            entry.bytes.push(bytes);
        }
        Stretch { segment, length: messages.len() }
    }

    /// The segment for the shared stretch and further messages. It is the segment of the stretch
    /// if the stretch reaches its end, or if there are no further messages; else a new one.
    fn segment_for(&mut self, shared: Option<Stretch>, has_more: bool) -> u64 {
        let base = shared.map(|shared| self.root(shared));
        if let Some(base) = base
            && let Some(segment) = self.segments.get_mut(&base.segment)
        {
            if !has_more || segment.length() == base.length {
                return base.segment;
            }
            segment.uses += 1;
        }
        self.next += 1;
        self.segments.insert(self.next, Segment { base, ..Segment::default() });
        self.next
    }

    /// The same stretch, expressed in the segment that holds its last message.
    fn root(&self, mut stretch: Stretch) -> Stretch {
        while let Some(base) = self.segments.get(&stretch.segment).and_then(|found| found.base) {
            if stretch.length > base.length {
                break;
            }
            stretch.segment = base.segment;
        }
        stretch
    }

    /// Releases the stretch of a snapshot that is removed. A segment without uses is removed, and
    /// releases its base in turn.
    pub(super) fn remove(&mut self, stretch: Stretch, pieces: &mut Pieces) {
        let mut segment = Some(stretch.segment);
        while let Some(id) = segment {
            let Some(found) = self.segments.get_mut(&id) else { break };
            found.uses -= 1;
            if found.uses > 0 {
                break;
            }
            for message in &found.messages {
                pieces.remove(message);
            }
            segment = found.base.map(|base| base.segment);
            self.segments.remove(&id);
        }
    }

    pub(super) fn read(&self, stretch: Stretch) -> Vec<Arc<Message>> {
        let mut messages = Vec::with_capacity(stretch.length);
        for slice in self.slices(stretch) {
            messages.extend_from_slice(slice);
        }
        messages
    }

    /// The messages of a stretch, as one slice of each segment on its path, in order.
    fn slices(&self, stretch: Stretch) -> Vec<&[Arc<Message>]> {
        let mut slices = Vec::new();
        let mut next = Some(stretch);
        while let Some(Stretch { segment, length }) = next {
            let Some(segment) = self.segments.get(&segment) else { break };
            let shared = segment.shared();
            slices.push(&segment.messages[..length.saturating_sub(shared)]);
            next = segment.base.map(|base| Stretch { length: base.length.min(length), ..base });
        }
        slices.reverse();
        slices
    }

    /// Bytes of the messages of a stretch as JSON: the running total at its last message.
    fn bytes(&self, stretch: Stretch) -> usize {
        let Stretch { segment, length } = self.root(stretch);
        let last = |segment: &Segment| {
            let last = length.checked_sub(segment.shared() + 1)?;
            segment.bytes.get(last).copied()
        };
        self.segments.get(&segment).and_then(last).unwrap_or(0)
    }
}
