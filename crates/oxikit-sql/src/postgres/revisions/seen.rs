//! Finds changes of revision logs whose notifications were lost, for example because the writer
//! was killed after its commit.
//!
//! Each change writes the number of its transaction into the row of its log. Numbers are given
//! out before a commit, so that a smaller one may become visible later. A look therefore begins
//! at the oldest transaction that was still running at the look before: all earlier ones had
//! ended, and their changes were seen.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use oxikit_core::ports::{Notifier, StoreError, all_revisions_topic, revision_topic};
use sqlx::Row;
use sqlx::postgres::{PgListener, PgRow};
use tokio::time::Instant;

use crate::postgres::database::{DEADLINE, failure, within};
use crate::postgres::text::original;

/// Answers at least one row, with the transaction at which the next look begins. Numbers beyond
/// the newest transaction are left out: a restored backup may have some of another server.
const CHANGED: &str = "
    SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint, document, former,
        changed::text::bigint
    FROM (SELECT) AS one LEFT JOIN revision_logs
    ON changed >= $1::text::xid8 AND changed < pg_snapshot_xmax(pg_current_snapshot())";

/// The changes that this process knows of.
pub(in crate::postgres) struct SeenRevisions {
    notifier: Arc<dyn Notifier>,
    /// The transaction at which the next look begins.
    from: i64,
    /// The documents that the last look has found, each with its transaction. The next look finds
    /// them again while an older transaction is running.
    found: HashMap<String, i64>,
}

impl SeenRevisions {
    /// Begins with the present state: a reader that subscribes later misses nothing.
    pub(in crate::postgres) async fn begin(
        notifier: Arc<dyn Notifier>,
        listener: &mut PgListener,
    ) -> Result<Self, StoreError> {
        let select = sqlx::query("SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint");
        let row = within(Instant::now() + DEADLINE, select.fetch_one(listener)).await?;
        let from = row.try_get(0).map_err(failure)?;
        Ok(Self { notifier, from, found: HashMap::new() })
    }

    /// Notifies the subscribers of this process of changes since the last look.
    pub(in crate::postgres) async fn look(
        &mut self,
        listener: &mut PgListener,
    ) -> Result<(), StoreError> {
        if self.notifier.subscribers().is_empty() {
            return Ok(());
        }
        let select = sqlx::query(CHANGED).bind(self.from.to_string());
        let rows = within(Instant::now() + DEADLINE, select.fetch_all(listener)).await?;
        let mut found = HashMap::new();
        for row in &rows {
            self.from = row.try_get(0).map_err(failure)?;
            if let Some((document, changed)) = self.notify(row).map_err(failure)? {
                found.insert(document, changed);
            }
        }
        self.found = found;
        Ok(())
    }

    /// Notifies the subscribers of the document of a row, unless the last look did. Returns it
    /// with its transaction; `None` if the row has no document.
    fn notify(&self, row: &PgRow) -> Result<Option<(String, i64)>, sqlx::Error> {
        let Some(document) = row.try_get::<Option<String>, _>(1)? else { return Ok(None) };
        let former: Option<String> = row.try_get(2)?;
        let changed: i64 = row.try_get(3)?;
        let document = original(document);
        if self.found.get(&document) != Some(&changed) {
            let subscribers = self.notifier.subscribers();
            for name in [Some(&document), former.map(original).as_ref()].into_iter().flatten() {
                subscribers.notify(revision_topic(name));
            }
            subscribers.notify(all_revisions_topic());
        }
        Ok(Some((document, changed)))
    }
}

impl fmt::Debug for SeenRevisions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SeenRevisions").field("from", &self.from).finish_non_exhaustive()
    }
}
