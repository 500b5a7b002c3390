//! Registered webhooks.

use oxikit_wire::a2a::{AuthenticationInfo, PushConfig, TaskState};

use super::{Store, appended, chunk, created, ended, is_full, kept, own, refused, task, write};
use crate::ports::{DuePush, MAX_PUSH_TARGETS, NewTask, PushTarget};

/// A webhook with everything that a client can send.
pub(super) fn target(id: &str, url: &str) -> PushTarget {
    let authentication = AuthenticationInfo {
        scheme: "Bearer".to_owned(),
        other_schemes: vec!["Basic".to_owned()],
        credentials: Some("se\0cret".to_owned()),
    };
    let config = PushConfig {
        tenant: None,
        id: Some(id.to_owned()),
        task_id: None,
        url: url.to_owned(),
        token: Some("token".to_owned()),
        authentication: Some(authentication),
    };
    PushTarget { id: id.to_owned(), config, version: "0.3".to_owned() }
}

pub(super) async fn registered(store: &Store, id: &str, target: PushTarget) {
    kept("put", store.put_push(&own(), id, target).await);
}

/// Claims everything, and answers what is of this task. Other cases have webhooks too.
pub(super) async fn claimed(store: &Store, runner: &str, id: &str) -> Vec<DuePush> {
    let mut due = kept("claim", store.claim_pushes(runner, usize::MAX).await);
    due.retain(|push| push.task == id);
    due
}

pub(super) async fn webhooks_are_registered_and_replaced(store: Store) {
    let id = "contract-push-list";
    created(&store, id).await;
    assert_eq!(kept("targets", store.push_targets(&own(), id).await), []);
    for (name, url) in [("b", "https://one"), ("a\0", "https://two"), ("c", "https://three")] {
        registered(&store, id, target(name, url)).await;
    }
    let replaced = target("b", "https://other");
    registered(&store, id, replaced.clone()).await;
    let (second, third) = (target("a\0", "https://two"), target("c", "https://three"));
    assert_eq!(
        kept("targets", store.push_targets(&own(), id).await),
        [replaced.clone(), second, third.clone()],
        "in the order of their registration"
    );
    assert!(kept("remove", store.remove_push(&own(), id, "a\0").await));
    assert!(!kept("remove", store.remove_push(&own(), id, "a\0").await), "it is gone");
    assert_eq!(kept("targets", store.push_targets(&own(), id).await), [replaced, third]);
    ended(&store, id, TaskState::Canceled).await;
    assert_eq!(kept("targets", store.push_targets(&own(), id).await).len(), 2, "also of the ended");
}

pub(super) async fn webhooks_are_limited(store: Store) {
    let id = "contract-push-limit";
    created(&store, id).await;
    for number in 0..MAX_PUSH_TARGETS {
        registered(&store, id, target(&number.to_string(), "https://one")).await;
    }
    let more = || target("more", "https://one");
    refused("one more", store.put_push(&own(), id, more()).await, is_full);
    registered(&store, id, target("3", "https://other")).await;
    assert!(kept("remove", store.remove_push(&own(), id, "3").await));
    registered(&store, id, more()).await;
    let targets = kept("targets", store.push_targets(&own(), id).await);
    assert_eq!(targets.len(), MAX_PUSH_TARGETS);
}

pub(super) async fn a_webhook_hears_of_events_after_its_registration(store: Store) {
    let id = "contract-push-after";
    created(&store, id).await;
    registered(&store, id, target("hook", "https://one")).await;
    assert_eq!(claimed(&store, "runner-1", id).await.len(), 0, "nothing is new");
    appended(&store, id, write(1, vec![chunk("a")])).await;
    let due = claimed(&store, "runner-1", id).await;
    assert_eq!(due.len(), 1);
    let DuePush { scope, task, target: claimed_target, delivered, attempts } = &due[0];
    assert_eq!((scope, &**task, delivered, attempts), (&own(), id, &1, &0));
    assert_eq!(*claimed_target, target("hook", "https://one"));
    let removed = kept("remove", store.remove_push(&own(), id, "hook").await);
    assert!(removed, "a claimed one can be removed");
    let done = store.release_push("runner-1", &due[0], 2, 0, std::time::Duration::ZERO).await;
    kept("its release does nothing", done);
    appended(&store, id, write(2, vec![chunk("b")])).await;
    assert_eq!(claimed(&store, "runner-1", id).await.len(), 0, "it is gone");
}

pub(super) async fn a_webhook_that_is_new_with_its_task_hears_of_all_events(store: Store) {
    let id = "contract-push-new";
    let new = NewTask { push: Some(target("hook", "https://one")), ..task(id) };
    kept("create", store.create(new).await);
    let targets = kept("targets", store.push_targets(&own(), id).await);
    assert_eq!(targets, [target("hook", "https://one")]);
    let due = claimed(&store, "runner-1", id).await;
    assert_eq!(due.iter().map(|push| push.delivered).collect::<Vec<_>>(), [0]);
}
