//! One session: its snapshots, their tree, and the content that they share.
//!
//! A write has two steps. A [`Draft`] finds what is new and checks the limits without changing
//! anything; [`Session::write`] then cannot fail. So a refused write leaves the session as it was.

mod draft;

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use oxikit_wire::{
    AgentFinishReason, JsonObject, RuntimeError, SessionSnapshot, SessionState, SnapshotStatus,
};
use serde_json::Value;
use tokio::time::Instant;

use self::draft::Artifacts;
use super::history::{History, Stretch};
use super::pieces::Pieces;
use crate::ports::{SessionSummary, SnapshotNode, StoreError, StoredSnapshot};

pub(super) use self::draft::Draft;

pub(super) struct Session {
    pub(super) id: Arc<str>,
    pub(super) agent: String,
    metadata: Option<JsonObject>,
    created_at: Arc<str>,
    /// Revision of the last write.
    pub(super) written: u64,
    pub(super) written_at: Instant,
    rows: HashMap<Arc<str>, Row>,
    /// Number of the next new row: rows are numbered in the order of their first writing.
    next: u64,
    /// Number of children of each parent. A parent need not exist (yet).
    children: HashMap<Arc<str>, usize>,
    /// Rows without children, oldest first.
    leaves: BTreeSet<Age>,
    /// Completed rows, oldest first.
    completed: BTreeSet<Age>,
    history: History,
    pieces: Pieces,
    /// Bytes of the rows without their pieces.
    heads: usize,
    /// Bytes of the metadata.
    notes: usize,
}

/// The sort key of snapshots: `createdAt`, then the order of their first writing, then the id.
type Age = (Arc<str>, u64, Arc<str>);

/// A snapshot without its messages, custom state and artifacts, which other snapshots may share.
struct Row {
    number: u64,
    revision: u64,
    parent: Option<Arc<str>>,
    created_at: Arc<str>,
    updated_at: Option<Box<str>>,
    heartbeat_at: Option<Box<str>>,
    status: Option<SnapshotStatus>,
    finish_reason: Option<AgentFinishReason>,
    error: Option<Box<RuntimeError>>,
    state: Option<State>,
    bytes: usize,
}

struct State {
    messages: Option<Stretch>,
    custom: Option<Arc<Value>>,
    artifacts: Option<Artifacts>,
}

impl Session {
    pub(super) fn new(id: Arc<str>, agent: &str, created_at: &str) -> Self {
        Self {
            id,
            agent: agent.to_owned(),
            metadata: None,
            created_at: created_at.into(),
            written: 0,
            written_at: Instant::now(),
            rows: HashMap::new(),
            next: 0,
            children: HashMap::new(),
            leaves: BTreeSet::new(),
            completed: BTreeSet::new(),
            history: History::default(),
            pieces: Pieces::default(),
            heads: 0,
            notes: 0,
        }
    }

    /// Bytes of the session as JSON; content that snapshots share counts once.
    pub(super) fn bytes(&self) -> usize {
        self.pieces.bytes() + self.heads + self.notes
    }

    pub(super) fn revision(&self, id: &str) -> u64 {
        self.rows.get(id).map_or(0, |row| row.revision)
    }

    pub(super) fn ids(&self) -> impl Iterator<Item = &Arc<str>> {
        self.rows.keys()
    }

    pub(super) fn get(&self, id: &str) -> Option<SessionSnapshot> {
        let row = self.rows.get(id)?;
        let state = row.state.as_ref().map(|state| SessionState {
            session_id: Some(self.id.to_string()),
            messages: state.messages.map(|stretch| self.history.read(stretch)),
            custom: state.custom.clone(),
            artifacts: state.artifacts.as_ref().map(|artifacts| artifacts.to_vec()),
        });
        Some(SessionSnapshot {
            snapshot_id: id.to_owned(),
            session_id: Some(self.id.to_string()),
            parent_id: row.parent.as_ref().map(ToString::to_string),
            created_at: row.created_at.to_string(),
            updated_at: row.updated_at.as_ref().map(ToString::to_string),
            heartbeat_at: row.heartbeat_at.as_ref().map(ToString::to_string),
            status: row.status,
            finish_reason: row.finish_reason,
            error: row.error.as_deref().cloned(),
            state,
        })
    }

