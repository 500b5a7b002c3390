//! Reports of a database with unreadable pages, and the guard that lets writes go on.
//!
//! Damage is logged once per open file. From then on, writes are split by savepoints
//! ([`Health::guard`]), so that a damaged page costs only the rows that are on it. The
//! search around damaged pages is in [`walk`], and the repair in [`repair`](crate::repair).

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use oxikit_core::ports::DocumentList;

use super::failure::{Failure, Outcome};
use super::walk;
use super::writer::Txn;

/// Maximum number of names in a report. Further ones are only counted.
const MAX_NAMES: usize = 20;
/// The instruction at the end of every message about damage.
pub const REPAIR: &str = "stop the tools and run `oxikit doctor --repair`";

/// The rows or documents that cannot be read because the file is damaged.
///
/// ```
/// use oxikit_sqlite::Damage;
///
/// let mut damage = Damage::new(true);
/// damage.add("session-1".to_owned());
/// assert!(damage.warning().contains("`session-1` cannot be read"));
/// assert_eq!(Damage::new(true).into_option(), None);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Damage {
    /// Number of unreadable ones whose names are known.
    pub count: usize,
    /// The ids of the first 20 of them.
    pub names: Vec<String>,
    /// Whether there may be more, whose names cannot be read either.
    pub may_be_more: bool,
}

impl Damage {
    /// An empty report. `is_whole` says whether the names of all are known.
    pub fn new(is_whole: bool) -> Self {
        Self { may_be_more: !is_whole, ..Self::default() }
    }

    /// The unreadable documents of a list; `None` if nothing is missing.
    pub fn of_documents(list: &DocumentList) -> Option<Self> {
        let mut damage = Self::new(!list.may_be_incomplete);
        list.unreadable.iter().for_each(|name| damage.add(name.clone()));
        damage.into_option()
    }

    /// Adds the name of a row or document that cannot be read.
    pub fn add(&mut self, name: String) {
        self.count += 1;
        if self.names.len() < MAX_NAMES {
            self.names.push(name);
        }
    }

    /// The report, or `None` if nothing is missing.
    pub fn into_option(self) -> Option<Self> {
        (self.count > 0 || self.may_be_more).then_some(self)
    }

    /// The message for the user: the names, and the command that repairs the file.
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

/// The known state of an open file. Its damage is logged once.
#[derive(Debug)]
pub struct Health {
    file: PathBuf,
    /// Whether the damage is in the log.
    was_logged: AtomicBool,
    /// Whether writes are split by savepoints.
    is_careful: AtomicBool,
}

impl Health {
    /// The state of a file that was just opened: no damage is known.
    pub fn of(file: PathBuf) -> Self {
        Self { file, was_logged: AtomicBool::new(false), is_careful: AtomicBool::new(false) }
    }

    /// Whether damage was found, so that writes need [`guard`](Self::guard).
    pub fn is_careful(&self) -> bool {
        self.is_careful.load(Ordering::Relaxed)
    }

    /// Records that the file is damaged, and logs it the first time. `what` names the affected
    /// thing, `why` is the reason for the log.
    pub fn record_damage(&self, what: &str, why: &dyn std::fmt::Display) {
        self.is_careful.store(true, Ordering::Relaxed);
        if !self.was_logged.swap(true, Ordering::Relaxed) {
            let file = self.file.display();
            tracing::error!(%file, what, %why, "the database is damaged; the readable part is served: {REPAIR}");
        }
    }

    /// Logs damage found by background work, whose result no caller reads.
    pub fn log_damage<T>(&self, what: &str, outcome: Outcome<T>) -> Outcome<T> {
        self.or_else(what, outcome, || Err(Failure::Damaged("a page cannot be read")))
    }

    /// Executes a part of a transaction. If the part fails, it is rolled back; the result is
    /// `None` if the reason was damage, so that the rest of the transaction goes on.
    ///
    /// # Errors
    /// If the part fails for another reason than damage.
    pub fn guard<T>(&self, txn: &Txn<'_>, work: impl FnOnce() -> Outcome<T>) -> Outcome<Option<T>> {
        txn.sql("SAVEPOINT part")?.execute([])?;
        let done = work();
        if let Err(failure) = &done {
            if failure.is_damage() {
                self.record_damage("a part of a write", &Reason(failure));
            }
            txn.sql("ROLLBACK TO part")?.execute([])?;
        }
        txn.sql("RELEASE part")?.execute([])?;
        walk::whole(done)
    }

    /// Calls `rest`, which reads around damaged pages, if the outcome is damage.
    ///
    /// # Errors
    /// If the outcome is another failure, or `rest` fails.
    pub fn or_else<T>(
        &self,
        what: &str,
        outcome: Outcome<T>,
        rest: impl FnOnce() -> Outcome<T>,
    ) -> Outcome<T> {
        match outcome {
            Err(failure) if failure.is_damage() => {
                self.record_damage(what, &Reason(&failure));
                rest()
            }
            outcome => outcome,
        }
    }
}

/// Displays a failure for the log.
#[derive(Debug)]
pub struct Reason<'a>(pub &'a Failure);

impl std::fmt::Display for Reason<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Failure::Sql(error) => error.fmt(f),
            other => write!(f, "{other:?}"),
        }
    }
}
