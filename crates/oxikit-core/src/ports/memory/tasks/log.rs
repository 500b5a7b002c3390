//! The log of one task.
//!
//! Events are kept as JSON in one text, not as values: a value is some ten small allocations, and a
//! store keeps thousands of tasks that have ended and that most clients never read again. The
//! length of the text is also what the limits count.

use std::borrow::Borrow;
use std::sync::Arc;

use oxikit_wire::a2a::TaskStatus;

use crate::ports::{MAX_PAGE_BYTES, StoreError, TaskEntry, TaskEvent};

/// Bytes that most entries fit in.
const USUAL_BYTES: usize = 192;
/// Bytes that most messages of clients fit in, which the first entry has.
const MESSAGE_BYTES: usize = 512;

/// Entries as JSON, one behind the other.
pub(super) struct Texts {
    json: Vec<u8>,
    /// Where each entry ends.
    ends: Vec<usize>,
}

impl Texts {
    pub(super) fn of(id: &str, entries: &[impl Borrow<TaskEntry>]) -> Result<Self, StoreError> {
        let mut json = Vec::with_capacity((USUAL_BYTES * entries.len()).max(MESSAGE_BYTES));
        let mut ends = Vec::with_capacity(entries.len());
        for entry in entries {
            serde_json::to_writer(&mut json, entry.borrow()).map_err(|error| damaged(id, error))?;
            ends.push(json.len());
        }
        Ok(Self { json, ends })
    }

    pub(super) fn bytes(&self) -> u64 {
        self.json.len() as u64
    }
}

/// The numbered events of a task.
#[derive(Default)]
pub(super) struct Log {
    json: Vec<u8>,
    places: Vec<Place>,
}

/// An event in the text of the log.
#[derive(Clone, Copy)]
struct Place {
    /// Where the event ends.
    end: usize,
    turn: u64,
}

impl Log {
    /// Adds events of this turn. A log that is complete takes no more memory than it needs.
    pub(super) fn add(&mut self, turn: u64, new: &Texts, is_complete: bool) {
        if is_complete {
            self.json.reserve_exact(new.json.len());
            self.places.reserve_exact(new.ends.len());
        }
        let start = self.json.len();
        self.json.extend_from_slice(&new.json);
        self.places.extend(new.ends.iter().map(|end| Place { end: start + end, turn }));
    }

    /// A log without events, in the memory of this one if that is about what `texts` need.
    pub(super) fn emptied(mut self, texts: &Texts) -> Self {
        self.json.clear();
        self.places.clear();
        let fits = |room: usize, needed: usize| (needed..=2 * needed).contains(&room);
        match fits(self.json.capacity(), texts.json.len()) {
            true => self,
            false => Self::default(),
        }
    }

    /// The event with this number.
    pub(super) fn event(&self, sequence: u64) -> LogPage {
        self.page(sequence.saturating_sub(1), 1)
    }

    /// Some of the events after a position.
    pub(super) fn page(&self, position: u64, limit: usize) -> LogPage {
        let first = usize::try_from(position).unwrap_or(usize::MAX).min(self.places.len());
        let (before, rest) = self.places.split_at(first);
        let start = before.last().map_or(0, |place| place.end);
        let fits = |place: &&Place| (place.end - start) as u64 <= MAX_PAGE_BYTES;
        let rest = &rest[..limit.min(rest.len())];
        // A page has one event at least, however large it is.
        let length = rest.iter().take_while(fits).count().max(rest.len().min(1));
        let places = rest[..length].to_vec();
        let end = places.last().map_or(start, |place| place.end);
        LogPage { position: first as u64, start, places, json: self.json[start..end].to_vec() }
    }
}

/// A copy of some events. They are read from their texts when the store is not locked any more.
pub(super) struct LogPage {
    position: u64,
    /// Where the text begins in that of the log.
    start: usize,
    places: Vec<Place>,
    json: Vec<u8>,
}

impl LogPage {
    pub(super) fn decode(&self, id: &str) -> Result<Vec<TaskEvent>, StoreError> {
        let numbered = (self.position + 1..).zip(&self.places).zip(self.entries(id));
        let event = |((sequence, place), entry): ((u64, &Place), Result<_, _>)| {
            Ok(TaskEvent { sequence, turn: place.turn, entry: Arc::new(entry?) })
        };
        numbered.map(event).collect()
    }

    fn entries(&self, id: &str) -> impl Iterator<Item = Result<TaskEntry, StoreError>> {
        let mut rest = &*self.json;
        let mut start = self.start;
        self.places.iter().map(move |place| {
            let (text, behind) = rest.split_at(place.end - start);
            (rest, start) = (behind, place.end);
            serde_json::from_slice(text).map_err(|error| damaged(id, error))
        })
    }

    /// The status of the first event, if it is a change of it.
    pub(super) fn status(&self, id: &str) -> Result<Option<TaskStatus>, StoreError> {
        match self.entries(id).next().transpose()? {
            Some(TaskEntry::Status(entry)) => Ok(Some(entry.status)),
            _ => Ok(None),
        }
    }
}

fn damaged(id: &str, error: serde_json::Error) -> StoreError {
    StoreError::Damaged(id.to_owned(), error.into())
}
