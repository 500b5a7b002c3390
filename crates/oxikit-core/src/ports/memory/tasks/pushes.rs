//! Webhooks of tasks, and who delivers to them.

use std::time::Duration;

use tokio::time::Instant;

use super::push::Push;
use super::record::Record;
use super::records::Records;
use crate::ports::{DuePush, MAX_PUSH_TARGETS, PushTarget, StoreError, TaskScope};

impl Record {
    /// Gives back the webhooks that this runner has claimed.
    pub(super) fn release_pushes(&mut self, runner: &str) {
        for push in &mut self.pushes {
            push.claimed_by.take_if(|claimed_by| claimed_by == runner);
        }
    }
}

impl Records {
    pub(super) fn put_push(
        &mut self,
        scope: &TaskScope,
        id: &str,
        target: PushTarget,
    ) -> Result<(), StoreError> {
        let record = self.own_mut(Some(scope), id)?;
        let push = Push::new(target, record.position());
        let is_full = record.pushes.len() >= MAX_PUSH_TARGETS;
        match record.pushes.iter_mut().find(|known| known.target.id == push.target.id) {
            Some(known) => *known = push,
            None if is_full => {
                return Err(StoreError::Full(id.to_owned(), "the task has too many webhooks"));
            }
            None => record.pushes.push(push),
        }
        self.note_pending(id);
        Ok(())
    }

    pub(super) fn remove_push(
        &mut self,
        scope: &TaskScope,
        id: &str,
        target: &str,
    ) -> Result<bool, StoreError> {
        let record = self.own_mut(Some(scope), id)?;
        let before = record.pushes.len();
        record.pushes.retain(|push| push.target.id != target);
        let is_removed = record.pushes.len() < before;
        self.note_pending(id);
        Ok(is_removed)
    }

    /// Claims due webhooks, those that are due longest first.
    pub(super) fn claim_pushes(&mut self, runner: &str, limit: usize) -> Vec<DuePush> {
        let mut due = Vec::new();
        for record in self.pending.iter().filter_map(|id| self.tasks.get(id)) {
            let (id, position) = (&record.id, record.position());
            let places = record.pushes.iter().enumerate().filter(|(_, it)| it.is_due(position));
            due.extend(places.map(|(place, push)| (push.due_at, id.clone(), place)));
        }
        due.sort();
        due.truncate(limit);
        due.into_iter().filter_map(|(_, id, place)| self.claim(runner, &id, place)).collect()
    }

    fn claim(&mut self, runner: &str, id: &str, place: usize) -> Option<DuePush> {
        let record = self.tasks.get_mut(id)?;
        let push = record.pushes.get_mut(place)?;
        push.claimed_by = Some(runner.to_owned());
        Some(DuePush {
            scope: record.scope.clone(),
            task: id.to_owned(),
            target: push.target.clone(),
            delivered: push.delivered,
            attempts: push.attempts,
        })
    }

    /// Gives back a claimed webhook; says whether it has more to deliver.
    pub(super) fn release_push(
        &mut self,
        runner: &str,
        released: &DuePush,
        position: u64,
        attempts: u32,
        pause: Duration,
    ) -> bool {
        let Some(record) = self.tasks.get_mut(&*released.task) else { return false };
        // One that was registered anew since the claim has another position.
        let is_claimed = |push: &&mut Push| {
            push.target.id == released.target.id
                && push.delivered == released.delivered
                && push.claimed_by.as_deref() == Some(runner)
        };
        let Some(push) = record.pushes.iter_mut().find(is_claimed) else { return false };
        push.delivered = position;
        push.attempts = attempts;
        push.due_at = Instant::now() + pause;
        push.claimed_by = None;
        let id = record.id.clone();
        self.note_pending(&id)
    }

    pub(super) fn has_due_push(&self) -> bool {
        let mut pending = self.pending.iter().filter_map(|id| self.tasks.get(id));
        pending.any(|record| record.pushes.iter().any(|push| push.is_due(record.position())))
    }
}
