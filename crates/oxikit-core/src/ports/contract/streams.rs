//! The contract tests of stream stores.

mod progress;

use std::sync::Arc;

use futures_util::StreamExt;
use oxikit_wire::StatusCode;

use super::{Case, cases, failed, kept};
use crate::ports::{
    Owner, StoreError, StreamEnd, StreamEntry, StreamEvent, StreamScope, StreamStore, follow,
};
use crate::{OutgoingStatus, Payload, Status};

/// The promises of a [`StreamStore`].
pub const STREAM_STORE: &[Case<dyn StreamStore>] = cases![
    a_stream_is_read_from_any_position,
    a_write_may_be_made_again,
    a_stream_has_one_writer_and_one_end,
    failures_are_kept_whole,
    what_is_not_ones_own_is_not_there,
    readers_get_stored_and_new_events,
    many_readers_see_the_same,
    progress::a_page_says_how_far_the_stream_is,
    progress::readers_at_or_beyond_the_end_end_at_once,
    progress::readers_never_ask_without_progress,
    progress::a_reader_that_waits_beyond_the_end_is_woken_by_it,
];

type Store = Arc<dyn StreamStore>;

/// The scope of most streams of these tests.
fn own() -> StreamScope {
    StreamScope::new(Owner::nobody(), "/flow/contract")
}

fn chunks(texts: &[&str]) -> Vec<Payload> {
    texts.iter().map(|text| Payload::of((*text).to_owned())).collect()
}

fn done() -> StreamEnd {
    StreamEnd::Done(Payload::of("done"))
}

/// Number and JSON of each event.
fn shown(events: Vec<StreamEvent>) -> Vec<(u64, String)> {
    let show = |event: StreamEvent| {
        let text = match event.entry {
            StreamEntry::Chunk(chunk) => format!("{chunk:?}"),
            StreamEntry::End(StreamEnd::Done(output)) => format!("done {output:?}"),
            StreamEntry::End(StreamEnd::Failed(status)) => format!("failed {}", status.message),
        };
        (event.sequence, text)
    };
    events.into_iter().map(show).collect()
}

async fn read(
    store: &dyn StreamStore,
    id: &str,
    position: u64,
    limit: usize,
) -> Vec<(u64, String)> {
    shown(kept("read", store.read(&own(), id, position, limit).await).events)
}

fn numbered(texts: &[&str], first: u64) -> Vec<(u64, String)> {
    (first..).zip(texts.iter().map(|text| (*text).to_owned())).collect()
}

/// Events are numbered from 1 without gaps, and can be read from every position in pages.
async fn a_stream_is_read_from_any_position(store: Store) {
    let id = "contract-read";
    kept("open", store.open(&own(), id).await);
    assert_eq!(read(&*store, id, 0, 10).await, [], "a new stream is empty");
    assert_eq!(kept("append", store.append(id, 0, chunks(&["a"])).await), 1);
    assert_eq!(kept("append", store.append(id, 1, chunks(&["b", "c"])).await), 3);
    assert_eq!(kept("finish", store.finish(id, 3, done()).await), 4);
    let all = ["\"a\"", "\"b\"", "\"c\"", "done \"done\""];
    assert_eq!(
        read(&*store, id, 0, 10).await,
        numbered(&all, 1),
        "in order, from 1, without a gap"
    );
    assert_eq!(read(&*store, id, 2, 10).await, numbered(&all[2..], 3), "what follows a position");
    assert_eq!(read(&*store, id, 1, 2).await, numbered(&all[1..3], 2), "no more than asked for");
    assert_eq!(read(&*store, id, 4, 10).await, [], "nothing follows the end");
    assert_eq!(read(&*store, id, 99, 10).await, [], "nor a place beyond it");
}

/// A repeated write returns the same position and adds nothing.
async fn a_write_may_be_made_again(store: Store) {
    let id = "contract-again";
    kept("open", store.open(&own(), id).await);
    for _ in 0..3 {
        let position = kept("append again", store.append(id, 0, chunks(&["a", "b"])).await);
        assert_eq!(position, 2, "the same write is answered the same");
    }
    for _ in 0..3 {
        assert_eq!(kept("finish again", store.finish(id, 2, done()).await), 3);
    }
    let all = ["\"a\"", "\"b\"", "done \"done\""];
    assert_eq!(read(&*store, id, 0, 10).await, numbered(&all, 1), "and counts once");
}

/// Writes at another position are conflicts, and nothing can be added after the end.
async fn a_stream_has_one_writer_and_one_end(store: Store) {
    let id = "contract-writer";
    kept("open", store.open(&own(), id).await);
    let error = failed(
        "an id is used once",
        store.open(&StreamScope::new(Owner::principal("x"), "/flow/x"), id).await,
    );
    assert!(matches!(error, StoreError::Exists(_)), "{error}");
    kept("append", store.append(id, 0, chunks(&["a", "b"])).await);
    for (position, texts) in [(0, vec!["x"]), (0, vec!["a", "x"]), (1, vec!["x"]), (7, vec!["x"])] {
        let error = failed("another writer", store.append(id, position, chunks(&texts)).await);
        assert!(matches!(error, StoreError::Conflict(_)), "{error}");
    }
    kept("finish", store.finish(id, 2, done()).await);
    let error = failed("the end is the end", store.append(id, 3, chunks(&["c"])).await);
    assert!(matches!(error, StoreError::Ended(_)), "{error}");
    let other = StreamEnd::Done(Payload::of("other"));
    let error = failed("the first end counts", store.finish(id, 2, other).await);
    assert!(matches!(error, StoreError::Ended(_)), "{error}");
    let error = failed("an unknown stream", store.append("contract-none", 0, chunks(&["a"])).await);
    assert!(matches!(error, StoreError::NotFound(_)), "{error}");
}

