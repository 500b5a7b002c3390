//! The listed columns of a session, kept up to date with every write.
//!
//! Nearly every write is a turn at the end of the newest branch, and its row alone is enough
//! to update the summary. All other writes need [`Summary::recount`], which reads all rows.

use std::collections::HashSet;

use oxikit_core::ports::{SessionSummary, SnapshotNode, StoreError};
use oxikit_wire::{AgentFinishReason, SnapshotStatus};

use crate::documents::Fault;
use crate::draft::Draft;
use crate::known::{name_of, named};

/// The columns of a session's row that are computed from its snapshots.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Summary {
    /// The agent that the session belongs to.
    pub(crate) agent: String,
    /// Creation time of the snapshot that was written first, even if it was removed since.
    pub(crate) created_at: String,
    /// Number of stored snapshots.
    pub(crate) snapshots: i64,
    /// The snapshot that the next turn continues from: the newest leaf.
    pub(crate) latest: Facts,
    /// The newest completed snapshot.
    pub(crate) completed: Option<Facts>,
    /// Number of snapshots whose parent did not exist when they were written. While it is 0,
    /// a new snapshot cannot be the parent of a stored one, and the latest one is a leaf.
    pub(crate) orphans: i64,
    /// As JSON.
    pub(crate) metadata: Option<String>,
}

/// The columns of a snapshot that a list needs.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Facts {
    /// The number of its row, which grows with the order of first writing.
    pub(crate) number: i64,
    /// The id of the snapshot.
    pub(crate) id: String,
    pub(crate) parent: Option<String>,
    pub(crate) created_at: String,
    pub(crate) updated_at: Option<String>,
    pub(crate) heartbeat_at: Option<String>,
    pub(crate) status: Option<String>,
    pub(crate) finish_reason: Option<String>,
    /// Number of messages.
    pub(crate) messages: i64,
    /// Whether the list of artifacts has an entry.
    pub(crate) has_artifacts: bool,
}

impl Facts {
    /// The facts of a snapshot that is about to be written.
    pub(crate) fn of(number: i64, id: &str, draft: &Draft) -> Self {
        let head = draft.head.clone();
        Self {
            number,
            id: id.to_owned(),
            parent: head.parent,
            created_at: head.created_at,
            updated_at: head.updated_at,
            heartbeat_at: head.heartbeat_at,
            status: head.status,
            finish_reason: head.finish_reason,
            messages: draft.length(),
            has_artifacts: draft.artifacts.as_ref().is_some_and(|all| !all.is_empty()),
        }
    }

    /// The parent, unless the snapshot names itself.
    pub(crate) fn real_parent(&self) -> Option<&str> {
        self.parent.as_deref().filter(|parent| *parent != self.id)
    }

    /// The order of lists: by creation time, compared as text, then by first writing.
    fn order(&self) -> (&str, i64) {
        (&self.created_at, self.number)
    }

    /// Whether the turn has ended normally.
    fn is_completed(&self) -> bool {
        self.is(SnapshotStatus::Completed)
    }

    /// Whether it has this status.
    fn is(&self, status: SnapshotStatus) -> bool {
        self.status.as_deref() == Some(status.as_str())
    }

    /// The snapshot without its content, for the tree of a session.
    pub(crate) fn node(self) -> Result<SnapshotNode, StoreError> {
        let (status, finish_reason) = self.names()?;
        Ok(SnapshotNode {
            snapshot: self.id,
            parent: self.parent,
            created_at: self.created_at,
            status,
            finish_reason,
            messages: usize::try_from(self.messages).unwrap_or_default(),
        })
    }

    /// The status and the finish reason as the variants that their columns name.
    fn names(&self) -> Result<(Option<SnapshotStatus>, Option<AgentFinishReason>), StoreError> {
        let damaged = |fault: Fault| StoreError::Damaged(self.id.clone(), fault);
        let status = self.status.as_deref().map(named).transpose().map_err(damaged)?;
        let reason = self.finish_reason.as_deref().map(named).transpose().map_err(damaged)?;
        Ok((status, reason))
    }
}