    pub(super) fn stored(&self, id: &str) -> Option<StoredSnapshot> {
        let (revision, agent) = (self.revision(id), Some(self.agent.clone()));
        Some(StoredSnapshot { revision, agent, snapshot: self.get(id)? })
    }

    /// The newest leaf. If parents form a cycle, there is no leaf: then the row written first
    /// last is taken.
    pub(super) fn latest(&self) -> Option<&Arc<str>> {
        let last = || self.rows.iter().max_by_key(|(_, row)| row.number);
        let leaf = self.leaves.last().map(|(_, _, id)| id);
        leaf.or_else(|| last().map(|(id, _)| id))
    }

    /// Whether the latest snapshot is pending or was interrupted.
    pub(super) fn is_active(&self) -> bool {
        self.latest().and_then(|id| self.rows.get(id)).is_some_and(|row| {
            row.status == Some(SnapshotStatus::Pending)
                || row.finish_reason == Some(AgentFinishReason::Interrupted)
        })
    }

    /// Finds what is new in the snapshot, and checks it against the limits.
    pub(super) fn draft(
        &self,
        snapshot: SessionSnapshot,
        work: Option<&str>,
        notes: Option<&JsonObject>,
    ) -> Result<Draft, StoreError> {
        let id = snapshot.snapshot_id.clone();
        match Draft::new(self, snapshot, work, notes) {
            Ok(draft) => match draft.why_too_large(self.bytes()) {
                Some(why) => Err(StoreError::Full(id, why)),
                None => Ok(draft),
            },
            Err(error) => Err(StoreError::Damaged(id, Box::new(error))),
        }
    }

    /// Writes a draft. The caller must not have written anything since it was made.
    pub(super) fn write(
        &mut self,
        id: Arc<str>,
        mut draft: Draft,
        notes: Option<&JsonObject>,
        revision: u64,
    ) {
        (self.written, self.written_at) = (revision, Instant::now());
        let (custom, artifacts) = draft.keep(&mut self.pieces);
        let Draft { snapshot, messages, head, .. } = draft;
        let messages =
            messages.map(|(messages, plan)| self.history.add(&plan, &messages, &mut self.pieces));
        let state = snapshot.state.is_some().then_some(State { messages, custom, artifacts });
        // The previous version of this row is removed after the new pieces were added, so that
        // pieces that both have are not dropped in between.
        let previous = self.remove(&id);
        let number = previous.map_or(self.next, |previous| previous.number);
        self.next = self.next.max(number + 1);
        let row = Row {
            number,
            revision,
            parent: snapshot.parent_id.map(|parent| self.interned(&parent)),
            created_at: snapshot.created_at.into(),
            updated_at: snapshot.updated_at.map(Into::into),
            heartbeat_at: snapshot.heartbeat_at.map(Into::into),
            status: snapshot.status,
            finish_reason: snapshot.finish_reason,
            error: snapshot.error.map(Box::new),
            state,
            bytes: head,
        };
        self.insert(id, row);
        if let (Some(notes), Some(bytes)) = (notes, draft.notes) {
            self.metadata = Some(notes.clone());
            self.notes = bytes;
        }
    }

    /// The id; if a row has it, a clone of that `Arc`, to share the text.
    fn interned(&self, id: &str) -> Arc<str> {
        self.rows.get_key_value(id).map_or_else(|| id.into(), |(id, _)| id.clone())
    }

    /// Adds a row and updates the indexes: it is a leaf unless it has children already, and its
    /// parent is not a leaf any more.
    fn insert(&mut self, id: Arc<str>, row: Row) {
        let age = (row.created_at.clone(), row.number, id.clone());
        if row.status == Some(SnapshotStatus::Completed) {
            self.completed.insert(age.clone());
        }
        if !self.children.contains_key(&id) {
            self.leaves.insert(age);
        }
        if let Some(parent) = row.parent_of(&id) {
            *self.children.entry(parent.clone()).or_default() += 1;
            if let Some(found) = self.rows.get(parent) {
                self.leaves.remove(&(found.created_at.clone(), found.number, parent.clone()));
            }
        }
        self.heads += row.bytes;
        self.rows.insert(id, row);
    }

