//! The stores and the bus inside of the process keep the contracts of the ports.

use std::sync::Arc;
use std::time::Duration;

use oxikit_core::ports::memory::{
    MemoryBus, MemorySessionOptions, MemorySessions, MemoryStreamOptions, MemoryStreams,
};
use oxikit_core::ports::{
    Announcement, EventBus, Owner, SessionStore, StoreError, StreamEnd, StreamScope, StreamStore,
    contract,
};
use oxikit_core::{Payload, Status, StatusCode};

#[tokio::test(start_paused = true)]
async fn memory_streams_keep_the_contract() {
    let make = async || Arc::new(MemoryStreams::default()) as _;
    contract::each("memory", contract::STREAM_STORE, make).await;
}

#[tokio::test(start_paused = true)]
async fn memory_sessions_keep_the_contract() {
    let make = async || Arc::new(MemorySessions::default()) as _;
    contract::each("memory", contract::SESSION_STORE, make).await;
    assert_eq!(MemorySessions::default().name(), "memory");
}

#[tokio::test]
async fn memory_sessions_are_pruned_in_the_background() {
    let open = async |retention| {
        let options = MemorySessionOptions::default().with_retention(retention);
        Arc::new(MemorySessions::new(options)) as _
    };
    contract::retention_in_background(open).await;
}

#[tokio::test]
async fn a_memory_bus_keeps_the_contract() {
    contract::event_bus(Arc::new(MemoryBus::default())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_contracts_hold_on_several_threads() {
    let streams = tokio::spawn(contract::stream_store(Arc::new(MemoryStreams::default())));
    let sessions = tokio::spawn(contract::session_store(Arc::new(MemorySessions::default())));
    streams.await.unwrap();
    sessions.await.unwrap();
}

fn scope() -> StreamScope {
    StreamScope::new(Owner::nobody(), "/flow/x")
}

fn options(change: impl FnOnce(&mut MemoryStreamOptions)) -> MemoryStreams {
    let mut options = MemoryStreamOptions::default();
    change(&mut options);
    MemoryStreams::new(options)
}

async fn end(store: &MemoryStreams, id: &str) {
    store.finish(id, 0, StreamEnd::Done(Payload::null())).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_ended_stream_is_dropped_after_its_time_and_an_open_one_never() {
    let (store, scope) = (MemoryStreams::default(), scope());
    store.open(&scope, "open").await.unwrap();
    store.open(&scope, "ended").await.unwrap();
    end(&store, "ended").await;
    tokio::time::advance(Duration::from_secs(299)).await;
    store.open(&scope, "later").await.unwrap();
    assert!(store.read(&scope, "ended", 0, 1).await.is_ok());
    tokio::time::advance(Duration::from_secs(3600)).await;
    store.open(&scope, "much later").await.unwrap();
    assert!(matches!(store.read(&scope, "ended", 0, 1).await, Err(StoreError::NotFound(_))));
    assert!(store.read(&scope, "open", 0, 1).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn memory_streams_are_bounded_in_number_and_bytes() {
    let scope = scope();
    let store = options(|options| options.max_streams = 2);
    store.open(&scope, "a").await.unwrap();
    store.open(&scope, "b").await.unwrap();
    assert!(matches!(store.open(&scope, "c").await, Err(StoreError::Full(..))));
    end(&store, "a").await;
    store.open(&scope, "c").await.unwrap();
    assert!(matches!(store.read(&scope, "a", 0, 1).await, Err(StoreError::NotFound(_))));

    let store = options(|options| options.max_stream_bytes = 10);
    store.open(&scope, "a").await.unwrap();
    store.append("a", 0, vec![Payload::of("12345")]).await.unwrap();
    let full = store.append("a", 1, vec![Payload::of("12345")]).await.unwrap_err();
    assert_eq!(Status::from(full).code(), StatusCode::ResourceExhausted);
    // It can still be told how it ended.
    store.finish("a", 1, StreamEnd::Failed(Status::cancelled().outgoing())).await.unwrap();
}

#[tokio::test]
async fn a_bus_forgets_a_subject_with_its_last_subscriber() {
    let bus = MemoryBus::default();
    let one = bus.subscribe("a").await.unwrap();
    let two = bus.subscribe("a").await.unwrap();
    assert!(format!("{bus:?}").contains("subjects: 1"));
    drop(one);
    assert!(format!("{bus:?}").contains("subjects: 1"));
    drop(two);
    assert!(format!("{bus:?}").contains("subjects: 0"));
    bus.publish("a", Announcement { sequence: 1, hint: "x".into() }).await.unwrap();
}

#[test]
fn failures_of_stores_say_nothing_about_our_inside() {
    let cause = || Box::new(std::io::Error::other("db-7.internal hunter2"));
    for (error, code, is_public) in [
        (StoreError::NotFound("s".into()), StatusCode::NotFound, true),
        (StoreError::Exists("s".into()), StatusCode::AlreadyExists, true),
        (StoreError::Conflict("s".into()), StatusCode::Aborted, true),
        (StoreError::Fenced("s".into()), StatusCode::Aborted, true),
        (StoreError::Ended("s".into()), StatusCode::FailedPrecondition, true),
        (StoreError::Invalid("the token"), StatusCode::InvalidArgument, true),
        (StoreError::Full("s".into(), "why"), StatusCode::ResourceExhausted, true),
        (StoreError::Unavailable(cause()), StatusCode::Unavailable, false),
        (StoreError::Damaged("s".into(), cause()), StatusCode::DataLoss, false),
    ] {
        let status = Status::from(error);
        assert_eq!((status.code(), status.is_public()), (code, is_public));
        let outgoing = serde_json::to_string(&status.outgoing()).unwrap();
        assert!(!outgoing.contains("hunter2"), "{outgoing}");
    }
}