impl Summary {
    /// A session that has this agent and no snapshot yet.
    pub(crate) fn new(agent: &str) -> Self {
        Self { agent: agent.to_owned(), ..Self::default() }
    }

    /// Updates the summary with a row that replaced `previous`. Returns `false` if that is
    /// not enough, and [`recount`](Self::recount) is needed.
    #[must_use]
    pub(crate) fn note(&mut self, previous: Option<&Facts>, row: &Facts, has_parent: bool) -> bool {
        let is_counted = match previous {
            Some(previous) => self.note_again(previous, row),
            None => self.note_new(row, has_parent),
        };
        is_counted && self.note_completed(row)
    }

    /// Counts a new row. A row as new as the latest becomes the latest, unless it may be the
    /// parent of a stored one: then it is not a leaf.
    fn note_new(&mut self, row: &Facts, has_parent: bool) -> bool {
        if self.snapshots == 0 {
            self.created_at.clone_from(&row.created_at);
        }
        self.snapshots += 1;
        // A snapshot can be written before its parent. While such orphans exist, this row may be
        // the missing parent of one of them, which only a recount finds out.
        let may_be_a_parent = self.orphans > 0;
        if row.real_parent().is_some() && !has_parent {
            self.orphans += 1;
        }
        if self.snapshots == 1 || row.created_at >= self.latest.created_at {
            // As new as the latest one, and stored after it.
            self.latest = row.clone();
            return !may_be_a_parent;
        }
        // An older row: the latest one stays, unless the new row is a child of it.
        !may_be_a_parent && row.real_parent() != Some(&self.latest.id)
    }

    /// Counts a row that was written again. Its place in the tree must be the same.
    fn note_again(&mut self, previous: &Facts, row: &Facts) -> bool {
        if self.latest.number == row.number {
            self.latest = row.clone();
        }
        previous.parent == row.parent && previous.created_at == row.created_at
    }

    /// Counts a row as the newest completed one. If the newest completed row is no longer
    /// completed, only a recount finds the one before it.
    fn note_completed(&mut self, row: &Facts) -> bool {
        let newest = self.completed.as_ref();
        if row.is_completed() {
            if newest.is_none_or(|newest| newest.order() <= row.order()) {
                self.completed = Some(row.clone());
            }
            return true;
        }
        newest.is_none_or(|newest| newest.number != row.number)
    }

    /// Computes the summary from all rows of the session, which has at least one.
    pub(crate) fn recount(&mut self, rows: &[Facts]) {
        let leaves = leaves(rows);
        let is_cycle = leaves.is_empty();
        // A cycle has no leaf: the last row counts as the latest.
        let newest = leaves.into_iter().max_by_key(|row| row.order()).or(rows.last());
        self.latest = newest.cloned().unwrap_or_default();
        let completed = rows.iter().filter(|row| row.is_completed());
        self.completed = completed.max_by_key(|row| row.order()).cloned();
        self.snapshots = rows.len() as i64;
        let ids: HashSet<_> = rows.iter().map(|row| row.id.as_str()).collect();
        let parents = rows.iter().filter_map(Facts::real_parent);
        let orphans = parents.filter(|parent| !ids.contains(parent)).count() as i64;
        self.orphans = orphans + i64::from(is_cycle);
    }

    /// Whether the latest snapshot is pending or was interrupted: a filter of lists.
    pub(crate) fn is_active(&self) -> bool {
        let interrupted = name_of(&AgentFinishReason::Interrupted);
        self.latest.is(SnapshotStatus::Pending) || self.latest.finish_reason == interrupted
    }

