//! What is pruned, and what is kept.

use std::time::Duration;

use oxikit_wire::a2a::TaskState;

use super::pushes::{registered, target};
use super::{
    Store, appended, chunk, created, ended, entry, is_not_found, kept, own, refused, write,
};
use crate::ports::{TaskRetention, TaskWrite};

const HOUR: Duration = Duration::from_secs(3600);

async fn prune(store: &Store, retention: TaskRetention) -> u64 {
    kept("prune", store.prune(&retention).await)
}

async fn is_there(store: &Store, id: &str) -> bool {
    store.head(&own(), id).await.is_ok()
}

/// A task that waits for its client.
async fn asking(store: &Store, id: &str, state: TaskState) {
    created(store, id).await;
    let asks = TaskWrite { releases: true, ..write(1, vec![entry(state)]) };
    assert!(appended(store, id, asks).await.is_released);
}

/// Removes what other cases have left.
async fn clear(store: &Store) {
    let zero = Some(Duration::ZERO);
    prune(store, TaskRetention { ended: zero, waiting: zero, max_ended: None }).await;
}

pub(super) async fn ended_tasks_are_pruned_by_age_and_number(store: Store) {
    clear(&store).await;
    let none = TaskRetention::default();
    // What cannot be pruned, because a webhook of another case has something to deliver.
    let left = prune(&store, TaskRetention { max_ended: Some(0), ..none }).await;
    assert_eq!(left, 0, "nothing more is removed after all");
    let ids: Vec<String> = (0..5).map(|number| format!("contract-prune-{number}")).collect();
    for id in &ids {
        created(&store, id).await;
    }
    // In another order than that of their making.
    let order = [3, 0, 4, 1];
    for place in order {
        ended(&store, &ids[place], TaskState::Canceled).await;
    }
    assert_eq!(prune(&store, none).await, 0, "all is kept without limits");
    assert_eq!(prune(&store, TaskRetention { ended: Some(HOUR), ..none }).await, 0);
    assert_eq!(prune(&store, TaskRetention { waiting: Some(Duration::ZERO), ..none }).await, 0);
    // Ended tasks of other cases with something to deliver count, so that the limit is relative.
    let mut limit = 100;
    while prune(&store, TaskRetention { max_ended: Some(limit), ..none }).await == 0 {
        limit -= 1;
    }
    assert!(!is_there(&store, &ids[3]).await, "the one that ended first");
    assert!(is_there(&store, &ids[0]).await, "and only that");
    assert_eq!(prune(&store, TaskRetention { max_ended: Some(limit - 2), ..none }).await, 2);
    assert!(!is_there(&store, &ids[0]).await && !is_there(&store, &ids[4]).await);
    let zero = TaskRetention { ended: Some(Duration::ZERO), ..none };
    assert_eq!(prune(&store, zero).await, 1);
    refused("a pruned task", store.head(&own(), &ids[1]).await, is_not_found);
    refused("its log", store.read(&own(), &ids[1], 0, 1).await, is_not_found);
    assert!(is_there(&store, &ids[2]).await, "one that has not ended stays");
    created(&store, &ids[1]).await;
    let page = kept("read", store.read(&own(), &ids[1], 0, 10).await);
    assert_eq!(page.events.len(), 1, "nothing is left of the former task of an id");
}

pub(super) async fn waiting_tasks_are_pruned_by_age(store: Store) {
    let [input, auth, running] = ["contract-wait-1", "contract-wait-2", "contract-wait-3"];
    asking(&store, input, TaskState::InputRequired).await;
    asking(&store, auth, TaskState::AuthRequired).await;
    created(&store, running).await;
    appended(&store, running, write(1, vec![entry(TaskState::AuthRequired)])).await;
    let none = TaskRetention::default();
    assert_eq!(prune(&store, TaskRetention { waiting: Some(HOUR), ..none }).await, 0);
    let zero = TaskRetention { waiting: Some(Duration::ZERO), ..none };
    assert!(prune(&store, zero).await >= 2);
    assert!(!is_there(&store, input).await && !is_there(&store, auth).await);
    assert!(is_there(&store, running).await, "a runner works on it");
}

pub(super) async fn tasks_in_use_are_kept(store: Store) {
    let everything = TaskRetention {
        ended: Some(Duration::ZERO),
        waiting: Some(Duration::ZERO),
        max_ended: Some(0),
    };
    let [free, done, asks] = ["contract-use-1", "contract-use-2", "contract-use-3"];
    created(&store, free).await;
    created(&store, done).await;
    created(&store, asks).await;
    registered(&store, done, target("hook", "https://one")).await;
    registered(&store, asks, target("hook", "https://one")).await;
    ended(&store, done, TaskState::Canceled).await;
    let entries = vec![chunk("a"), entry(TaskState::InputRequired)];
    appended(&store, asks, TaskWrite { releases: true, ..write(1, entries) }).await;
    prune(&store, everything).await;
    for id in [free, done, asks] {
        assert!(is_there(&store, id).await, "{id}");
    }
    let due = kept("claim", store.claim_pushes("runner-1", usize::MAX).await);
    for (id, position) in [(done, 2), (asks, 3)] {
        let push = due.iter().find(|push| push.task == id).expect("it has something to deliver");
        let released = store.release_push("runner-1", push, position, 0, Duration::ZERO).await;
        kept("release", released);
    }
    assert!(prune(&store, everything).await >= 2, "what is delivered need not be kept");
    assert!(!is_there(&store, done).await && !is_there(&store, asks).await);
    assert!(is_there(&store, free).await);
}
