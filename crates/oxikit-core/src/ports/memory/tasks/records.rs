//! All tasks, and the order in which they change.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::MemoryTaskOptions;
use super::record::Record;
use crate::ports::{StoreError, TaskRetention, TaskScope};

/// The tasks of a store. Every method is one step.
#[derive(Default)]
pub(super) struct Records {
    pub(super) tasks: HashMap<String, Record>,
    /// Ids by the last change of the status.
    pub(super) by_change: BTreeMap<u64, String>,
    /// Those in a terminal state, by their end.
    ended: BTreeSet<u64>,
    /// Ids of tasks with events that a webhook has not received.
    pub(super) pending: BTreeSet<String>,
    runners: BTreeMap<String, u64>,
    /// Numbers changes of a status and renewals.
    counter: u64,
}

impl Records {
    pub(super) fn len(&self) -> usize {
        self.tasks.len()
    }

    /// Adds a task; says whether a webhook has something to deliver. Answers the tasks that were
    /// removed too: the caller drops them after it has unlocked the store.
    pub(super) fn insert(
        &mut self,
        record: Record,
        options: &MemoryTaskOptions,
    ) -> Result<(bool, Vec<Record>), StoreError> {
        let removed = self.make_room(options);
        if self.tasks.contains_key(&record.id) {
            return Err(StoreError::Exists(record.id));
        }
        if self.tasks.len() >= options.max_tasks {
            return Err(StoreError::Full(record.id, "too many tasks have not ended"));
        }
        let id = record.id.clone();
        self.tasks.insert(id.clone(), record);
        self.note_status(&id);
        Ok((self.note_pending(&id), removed))
    }

    pub(super) fn own(&self, scope: &TaskScope, id: &str) -> Result<&Record, StoreError> {
        let record = self.tasks.get(id).filter(|record| record.scope == *scope);
        record.ok_or_else(|| StoreError::NotFound(id.to_owned()))
    }

    /// The same for a change. Without a scope it is a runner's.
    pub(super) fn own_mut(
        &mut self,
        scope: Option<&TaskScope>,
        id: &str,
    ) -> Result<&mut Record, StoreError> {
        let is_own = |record: &&mut Record| scope.is_none_or(|scope| record.scope == *scope);
        let record = self.tasks.get_mut(id).filter(is_own);
        record.ok_or_else(|| StoreError::NotFound(id.to_owned()))
    }

    /// Changes a task; also says whether a webhook has something to deliver.
    pub(super) fn change<T>(
        &mut self,
        id: &str,
        scope: Option<&TaskScope>,
        change: impl FnOnce(&mut Record) -> Result<T, StoreError>,
    ) -> Result<(T, bool), StoreError> {
        let record = self.own_mut(scope, id)?;
        let status_at = record.progress.status_at;
        let answer = change(record)?;
        let is_pending = record.is_pending();
        if record.progress.status_at != status_at {
            self.note_status(id);
        }
        // Most stores have no webhooks at all.
        if is_pending || !self.pending.is_empty() {
            self.note_pending(id);
        }
        Ok((answer, is_pending))
    }

    /// Moves a task whose status is new to the end of the order.
    fn note_status(&mut self, id: &str) {
        let Some(record) = self.tasks.get_mut(id) else { return };
        self.by_change.remove(&record.changed);
        self.counter += 1;
        record.changed = self.counter;
        self.by_change.insert(record.changed, id.to_owned());
        if record.has_ended() {
            self.ended.insert(record.changed);
        }
    }

    pub(super) fn note_pending(&mut self, id: &str) -> bool {
        let is_pending = self.tasks.get(id).is_some_and(Record::is_pending);
        if !is_pending {
            self.pending.remove(id);
        } else if !self.pending.contains(id) {
            self.pending.insert(id.to_owned());
        }
        is_pending
    }

    /// Removes the tasks whose time is over, and the one that ended first if there is no other
    /// room. Those with something to deliver stay.
    fn make_room(&mut self, options: &MemoryTaskOptions) -> Vec<Record> {
        let is_over = |record: &Record| record.written_at.elapsed() >= options.keep_ended;
        let expired = removable(self.ended().take_while(|record| is_over(record)));
        let mut removed: Vec<Record> = expired.iter().filter_map(|id| self.remove(id)).collect();
        if self.tasks.len() >= options.max_tasks {
            let first = self.ended().find(|record| !record.is_pending());
            if let Some(id) = first.map(|record| record.id.clone()) {
                removed.extend(self.remove(&id));
            }
        }
        removed
    }

    /// The tasks in a terminal state, those that ended first at the start.
    fn ended(&self) -> impl Iterator<Item = &Record> {
        self.ended.iter().filter_map(|changed| self.tasks.get(self.by_change.get(changed)?))
    }

    fn remove(&mut self, id: &str) -> Option<Record> {
        let record = self.tasks.remove(id)?;
        self.by_change.remove(&record.changed);
        self.ended.remove(&record.changed);
        self.pending.remove(id);
        Some(record)
    }

    /// Removes what need not be kept; answers the ids.
    pub(super) fn prune(&mut self, retention: &TaskRetention) -> Vec<String> {
        let mut pruned = Vec::new();
        if let Some(age) = retention.ended {
            pruned.extend(removable(self.ended().filter(|it| it.written_at.elapsed() >= age)));
        }
        if let Some(age) = retention.waiting {
            let is_waiting = |record: &&Record| {
                record.progress.state.is_interrupted()
                    && record.progress.runner.is_none()
                    && record.written_at.elapsed() >= age
            };
            pruned.extend(removable(self.tasks.values().filter(is_waiting)));
        }
        for id in &pruned {
            self.remove(id);
        }
        if let Some(max) = retention.max_ended {
            let excess = self.ended.len().saturating_sub(max);
            let mut first = removable(self.ended());
            first.truncate(excess);
            for id in &first {
                self.remove(id);
            }
            pruned.extend(first);
        }
        pruned
    }

    pub(super) fn renew(&mut self, runner: &str) {
        self.counter += 1;
        self.runners.insert(runner.to_owned(), self.counter);
    }

    pub(super) fn runners(&self) -> Vec<(String, u64)> {
        self.runners.iter().map(|(runner, number)| (runner.clone(), *number)).collect()
    }

    pub(super) fn tasks_of(&self, runner: &str, limit: usize) -> Vec<String> {
        let of_runner = |record: &&Record| record.progress.runner.as_deref() == Some(runner);
        let tasks = self.tasks.values().filter(of_runner).take(limit);
        tasks.map(|record| record.id.clone()).collect()
    }

    pub(super) fn forget(&mut self, runner: &str) {
        self.runners.remove(runner);
        for id in &self.pending {
            if let Some(record) = self.tasks.get_mut(id) {
                record.release_pushes(runner);
            }
        }
    }
}

/// The ids of those without anything to deliver.
fn removable<'a>(records: impl Iterator<Item = &'a Record>) -> Vec<String> {
    records.filter(|record| !record.is_pending()).map(|record| record.id.clone()).collect()
}
