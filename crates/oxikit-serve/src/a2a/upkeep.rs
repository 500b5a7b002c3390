//! The regular work of a runner: says that it is alive, ends tasks of dead runners, notices tasks
//! that others have ended, and removes old tasks.
//!
//! A process that dies leaves its tasks in a running state, and their readers would wait for
//! ever. Every process therefore renews its name in the store at intervals. The others compare
//! what they see with what they saw before, by their own clock: a runner whose number has not
//! grown for [`DEAD_AFTER`] is dead, and its tasks are failed with a message that says so.
//!
//! A task of this process that it does not work on is failed too. The store has made this process
//! its runner, but the answer was lost; or the store has refused its end.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use oxikit_core::ports::{StoreError, TaskRetention};
use oxikit_core::timestamp;
use oxikit_wire::a2a::{Message, Role, TaskState, TaskStatus};
use tokio::time::{Instant, sleep};

use super::runner::{Runner, text_parts};

/// Interval between two renewals.
const RENEW: Duration = Duration::from_secs(1);
/// Interval at which a process looks whether others have ended its tasks.
const LOOK: Duration = Duration::from_millis(500);
/// A runner that has not renewed for this time counts as dead.
const DEAD_AFTER: Duration = Duration::from_secs(5);
/// Interval between two removals of old tasks.
const PRUNE: Duration = Duration::from_secs(600);
/// Maximum number of tasks that are expired at once.
const MAX_TASKS: usize = 1024;

/// The text that clients read of a task that its server does not work on.
const LEFT: &str = "The server could not work on this task. Send the message again.";
/// The text that clients of an expired task read.
const LOST: &str = "The server that worked on this task has stopped. Send the message again.";

/// The regular work of one runner.
pub(super) struct Upkeep {
    pub(super) runner: Arc<Runner>,
    pub(super) retention: TaskRetention,
}

/// A runner as it was seen last.
struct Seen {
    beat: u64,
    since: Instant,
}

impl Upkeep {
    /// Works until the server has shut down.
    pub(super) async fn run(self) {
        let draining = self.runner.shutdown.draining.clone();
        let work = async { tokio::join!(self.renew(), self.look(), self.prune()) };
        draining.run_until_cancelled(work).await;
        // The tasks that are left are ended by the shutdown. Until then this runner is alive.
        self.runner.shutdown.cut.run_until_cancelled(self.renew()).await;
    }

    async fn renew(&self) {
        let (mut seen, mut left) = (HashMap::new(), HashMap::new());
        loop {
            if let Err(error) = self.renew_once(&mut seen, &mut left).await {
                tracing::warn!(%error, "the runners of tasks could not be checked");
            }
            sleep(RENEW).await;
        }
    }

    async fn renew_once(
        &self,
        seen: &mut HashMap<String, Seen>,
        left: &mut HashMap<String, Instant>,
    ) -> Result<(), StoreError> {
        let (store, presence) = (self.runner.store(), &self.runner.presence);
        if let Some(former) = presence.renew().await? {
            self.expire(&former, LEFT).await?;
        }
        let name = presence.name();
        if let Some(name) = &name {
            self.expire_left(name, left).await?;
        }
        let runners = store.runners().await?;
        let now = Instant::now();
        seen.retain(|known, _| runners.iter().any(|(runner, _)| runner == known));
        for (runner, beat) in runners {
            if Some(runner.as_str()) == name.as_deref() {
                continue;
            }
            let last = seen.entry(runner.clone()).or_insert(Seen { beat, since: now });
            if last.beat != beat {
                *last = Seen { beat, since: now };
            } else if now.duration_since(last.since) >= DEAD_AFTER {
                self.expire(&runner, LOST).await?;
            }
        }
        Ok(())
    }

    /// Ends the tasks of this process that it has not worked on for a while.
    async fn expire_left(
        &self,
        name: &str,
        left: &mut HashMap<String, Instant>,
    ) -> Result<(), StoreError> {
        let limit = self.runner.running_number() + MAX_TASKS;
        let mut ids = self.runner.store().tasks_of(name, limit).await?;
        ids.retain(|id| !self.runner.is_running(id));
        let now = Instant::now();
        // A message that is being stored is not worked on yet: the next rounds find it running.
        let since = |id: String| (left.get(&id).copied().unwrap_or(now), id);
        let found: Vec<_> = ids.into_iter().map(since).collect();
        left.clear();
        for (since, id) in found {
            if now.duration_since(since) >= DEAD_AFTER {
                self.expire_task(&id, name, LEFT).await?;
            } else {
                left.insert(id, since);
            }
        }
        Ok(())
    }

    /// Ends all tasks of a runner that does not work any more, then forgets it.
    async fn expire(&self, dead: &str, text: &str) -> Result<(), StoreError> {
        let store = self.runner.store();
        loop {
            let ids = store.tasks_of(dead, MAX_TASKS).await?;
            if ids.is_empty() {
                return store.forget(dead).await;
            }
            for id in &ids {
                self.expire_task(id, dead, text).await?;
            }
        }
    }

    async fn expire_task(&self, id: &str, runner: &str, text: &str) -> Result<(), StoreError> {
        match self.runner.store().expire(id, runner, failed(text)).await {
            Ok(_) => tracing::warn!(task = id, "a task without a running server was failed"),
            // Another process was faster.
            Err(StoreError::Fenced(_) | StoreError::Ended(_) | StoreError::NotFound(_)) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Cancels the work on tasks that another process has ended.
    async fn look(&self) {
        loop {
            sleep(LOOK).await;
            for (id, task) in self.runner.running_tasks() {
                // A task that is not stored yet is not found, and a store that cannot be reached
                // says nothing about it.
                let Ok(head) = self.runner.store().head(&task.scope, &id).await else { continue };
                if head.status.state.is_terminal() {
                    self.runner.cancel(&id);
                }
            }
        }
    }

    async fn prune(&self) {
        loop {
            sleep(PRUNE).await;
            match self.runner.store().prune(&self.retention).await {
                Ok(0) => {}
                Ok(tasks) => tracing::info!(tasks, "old tasks were removed"),
                Err(error) => tracing::warn!(%error, "old tasks could not be removed"),
            }
        }
    }
}

/// The status of a task whose runner does not work on it.
fn failed(text: &str) -> TaskStatus {
    let message = Message::new(oxikit_core::random_id(), Role::Agent, text_parts(text));
    TaskStatus {
        state: TaskState::Failed,
        message: Some(message),
        timestamp: Some(timestamp::now()),
    }
}
