//! The record of a session: what the store knows about it apart from its snapshots.

use std::collections::{HashMap, HashSet};

use oxikit_core::ports::{SessionSummary, SnapshotNode};
use oxikit_wire::{AgentFinishReason, JsonObject, SessionSnapshot, SnapshotStatus};
use serde::{Deserialize, Serialize};

use super::disk::Stamp;
use super::pieces::Content;

/// Data that the official layout has no place for, one file per session. Where it is
/// missing, it is made from the snapshots; then the agent and the notes are not
/// known.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Record {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) agent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) metadata: Option<JsonObject>,
    /// When the session was last written: nanoseconds since 1970, but never less
    /// than before.
    pub(super) written: u64,
    /// The expected content of the pointer. If it differs, another kind of
    /// store has written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) pointer: Option<String>,
    /// The number of the last lease.
    pub(super) fence: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) lease: Option<Held>,
    /// In the order of their first writing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) rows: Vec<Row>,
}

/// The lease of a session as it is stored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Held {
    pub(super) holder: String,
    pub(super) ttl_millis: u64,
    /// Number of renewals. Each one shows other processes that the holder is alive.
    pub(super) renewed: u64,
}

/// Data about a snapshot that can be used without reading its file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Row {
    pub(super) id: String,
    pub(super) revision: u64,
    /// The file that this was noted of.
    pub(super) stamp: Stamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) work: Option<String>,
    /// Bytes that it does not share with its parent, if they were ever measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) own_bytes: Option<u64>,
    /// Bytes of content that were written for it elsewhere than in its file.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(super) elsewhere: u64,
    pub(super) outline: Outline,
}

/// A snapshot without its content.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Outline {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) parent: Option<String>,
    pub(super) created_at: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    updated_at: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    heartbeat_at: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) status: Option<SnapshotStatus>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    finish_reason: Option<AgentFinishReason>,
    messages: usize,
    has_artifacts: bool,
    /// The files that its content is in, if it is not in its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) pieces: Vec<u64>,
}

impl Outline {
    /// The outline of a snapshot that has its content, or has it elsewhere.
    pub(super) fn of(snapshot: &SessionSnapshot, content: Option<&Content>) -> Self {
        let state = snapshot.state.as_ref();
        let messages = state.and_then(|state| state.messages.as_ref()).map_or(0, Vec::len);
        let artifacts = state.and_then(|state| state.artifacts.as_ref()).map_or(0, Vec::len);
        let elsewhere = content.and_then(|content| content.artifacts.as_ref()).map_or(0, Vec::len);
        let pieces = content.iter().flat_map(|content| content.pieces());
        Self {
            parent: snapshot.parent_id.clone(),
            created_at: snapshot.created_at.clone(),
            updated_at: snapshot.updated_at.clone(),
            heartbeat_at: snapshot.heartbeat_at.clone(),
            status: snapshot.status,
            finish_reason: snapshot.finish_reason,
            messages: content.map_or(messages, Content::length),
            has_artifacts: artifacts + elsewhere > 0,
            pieces: pieces.map(|piece| piece.file).collect(),
        }
    }

    pub(super) fn updated_at(&self) -> &str {
        self.updated_at.as_ref().unwrap_or(&self.created_at)
    }

    pub(super) fn is_active(&self) -> bool {
        self.status == Some(SnapshotStatus::Pending)
            || self.finish_reason == Some(AgentFinishReason::Interrupted)
    }
}

impl Record {
    pub(super) fn without_rows(&self) -> Self {
        Self {
            agent: self.agent.clone(),
            metadata: self.metadata.clone(),
            written: self.written,
            pointer: self.pointer.clone(),
            fence: self.fence,
            lease: self.lease.clone(),
            rows: Vec::new(),
        }
    }

