//! Deliveries to webhooks.

use std::time::Duration;

use futures_util::future::{join, join_all};
use oxikit_wire::a2a::TaskState;

use super::pushes::{claimed, registered, target};
use super::{Store, appended, chunk, created, ended, in_time, kept, task, write};
use crate::ports::{DuePush, NewTask};

const HOUR: Duration = Duration::from_secs(3600);

/// A task with an undelivered event for the webhook `hook`.
async fn pending(store: &Store, id: &str) {
    created(store, id).await;
    registered(store, id, target("hook", "https://one")).await;
    appended(store, id, write(1, vec![chunk("a")])).await;
}

async fn release(
    store: &Store,
    runner: &str,
    push: &DuePush,
    to: u64,
    fails: u32,
    pause: Duration,
) {
    kept("release", store.release_push(runner, push, to, fails, pause).await);
}

/// Position and failed attempts of what a runner claims.
async fn claim(store: &Store, runner: &str, id: &str) -> Vec<(u64, u32)> {
    let due = claimed(store, runner, id).await;
    due.iter().map(|push| (push.delivered, push.attempts)).collect()
}

pub(super) async fn a_webhook_is_claimed_by_one_runner(store: Store) {
    let id = "contract-claim-one";
    pending(&store, id).await;
    registered(&store, id, target("second", "https://two")).await;
    assert_eq!(claim(&store, "runner-1", id).await, [(1, 0)], "the second has nothing new");
    assert_eq!(claim(&store, "runner-2", id).await, []);
    assert_eq!(claim(&store, "runner-1", id).await, [], "not even to the same runner");
    appended(&store, id, write(2, vec![chunk("b")])).await;
    assert_eq!(claim(&store, "runner-2", id).await, [(2, 0)], "the second, and only that");
}

pub(super) async fn a_released_webhook_goes_on_behind_what_is_delivered(store: Store) {
    let id = "contract-claim-on";
    pending(&store, id).await;
    let due = claimed(&store, "runner-1", id).await;
    appended(&store, id, write(2, vec![chunk("b")])).await;
    release(&store, "runner-2", &due[0], 3, 0, Duration::ZERO).await;
    assert_eq!(claim(&store, "runner-2", id).await, [], "another cannot release it");
    release(&store, "runner-1", &due[0], 2, 0, Duration::ZERO).await;
    let due = claimed(&store, "runner-2", id).await;
    assert_eq!(due[0].delivered, 2, "what came meanwhile is due");
    release(&store, "runner-2", &due[0], 3, 0, Duration::ZERO).await;
    assert_eq!(claim(&store, "runner-1", id).await, [], "all is delivered");
    ended(&store, id, TaskState::Canceled).await;
    assert_eq!(claim(&store, "runner-1", id).await, [(3, 0)], "the end is delivered too");
}

