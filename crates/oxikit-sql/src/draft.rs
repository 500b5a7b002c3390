//! The difference between a snapshot and the stored one that it is based on: all that a write has
//! to store.
//!
//! It is computed without a database, outside of the transaction: comparing and serialising a
//! long session takes longer than writing the difference, and must not block other writers.

use std::sync::Arc;

use oxikit_core::ports::delta::{common_prefix, is_same, json_size};
use oxikit_core::ports::{MAX_ARTIFACT_BYTES, MAX_SNAPSHOT_BYTES, StoreError};
use oxikit_wire::{Artifact, Message, SessionSnapshot, SessionState};

use crate::documents::NewCustom;
use crate::known::{Document, Head, Known};

/// A snapshot to be written: its small columns, and only the content that its base does not
/// have.
#[derive(Debug)]
pub(crate) struct Draft {
    /// The columns of the row, which are always written in full.
    pub(crate) head: Head,
    /// Whether the snapshot has a state. Without one the next three are `None`.
    pub(crate) has_state: bool,
    /// `None` if the state has no list of messages.
    pub(crate) messages: Option<NewMessages>,
    /// `None` if the state has no custom part.
    pub(crate) custom: Option<NewCustom>,
    /// `None` if the state has no list of artifacts.
    pub(crate) artifacts: Option<Vec<NewArtifact>>,
}

/// Messages: a kept prefix of stored ones, then the added ones.
#[derive(Debug, PartialEq)]
pub(crate) struct NewMessages {
    /// The stored messages that the snapshot begins with.
    pub(crate) kept: Kept,
    /// JSON of each message that follows.
    pub(crate) added: Vec<String>,
    /// Bytes of all of them, kept and added.
    pub(crate) bytes: i64,
}

/// The first messages of a stored segment. If the segment ends there, it grows; otherwise
/// another snapshot has continued it, and a new segment branches off at that place.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Kept {
    /// Ignored if `length` is 0.
    pub(crate) segment: i64,
    /// Number of kept messages; 0 if the snapshot shares none.
    pub(crate) length: i64,
}

/// One artifact.
#[derive(Debug, PartialEq)]
pub(crate) enum NewArtifact {
    /// The document exists already.
    Same(Document),
    /// Its JSON.
    New(String),
}

impl Draft {
    /// Compares a snapshot with `base`: its own previous row, or else the snapshot that its
    /// turn continued from.
    ///
    /// # Errors
    ///
    /// `Full` if the snapshot or one of its artifacts exceeds its limit, and `Damaged` if a value
    /// of it cannot be written as JSON.
    pub(crate) fn new(
        snapshot: &SessionSnapshot,
        base: Option<&Known>,
    ) -> Result<Self, StoreError> {
        let damaged = |error: serde_json::Error| {
            StoreError::Damaged(snapshot.snapshot_id.clone(), Box::new(error))
        };
        let draft = Self::compare(snapshot, base).map_err(damaged)?;
        let full = |why| Err(StoreError::Full(snapshot.snapshot_id.clone(), why));
        if draft.snapshot_bytes() > MAX_SNAPSHOT_BYTES {
            return full("the snapshot is too large");
        }
        let mut new = draft.artifacts.iter().flatten();
        let is_large = |artifact: &NewArtifact| matches!(artifact, NewArtifact::New(json) if json.len() > MAX_ARTIFACT_BYTES);
        if new.any(is_large) {
            return full("an artifact is too large");
        }
        Ok(draft)
    }

    /// The difference, without a check of the limits.
    fn compare(
        snapshot: &SessionSnapshot,
        base: Option<&Known>,
    ) -> Result<Self, serde_json::Error> {
        let head = Head::of(snapshot)?;
        let Some(state) = &snapshot.state else {
            return Ok(Self {
                head,
                has_state: false,
                messages: None,
                custom: None,
                artifacts: None,
            });
        };
        // Each part is compared with the same part of the base, and may be new, equal or changed
        // by itself.
        let before = base.and_then(|known| known.stored.snapshot.state.as_ref());
        let custom = |custom| {
            let base = base.and_then(|known| known.content.custom);
            let before = before.and_then(|state| state.custom.as_ref());
            NewCustom::new(custom, base.zip(before))
        };
        Ok(Self {
            head,
            has_state: true,
            messages: state.messages.as_ref().map(|all| messages(all, base)).transpose()?,
            custom: state.custom.as_ref().map(custom).transpose()?,
            artifacts: state.artifacts.as_ref().map(|all| artifacts(all, base)).transpose()?,
        })
    }

