//! What the ports promise.

use std::sync::Arc;

use oxikit_core::ports::contract::{self, SESSION_STORE, STREAM_STORE};
use oxikit_sql::SqliteStore;

use super::{folder, open};

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