    pub(super) fn row(&self, id: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.id == id)
    }

    /// Ids of the snapshots that another one names as its parent.
    pub(super) fn parents(&self) -> HashSet<&str> {
        let children = self.rows.iter().filter(|row| row.outline.parent.as_ref() != Some(&row.id));
        children.filter_map(|row| row.outline.parent.as_deref()).collect()
    }

    pub(super) fn latest(&self) -> Option<&Row> {
        let parents = self.parents();
        let leaves = self.rows.iter().filter(|row| !parents.contains(row.id.as_str()));
        // Of equals the last one is taken. A cycle has no leaf: then any may be.
        let newest = leaves.max_by_key(|row| row.outline.created_at.as_str());
        newest.or(self.rows.last())
    }

    /// Brings the rows up to date with the files that are there; says whether
    /// something was new.
    pub(super) fn adopt<'a>(
        &mut self,
        files: impl Iterator<Item = (&'a str, Stamp, &'a Outline)>,
    ) -> bool {
        let mut files: HashMap<_, _> = files.map(|(id, stamp, of)| (id, (stamp, of))).collect();
        let (mut is_new, mut written) = (false, self.written);
        self.rows.retain_mut(|row| {
            let Some((stamp, outline)) = files.remove(row.id.as_str()) else {
                is_new = true;
                return false;
            };
            if row.stamp != stamp {
                // Another kind of store has written it; it knows of no work.
                let (id, revision) = (row.id.clone(), row.revision + 1);
                let elsewhere = row.elsewhere;
                *row = Row { elsewhere, ..Row::new(id, revision, stamp, outline.clone()) };
                written = written.max(stamp.modified);
                is_new = true;
            }
            true
        });
        let mut files: Vec<_> = files.into_iter().collect();
        files.sort_by_key(|(id, (_, outline))| (outline.created_at.as_str(), *id));
        for (id, (stamp, outline)) in files {
            self.rows.push(Row::new(id.to_owned(), 1, stamp, outline.clone()));
            written = written.max(stamp.modified);
            is_new = true;
        }
        self.written = written;
        is_new
    }

    pub(super) fn remove(&mut self, id: &str) {
        let Some(place) = self.rows.iter().position(|row| row.id == id) else { return };
        let mut elsewhere = self.rows.remove(place).elsewhere;
        for child in &mut self.rows {
            if child.outline.parent.as_deref() == Some(id) {
                // Content that the child shared with the removed parent now belongs to the child.
                child.own_bytes = None;
                child.elsewhere += std::mem::take(&mut elsewhere);
            }
        }
    }

    /// The files that content of its snapshots is in.
    pub(super) fn pieces(&self) -> HashSet<u64> {
        self.rows.iter().flat_map(|row| &row.outline.pieces).copied().collect()
    }

    pub(super) fn nodes(&self) -> Vec<SnapshotNode> {
        let node = |Row { id, outline, .. }: &Row| SnapshotNode {
            snapshot: id.clone(),
            parent: outline.parent.clone(),
            created_at: outline.created_at.clone(),
            status: outline.status,
            finish_reason: outline.finish_reason,
            messages: outline.messages,
        };
        self.rows.iter().map(node).collect()
    }

    /// `None` if the session has no snapshot.
    pub(super) fn summary(&self, session: &str) -> Option<SessionSummary> {
        let latest = self.latest()?;
        let outlines = || self.rows.iter().map(|row| &row.outline);
        let completed = outlines()
            .filter(|outline| outline.status == Some(SnapshotStatus::Completed))
            .max_by_key(|outline| outline.created_at.as_str());
        Some(SessionSummary {
            session: session.to_owned(),
            agent: self.agent.clone().unwrap_or_default(),
            created_at: outlines().map(|outline| &outline.created_at).min()?.clone(),
            updated_at: latest.outline.updated_at().to_owned(),
            latest: latest.id.clone(),
            status: latest.outline.status,
            finish_reason: latest.outline.finish_reason,
            heartbeat_at: latest.outline.heartbeat_at.clone(),
            snapshots: self.rows.len(),
            messages: completed.map_or(0, |outline| outline.messages),
            has_artifacts: completed.is_some_and(|outline| outline.has_artifacts),
            metadata: self.metadata.clone(),
        })
    }
}

impl Row {
    pub(super) fn new(id: String, revision: u64, stamp: Stamp, outline: Outline) -> Self {
        Self { id, revision, stamp, work: None, own_bytes: None, elsewhere: 0, outline }
    }

    /// Bytes that the session has on the disk for it.
    pub(super) fn bytes(&self) -> u64 {
        self.stamp.length + self.elsewhere
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks in this way")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}
