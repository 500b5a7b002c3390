//! A snapshot that is about to be written: its new content, found and measured before anything is
//! changed.

use std::sync::Arc;

use oxikit_wire::{Artifact, JsonObject, Message, SessionSnapshot};
use serde_json::Value;

use super::super::history::Plan;
use super::super::pieces::{Measured, Pieces};
use super::{Session, State};
use crate::ports::delta::{is_same, json_size, shared};
use crate::ports::{MAX_ARTIFACT_BYTES, MAX_SESSION_BYTES, MAX_SNAPSHOT_BYTES};

/// A snapshot with its content separated into shared and new pieces.
pub(in super::super) struct Draft {
    /// The snapshot without messages, custom state and artifacts.
    pub(super) snapshot: SessionSnapshot,
    pub(super) messages: Option<(Vec<Arc<Message>>, Plan)>,
    custom: Option<(Arc<Value>, Measured)>,
    artifacts: Option<(Artifacts, Vec<Measured>)>,
    /// Bytes of the row without its pieces.
    pub(super) head: usize,
    /// Bytes of new metadata; `None` if the metadata stays.
    pub(super) notes: Option<usize>,
    /// Bytes that the write frees: those of the previous row and metadata.
    freed: usize,
}

pub(super) type Artifacts = Arc<[Arc<Artifact>]>;

/// The states that a snapshot may share content with: those of its parent and of its own previous
/// version.
type Known<'a> = [Option<&'a State>; 2];

impl Draft {
    pub(super) fn new(
        session: &Session,
        mut snapshot: SessionSnapshot,
        work: Option<&str>,
        notes: Option<&JsonObject>,
    ) -> serde_json::Result<Self> {
        let previous = session.rows.get(snapshot.snapshot_id.as_str());
        let parent = snapshot.parent_id.as_deref().and_then(|parent| session.rows.get(parent));
        let known = [parent, previous].map(|row| row.and_then(|row| row.state.as_ref()));
        let (mut messages, mut custom, mut artifacts) = (None, None, None);
        if let Some(state) = &mut snapshot.state {
            messages = plan(session, &known, state.messages.take())?;
            custom = share_custom(&session.pieces, &known, state.custom.take())?;
            artifacts = share_artifacts(&session.pieces, &known, state.artifacts.take())?;
        }
        let head = json_size(&snapshot)? + work.map_or(0, str::len);
        let notes = notes.map(json_size).transpose()?;
        let freed = previous.map_or(0, |row| row.bytes) + notes.map_or(0, |_| session.notes);
        Ok(Self { snapshot, messages, custom, artifacts, head, notes, freed })
    }

    /// The bytes of the session (or of the store) after the write, if there were `before` bytes.
    /// Content that only the previous version of the row uses still counts: it is removed after
    /// the write.
    pub(in super::super) fn bytes_after(&self, before: usize) -> usize {
        let messages = self.messages.as_ref().map_or(0, |(_, plan)| plan.added);
        let custom = self.custom.as_ref().map_or(0, |(_, measured)| measured.added);
        let artifacts = self.artifacts.iter().flat_map(|(_, measured)| measured);
        let artifacts: usize = artifacts.map(|measured| measured.added).sum();
        let added = self.head + self.notes.unwrap_or(0) + messages + custom + artifacts;
        (before + added).saturating_sub(self.freed)
    }

    /// The limit that the draft exceeds, in a session of `session` bytes; `None` if it fits.
    pub(super) fn why_too_large(&self, session: usize) -> Option<&'static str> {
        // Messages have commas between them.
        let messages = self.messages.as_ref();
        let messages = messages.map_or(0, |(messages, plan)| plan.bytes + messages.len());
        let custom = self.custom.as_ref().map_or(0, |(_, measured)| measured.bytes);
        if self.head + custom + messages > MAX_SNAPSHOT_BYTES {
            return Some("the snapshot is too large");
        }
        let mut artifacts = self.artifacts.iter().flat_map(|(_, measured)| measured);
        if artifacts.any(|measured| measured.bytes > MAX_ARTIFACT_BYTES) {
            return Some("an artifact is too large");
        }
        let is_over = self.bytes_after(session) > MAX_SESSION_BYTES;
        is_over.then_some("the session's history is too large")
    }

    /// Adds the custom state and the artifacts to the pieces, and returns them.
    pub(super) fn keep(&mut self, pieces: &mut Pieces) -> (Option<Arc<Value>>, Option<Artifacts>) {
        let custom = self.custom.take().map(|(custom, measured)| {
            pieces.add(&custom, measured.bytes);
            custom
        });
        let artifacts = self.artifacts.take().map(|(artifacts, measured)| {
            for (artifact, measured) in artifacts.iter().zip(measured) {
                pieces.add(artifact, measured.bytes);
            }
            artifacts
        });
        (custom, artifacts)
    }
}

fn plan(
    session: &Session,
    known: &Known<'_>,
    messages: Option<Vec<Arc<Message>>>,
) -> serde_json::Result<Option<(Vec<Arc<Message>>, Plan)>> {
    let Some(messages) = messages else { return Ok(None) };
    let known = known.map(|state| state.and_then(|state| state.messages));
    let plan = session.history.plan(known, &messages, &session.pieces)?;
    Ok(Some((messages, plan)))
}

fn share_custom(
    pieces: &Pieces,
    known: &Known<'_>,
    custom: Option<Arc<Value>>,
) -> serde_json::Result<Option<(Arc<Value>, Measured)>> {
    let Some(custom) = custom else { return Ok(None) };
    let mut customs = known.iter().flatten().filter_map(|state| state.custom.as_ref());
    let known = customs.find(|known| is_same(known, &custom)).cloned();
    let custom = known.unwrap_or(custom);
    let measured = pieces.measure(&custom)?;
    Ok(Some((custom, measured)))
}

/// The artifacts, in which those that are already known are replaced by the known objects.
fn share_artifacts(
    pieces: &Pieces,
    known: &Known<'_>,
    artifacts: Option<Vec<Arc<Artifact>>>,
) -> serde_json::Result<Option<(Artifacts, Vec<Measured>)>> {
    let Some(artifacts) = artifacts else { return Ok(None) };
    let lists = || known.iter().flatten().filter_map(|state| state.artifacts.as_ref());
    let is_whole = |list: &&Artifacts| {
        list.len() == artifacts.len()
            && list.iter().zip(&artifacts).all(|(one, other)| is_same(one, other))
    };
    let artifacts = match lists().find(is_whole) {
        Some(list) => list.clone(),
        None => {
            let known = |one| lists().find_map(|list| shared(list, &one).cloned()).unwrap_or(one);
            artifacts.into_iter().map(known).collect()
        }
    };
    let measured = artifacts.iter().map(|artifact| pieces.measure(artifact));
    let measured = measured.collect::<serde_json::Result<_>>()?;
    Ok(Some((artifacts, measured)))
}
