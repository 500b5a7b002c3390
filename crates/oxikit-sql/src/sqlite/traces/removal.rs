//! Traces and log lines that go.

use rusqlite::OptionalExtension;

use super::super::prune;
use super::super::writer::Txn;
use super::ids::stored_id;
use super::{TraceError, TraceStore, upkeep, words};

/// What a prune has removed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PrunedTraces {
    /// So many traces.
    pub traces: u64,
    /// So many log lines, besides those of these traces.
    pub logs: u64,
}

impl TraceStore {
    /// Removes a trace with its logs; `false` if there is none.
    ///
    /// # Errors
    ///
    /// If the store does not work.
    pub async fn delete(&self, trace_id: &str) -> Result<bool, TraceError> {
        let (id, health) = (stored_id(trace_id), self.0.health.clone());
        let delete = move |txn: &Txn<'_>| {
            let sql = "SELECT number FROM traces WHERE id = ?1";
            let number = txn.sql(sql)?.query_row([&id], |row| row.get(0)).optional()?;
            number.map(|number| upkeep::remove_one(txn, number, &id, &health)).transpose()
        };
        Ok(self.change(trace_id, delete).await?.is_some())
    }

    /// Removes all traces and logs.
    ///
    /// # Errors
    ///
    /// If the store does not work.
    pub async fn clear(&self) -> Result<(), TraceError> {
        let clear = |txn: &Txn<'_>| {
            for sql in [
                "DELETE FROM spans",
                "DELETE FROM labels",
                "DELETE FROM fresh",
                "DELETE FROM logs",
                "DELETE FROM traces",
                "UPDATE counts SET amount = 0, last = 0",
            ] {
                txn.sql(sql)?.execute([])?;
            }
            words::clear(txn)
        };
        self.change("the traces", clear).await?;
        self.vacuum().await
    }

    /// Removes what is too much now, in small steps, and gives its room back. It goes
    /// on by itself whenever something is written.
    ///
    /// # Errors
    ///
    /// If the store does not work.
    pub async fn prune(&self) -> Result<PrunedTraces, TraceError> {
        let mut pruned = PrunedTraces::default();
        loop {
            let (options, health) = (self.0.options.clone(), self.0.health.clone());
            let was_careful = health.is_careful();
            let prune = move |txn: &Txn<'_>| upkeep::prune(txn, &options, &health);
            let step = match self.change("the traces", prune).await {
                // Now that damage is known, the others can be removed around it.
                Err(TraceError::Damaged(_)) if !was_careful => continue,
                step => step?,
            };
            pruned.traces += step.traces;
            pruned.logs += step.logs;
            if step.traces + step.logs == 0 {
                break;
            }
        }
        self.vacuum().await?;
        Ok(pruned)
    }

    async fn vacuum(&self) -> Result<(), TraceError> {
        let vacuumed = prune::vacuum(&self.0.writer).await;
        vacuumed.map_err(|failure| self.error("the file", failure))
    }
}
