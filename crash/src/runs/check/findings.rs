//! What a check has found.

use serde::Serialize;

#[derive(Debug, Default, Serialize)]
pub(super) struct Findings {
    /// Managers that were killed.
    pub(super) kills: usize,
    /// Runs that managers have asked for.
    pub(super) runs: usize,
    pub(super) chunks: usize,
    /// Runs whose output was told.
    pub(super) answered: usize,
    /// Runs whose failure was told.
    pub(super) failed: usize,
    /// Answers that were told again, because nobody had confirmed them.
    pub(super) repeated: usize,
    /// Requests that went down with their manager.
    pub(super) unheard: usize,
    /// Runs whose manager is gone for good.
    pub(super) nobodys: usize,
    /// Answers and chunks that should have come.
    pub(super) lost: usize,
    /// What came twice.
    pub(super) doubled: usize,
    /// What came for another run, or too late.
    pub(super) mixed: usize,
    #[serde(skip)]
    pub(super) faults: Vec<String>,
}

impl Findings {
    pub(super) fn is_good(&self) -> bool {
        // Nothing at all would be a test that cannot fail.
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