    /// Bytes of the snapshot as JSON, its artifacts aside.
    fn snapshot_bytes(&self) -> usize {
        let messages = self.messages.as_ref().map_or(0, |messages| messages.bytes);
        let custom = self.custom.as_ref().map_or(0, NewCustom::bytes);
        self.head.bytes() + usize::try_from(messages + custom).unwrap_or(usize::MAX)
    }

    /// Number of messages of the snapshot.
    pub(crate) fn length(&self) -> i64 {
        let length = |messages: &NewMessages| messages.kept.length + messages.added.len() as i64;
        self.messages.as_ref().map_or(0, length)
    }

    /// Bytes that the write adds besides the row itself.
    pub(crate) fn added_bytes(&self) -> i64 {
        let messages = self.messages.iter().flat_map(|messages| &messages.added).map(String::len);
        self.document_bytes() + messages.sum::<usize>() as i64
    }

    /// The part of [`added_bytes`](Self::added_bytes) that is not messages.
    pub(crate) fn document_bytes(&self) -> i64 {
        let custom = self.custom.iter().map(|custom| match custom {
            NewCustom::Same(_) => 0,
            NewCustom::Whole(text) | NewCustom::Patch { patch: text, .. } => text.len(),
        });
        let artifacts = self.artifacts.iter().flatten().map(|artifact| match artifact {
            NewArtifact::Same(_) => 0,
            NewArtifact::New(json) => json.len(),
        });
        custom.chain(artifacts).sum::<usize>() as i64
    }
}

/// Finds the messages that the base has stored already. Turns append, so mostly all stored
/// messages are kept and only the new ones are serialised.
fn messages(
    messages: &[Arc<Message>],
    base: Option<&Known>,
) -> Result<NewMessages, serde_json::Error> {
    // Messages can be kept only if the base has both a segment and the messages themselves.
    let stored = base.and_then(|known| {
        let state = known.stored.snapshot.state.as_ref()?;
        Some((known.content.messages?, state.messages.as_deref()?))
    });
    let (kept, mut bytes) = match stored {
        Some((stored, before)) => {
            let length = common_prefix(before, messages);
            let bytes = if length == before.len() {
                stored.bytes
            } else {
                // Rare: a fork, or a rewritten history.
                size(&messages[..length])?
            };
            (Kept { segment: stored.segment, length: length as i64 }, bytes)
        }
        None => (Kept::default(), 0),
    };
    // Only messages behind the common prefix are serialised.
    let added = &messages[usize::try_from(kept.length).unwrap_or_default()..];
    let added = added.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>()?;
    bytes += added.iter().map(String::len).sum::<usize>() as i64;
    Ok(NewMessages { kept, added, bytes })
}

/// Bytes of messages as JSON, without building the text.
fn size(messages: &[Arc<Message>]) -> Result<i64, serde_json::Error> {
    messages.iter().map(|message| Ok(json_size(message)? as i64)).sum()
}

/// Finds the artifacts that the base has stored already, wherever they are in its list.
fn artifacts(
    artifacts: &[Arc<Artifact>],
    base: Option<&Known>,
) -> Result<Vec<NewArtifact>, serde_json::Error> {
    let before = base.and_then(|known| known.stored.snapshot.state.as_ref());
    let before = before.and_then(|state: &SessionState| state.artifacts.as_deref()).unwrap_or(&[]);
    let documents = base.and_then(|known| known.content.artifacts.as_deref()).unwrap_or(&[]);
    // Artifacts have no fixed order, so each is looked for in the whole list.
    let stored = |artifact: &Arc<Artifact>| {
        let mut pairs = before.iter().zip(documents);
        let found = pairs.find(|(other, _)| is_same(other, artifact));
        found.map(|(_, document)| NewArtifact::Same(*document))
    };
    let new = |artifact| Ok(NewArtifact::New(serde_json::to_string(artifact)?));
    artifacts.iter().map(|artifact| stored(artifact).map_or_else(|| new(artifact), Ok)).collect()
}
