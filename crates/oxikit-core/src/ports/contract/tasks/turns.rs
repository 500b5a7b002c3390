//! Messages of clients are turns.

use futures_util::future::join_all;
use oxikit_wire::a2a::TaskState;

use super::{
    Store, appended, chunk, created, entry, head, is_fenced, is_full, log_of, next_turn, own,
    refused, sent, shown, write,
};
use crate::ports::{NewTurn, TaskWrite};

pub(super) async fn messages_are_turns_in_the_order_of_arrival(store: Store) {
    let id = "contract-task-turns";
    created(&store, id).await;
    for (turn, text) in [(2, "two"), (3, "three")] {
        let answer = sent(&store, id, next_turn("runner-2", text)).await;
        assert_eq!((answer.position, answer.turn), (turn, turn));
        assert!(!answer.is_claimed, "another runner has the task");
    }
    let answer = appended(&store, id, write(1, vec![chunk("one")])).await;
    assert_eq!(answer.turns, 3, "the runner hears of the turns that wait");
    appended(&store, id, TaskWrite { turn: 2, ..write(2, vec![chunk("two")]) }).await;
    let all = [
        (1, 1, "submitted hello"),
        (2, 2, "submitted two"),
        (3, 3, "submitted three"),
        (4, 1, "one"),
        (5, 2, "two"),
    ];
    assert_eq!(log_of(&store, id).await, shown(&all));
    let back = TaskWrite { turn: 1, ..write(3, vec![chunk("x")]) };
    refused("a turn before the last one", store.append(id, back).await, is_fenced);
    assert_eq!(head(&store, id).await.turns, 3);
}

pub(super) async fn turns_that_wait_are_limited(store: Store) {
    let id = "contract-task-queue";
    let turn = |max_waiting| NewTurn { max_waiting, ..next_turn("runner-2", "more") };
    created(&store, id).await;
    refused("no turn may wait", store.receive(&own(), id, turn(0)).await, is_full);
    sent(&store, id, turn(2)).await;
    sent(&store, id, turn(2)).await;
    refused("two wait already", store.receive(&own(), id, turn(2)).await, is_full);
    assert_eq!(head(&store, id).await.turns, 3, "what is refused is not there");
    appended(&store, id, TaskWrite { turn: 2, ..write(1, Vec::new()) }).await;
    assert_eq!(sent(&store, id, turn(2)).await.turn, 4, "a turn that has begun does not wait");
    let free = "contract-task-queue-free";
    created(&store, free).await;
    let asks = TaskWrite { releases: true, ..write(1, vec![entry(TaskState::InputRequired)]) };
    appended(&store, free, asks).await;
    assert_eq!(sent(&store, free, turn(0)).await.turn, 2, "nothing waits without a runner");
    refused("now one works", store.receive(&own(), free, turn(0)).await, is_full);
}

pub(super) async fn a_runner_leaves_unless_a_turn_waits(store: Store) {
    let id = "contract-task-leave";
    created(&store, id).await;
    sent(&store, id, next_turn("runner-2", "more")).await;
    let leave = |turn, number| TaskWrite {
        turn,
        releases: true,
        ..write(number, vec![entry(TaskState::InputRequired)])
    };
    let answer = appended(&store, id, leave(1, 1)).await;
    assert_eq!((answer.turns, answer.is_released), (2, false), "turn 2 waits");
    assert_eq!(head(&store, id).await.runner.as_deref(), Some("runner-1"));
    let answer = appended(&store, id, leave(2, 2)).await;
    assert_eq!((answer.turns, answer.is_released), (2, true));
    assert_eq!(head(&store, id).await.runner, None);
    let late = TaskWrite { turn: 2, ..write(3, vec![chunk("late")]) };
    refused("a runner that has left", store.append(id, late).await, is_fenced);
}

pub(super) async fn a_released_task_goes_to_the_runner_of_the_next_message(store: Store) {
    let id = "contract-task-next";
    created(&store, id).await;
    let asks = TaskWrite { releases: true, ..write(1, vec![entry(TaskState::InputRequired)]) };
    appended(&store, id, asks).await;
    let answer = sent(&store, id, next_turn("runner-2", "answer")).await;
    assert_eq!((answer.position, answer.turn, answer.is_claimed), (3, 2, true));
    assert_eq!(head(&store, id).await.runner.as_deref(), Some("runner-2"));
    let late = TaskWrite { turn: 2, ..write(2, vec![chunk("late")]) };
    refused("the former runner", store.append(id, late).await, is_fenced);
    let of_second = |number, entries| TaskWrite {
        runner: "runner-2".into(),
        turn: 2,
        ..write(number, entries)
    };
    appended(&store, id, of_second(1, vec![chunk("a")])).await;
    appended(&store, id, of_second(2, vec![entry(TaskState::Completed)])).await;
    let all = [
        (1, 1, "submitted hello"),
        (2, 1, "input-required"),
        (3, 2, "submitted answer"),
        (4, 2, "a"),
        (5, 2, "completed"),
    ];
    assert_eq!(log_of(&store, id).await, shown(&all));
}

pub(super) async fn concurrent_messages_get_different_turns(store: Store) {
    let id = "contract-task-crowd";
    created(&store, id).await;
    let asks = TaskWrite { releases: true, ..write(1, vec![entry(TaskState::InputRequired)]) };
    appended(&store, id, asks).await;
    let receive = async |number: usize| {
        let turn = next_turn(&format!("runner-{number}"), "more");
        store.receive(&own(), id, NewTurn { max_waiting: 5, ..turn }).await
    };
    let answers = join_all((0..10).map(receive)).await;
    let mut received: Vec<_> = answers.iter().flatten().collect();
    received.sort_by_key(|answer| answer.turn);
    let turns: Vec<u64> = received.iter().map(|answer| answer.turn).collect();
    assert_eq!(turns, [2, 3, 4, 5, 6, 7], "one runs and five wait");
    let claimed: Vec<u64> =
        received.iter().filter(|answer| answer.is_claimed).map(|answer| answer.turn).collect();
    assert_eq!(claimed, [2], "the first message gives the task to its runner");
    for error in answers.into_iter().filter_map(Result::err) {
        assert!(is_full(&error), "the others are refused: {error:?}");
    }
    assert_eq!(log_of(&store, id).await.len(), 8);
}
