//! All tasks, and the order in which they change.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::MemoryTaskOptions;
use super::record::{NewRecord, Record};
use crate::ports::{StoreError, TaskRetention, TaskScope};

/// Tasks that were removed: in the boxes of the map, so that they are not copied.
type Removed = Vec<Box<Record>>;

/// The tasks of a store. Every method is one step.
#[derive(Default)]
pub(super) struct Records {
    /// Boxed, because the table has room for twice as many.
    pub(super) tasks: HashMap<Arc<str>, Box<Record>>,
    pub(super) order: Order,
    /// Ids of tasks with events that a webhook has not received.
    pub(super) pending: BTreeSet<Arc<str>>,
    runners: BTreeMap<String, u64>,
    /// Numbers renewals.
    renewals: u64,
}

/// The order in which tasks have changed their status.
#[derive(Default)]
pub(super) struct Order {
    /// Ids by the last change of the status.
    pub(super) by_change: BTreeMap<u64, Arc<str>>,
    /// Those in a terminal state, by their end.
    ended: BTreeSet<u64>,
    /// Numbers changes.
    counter: u64,
}

impl Order {
    /// Moves a task whose status is new to the end.
    fn note(&mut self, record: &mut Record) {
        self.by_change.remove(&record.changed);
        self.counter += 1;
        record.changed = self.counter;
        self.by_change.insert(record.changed, record.id.clone());
        if record.has_ended() {
            self.ended.insert(record.changed);
        }
    }

    fn remove(&mut self, record: &Record) {
        self.by_change.remove(&record.changed);
        self.ended.remove(&record.changed);
    }
}

impl Records {
    pub(super) fn len(&self) -> usize {
        self.tasks.len()
    }

    /// Adds a task; says whether a webhook has something to deliver. Answers the tasks that were
    /// removed too: the caller drops them after it has unlocked the store.
    pub(super) fn insert(
        &mut self,
        new: NewRecord,
        options: &MemoryTaskOptions,
    ) -> Result<(bool, Removed), StoreError> {
        let mut removed = self.make_room(options);
        let (id, is_full) = (new.id.clone(), self.tasks.len() >= options.max_tasks);
        let Entry::Vacant(free) = self.tasks.entry(id.clone()) else {
            return Err(StoreError::Exists(id.to_string()));
        };
        if is_full {
            return Err(StoreError::Full(id.to_string(), "too many tasks have not ended"));
        }
        let record = free.insert(new.into_record(removed.pop()));
        self.order.note(record);
        let is_pending = record.is_pending();
        if is_pending {
            self.pending.insert(id);
        }
        Ok((is_pending, removed))
    }

    pub(super) fn own(&self, scope: &TaskScope, id: &str) -> Result<&Record, StoreError> {
        let record = self.tasks.get(id).filter(|record| record.scope == *scope);
        record.map(|record| &**record).ok_or_else(|| StoreError::NotFound(id.to_owned()))
    }

    /// The same for a change. Without a scope it is a runner's.
    pub(super) fn own_mut(
        &mut self,
        scope: Option<&TaskScope>,
        id: &str,
    ) -> Result<&mut Record, StoreError> {
        own_mut(&mut self.tasks, scope, id)
    }

    /// Changes a task; also says whether a webhook has something to deliver.
    pub(super) fn change<T>(
        &mut self,
        id: &str,
        scope: Option<&TaskScope>,
        change: impl FnOnce(&mut Record) -> Result<T, StoreError>,
    ) -> Result<(T, bool), StoreError> {
        let record = own_mut(&mut self.tasks, scope, id)?;
        let status_at = record.progress.status_at;
        let answer = change(record)?;
        let is_pending = record.is_pending();
        if record.progress.status_at != status_at {
            self.order.note(record);
        }
        // Most stores have no webhooks at all.
        if is_pending || !self.pending.is_empty() {
            self.note_pending(id);
        }
        Ok((answer, is_pending))
    }

    pub(super) fn note_pending(&mut self, id: &str) -> bool {
        let is_pending = self.tasks.get(id).is_some_and(|record| record.is_pending());
        if !is_pending {
            self.pending.remove(id);
        } else if !self.pending.contains(id) {
            self.pending.insert(id.into());
        }
        is_pending
    }

    /// Removes the tasks whose time is over, and the one that ended first if there is no other
    /// room. Those with something to deliver stay.
    fn make_room(&mut self, options: &MemoryTaskOptions) -> Removed {
        let is_over = |record: &Record| record.written_at.elapsed() >= options.keep_ended;
        let expired = removable(self.ended().take_while(|record| is_over(record)));
        let mut removed: Removed = expired.iter().filter_map(|id| self.remove(id)).collect();
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
        let Order { by_change, ended, .. } = &self.order;
        ended.iter().filter_map(|changed| Some(&**self.tasks.get(by_change.get(changed)?)?))
    }

    fn remove(&mut self, id: &str) -> Option<Box<Record>> {
        let record = self.tasks.remove(id)?;
        self.order.remove(&record);
        self.pending.remove(id);
        Some(record)
    }

    /// Removes what need not be kept; answers the ids.
    pub(super) fn prune(&mut self, retention: &TaskRetention) -> Vec<Arc<str>> {
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
            pruned
                .extend(removable(self.tasks.values().map(|record| &**record).filter(is_waiting)));
        }
        for id in &pruned {
            self.remove(id);
        }
        if let Some(max) = retention.max_ended {
            let excess = self.order.ended.len().saturating_sub(max);
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
        self.renewals += 1;
        self.runners.insert(runner.to_owned(), self.renewals);
    }

    pub(super) fn runners(&self) -> Vec<(String, u64)> {
        self.runners.iter().map(|(runner, number)| (runner.clone(), *number)).collect()
    }

    pub(super) fn tasks_of(&self, runner: &str, limit: usize) -> Vec<String> {
        let of_runner = |record: &&Record| record.progress.runner.as_deref() == Some(runner);
        let tasks = self.tasks.values().map(|record| &**record).filter(of_runner).take(limit);
        tasks.map(|record| record.id.to_string()).collect()
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

fn own_mut<'a>(
    tasks: &'a mut HashMap<Arc<str>, Box<Record>>,
    scope: Option<&TaskScope>,
    id: &str,
) -> Result<&'a mut Record, StoreError> {
    let is_own = |record: &&mut Record| scope.is_none_or(|scope| record.scope == *scope);
    let record = tasks.get_mut(id).map(|record| &mut **record).filter(is_own);
    record.ok_or_else(|| StoreError::NotFound(id.to_owned()))
}

/// The ids of those without anything to deliver.
fn removable<'a>(records: impl Iterator<Item = &'a Record>) -> Vec<Arc<str>> {
    records.filter(|record| !record.is_pending()).map(|record| record.id.clone()).collect()
}
