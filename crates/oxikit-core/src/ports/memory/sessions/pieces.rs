//! The sizes of the messages, artifacts and custom states of a session.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use serde::Serialize;

use crate::ports::delta::json_size;

/// The pieces that a session keeps, by their addresses. Each counts once, however many snapshots
/// use it. The session holds an `Arc` of every counted piece, so that its address is not used for
/// another one.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    known: HashMap<usize, Known>,
    bytes: usize,
}

#[derive(Debug)]
struct Known {
    bytes: usize,
    uses: usize,
}

/// A piece that was measured.
#[derive(Debug, Clone, Copy)]
pub(super) struct Measured {
    pub(super) bytes: usize,
    /// Bytes that it adds to the session: none if it is kept already.
    pub(super) added: usize,
}

impl Pieces {
    /// Bytes as JSON of all of them.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The size of a piece. Only a new piece is serialised for it.
    pub(super) fn measure<T: Serialize>(&self, piece: &Arc<T>) -> serde_json::Result<Measured> {
        if let Some(known) = self.known.get(&address(piece)) {
            return Ok(Measured { bytes: known.bytes, added: 0 });
        }
        let bytes = json_size(&**piece)?;
        Ok(Measured { bytes, added: bytes })
    }

    pub(super) fn add<T>(&mut self, piece: &Arc<T>, bytes: usize) {
        match self.known.entry(address(piece)) {
            Entry::Occupied(mut known) => known.get_mut().uses += 1,
            Entry::Vacant(place) => {
                place.insert(Known { bytes, uses: 1 });
                self.bytes += bytes;
            }
        }
    }

    pub(super) fn remove<T>(&mut self, piece: &Arc<T>) {
        if let Entry::Occupied(mut known) = self.known.entry(address(piece)) {
            known.get_mut().uses -= 1;
            if known.get().uses == 0 {
                self.bytes -= known.remove().bytes;
            }
        }
    }
}

fn address<T>(piece: &Arc<T>) -> usize {
    Arc::as_ptr(piece).addr()
}
