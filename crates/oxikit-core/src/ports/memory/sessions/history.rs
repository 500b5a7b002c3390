//! The messages of a session's snapshots, in segments that only grow.
//!
//! A snapshot has a stretch: the first so many messages of a segment. A turn that
//! goes on from the end of a segment lengthens it; a fork, or a history that was
//! rewritten, begins another one on top of what it shares.

use std::collections::BTreeMap;
use std::sync::Arc;

use oxikit_wire::Message;

use super::pieces::{Measured, Pieces};
use crate::ports::delta::common_prefix;

#[derive(Debug, Default)]
pub(super) struct History {
    segments: BTreeMap<u64, Segment>,
    next: u64,
}

#[derive(Debug, Default)]
struct Segment {
    /// What comes before its own messages. Never all of it from a base of its own,
    /// so that a path of segments is no longer than the messages on it.
    base: Option<Stretch>,
    messages: Vec<Arc<Message>>,
    /// Bytes of all messages up to each, those of the base included.
    bytes: Vec<usize>,
    /// How many snapshots and segments use it.
    uses: usize,
}

/// The first messages of a segment, its base included.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stretch {
    segment: u64,
    pub(super) length: usize,
}

/// What there is to write for a list of messages.
#[derive(Debug, Default)]
pub(super) struct Plan {
    shared: Option<Stretch>,
    new: Vec<Measured>,
    /// Bytes of all messages.
    pub(super) bytes: usize,
    /// Bytes that the session gets more of.
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
    /// Finds what the messages share with one of these stretches, and measures the
    /// rest.
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

    /// The segment that has the shared stretch and can be lengthened, or a new one.
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

    /// The same stretch in the segment that its last message lies in.
    fn root(&self, mut stretch: Stretch) -> Stretch {
        while let Some(base) = self.segments.get(&stretch.segment).and_then(|found| found.base) {
            if stretch.length > base.length {
                break;
            }
            stretch.segment = base.segment;
        }
        stretch
    }

    /// A snapshot does not need its stretch any more.
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

    /// From the first message on.
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

    /// Bytes of the messages as JSON.
    fn bytes(&self, stretch: Stretch) -> usize {
        let Stretch { segment, length } = self.root(stretch);
        let last = |segment: &Segment| {
            let last = length.checked_sub(segment.shared() + 1)?;
            segment.bytes.get(last).copied()
        };
        self.segments.get(&segment).and_then(last).unwrap_or(0)
    }
}