pub(super) async fn a_failed_attempt_is_repeated_after_its_pause(store: Store) {
    let [later, soon] = ["contract-claim-later", "contract-claim-soon"];
    for (id, pause) in [(later, HOUR), (soon, Duration::from_millis(20))] {
        pending(&store, id).await;
        let due = claimed(&store, "runner-1", id).await;
        release(&store, "runner-1", &due[0], 1, 3, pause).await;
    }
    let again = async {
        loop {
            let due = kept("claim", store.claim_pushes("runner-1", usize::MAX).await);
            assert!(due.iter().all(|push| push.task != later), "its pause is not over");
            if let Some(push) = due.into_iter().find(|push| push.task == soon) {
                return (push.delivered, push.attempts);
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    assert_eq!(in_time("the pause", again).await, (1, 3));
    appended(&store, later, write(2, vec![chunk("b")])).await;
    assert_eq!(claim(&store, "runner-1", later).await, [], "an event does not end the pause");
    registered(&store, later, target("hook", "https://other")).await;
    appended(&store, later, write(3, vec![chunk("c")])).await;
    assert_eq!(claim(&store, "runner-1", later).await, [(3, 0)], "a new registration does");
}

pub(super) async fn a_forgotten_runner_loses_its_claims(store: Store) {
    let (id, dead) = ("contract-claim-dead", "contract-runner-dead");
    pending(&store, id).await;
    kept("renew", store.renew(dead).await);
    let lost = claimed(&store, dead, id).await;
    kept("forget", store.forget("contract-runner-other").await);
    assert_eq!(claim(&store, "runner-1", id).await, [], "it is another's");
    kept("forget", store.forget(dead).await);
    assert_eq!(claim(&store, "runner-1", id).await, [(1, 0)]);
    release(&store, dead, &lost[0], 2, 0, Duration::ZERO).await;
    assert_eq!(claim(&store, "runner-2", id).await, [], "the claim is the new runner's");
    kept("forget", store.forget("runner-1").await);
    assert_eq!(claim(&store, "runner-2", id).await, [(1, 0)], "nothing was delivered");
}

pub(super) async fn a_webhook_that_was_replaced_is_not_released_by_its_former_claim(store: Store) {
    let id = "contract-claim-replaced";
    pending(&store, id).await;
    let former = claimed(&store, "runner-1", id).await;
    registered(&store, id, target("hook", "https://other")).await;
    assert_eq!(claim(&store, "runner-1", id).await, [], "the new one has nothing to deliver");
    appended(&store, id, write(2, vec![chunk("b")])).await;
    let due = claimed(&store, "runner-1", id).await;
    assert_eq!((due[0].delivered, &*due[0].target.config.url), (2, "https://other"));
    release(&store, "runner-1", &former[0], 3, 5, Duration::ZERO).await;
    assert_eq!(claim(&store, "runner-1", id).await, [], "the claim holds");
    release(&store, "runner-1", &due[0], 2, 0, Duration::ZERO).await;
    assert_eq!(claim(&store, "runner-1", id).await, [(2, 0)]);
}

pub(super) async fn the_webhook_that_is_due_longest_is_first(store: Store) {
    // What other cases have left is taken first.
    kept("claim", store.claim_pushes("contract-runner-rest", usize::MAX).await);
    let ids = ["contract-claim-1", "contract-claim-2", "contract-claim-3"];
    for id in ids {
        let new = NewTask { push: Some(target("hook", "https://one")), ..task(id) };
        kept("create", store.create(new).await);
    }
    for id in ids {
        let due = kept("claim", store.claim_pushes("runner-1", 1).await);
        assert_eq!(due.iter().map(|push| &*push.task).collect::<Vec<_>>(), [id]);
    }
}

pub(super) async fn concurrent_claims_are_disjoint(store: Store) {
    const TASKS: usize = 20;
    // What other cases have left is taken first, so that the limits below count.
    kept("claim", store.claim_pushes("contract-runner-rest", usize::MAX).await);
    for number in 0..TASKS {
        let id = format!("contract-claims-{number:02}");
        let new = NewTask { push: Some(target("hook", "https://one")), ..task(&id) };
        kept("create", store.create(new).await);
    }
    let claim = async |number: usize| {
        let runner = format!("contract-claimer-{number}");
        kept("claim", store.claim_pushes(&runner, 3).await)
    };
    let claims = join_all((0..8).map(claim)).await;
    assert!(claims.iter().all(|claimed| claimed.len() <= 3), "no more than asked for");
    let mut tasks: Vec<String> = claims.into_iter().flatten().map(|push| push.task).collect();
    // A runner may find nothing while another claims the same; what is left is claimed now.
    let rest = kept("claim", store.claim_pushes("contract-claimer", usize::MAX).await);
    tasks.extend(rest.into_iter().map(|push| push.task));
    tasks.sort();
    let expected: Vec<String> = (0..TASKS).map(|n| format!("contract-claims-{n:02}")).collect();
    assert_eq!(tasks, expected, "each is claimed once");
}

pub(super) async fn whoever_waits_for_due_webhooks_is_woken(store: Store) {
    let id = "contract-claim-wait";
    kept("claim", store.claim_pushes("contract-runner-rest", usize::MAX).await);
    created(&store, id).await;
    registered(&store, id, target("hook", "https://one")).await;
    let waiting = async {
        loop {
            kept("wait", store.push_wait().await);
            // Waiting may end early.
            let due = claimed(&store, "runner-1", id).await;
            if let Some(push) = due.into_iter().next() {
                return push;
            }
        }
    };
    let writer = async {
        tokio::task::yield_now().await;
        appended(&store, id, write(1, vec![chunk("a")])).await;
    };
    let (push, ()) = in_time("waiting for webhooks", join(waiting, writer)).await;
    // One that is due already is not waited for.
    release(&store, "runner-1", &push, 1, 0, Duration::ZERO).await;
    kept("wait", in_time("waiting for what is due", store.push_wait()).await);
    assert_eq!(claim(&store, "runner-1", id).await, [(1, 0)]);
}
