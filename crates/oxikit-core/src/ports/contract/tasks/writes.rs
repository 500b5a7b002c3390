//! Writes of runners: each counts once, and follows the last one.

use oxikit_wire::a2a::TaskState;

use super::{
    Store, appended, chunk, created, entry, head, is_fenced, is_not_found, log_of, next_turn, own,
    refused, sent, shown, status, write,
};
use crate::ports::{StoreError, TaskWrite};

pub(super) async fn a_write_may_be_made_again(store: Store) {
    let id = "contract-task-again";
    created(&store, id).await;
    for _ in 0..3 {
        let answer = appended(&store, id, write(1, vec![chunk("a"), chunk("b")])).await;
        assert_eq!((answer.position, answer.turns), (3, 1), "the same write, the same answer");
    }
    sent(&store, id, next_turn("runner-2", "more")).await;
    let answer = appended(&store, id, write(1, vec![chunk("a"), chunk("b")])).await;
    assert_eq!((answer.position, answer.turns), (3, 1), "also after a message");
    for _ in 0..3 {
        let turn_2 = TaskWrite { turn: 2, ..write(2, vec![entry(TaskState::Completed)]) };
        let answer = appended(&store, id, turn_2).await;
        assert_eq!((answer.position, answer.turns, answer.is_released), (5, 2, true));
    }
    let all = [
        (1, 1, "submitted hello"),
        (2, 1, "a"),
        (3, 1, "b"),
        (4, 2, "submitted more"),
        (5, 2, "completed"),
    ];
    assert_eq!(log_of(&store, id).await, shown(&all), "and counts once");
}

pub(super) async fn a_write_is_recognised_after_the_runner_has_left(store: Store) {
    let id = "contract-task-left";
    created(&store, id).await;
    let last = || TaskWrite { releases: true, ..write(1, vec![entry(TaskState::InputRequired)]) };
    let first = appended(&store, id, last()).await;
    assert!(first.is_released);
    // The same runner takes the task again, before it has received the answer.
    let taken = sent(&store, id, next_turn("runner-1", "more")).await;
    assert_eq!((taken.turn, taken.is_claimed), (2, true));
    assert_eq!(appended(&store, id, last()).await, first);
    assert_eq!(head(&store, id).await.runner.as_deref(), Some("runner-1"), "the task stays taken");
    let turn_2 = || TaskWrite { turn: 2, ..write(1, vec![chunk("a")]) };
    assert_eq!(appended(&store, id, turn_2()).await.position, 4, "numbers begin again");
    assert_eq!(appended(&store, id, turn_2()).await.position, 4);
    refused("a write of a turn that is over", store.append(id, last()).await, is_fenced);
    assert_eq!(log_of(&store, id).await.len(), 4);
}

pub(super) async fn writes_follow_each_other(store: Store) {
    let id = "contract-task-order";
    created(&store, id).await;
    appended(&store, id, write(1, vec![chunk("a")])).await;
    appended(&store, id, write(2, vec![chunk("b")])).await;
    for number in [0, 1, 4, 99] {
        let odd = store.append(id, write(number, vec![chunk("x")])).await;
        refused("a number that does not follow", odd, |error| {
            matches!(error, StoreError::Conflict(_))
        });
    }
    let stranger = TaskWrite { runner: "runner-2".into(), ..write(3, vec![chunk("x")]) };
    refused("another runner", store.append(id, stranger).await, is_fenced);
    appended(&store, id, write(3, vec![chunk("c")])).await;
    let all = [(1, 1, "submitted hello"), (2, 1, "a"), (3, 1, "b"), (4, 1, "c")];
    assert_eq!(log_of(&store, id).await, shown(&all));
}

pub(super) async fn an_unknown_task_is_not_found(store: Store) {
    let id = "contract-task-none";
    let canceled = status(TaskState::Canceled);
    refused("append", store.append(id, write(1, vec![chunk("a")])).await, is_not_found);
    let turn = next_turn("runner-1", "hello");
    refused("receive", store.receive(&own(), id, turn).await, is_not_found);
    refused("end", store.end(&own(), id, canceled.clone()).await, is_not_found);
    refused("expire", store.expire(id, "runner-1", canceled).await, is_not_found);
    refused("head", store.head(&own(), id).await, is_not_found);
}
