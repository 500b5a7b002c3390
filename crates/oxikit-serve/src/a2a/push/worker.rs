//! Claims webhooks that are due, of all tasks in the store, and delivers to many at once.
//!
//! A webhook is claimed by one server at a time, so that its notifications keep their order
//! however many servers share the store. Claims of a server that has died are released when the
//! others [notice](crate::a2a::upkeep).

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use oxikit_core::ports::{DuePush, StoreError};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::PushNotifications;
use super::delivery::{Delivered, Delivery};
use crate::a2a::presence::Present;
use crate::a2a::runner::Runner;

/// Maximum number of webhooks that are called at once. Others wait.
const MAX_AT_ONCE: usize = 64;
/// Interval at which the store is asked anew whether a webhook is due: a retry that another
/// server has left behind is found then. A server's own retries, and new events, are found at once.
const ASK: Duration = Duration::from_secs(5);
/// Interval at which webhooks are claimed although the store has not said that one is due.
const LOOK: Duration = Duration::from_secs(30);
/// The pause after the store has failed.
const STORE_PAUSE: Duration = Duration::from_secs(1);
/// The pause after the store has returned from waiting although nothing was due.
const IDLE_PAUSE: Duration = Duration::from_millis(20);
/// Added to the time of a retry: stores may round the time to milliseconds.
const ROUNDING: Duration = Duration::from_millis(2);

/// Delivers notifications until the server shuts down.
pub(in crate::a2a) async fn run(runner: Arc<Runner>, push: Arc<PushNotifications>) {
    let draining = runner.shutdown.draining.clone();
    let slots = Arc::new(Semaphore::new(MAX_AT_ONCE));
    let worker = Worker { runner, push, slots, wake: Notify::new(), retries: Mutex::default() };
    draining.run_until_cancelled(Arc::new(worker).work()).await;
}

struct Worker {
    runner: Arc<Runner>,
    push: Arc<PushNotifications>,
    slots: Arc<Semaphore>,
    /// A delivery has ended.
    wake: Notify,
    /// Times at which webhooks of this server are due again.
    retries: Mutex<BTreeSet<Instant>>,
}

impl Worker {
    async fn work(self: Arc<Self>) {
        let mut has_waited = false;
        loop {
            let started = Instant::now();
            match self.claim().await {
                Ok(0) => {
                    if has_waited {
                        sleep(IDLE_PAUSE).await;
                    }
                    has_waited = self.rest(started).await;
                }
                Ok(_) => has_waited = false,
                Err(error) => {
                    tracing::warn!(%error, "webhooks that are due could not be read");
                    sleep(STORE_PAUSE).await;
                }
            }
        }
    }

    /// Begins deliveries, as many as there are free slots; answers their number.
    async fn claim(self: &Arc<Self>) -> Result<usize, StoreError> {
        let Ok(mut slots) = self.slots.clone().acquire_owned().await else { return Ok(0) };
        let free = u32::try_from(self.slots.available_permits()).unwrap_or_default();
        if let Ok(more) = self.slots.clone().try_acquire_many_owned(free) {
            slots.merge(more);
        }
        let Runner { presence, shutdown, .. } = &*self.runner;
        let store = self.runner.store();
        let present = Arc::new(presence.enter().await?);
        let due = store.claim_pushes(&present.name, slots.num_permits()).await?;
        let number = due.len();
        for due in due {
            let slot = slots.split(1);
            shutdown.background.spawn(self.clone().deliver(due, present.clone(), slot));
        }
        Ok(number)
    }

    /// Delivers to a webhook and gives it back.
    async fn deliver(
        self: Arc<Self>,
        due: DuePush,
        present: Arc<Present>,
        slot: Option<OwnedSemaphorePermit>,
    ) {
        let Self { runner, push, .. } = &*self;
        let delivery = Delivery { push, runner, due: &due };
        let done = delivery.run().await.unwrap_or_else(|error| {
            tracing::warn!(task = due.task, %error, "the events of a webhook could not be read");
            Delivered { pause: STORE_PAUSE, ..delivery.unchanged() }
        });
        self.release(&due, &present.name, &done).await;
        drop(slot);
        if !done.pause.is_zero() {
            self.retries().insert(Instant::now() + done.pause + ROUNDING);
        }
        self.wake.notify_one();
    }

    /// Gives a webhook back. Without that it would be claimed for as long as this server lives, so
    /// a store that fails is asked again, until the shutdown.
    async fn release(&self, due: &DuePush, name: &str, done: &Delivered) {
        let (store, shutdown) = (self.runner.store(), &self.runner.shutdown);
        let Delivered { position, attempts, pause } = *done;
        while let Err(error) = store.release_push(name, due, position, attempts, pause).await {
            tracing::warn!(task = due.task, %error, "a webhook could not be given back");
            if shutdown.cut.run_until_cancelled(sleep(STORE_PAUSE)).await.is_none() {
                return;
            }
        }
    }

    /// Waits until a webhook may be due that was not due at `since`. Says whether the store has
    /// ended the wait.
    async fn rest(&self, since: Instant) -> bool {
        let retry = {
            let mut retries = self.retries();
            *retries = retries.split_off(&since);
            retries.first().copied()
        };
        let until = retry.map_or(since + LOOK, |retry| retry.min(since + LOOK));
        tokio::select! {
            waited = self.due() => {
                if let Err(error) = waited {
                    tracing::warn!(%error, "webhooks that are due could not be waited for");
                    sleep(STORE_PAUSE).await;
                }
                true
            }
            () = self.wake.notified() => false,
            () = sleep_until(until) => false,
        }
    }

    /// Waits until the store says that a webhook may be due.
    async fn due(&self) -> Result<(), StoreError> {
        loop {
            if let Ok(waited) = timeout(ASK, self.runner.store().push_wait()).await {
                return waited;
            }
        }
    }

    fn retries(&self) -> MutexGuard<'_, BTreeSet<Instant>> {
        self.retries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
