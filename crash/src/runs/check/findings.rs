//! The findings of a check of runs.

use serde::Serialize;

#[derive(Debug, Default, Serialize)]
pub(super) struct Findings {
    /// Managers that were killed.
    pub(super) kills: usize,
    /// Runs that managers requested.
    pub(super) runs: usize,
    pub(super) chunks: usize,
    /// Runs whose output a manager received.
    pub(super) answered: usize,
    /// Runs whose error a manager received.
    pub(super) failed: usize,
    /// Answers that were sent again because their confirmation was missing.
    pub(super) repeated: usize,
    /// Requests that did not arrive because their manager was killed.
    pub(super) undelivered: usize,
    /// Runs without an answer whose manager was killed and did not return.
    pub(super) orphaned: usize,
    /// Answers and chunks that are missing.
    pub(super) lost: usize,
    /// Messages that arrived twice.
    pub(super) doubled: usize,
    /// Messages of another run, or after the answer.
    pub(super) mixed: usize,
    #[serde(skip)]
    pub(super) faults: Vec<String>,
}

impl Findings {
    pub(super) fn is_good(&self) -> bool {
        // Without answers and failures the check would prove nothing.
        self.faults.is_empty() && self.answered > 0 && self.failed > 0
    }

    pub(super) fn lost(&mut self, what: String) {
        self.lost += 1;
        self.faults.push(format!("lost: {what}"));
    }

    pub(super) fn doubled(&mut self, what: String) {
        self.doubled += 1;
        self.faults.push(format!("doubled: {what}"));
    }

    pub(super) fn mixed(&mut self, what: String) {
        self.mixed += 1;
        self.faults.push(format!("mixed: {what}"));
    }
}
