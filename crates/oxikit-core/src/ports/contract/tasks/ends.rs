//! A task ends once.

use futures_util::future::{BoxFuture, join_all};
use oxikit_wire::a2a::TaskState;

use super::{
    Store, appended, chunk, created, ended, entry, head, is_ended, kept, log_of, next_turn, own,
    refused, status, task, write,
};
use crate::ports::{NewTask, StoreError, TaskWrite};

pub(super) async fn the_first_terminal_state_wins(store: Store) {
    let states =
        [TaskState::Completed, TaskState::Failed, TaskState::Canceled, TaskState::Rejected];
    for (place, state) in states.into_iter().enumerate() {
        let by_runner = format!("contract-task-end-{place}");
        created(&store, &by_runner).await;
        appended(&store, &by_runner, write(1, vec![chunk("a"), entry(state)])).await;
        let by_client = format!("contract-task-cancel-{place}");
        created(&store, &by_client).await;
        appended(&store, &by_client, write(1, vec![chunk("a")])).await;
        assert_eq!(ended(&store, &by_client, state).await, 3);
        let at_once = format!("contract-task-at-once-{place}");
        let new = NewTask { entries: vec![entry(state).into()], ..task(&at_once) };
        kept("create", store.create(new).await);
        for id in [by_runner, by_client, at_once] {
            let before = head(&store, &id).await;
            assert_eq!((before.status.state, &before.runner), (state, &None));
            let other = status(states[(place + 1) % states.len()]);
            let late = write(2, vec![entry(other.state)]);
            refused("a late end", store.append(&id, late).await, is_ended);
            refused("a late chunk", store.append(&id, write(2, vec![chunk("b")])).await, is_ended);
            let turn = next_turn("runner-2", "late");
            refused("a late message", store.receive(&own(), &id, turn).await, is_ended);
            refused("a second end", store.end(&own(), &id, other.clone()).await, is_ended);
            refused("a late expiry", store.expire(&id, "runner-1", other).await, is_ended);
            assert_eq!(head(&store, &id).await, before, "nothing was added");
        }
    }
}

pub(super) async fn a_terminal_state_releases_the_task(store: Store) {
    let runner = "contract-runner-end";
    for (id, is_by_runner) in [("contract-task-freed-1", true), ("contract-task-freed-2", false)] {
        let new = NewTask { runner: runner.into(), ..task(id) };
        kept("create", store.create(new).await);
        assert_eq!(kept("tasks", store.tasks_of(runner, 10).await), [id]);
        if is_by_runner {
            let done = write(1, vec![entry(TaskState::Completed)]);
            let answer = appended(&store, id, TaskWrite { runner: runner.into(), ..done }).await;
            assert!(answer.is_released);
        } else {
            ended(&store, id, TaskState::Canceled).await;
        }
        assert_eq!(kept("tasks", store.tasks_of(runner, 10).await), [""; 0]);
    }
}

pub(super) async fn the_first_terminal_state_wins_among_concurrent_writers(store: Store) {
    for round in 0..12 {
        let id = format!("contract-task-race-{round}");
        created(&store, &id).await;
        let mut writers: Vec<BoxFuture<'_, Result<TaskState, StoreError>>> = vec![
            Box::pin(async {
                let done = write(1, vec![chunk("a"), entry(TaskState::Completed)]);
                store.append(&id, done).await.map(|_| TaskState::Completed)
            }),
            Box::pin(async {
                let failed = store.expire(&id, "runner-1", status(TaskState::Failed)).await;
                failed.map(|_| TaskState::Failed)
            }),
        ];
        for state in [TaskState::Canceled, TaskState::Rejected] {
            let (store, id, scope) = (&store, &id, own());
            writers.push(Box::pin(async move {
                store.end(&scope, id, status(state)).await.map(|_| state)
            }));
        }
        let writers_count = writers.len();
        writers.rotate_left(round % writers_count);
        let answers = join_all(writers).await;
        let won: Vec<TaskState> = answers.iter().flatten().copied().collect();
        assert_eq!(won.len(), 1, "one writer ends the task: {answers:?}");
        for error in answers.into_iter().filter_map(Result::err) {
            assert!(matches!(error, StoreError::Ended(_)), "the others are told: {error:?}");
        }
        let log = log_of(&store, &id).await;
        let terminal = |text: &str| TaskState::from_name(text).is_some_and(TaskState::is_terminal);
        let ends: Vec<&String> =
            log.iter().map(|(_, _, text)| text).filter(|text| terminal(text)).collect();
        assert_eq!(ends, [&won[0].to_string()], "and the log has one end");
        assert_eq!(log.last().map(|(_, _, text)| text), Some(&won[0].to_string()));
        assert_eq!(head(&store, &id).await.status.state, won[0]);
    }
}
