//! Readers that wait for what is to come.

use std::time::Duration;

use futures_util::future::{join, join_all};
use oxikit_wire::a2a::TaskState;

use super::{
    Store, appended, chunk, created, ended, entry, in_time, is_not_found, kept, own, refused, write,
};
use crate::ports::{StoreError, TaskRetention};

/// The numbers of all events after a position, until the task has ended.
async fn follow(store: &Store, id: &str, mut position: u64) -> Result<Vec<u64>, StoreError> {
    let mut seen = Vec::new();
    loop {
        let page = store.read(&own(), id, position, 7).await?;
        if let Some(last) = page.events.last() {
            position = last.sequence;
        } else if page.head.status.state.is_terminal() {
            return Ok(seen);
        } else {
            store.wait(&own(), id, position).await?;
        }
        seen.extend(page.events.iter().map(|event| event.sequence));
    }
}

pub(super) async fn waiting_ends_with_an_event_or_the_end(store: Store) {
    let id = "contract-task-wait";
    created(&store, id).await;
    kept("there is an event", in_time("waiting", store.wait(&own(), id, 0)).await);
    let until = async |position, is_over: fn(u64, bool) -> bool| loop {
        kept("wait", store.wait(&own(), id, position).await);
        // Waiting may end early.
        let head = kept("head", store.head(&own(), id).await);
        if is_over(head.position, head.status.state.is_terminal()) {
            return;
        }
    };
    let writer = async {
        tokio::task::yield_now().await;
        appended(&store, id, write(1, vec![chunk("a")])).await;
    };
    in_time("waiting for an event", join(until(1, |position, _| position > 1), writer)).await;
    let waiting = join_all([2, 3, 99, u64::MAX].map(|position| until(position, |_, ends| ends)));
    let writer = async {
        tokio::task::yield_now().await;
        ended(&store, id, TaskState::Canceled).await;
    };
    in_time("waiting for the end", join(waiting, writer)).await;
    for position in [0, 3, 4, u64::MAX] {
        kept("an ended task", in_time("waiting", store.wait(&own(), id, position)).await);
    }
}

pub(super) async fn readers_see_the_same_log_while_it_grows(store: Store) {
    const CHUNKS: u64 = 200;
    let id = "contract-task-follow";
    created(&store, id).await;
    let positions = [0, 0, 1, 17, CHUNKS];
    let readers = join_all(positions.map(|position| follow(&store, id, position)));
    let writer = async {
        for number in 1..=CHUNKS {
            appended(&store, id, write(number, vec![chunk("x")])).await;
            if number % 7 == 0 {
                tokio::task::yield_now().await;
            }
        }
        appended(&store, id, write(CHUNKS + 1, vec![entry(TaskState::Completed)])).await;
    };
    let (read, ()) = in_time("reading", join(readers, writer)).await;
    for (read, position) in read.into_iter().zip(positions) {
        let expected: Vec<u64> = (position + 1..=CHUNKS + 2).collect();
        assert_eq!(kept("follow", read), expected, "no gap, no duplicate");
    }
}

pub(super) async fn a_reader_of_a_pruned_task_is_told(store: Store) {
    let id = "contract-task-gone";
    created(&store, id).await;
    let asks = vec![entry(TaskState::InputRequired)];
    let asks = crate::ports::TaskWrite { releases: true, ..write(1, asks) };
    appended(&store, id, asks).await;
    let writer = async {
        tokio::task::yield_now().await;
        let waiting = Some(Duration::ZERO);
        kept("prune", store.prune(&TaskRetention { waiting, ..TaskRetention::default() }).await);
    };
    let (read, ()) = in_time("reading", join(follow(&store, id, 0), writer)).await;
    refused("a task that is gone", read, is_not_found);
}
