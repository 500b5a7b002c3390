//! Runners, alive and dead.

use oxikit_wire::a2a::TaskState;

use super::{
    Store, appended, entry, head, is_ended, is_fenced, kept, next_turn, refused, sent, status,
    task, write,
};
use crate::ports::{NewTask, TaskWrite};

/// The number of a runner, if the store knows it.
async fn number(store: &Store, runner: &str) -> Option<u64> {
    let runners = kept("runners", store.runners().await);
    let mut numbers = runners.into_iter().filter(|(name, _)| name == runner);
    let number = numbers.next().map(|(_, number)| number);
    assert_eq!(numbers.next(), None, "a runner is listed once");
    number
}

pub(super) async fn renewals_have_growing_numbers(store: Store) {
    let (one, other) = ("contract-runner-a", "contract-runner-b");
    assert_eq!(number(&store, one).await, None, "it has not renewed");
    let mut seen = 0;
    for _ in 0..3 {
        kept("renew", store.renew(one).await);
        let now = number(&store, one).await.unwrap_or_default();
        assert!(now > seen, "{now} after {seen}");
        seen = now;
    }
    kept("renew", store.renew(other).await);
    assert_eq!(number(&store, one).await, Some(seen), "another's renewal is not its own");
    kept("forget", store.forget(one).await);
    assert_eq!(number(&store, one).await, None);
    assert!(number(&store, other).await.is_some());
    kept("a forgotten runner is forgotten again", store.forget(one).await);
    kept("renew", store.renew(one).await);
    assert!(number(&store, one).await > Some(seen), "a number never comes again");
    kept("forget", store.forget(one).await);
    kept("forget", store.forget(other).await);
}

async fn tasks(store: &Store, runner: &str, limit: usize) -> Vec<String> {
    let mut tasks = kept("tasks", store.tasks_of(runner, limit).await);
    tasks.sort();
    tasks
}

async fn create_for(store: &Store, id: &str, runner: &str) {
    let new = NewTask { runner: runner.into(), ..task(id) };
    kept("create", store.create(new).await);
}

pub(super) async fn a_runner_has_its_tasks_until_they_are_released(store: Store) {
    let (one, other) = ("contract-runner-c", "contract-runner-d");
    let ids = ["contract-task-c1", "contract-task-c2", "contract-task-c3"];
    for id in ids {
        create_for(&store, id, one).await;
    }
    assert_eq!(tasks(&store, one, 10).await, ids);
    assert_eq!(tasks(&store, one, 2).await.len(), 2, "no more than asked for");
    assert_eq!(tasks(&store, other, 10).await, [""; 0]);
    let entries = vec![entry(TaskState::InputRequired)];
    let leave = TaskWrite { runner: one.into(), releases: true, ..write(1, entries) };
    appended(&store, ids[0], leave).await;
    assert_eq!(tasks(&store, one, 10).await, ids[1..]);
    sent(&store, ids[0], next_turn(other, "more")).await;
    assert_eq!(tasks(&store, other, 10).await, ids[..1]);
    kept("forget", store.forget(one).await);
    assert_eq!(tasks(&store, one, 10).await, ids[1..], "they wait for their expiry");
}

pub(super) async fn only_the_tasks_of_a_dead_runner_expire(store: Store) {
    let (dead, alive) = ("contract-runner-e", "contract-runner-f");
    let [lost, taken, free] = ["contract-task-e1", "contract-task-e2", "contract-task-e3"];
    create_for(&store, lost, dead).await;
    create_for(&store, taken, alive).await;
    create_for(&store, free, dead).await;
    let entries = vec![entry(TaskState::InputRequired)];
    let leave = TaskWrite { runner: dead.into(), releases: true, ..write(1, entries) };
    appended(&store, free, leave).await;
    let failed = || status(TaskState::Failed);
    for id in [taken, free] {
        refused("not its task", store.expire(id, dead, failed()).await, is_fenced);
    }
    assert_eq!(kept("expire", store.expire(lost, dead, failed()).await), 2);
    let now = head(&store, lost).await;
    assert_eq!((now.status.state, now.runner), (TaskState::Failed, None));
    refused("a second expiry", store.expire(lost, dead, failed()).await, is_ended);
    let late = TaskWrite { runner: dead.into(), ..write(1, vec![entry(TaskState::Completed)]) };
    refused("the runner comes back", store.append(lost, late).await, is_ended);
    assert_eq!(tasks(&store, dead, 10).await, [""; 0]);
}
