//! The findings of a check of sessions.

use serde::Serialize;

#[derive(Debug, Default, Serialize)]
pub(super) struct Findings {
    sessions: usize,
    /// Turns that clients saw acknowledged.
    acknowledged: usize,
    /// Snapshots in the store, including those of turns that were not acknowledged.
    pub(super) snapshots: usize,
    /// Acknowledged turns that are not in the store.
    pub(super) lost: usize,
    /// Sessions and snapshots that cannot be read.
    pub(super) unreadable: usize,
    /// Snapshots that are not their parent plus one turn, and acknowledged turns whose stored
    /// content differs.
    pub(super) mixed: usize,
    #[serde(skip)]
    pub(super) faults: Vec<String>,
}

impl Findings {
    /// The findings of one session before anything is read.
    pub(super) fn of(acknowledged: usize) -> Self {
        Self { sessions: 1, acknowledged, ..Self::default() }
    }

    pub(super) fn is_good(&self) -> bool {
        // Without acknowledged turns the check would prove nothing.
        self.faults.is_empty() && self.acknowledged > 0
    }

    pub(super) fn lost(&mut self, what: String) {
        self.lost += 1;
        self.faults.push(format!("lost: {what}"));
    }

    pub(super) fn unreadable(&mut self, what: String) {
        self.unreadable += 1;
        self.faults.push(format!("unreadable: {what}"));
    }

    pub(super) fn mixed(&mut self, what: String) {
        self.mixed += 1;
        self.faults.push(format!("mixed: {what}"));
    }

    pub(super) fn and(mut self, other: Self) -> Self {
        self.sessions += other.sessions;
        self.acknowledged += other.acknowledged;
        self.snapshots += other.snapshots;
        self.lost += other.lost;
        self.unreadable += other.unreadable;
        self.mixed += other.mixed;
        self.faults.extend(other.faults);
        self
    }
}
