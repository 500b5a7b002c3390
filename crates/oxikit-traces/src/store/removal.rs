//! Removes traces and log lines on request. The limits are enforced in `upkeep`.

use rusqlite::OptionalExtension;

use super::ids::stored_id;
use super::{TraceError, TraceStore, upkeep, words};
use oxikit_sqlite::vacuum;
use oxikit_sqlite::writer::Txn;

/// The result of a prune.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PrunedTraces {
    /// Number of removed traces.
    pub traces: u64,
    /// Number of removed log lines, without those of the removed traces.
    pub logs: u64,
}

impl TraceStore {
    /// Removes a trace with its log lines. Returns `false` if there is none with this id. Spans
    /// that arrive later make a new trace with the same id.
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

    /// Removes all traces and log lines, and shrinks the file.
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

    /// Removes the traces and log lines beyond the limits now, in small steps, and shrinks the
    /// file. Writes do the same in the background, except for the shrinking.
    ///
    /// ```
    /// # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
    /// # let folder = std::env::temp_dir().join(format!("oxikit-prune-{}", std::process::id()));
    /// # let store = oxikit_traces::TraceStore::open(folder.join("traces.db"))?;
    /// let pruned = store.prune().await?;
    /// println!("{} traces and {} log lines were removed", pruned.traces, pruned.logs);
    /// # drop(store);
    /// # std::fs::remove_dir_all(folder)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
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
                // Damage is known now: the next step skips what cannot be removed.
                Err(TraceError::Damaged(_)) if !was_careful => continue,
                step => step?,
            };
            pruned.traces += step.traces;
            pruned.logs += step.logs;
            // A step that removes nothing is the last one: the rest is within the limits, or
            // cannot be removed.
            if step.traces + step.logs == 0 {
                break;
            }
        }
        self.vacuum().await?;
        Ok(pruned)
    }

    /// Gives free pages back to the file system.
    async fn vacuum(&self) -> Result<(), TraceError> {
        let vacuumed = vacuum(&self.0.writer).await;
        vacuumed.map_err(|failure| self.error("the file", failure))
    }
}
