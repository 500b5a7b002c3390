//! A reader of a stream is bounded, whatever its store does.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::StreamExt;
use oxikit_core::Payload;
use oxikit_core::ports::{
    Owner, StoreError, StreamEnd, StreamEntry, StreamEvent, StreamPage, StreamScope, StreamStore,
    follow,
};

/// Always has the same page, and never waits.
#[derive(Debug)]
struct Broken {
    page: StreamPage,
    reads: AtomicUsize,
}

#[async_trait]
impl StreamStore for Broken {
    async fn open(&self, _: &StreamScope, _: &str) -> Result<(), StoreError> {
        unreachable!("only read")
    }

    async fn append(&self, _: &str, _: u64, _: Vec<Payload>) -> Result<u64, StoreError> {
        unreachable!("only read")
    }

    async fn finish(&self, _: &str, _: u64, _: StreamEnd) -> Result<u64, StoreError> {
        unreachable!("only read")
    }

    async fn read(
        &self,
        _: &StreamScope,
        _: &str,
        _: u64,
        _: usize,
    ) -> Result<StreamPage, StoreError> {
        let reads = self.reads.fetch_add(1, Ordering::Relaxed);
        assert!(reads < 1000, "the store is asked without rest");
        Ok(self.page.clone())
    }

    async fn wait(&self, _: &StreamScope, _: &str, _: u64) -> Result<(), StoreError> {
        Ok(())
    }
}

fn scope() -> StreamScope {
    StreamScope::new(Owner::nobody(), "/flow/x")
}

fn broken(sequences: &[u64], position: u64, has_ended: bool) -> Arc<Broken> {
    let chunk = |sequence: &u64| StreamEvent {
        sequence: *sequence,
        entry: StreamEntry::Chunk(Payload::of("x")),
    };
    let events = sequences.iter().map(chunk).collect();
    let page = StreamPage { events, position, has_ended };
    Arc::new(Broken { page, reads: AtomicUsize::new(0) })
}

#[tokio::test(start_paused = true)]
async fn a_store_that_does_not_wait_is_not_asked_without_rest() {
    let store = broken(&[], 3, false);
    let mut events = Box::pin(follow(store.clone(), scope(), "s".into(), 3));
    let event = tokio::time::timeout(Duration::from_secs(1), events.next()).await;
    assert!(event.is_err(), "there is nothing to come");
    let reads = store.reads.load(Ordering::Relaxed);
    assert!(reads <= 52, "{reads} reads in a second");
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_misses_events_is_damaged() {
    for (sequences, position, has_ended) in
        [(&[][..], 4, true), (&[], 4, false), (&[4], 4, false), (&[2], 4, true), (&[1], 4, false)]
    {
        let events = follow(broken(sequences, position, has_ended), scope(), "s".into(), 2);
        let events: Vec<_> = events.collect().await;
        assert!(
            matches!(&events[..], [Err(StoreError::Damaged(..))]),
            "{sequences:?} of {position}: {events:?}"
        );
    }
}
