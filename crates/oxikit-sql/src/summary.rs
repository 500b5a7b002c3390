//! The listed columns of a session, kept up to date with every write.
//!
//! Nearly every write is a turn at the end of the newest branch, and changes the
//! summary by a look at the new row. The others ask for [`Summary::recount`].

use std::collections::HashSet;

use oxikit_core::ports::{SessionSummary, SnapshotNode, StoreError};
use oxikit_wire::{AgentFinishReason, SnapshotStatus};

use crate::draft::Draft;
use crate::known::{Fault, name_of, named};

/// What a session's row says about its snapshots.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Summary {
    pub(crate) agent: String,
    /// Of the snapshot that was written first, also when that is gone.
    pub(crate) created_at: String,
    pub(crate) snapshots: i64,
    pub(crate) latest: Facts,
    /// The newest completed snapshot.
    pub(crate) completed: Option<Facts>,
    /// Snapshots whose parent was not there when they were written. While there is
    /// none, a new snapshot is nobody's parent, and the latest one is a leaf.
    pub(crate) orphans: i64,
    /// As JSON.
    pub(crate) metadata: Option<String>,
}

/// What a list needs to know of a snapshot.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Facts {
    pub(crate) number: i64,
    pub(crate) id: String,
    pub(crate) parent: Option<String>,
    pub(crate) created_at: String,
    pub(crate) updated_at: Option<String>,
    pub(crate) heartbeat_at: Option<String>,
    pub(crate) status: Option<String>,
    pub(crate) finish_reason: Option<String>,
    pub(crate) messages: i64,
    pub(crate) has_artifacts: bool,
}

impl Facts {
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

    fn order(&self) -> (&str, i64) {
        (&self.created_at, self.number)
    }

    fn is_completed(&self) -> bool {
        self.is(SnapshotStatus::Completed)
    }

    fn is(&self, status: SnapshotStatus) -> bool {
        self.status.as_deref() == Some(status.as_str())
    }

    /// Without its content, for the tree of a session.
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

    /// Notes a row that was written in place of `former`. Answers `false` if all
    /// rows must be looked at again, by [`recount`](Self::recount).
    #[must_use]
    pub(crate) fn note(&mut self, former: Option<&Facts>, row: &Facts, has_parent: bool) -> bool {
        let is_counted = match former {
            Some(former) => self.note_again(former, row),
            None => self.note_new(row, has_parent),
        };
        is_counted && self.note_completed(row)
    }

    fn note_new(&mut self, row: &Facts, has_parent: bool) -> bool {
        if self.snapshots == 0 {
            self.created_at.clone_from(&row.created_at);
        }
        self.snapshots += 1;
        let may_be_a_parent = self.orphans > 0;
        if row.real_parent().is_some() && !has_parent {
            self.orphans += 1;
        }
        if self.snapshots == 1 || row.created_at >= self.latest.created_at {
            // A leaf as late as the latest, and stored after it.
            self.latest = row.clone();
            return !may_be_a_parent;
        }
        // An older one besides: unless it hides the latest, that stays.
        !may_be_a_parent && row.real_parent() != Some(&self.latest.id)
    }

    fn note_again(&mut self, former: &Facts, row: &Facts) -> bool {
        if self.latest.number == row.number {
            self.latest = row.clone();
        }
        former.parent == row.parent && former.created_at == row.created_at
    }

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

    /// Looks at all rows of the session, which has at least one.
    pub(crate) fn recount(&mut self, rows: &[Facts]) {
        let leaves = leaves(rows);
        let is_cycle = leaves.is_empty();
        // A cycle has no leaf: then any may be the latest.
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

    /// Whether the latest snapshot is pending or was interrupted.
    pub(crate) fn is_active(&self) -> bool {
        let interrupted = name_of(&AgentFinishReason::Interrupted);
        self.latest.is(SnapshotStatus::Pending) || self.latest.finish_reason == interrupted
    }

    /// What a list shows.
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

/// The rows that are no other's parent.
fn leaves(rows: &[Facts]) -> Vec<&Facts> {
    let parents: HashSet<_> = rows.iter().filter_map(Facts::real_parent).collect();
    rows.iter().filter(|row| !parents.contains(row.id.as_str())).collect()
}

/// Which rows go when only the newest `keep` are to stay: never the last of a
/// branch, never a pending one. Rows are in the order of their first writing.
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
        /// Whatever is written in whatever order: what is noted row by row is what
        /// is counted at the end.
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
                let former = place.map(|place| rows[place].clone());
                match place {
                    Some(place) => rows[place] = row.clone(),
                    None => rows.push(row.clone()),
                }
                let mut counted = noted.clone();
                counted.recount(&rows);
                if noted.note(former.as_ref(), &row, has_parent) {
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
