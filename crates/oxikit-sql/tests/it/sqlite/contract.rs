//! The contract of the ports, as every store has to keep it.

use std::sync::Arc;

use oxikit_core::ports::contract::{self, NOTIFIER, SESSION_STORE, STREAM_STORE};
use oxikit_core::ports::{
    LocalNotifier, Notification, Notifier, Owner, StreamScope, StreamStore, Topic,
};
use oxikit_sql::{SqliteOptions, SqliteStore};

use super::{file, folder, open};
use crate::model::two_handles_are_like_memory;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_keep_every_promise_alone() {
    let folder = folder();
    let next = std::cell::Cell::new(0);
    let make = async || {
        next.set(next.get() + 1);
        SqliteStore::open(folder.path().join(format!("{}.db", next.get()))).unwrap().sessions()
    };
    contract::each("sqlite", SESSION_STORE, make).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_keep_every_promise() {
    let folder = folder();
    let store = open(&folder);
    contract::each("sqlite", STREAM_STORE, async || store.streams()).await;
}

/// In one file, and without more than one thread of the caller's.
#[tokio::test]
async fn all_promises_hold_on_one_thread() {
    let folder = folder();
    let store = Arc::new(open(&folder));
    contract::session_store(store.clone()).await;
    contract::stream_store(store).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn notifications_keep_every_promise() {
    let folder = folder();
    let store = open(&folder);
    contract::each("sqlite", NOTIFIER, async || store.notifier()).await;
}

/// The store publishes by the notifier it is given, and readers that use only this
/// notifier are notified.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_publishes_with_the_notifier_it_is_given() {
    let folder = folder();
    let notifier = Arc::new(LocalNotifier::default());
    let options = SqliteOptions::default().with_notifier(notifier.clone());
    let store = SqliteStore::open_with(file(&folder), options).unwrap();
    let scope = StreamScope::new(Owner::nobody(), "/flow/x");
    StreamStore::open(&store, &scope, "stream").await.unwrap();
    let mut subscription = notifier.subscribe(Topic::of(&["stream", "stream"]));
    store.append("stream", 0, vec![oxikit_core::Payload::of("x")]).await.unwrap();
    subscription.next().await;
    drop(subscription);
    contract::session_store(store.sessions()).await;
    contract::stream_store(store.streams()).await;
}

/// Another process may have another notifier, or be killed before it publishes: its
/// writes are found in the file, and reported as lost notifications.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_by_another_process_is_notified_without_a_common_notifier() {
    let folder = folder();
    let (writer, reader) = (open(&folder), open(&folder));
    let scope = StreamScope::new(Owner::nobody(), "/flow/x");
    let mut subscription = reader.notifier().subscribe(Topic::of(&["any"]));
    StreamStore::open(&writer, &scope, "stream").await.unwrap();
    assert_eq!(subscription.next().await, Notification::Lagged);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_are_pruned_in_the_background() {
    for is_restarted in [false, true] {
        let folder = folder();
        let open = async |retention| {
            let options = SqliteOptions::default().with_retention(retention);
            SqliteStore::open_with(file(&folder), options).unwrap().sessions()
        };
        match is_restarted {
            false => contract::retention_in_background(open).await,
            true => contract::retention_after_restart(open).await,
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_handles_of_one_file_are_like_memory() {
    // Each file is in a folder of its own, which goes at the end.
    let folders = std::cell::RefCell::new(Vec::new());
    let open = async || {
        let folder = folder();
        let mut small = SqliteOptions::default();
        // So small that one of the handles forgets nearly everything.
        small.cache_bytes = 20_000;
        let one = SqliteStore::open(file(&folder)).unwrap().sessions();
        let other = SqliteStore::open_with(file(&folder), small).unwrap().sessions();
        folders.borrow_mut().push(folder);
        [one, other]
    };
    two_handles_are_like_memory(12, open).await;
}
