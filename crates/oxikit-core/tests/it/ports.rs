//! The stores and the notifier inside of the process keep the contracts of the ports.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use oxikit_core::ports::memory::{
    MemoryProject, MemoryRevisions, MemorySessionOptions, MemorySessions, MemoryStreamOptions,
    MemoryStreams, MemoryTaskOptions, MemoryTasks,
};
use oxikit_core::ports::{
    LocalNotifier, NewRevision, Notification, Notifier, Owner, RevisionKind, RevisionStore,
    SessionStore, StoreError, StreamEnd, StreamScope, StreamStore, Subscribers, Topic, contract,
    revision_topic,
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

#[tokio::test(start_paused = true)]
async fn memory_tasks_keep_the_contract() {
    let make = async || Arc::new(MemoryTasks::default()) as _;
    contract::each("memory", contract::TASK_STORE, make).await;
    contract::task_store(Arc::new(MemoryTasks::default())).await;
}

#[tokio::test(start_paused = true)]
async fn memory_tasks_are_like_the_model() {
    contract::task_store_model(Arc::new(MemoryTasks::default()), 10..200).await;
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
async fn a_project_in_memory_keeps_the_contract() {
    let make = async || Arc::new(MemoryProject::default()) as _;
    contract::each("memory", contract::PROJECT_STORE, make).await;
    contract::project_store(Arc::new(MemoryProject::default())).await;
}

#[tokio::test]
async fn revisions_in_memory_keep_the_contract() {
    let make = async || Arc::new(MemoryRevisions::default()) as _;
    contract::each("memory", contract::REVISION_STORE, make).await;
    contract::revision_store(Arc::new(MemoryRevisions::default())).await;
}

#[tokio::test]
async fn revisions_are_published_with_the_notifier_that_is_given() {
    let notifier = Arc::new(LocalNotifier::default());
    let store = MemoryRevisions::with_notifier(notifier.clone());
    let mut subscription = notifier.subscribe(revision_topic("prompts/a.md"));
    let revision = NewRevision {
        parent: 0,
        kind: RevisionKind::Edit,
        author: String::new(),
        text: Some("a".into()),
        is_applied: true,
        op: None,
        outcome: None,
    };
    let late = store.append("prompts/a.md", 7, vec![revision.clone()]).await;
    assert!(matches!(late, Err(StoreError::Conflict(_))), "{late:?}");
    assert!(subscription.next().now_or_never().is_none(), "nothing was stored");
    store.append("prompts/a.md", 0, vec![revision]).await.unwrap();
    assert_eq!(subscription.next().now_or_never(), Some(Notification::Changed));
}

#[tokio::test]
async fn a_local_notifier_keeps_the_contract() {
    let make = async || Arc::new(LocalNotifier::default()) as _;
    contract::each("local", contract::NOTIFIER, make).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_local_notifier_keeps_the_contract_on_several_threads() {
    let notifier = LocalNotifier::default();
    contract::notifier(Arc::new(notifier.clone())).await;
    contract::connected_notifiers(Arc::new(notifier.clone()), Arc::new(notifier)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_contracts_hold_on_several_threads() {
    let streams = tokio::spawn(contract::stream_store(Arc::new(MemoryStreams::default())));
    let sessions = tokio::spawn(contract::session_store(Arc::new(MemorySessions::default())));
    let tasks = tokio::spawn(contract::task_store(Arc::new(MemoryTasks::default())));
    let revisions = tokio::spawn(contract::revision_store(Arc::new(MemoryRevisions::default())));
    tasks.await.unwrap();
    revisions.await.unwrap();
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
    // The end is still accepted.
    store.finish("a", 1, StreamEnd::Failed(Status::cancelled().outgoing())).await.unwrap();
}

#[tokio::test]
async fn a_notifier_forgets_a_topic_with_its_last_subscriber() {
    let (notifier, topic) = (LocalNotifier::default(), Topic::of(&["a"]));
    let one = notifier.subscribe(topic);
    let two = notifier.subscribe(topic);
    assert!(format!("{notifier:?}").contains("topics: 1, subscriptions: 2"), "{notifier:?}");
    drop(one);
    assert!(format!("{notifier:?}").contains("topics: 1, subscriptions: 1"), "{notifier:?}");
    drop(two);
    assert!(format!("{notifier:?}").contains("topics: 0, subscriptions: 0"), "{notifier:?}");
    notifier.publish(topic);
}

#[tokio::test(start_paused = true)]
async fn a_local_notifier_tells_changes_from_losses() {
    let (notifier, topic) = (LocalNotifier::default(), Topic::of(&["a"]));
    let mut subscription = notifier.subscribe(topic);
    notifier.publish(Topic::of(&["b"]));
    notifier.publish(topic);
    notifier.publish(topic);
    assert_eq!(subscription.next().await, Notification::Changed);
    notifier.publish(topic);
    notifier.subscribers().notify_lagged();
    assert_eq!(subscription.next().await, Notification::Lagged);
    let wait = tokio::time::timeout(Duration::from_secs(60), subscription.next()).await;
    assert!(wait.is_err(), "all were merged: {wait:?}");
}

/// Counts the publications, to show that the stores use the notifier they are given.
#[derive(Debug, Default)]
struct CountingNotifier {
    local: LocalNotifier,
    published: AtomicUsize,
}

impl Notifier for CountingNotifier {
    fn publish(&self, topic: Topic) {
        self.published.fetch_add(1, Ordering::Relaxed);
        self.local.publish(topic);
    }

    fn subscribers(&self) -> &Subscribers {
        self.local.subscribers()
    }
}

#[tokio::test(start_paused = true)]
async fn stores_in_memory_publish_with_the_notifier_they_are_given() {
    let notifier = Arc::new(CountingNotifier::default());
    let streams =
        MemoryStreams::new(MemoryStreamOptions::default().with_notifier(notifier.clone()));
    contract::stream_store(Arc::new(streams)).await;
    assert!(notifier.published.swap(0, Ordering::Relaxed) > 0);
    let sessions =
        MemorySessions::new(MemorySessionOptions::default().with_notifier(notifier.clone()));
    contract::session_store(Arc::new(sessions)).await;
    assert!(notifier.published.swap(0, Ordering::Relaxed) > 0);
    let tasks = MemoryTasks::new(MemoryTaskOptions::default().with_notifier(notifier.clone()));
    contract::task_store(Arc::new(tasks)).await;
    assert!(notifier.published.load(Ordering::Relaxed) > 0);
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