    /// Removes a row and the content that only this row uses.
    fn remove(&mut self, id: &Arc<str>) -> Option<Row> {
        let mut row = self.rows.remove(id)?;
        let age = (row.created_at.clone(), row.number, id.clone());
        self.completed.remove(&age);
        self.leaves.remove(&age);
        if let Some(parent) = row.parent_of(id) {
            self.lose_child(parent);
        }
        if let Some(state) = row.state.take() {
            if let Some(stretch) = state.messages {
                self.history.remove(stretch, &mut self.pieces);
            }
            state.custom.iter().for_each(|custom| self.pieces.remove(custom));
            state
                .artifacts
                .iter()
                .flat_map(|all| all.iter())
                .for_each(|one| self.pieces.remove(one));
        }
        self.heads -= row.bytes;
        Some(row)
    }

    /// Counts one child less. A parent without children is a leaf again.
    fn lose_child(&mut self, parent: &Arc<str>) {
        let Some(count) = self.children.get_mut(parent) else { return };
        *count -= 1;
        if *count > 0 {
            return;
        }
        self.children.remove(parent);
        if let Some(found) = self.rows.get(parent) {
            self.leaves.insert((found.created_at.clone(), found.number, parent.clone()));
        }
    }

    /// Removes the oldest rows until at most `most` are left, except pending ones and the ends of
    /// branches. Returns the removed ids.
    pub(super) fn prune(&mut self, most: usize) -> Vec<Arc<str>> {
        let excess = self.rows.len().saturating_sub(most);
        if excess == 0 {
            return Vec::new();
        }
        let leaves: HashSet<&Arc<str>> = self.leaves.iter().map(|(_, _, id)| id).collect();
        let mut rows: Vec<_> = self.rows.iter().collect();
        rows.sort_by_key(|(_, row)| row.number);
        let stays = |id: &Arc<str>, row: &Row| {
            leaves.contains(id) || row.status == Some(SnapshotStatus::Pending)
        };
        let gone = rows.into_iter().take(excess).filter(|(id, row)| !stays(id, row));
        let gone: Vec<_> = gone.map(|(id, _)| id.clone()).collect();
        for id in &gone {
            self.remove(id);
        }
        gone
    }

    pub(super) fn tree(&self) -> Vec<SnapshotNode> {
        let mut rows: Vec<_> = self.rows.iter().collect();
        rows.sort_by_key(|(_, row)| row.number);
        let node = |(id, row): (&Arc<str>, &Row)| SnapshotNode {
            snapshot: id.to_string(),
            parent: row.parent.as_ref().map(ToString::to_string),
            created_at: row.created_at.to_string(),
            status: row.status,
            finish_reason: row.finish_reason,
            messages: row.messages(),
        };
        rows.into_iter().map(node).collect()
    }

    /// The session as it is listed. Numbers of messages and artifacts are those of the newest
    /// completed snapshot: a pending or failed one may have none.
    pub(super) fn summary(&self) -> Option<SessionSummary> {
        let id = self.latest()?;
        let latest = self.rows.get(id)?;
        let completed = self.completed.last().and_then(|(_, _, id)| self.rows.get(id));
        let artifacts = completed.and_then(|row| row.state.as_ref()?.artifacts.as_ref());
        Some(SessionSummary {
            session: self.id.to_string(),
            agent: self.agent.clone(),
            created_at: self.created_at.to_string(),
            updated_at: latest.updated_at.as_deref().unwrap_or(&latest.created_at).to_owned(),
            latest: id.to_string(),
            status: latest.status,
            finish_reason: latest.finish_reason,
            heartbeat_at: latest.heartbeat_at.as_ref().map(ToString::to_string),
            snapshots: self.rows.len(),
            messages: completed.map_or(0, Row::messages),
            has_artifacts: artifacts.is_some_and(|artifacts| !artifacts.is_empty()),
            metadata: self.metadata.clone(),
        })
    }
}

impl Row {
    /// The parent; `None` for a row that names itself as its parent.
    fn parent_of(&self, id: &Arc<str>) -> Option<&Arc<str>> {
        self.parent.as_ref().filter(|parent| *parent != id)
    }

    fn messages(&self) -> usize {
        let messages = self.state.as_ref().and_then(|state| state.messages);
        messages.map_or(0, |stretch| stretch.length)
    }
}
