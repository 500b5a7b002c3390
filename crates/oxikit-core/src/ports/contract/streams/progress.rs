//! Readers come to an end, and ask only when there is something new.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::future::{join, join_all};
use futures_util::{StreamExt, TryStreamExt};

use super::{Store, chunks, done, kept, own};
use crate::Payload;
use crate::ports::{StoreError, StreamEnd, StreamPage, StreamScope, StreamStore, follow};

/// Time after which a reader that has not finished counts as stuck.
const LONG: Duration = Duration::from_secs(10);
/// Time that a stream without new events is observed.
const QUIET: Duration = Duration::from_millis(200);

/// A store that counts its calls.
#[derive(Debug)]
struct Counted {
    store: Store,
    asked: AtomicU64,
}

impl Counted {
    fn new(store: &Store) -> Arc<Self> {
        Arc::new(Self { store: store.clone(), asked: AtomicU64::new(0) })
    }

    fn asked(&self) -> u64 {
        self.asked.load(Ordering::Relaxed)
    }
}

#[async_trait]
impl StreamStore for Counted {
    async fn open(&self, scope: &StreamScope, id: &str) -> Result<(), StoreError> {
        self.store.open(scope, id).await
    }

    async fn append(&self, id: &str, at: u64, chunks: Vec<Payload>) -> Result<u64, StoreError> {
        self.store.append(id, at, chunks).await
    }

    async fn finish(&self, id: &str, at: u64, end: StreamEnd) -> Result<u64, StoreError> {
        self.store.finish(id, at, end).await
    }

    async fn read(
        &self,
        scope: &StreamScope,
        id: &str,
        position: u64,
        limit: usize,
    ) -> Result<StreamPage, StoreError> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        // A reader that never pauses would keep the timer of `in_time` from running.
        tokio::task::yield_now().await;
        self.store.read(scope, id, position, limit).await
    }

    async fn wait(&self, scope: &StreamScope, id: &str, position: u64) -> Result<(), StoreError> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        self.store.wait(scope, id, position).await
    }
}

async fn in_time<T>(what: &str, work: impl Future<Output = T>) -> T {
    let done = tokio::time::timeout(LONG, work).await;
    done.unwrap_or_else(|_| panic!("broken promise: {what} comes to an end"))
}

/// The numbers of all events after a position.
async fn read_all(store: &Arc<Counted>, id: &str, position: u64) -> Vec<u64> {
    let events = follow(store.clone(), own(), id.to_owned(), position);
    kept("follow", events.map_ok(|event| event.sequence).try_collect().await)
}

/// A page has the position and the end of the whole stream, also if it has no events.
pub(super) async fn a_page_says_how_far_the_stream_is(store: Store) {
    let id = "contract-page";
    kept("open", store.open(&own(), id).await);
    let check = async |position, limit, expected: (usize, u64, bool)| {
        let page = kept("read", store.read(&own(), id, position, limit).await);
        let seen = (page.events.len(), page.position, page.has_ended);
        assert_eq!(seen, expected, "at {position}, up to {limit}");
    };
    check(0, 10, (0, 0, false)).await;
    check(u64::MAX, 10, (0, 0, false)).await;
    kept("append", store.append(id, 0, chunks(&["a", "b"])).await);
    check(0, 1, (1, 2, false)).await;
    check(2, 10, (0, 2, false)).await;
    kept("finish", store.finish(id, 2, done()).await);
    for (position, limit, events) in
        [(0, 10, 3), (0, 1, 1), (0, 0, 0), (2, 10, 1), (3, 10, 0), (4, 10, 0), (u64::MAX, 10, 0)]
    {
        check(position, limit, (events, 3, true)).await;
    }
}

/// A reader that begins at or after the end of an ended stream ends at once.
pub(super) async fn readers_at_or_beyond_the_end_end_at_once(store: Store) {
    let id = "contract-beyond";
    kept("open", store.open(&own(), id).await);
    kept("append", store.append(id, 0, chunks(&["a", "b", "c"])).await);
    kept("finish", store.finish(id, 3, done()).await);
    for (position, expected) in [
        (0, vec![1, 2, 3, 4]),
        (2, vec![3, 4]),
        (3, vec![4]),
        (4, vec![]),
        (5, vec![]),
        (i64::MAX.unsigned_abs(), vec![]),
        (u64::MAX, vec![]),
    ] {
        let counted = Counted::new(&store);
        let read = in_time("a reader of an ended stream", read_all(&counted, id, position)).await;
        assert_eq!(read, expected, "after {position}");
        assert_eq!(counted.asked(), 1, "one page is enough, after {position}");
        kept("wait", in_time("waiting", store.wait(&own(), id, position)).await);
    }
}

/// A reader of a stream without new events does not poll the store in a loop.
pub(super) async fn readers_never_ask_without_progress(store: Store) {
    const CHUNKS: u64 = 20;
    let id = "contract-progress";
    kept("open", store.open(&own(), id).await);
    kept("append", store.append(id, 0, chunks(&["x"])).await);
    let positions = [0, 1, 2, CHUNKS, CHUNKS + 1, CHUNKS + 2, u64::MAX];
    let reader = async |position: u64| {
        let counted = Counted::new(&store);
        // Nothing is written meanwhile.
        let mut events = Box::pin(follow(counted.clone(), own(), id.to_owned(), position.max(1)));
        let early = tokio::time::timeout(QUIET, events.next()).await;
        assert!(early.is_err(), "nothing follows {position} yet");
        assert!(counted.asked() <= 4, "a quiet stream was asked for {} times", counted.asked());
        counted
    };
    let counted = join_all(positions.map(reader)).await;
    let readers = join_all(
        counted.iter().zip(positions).map(|(store, position)| read_all(store, id, position)),
    );
    let writer = async {
        for position in 1..CHUNKS {
            kept("append", store.append(id, position, chunks(&["x"])).await);
            tokio::task::yield_now().await;
        }
        kept("finish", store.finish(id, CHUNKS, done()).await);
    };
    let (read, ()) = in_time("a reader of a stream that ends", join(readers, writer)).await;
    for ((read, position), counted) in read.into_iter().zip(positions).zip(counted) {
        let expected: Vec<u64> = (position.saturating_add(1)..=CHUNKS + 1).collect();
        assert_eq!(read, expected, "after {position}");
        // An empty page, a wait and a page for each event, and what the quiet time has cost.
        let most = 3 * (CHUNKS + 1) + 8;
        assert!(counted.asked() <= most, "asked {} times after {position}", counted.asked());
    }
}

/// A reader that waits for a position beyond the end is woken when the stream ends.
pub(super) async fn a_reader_that_waits_beyond_the_end_is_woken_by_it(store: Store) {
    let id = "contract-woken";
    kept("open", store.open(&own(), id).await);
    let wait = async |position| {
        // Waiting may end early.
        loop {
            kept("wait", store.wait(&own(), id, position).await);
            if kept("read", store.read(&own(), id, position, 1).await).has_ended {
                return;
            }
        }
    };
    let waiting = join_all([1, 2, u64::MAX].map(wait));
    let writer = async {
        tokio::task::yield_now().await;
        kept("finish", store.finish(id, 0, done()).await);
    };
    in_time("whoever waits", join(waiting, writer)).await;
}