/// The end of a failed run keeps code, message and details.
async fn failures_are_kept_whole(store: Store) {
    let id = "contract-failed";
    kept("open", store.open(&own(), id).await);
    let status: OutgoingStatus =
        Status::not_found("no order `42`").with_details(serde_json::json!({"id":42})).outgoing();
    kept("finish", store.finish(id, 0, StreamEnd::Failed(status.clone())).await);
    let page = kept("read", store.read(&own(), id, 0, 10).await);
    match &page.events[..] {
        [StreamEvent { sequence: 1, entry: StreamEntry::End(StreamEnd::Failed(read)) }] => {
            assert_eq!(*read, status);
            assert_eq!(read.status, StatusCode::NotFound);
        }
        other => panic!("a failure is one event: {other:?}"),
    }
}

/// Data of another owner is not found by any operation; tenant and principal are both compared.
async fn what_is_not_ones_own_is_not_there(store: Store) {
    let id = "contract-owner";
    let ada = || Owner::principal("ada").of_tenant("t1");
    let own = StreamScope::new(ada(), "/flow/a");
    kept("open", store.open(&own, id).await);
    kept("append", store.append(id, 0, chunks(&["a"])).await);
    for (scope, id) in [
        (StreamScope::new(Owner::principal("bob").of_tenant("t1"), "/flow/a"), id),
        (StreamScope::new(Owner::principal("ada").of_tenant("t2"), "/flow/a"), id),
        (StreamScope::new(Owner::nobody(), "/flow/a"), id),
        // The owner does not find the stream under another source either.
        (StreamScope::new(ada(), "/flow/b"), id),
        (StreamScope::new(ada(), "/flow/A"), id),
        (StreamScope::new(ada(), "/flow/a "), id),
        (StreamScope::new(ada(), "/flow/"), id),
        (StreamScope::new(ada(), ""), id),
        (own.clone(), "contract-none"),
    ] {
        for error in [
            failed("a stranger reads", store.read(&scope, id, 0, 1).await.map(drop)),
            failed("a stranger waits", store.wait(&scope, id, 0).await),
        ] {
            assert!(matches!(&error, StoreError::NotFound(of) if of == id), "{scope:?}: {error}");
        }
    }
    kept("the owner reads", store.read(&own, id, 0, 1).await);
}

/// A reader gets stored events first and then new ones, each once.
async fn readers_get_stored_and_new_events(store: Store) {
    let id = "contract-live";
    kept("open", store.open(&own(), id).await);
    kept("append", store.append(id, 0, chunks(&["a"])).await);
    kept("nothing to wait for", store.wait(&own(), id, 0).await);
    let mut events = Box::pin(follow(store.clone(), own(), id.to_owned(), 0));
    let writer = async {
        for (position, text) in [(1, "b"), (2, "c")] {
            tokio::task::yield_now().await;
            kept("append", store.append(id, position, chunks(&[text])).await);
        }
        tokio::task::yield_now().await;
        kept("finish", store.finish(id, 3, done()).await);
    };
    let reader = async {
        let mut read = Vec::new();
        while let Some(event) = events.next().await {
            read.push(kept("follow", event));
        }
        shown(read)
    };
    let (_, read) = futures_util::future::join(writer, reader).await;
    let all = ["\"a\"", "\"b\"", "\"c\"", "done \"done\""];
    assert_eq!(read, numbered(&all, 1), "stored ones and new ones, each once");
    kept("an ended stream is not waited for", store.wait(&own(), id, 4).await);
}

/// All readers of a stream get the same events in the same order.
async fn many_readers_see_the_same(store: Store) {
    const CHUNKS: u64 = 200;
    let id = "contract-many";
    kept("open", store.open(&own(), id).await);
    let reader = |position: u64| {
        let events = follow(store.clone(), own(), id.to_owned(), position);
        events.map(|event| kept("follow", event).sequence).collect::<Vec<_>>()
    };
    let readers = futures_util::future::join_all([0, 0, 1, 17, CHUNKS].map(reader));
    let writer = async {
        for position in 0..CHUNKS {
            kept("append", store.append(id, position, chunks(&["x"])).await);
            if position % 7 == 0 {
                tokio::task::yield_now().await;
            }
        }
        kept("finish", store.finish(id, CHUNKS, done()).await);
    };
    let (read, _) = futures_util::future::join(readers, writer).await;
    for (read, position) in read.into_iter().zip([0, 0, 1, 17, CHUNKS]) {
        assert_eq!(read, (position + 1..=CHUNKS + 1).collect::<Vec<_>>(), "no gap, no duplicate");
    }
}
