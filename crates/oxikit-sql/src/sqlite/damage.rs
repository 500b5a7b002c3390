//! A database with pages that cannot be read: what is told of it, and how work goes on.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use super::failure::{Failure, Outcome};
use super::walk;
use super::writer::Txn;

/// So many names are told, of however many that cannot be read.
const MAX_NAMES: usize = 20;
/// What to do about it.
pub(super) const REPAIR: &str = "stop the tools and run `oxikit doctor --repair`";

/// What cannot be read because the file is damaged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Damage {
    /// How many are known of.
    pub count: usize,
    /// The ids of the first 20 of them.
    pub names: Vec<String>,
    /// Whether there may be more that nothing is known of.
    pub may_be_more: bool,
}

impl Damage {
    pub(super) fn new(is_whole: bool) -> Self {
        Self { may_be_more: !is_whole, ..Self::default() }
    }

    /// Counts one more.
    pub fn add(&mut self, name: String) {
        self.count += 1;
        if self.names.len() < MAX_NAMES {
            self.names.push(name);
        }
    }

    /// `None` if nothing is missing.
    pub(super) fn into_option(self) -> Option<Self> {
        (self.count > 0 || self.may_be_more).then_some(self)
    }

    /// What to tell about it, with what to do.
    pub fn warning(&self) -> String {
        let names = self.names.join("`, `");
        let what = match (self.count, self.may_be_more) {
            (0, _) => "a part cannot be read".to_owned(),
            (1, _) => format!("`{names}` cannot be read"),
            (count, _) if count > self.names.len() => {
                format!("{count} cannot be read, the first are `{names}`")
            }
            (count, _) => format!("{count} cannot be read: `{names}`"),
        };
        format!("the database is damaged, {what}; {REPAIR}")
    }
}

/// What is known of the state of the file. Damage is told once in the log.
#[derive(Debug)]
pub(super) struct Health {
    file: PathBuf,
    was_told: AtomicBool,
    /// Whether rows are guarded against each other's damage.
    is_careful: AtomicBool,
}

impl Health {
    pub(super) fn of(file: PathBuf) -> Self {
        Self { file, was_told: AtomicBool::new(false), is_careful: AtomicBool::new(false) }
    }

    /// Whether damage was met, so that what is written needs guarding.
    pub(super) fn is_careful(&self) -> bool {
        self.is_careful.load(Ordering::Relaxed)
    }

    /// Says in the log what was damaged, the first time.
    pub(super) fn note(&self, what: &str, why: &dyn std::fmt::Display) {
        self.is_careful.store(true, Ordering::Relaxed);
        if !self.was_told.swap(true, Ordering::Relaxed) {
            let file = self.file.display();
            tracing::error!(%file, what, %why, "the database is damaged; what can be read is served: {REPAIR}");
        }
    }

    /// Notes the damage that work has met which nobody waits for.
    pub(super) fn noted<T>(&self, what: &str, outcome: Outcome<T>) -> Outcome<T> {
        self.or_else(what, outcome, || Err(Failure::Damaged("a page cannot be read")))
    }

    /// Does a part of a transaction; if that meets damage, nothing of the part is kept, and
    /// the answer is `None`.
    pub(super) fn guard<T>(
        &self,
        txn: &Txn<'_>,
        work: impl FnOnce() -> Outcome<T>,
    ) -> Outcome<Option<T>> {
        txn.sql("SAVEPOINT part")?.execute([])?;
        let done = work();
        if let Err(failure) = &done {
            if failure.is_damage() {
                self.note("a part of what was to be written", &Reason(failure));
            }
            txn.sql("ROLLBACK TO part")?.execute([])?;
        }
        txn.sql("RELEASE part")?.execute([])?;
        walk::whole(done)
    }

    /// Goes on with what can be read when the usual way meets a damaged page.
    pub(super) fn or_else<T>(
        &self,
        what: &str,
        outcome: Outcome<T>,
        rest: impl FnOnce() -> Outcome<T>,
    ) -> Outcome<T> {
        match outcome {
            Err(failure) if failure.is_damage() => {
                self.note(what, &Reason(&failure));
                rest()
            }
            outcome => outcome,
        }
    }
}

/// A failure for the log.
pub(super) struct Reason<'a>(pub(super) &'a Failure);

impl std::fmt::Display for Reason<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Failure::Sql(error) => error.fmt(f),
            other => write!(f, "{other:?}"),
        }
    }
}
