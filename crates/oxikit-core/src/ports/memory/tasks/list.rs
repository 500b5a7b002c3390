//! Lists of tasks.

use super::record::{Record, StoredHead};
use super::records::Records;
use crate::ports::{StoreError, TaskList, TaskQuery, TaskScope};

impl Records {
    /// A page of tasks. The cursor is the place of its last task in the order of changes.
    pub(super) fn list(
        &self,
        scope: &TaskScope,
        query: &TaskQuery,
    ) -> Result<StoredList, StoreError> {
        let before = match &query.cursor {
            None => u64::MAX,
            Some(cursor) => cursor.parse().map_err(|_| StoreError::Invalid("the cursor"))?,
        };
        let newest_first = self
            .order
            .by_change
            .values()
            .rev()
            .filter_map(|id| self.tasks.get(id).map(|record| &**record));
        let found: Vec<&Record> =
            newest_first.filter(|record| record.scope == *scope && query.matches(record)).collect();
        let mut rest = found.iter().filter(|record| record.changed < before);
        let page: Vec<&&Record> = rest.by_ref().take(query.limit).collect();
        let has_more = rest.next().is_some();
        Ok(StoredList {
            tasks: page.iter().map(|record| record.head()).collect(),
            cursor: page.last().filter(|_| has_more).map(|record| record.changed.to_string()),
            total: found.len() as u64,
        })
    }
}

/// A copy of a page of tasks, which is read when the store is not locked any more.
pub(super) struct StoredList {
    tasks: Vec<StoredHead>,
    cursor: Option<String>,
    total: u64,
}

impl StoredList {
    pub(super) fn decode(self) -> Result<TaskList, StoreError> {
        let Self { tasks, cursor, total } = self;
        let tasks = tasks.into_iter().map(StoredHead::decode).collect::<Result<_, _>>()?;
        Ok(TaskList { tasks, cursor, total })
    }
}

impl TaskQuery {
    fn matches(&self, record: &Record) -> bool {
        let is_of_context = |context: &String| record.context_id == *context;
        self.context_id.as_ref().is_none_or(is_of_context)
            && self.state.is_none_or(|state| record.progress.state == state)
            && self.changed_since.is_none_or(|since| record.changed_at() >= since)
    }
}