    /// The summary as lists return it. The number of messages is that of the newest completed
    /// snapshot, so that it does not change while a turn runs.
    pub(crate) fn shown(self, session: String) -> Result<SessionSummary, StoreError> {
        let (status, finish_reason) = self.latest.names()?;
        let damaged = |error| StoreError::Damaged(session.clone(), Box::new(error));
        let metadata = self.metadata.as_deref().map(serde_json::from_str).transpose();
        let metadata = metadata.map_err(damaged)?;
        let Self { agent, created_at, snapshots, latest, completed, .. } = self;
        let completed = completed.unwrap_or_default();
        Ok(SessionSummary {
            session,
            agent,
            created_at,
            updated_at: latest.updated_at.unwrap_or(latest.created_at),
            latest: latest.id,
            status,
            finish_reason,
            heartbeat_at: latest.heartbeat_at,
            snapshots: usize::try_from(snapshots).unwrap_or_default(),
            messages: usize::try_from(completed.messages).unwrap_or_default(),
            has_artifacts: completed.has_artifacts,
            metadata,
        })
    }
}

/// The rows that are not the parent of another row: the end of each branch.
fn leaves(rows: &[Facts]) -> Vec<&Facts> {
    let parents: HashSet<_> = rows.iter().filter_map(Facts::real_parent).collect();
    rows.iter().filter(|row| !parents.contains(row.id.as_str())).collect()
}

/// The rows to remove so that the newest `keep` are left. The last one of a branch and pending
/// ones are never removed: they can still be continued. `rows` are in the order of their first
/// writing.
pub(crate) fn removable(rows: &[Facts], keep: usize) -> Vec<i64> {
    let old = &rows[..rows.len().saturating_sub(keep)];
    let leaves: HashSet<_> = leaves(rows).into_iter().map(|row| row.number).collect();
    let may_go = |row: &&Facts| !leaves.contains(&row.number) && !row.is(SnapshotStatus::Pending);
    old.iter().filter(may_go).map(|row| row.number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Updating the summary row by row gives the same result as a recount at the end,
        /// for writes in any order.
        #[test]
        fn noting_is_counting(writes in prop::collection::vec((0..6_usize, 0..7_usize, 0..4_u32, any::<bool>()), 1..24)) {
            let mut rows: Vec<Facts> = Vec::new();
            let mut noted = Summary::new("helper");
            for (id, parent, second, is_completed) in writes {
                let place = rows.iter().position(|row| row.id == id.to_string());
                let status = if is_completed { SnapshotStatus::Completed } else { SnapshotStatus::Pending };
                let row = Facts {
                    number: place.unwrap_or(rows.len()) as i64,
                    id: id.to_string(),
                    parent: (parent < 6).then(|| parent.to_string()),
                    created_at: second.to_string(),
                    status: Some(status.as_str().to_owned()),
                    ..Facts::default()
                };
                let has_parent = rows.iter().any(|other| Some(other.id.as_str()) == row.real_parent());
                let previous = place.map(|place| rows[place].clone());
                match place {
                    Some(place) => rows[place] = row.clone(),
                    None => rows.push(row.clone()),
                }
                let mut counted = noted.clone();
                counted.recount(&rows);
                if noted.note(previous.as_ref(), &row, has_parent) {
                    counted.orphans = noted.orphans;
                    counted.created_at.clone_from(&noted.created_at);
                    prop_assert_eq!(&noted, &counted);
                } else {
                    counted.created_at.clone_from(&noted.created_at);
                    noted = counted;
                }
            }
        }
    }

    #[test]
    fn the_last_of_a_branch_and_what_is_pending_stay() {
        let row = |number: i64, parent: Option<i64>, status: SnapshotStatus| Facts {
            number,
            id: number.to_string(),
            parent: parent.map(|parent| parent.to_string()),
            status: Some(status.as_str().to_owned()),
            ..Facts::default()
        };
        let done = SnapshotStatus::Completed;
        let rows = [
            row(1, None, done),
            row(2, Some(1), done),
            row(3, Some(1), SnapshotStatus::Pending),
            row(4, Some(3), done),
            row(5, Some(4), done),
        ];
        assert_eq!(removable(&rows, 1), [1, 4], "2 ends a branch, 3 is pending, 5 is the newest");
        assert!(removable(&rows, 9).is_empty());
    }
}
