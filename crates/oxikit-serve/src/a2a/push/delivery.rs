//! Delivers the events of one task to one webhook, in their order.

use std::time::Duration;

use oxikit_core::Causes;
use oxikit_core::ports::{DuePush, StoreError};

use super::PushNotifications;
use super::bodies::Bodies;
use crate::a2a::runner::Runner;

/// Maximum number of events that are delivered before the position is stored: as many may be
/// repeated if the process is killed. It also lets other webhooks have their turn.
const BATCH: usize = 16;
/// The position of a webhook that is given up: no event is behind it. SQL has no larger integers.
const NEVER: u64 = i64::MAX.unsigned_abs();

/// A claimed webhook.
pub(super) struct Delivery<'a> {
    pub(super) push: &'a PushNotifications,
    pub(super) runner: &'a Runner,
    pub(super) due: &'a DuePush,
}

/// How far a delivery has come.
pub(super) struct Delivered {
    /// All events up to here are delivered, or need not be.
    pub(super) position: u64,
    /// Number of failures in a row.
    pub(super) attempts: u32,
    /// Time until the next attempt.
    pub(super) pause: Duration,
}

/// The end of an attempt.
enum Attempt {
    Accepted,
    Failed(String),
    /// The webhook was removed or replaced, or the server ends.
    Stopped,
}

impl Delivery<'_> {
    /// The state of the webhook before this delivery.
    pub(super) fn unchanged(&self) -> Delivered {
        let DuePush { delivered, attempts, .. } = *self.due;
        Delivered { position: delivered, attempts, pause: Duration::ZERO }
    }

    /// Sends what is due. The first failure ends it, because later events must not overtake the
    /// failed one.
    pub(super) async fn run(&self) -> Result<Delivered, StoreError> {
        let Self { runner, due, .. } = self;
        let page = runner.store().read(&due.scope, &due.task, due.delivered, BATCH).await?;
        if page.events.is_empty() {
            // A store may claim a webhook for its task's new events although it was given up.
            return Ok(self.unchanged());
        }
        let mut bodies = Bodies::new(&**runner.store(), due, page.head).await?;
        let mut done = self.unchanged();
        for event in page.events {
            let sequence = event.sequence;
            if let Some(body) = bodies.next(event) {
                match self.attempt(sequence, body).await? {
                    Attempt::Accepted => done.attempts = 0,
                    Attempt::Failed(reason) => return Ok(self.failed(done, &reason)),
                    Attempt::Stopped => return Ok(done),
                }
            }
            done.position = sequence;
        }
        Ok(done)
    }

    async fn attempt(&self, sequence: u64, body: Vec<u8>) -> Result<Attempt, StoreError> {
        let Self { push, runner, due } = self;
        let targets = runner.store().push_targets(&due.scope, &due.task).await?;
        if runner.shutdown.draining.is_cancelled() || !targets.contains(&due.target) {
            return Ok(Attempt::Stopped);
        }
        let delivery = format!("{}:{sequence}:{}", due.task, due.target.id);
        let sent = async { push.request(&due.target, &delivery, body)?.send().await };
        Ok(match runner.shutdown.cut.run_until_cancelled(sent).await {
            Some(Ok(response)) if response.status().is_success() => Attempt::Accepted,
            Some(Ok(response)) => Attempt::Failed(format!("it answered {}", response.status())),
            Some(Err(error)) => Attempt::Failed(format!("{error}{}", Causes(&error))),
            None => Attempt::Stopped,
        })
    }

    fn failed(&self, done: Delivered, reason: &str) -> Delivered {
        let DuePush { task, target, .. } = self.due;
        let attempts = done.attempts.saturating_add(1);
        match self.push.pause_after(attempts) {
            Some(pause) => {
                tracing::debug!(task, webhook = target.id, attempts, reason, "a webhook failed");
                Delivered { attempts, pause, ..done }
            }
            None => {
                tracing::warn!(
                    task,
                    webhook = target.id,
                    attempts,
                    reason,
                    delivered = done.position,
                    "a webhook was given up"
                );
                Delivered { position: NEVER, attempts, pause: Duration::ZERO }
            }
        }
    }
}
