//! The contract of the ports, as every store has to keep it.

use std::sync::Arc;
use std::time::Duration;

use oxikit_core::ports::contract::{self, NOTIFIER, SESSION_STORE, STREAM_STORE};
use oxikit_core::ports::{
    LocalNotifier, Notifier, Owner, Retention, SessionStore, SnapshotWrite, StreamScope,
    StreamStore, Term, Topic,
};
use oxikit_sql::{PostgresOptions, PostgresStore};
use oxikit_wire::SessionSnapshot;

use super::server::{schema, store, store_in, url};
use crate::model::two_handles_are_like_memory;

#[tokio::test(flavor = "multi_thread")]
async fn sessions_keep_the_contract() {
    let Some(url) = url() else { return };
    let store = Arc::new(store(&url).await);
    contract::each("postgres", SESSION_STORE, async || store.clone() as _).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_keep_the_contract() {
    let Some(url) = url() else { return };
    let store = Arc::new(store(&url).await);
    contract::each("postgres", STREAM_STORE, async || store.clone() as _).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn notifications_keep_the_contract() {
    let Some(url) = url() else { return };
    let schema = schema();
    let (one, other) = (store_in(&url, &schema).await, store_in(&url, &schema).await);
    contract::each("postgres", NOTIFIER, async || one.notifier()).await;
    contract::connected_notifiers(one.notifier(), other.notifier()).await;
}

/// With a notifier that reaches only its own process, others find changes by looking.
#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_is_given_a_notifier_keeps_the_contract() {
    let Some(url) = url() else { return };
    let notifier = Arc::new(LocalNotifier::default());
    let options = PostgresOptions::default().with_schema(schema()).with_notifier(notifier.clone());
    let store = Arc::new(PostgresStore::connect_with(&url, options).await.unwrap());
    contract::session_store(store.clone()).await;
    contract::stream_store(store.clone()).await;
    let scope = StreamScope::new(Owner::nobody(), "/flow/x");
    StreamStore::open(&*store, &scope, "stream").await.unwrap();
    let mut subscription = notifier.subscribe(Topic::of(&["stream", "stream"]));
    store.append("stream", 0, vec![oxikit_core::Payload::of("x")]).await.unwrap();
    subscription.next().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_are_pruned_in_the_background() {
    let Some(url) = url() else { return };
    for is_restarted in [false, true] {
        let schema = schema();
        let open = async |retention| {
            let options = PostgresOptions::default().with_schema(&schema).with_retention(retention);
            Arc::new(PostgresStore::connect_with(&url, options).await.unwrap()) as _
        };
        match is_restarted {
            false => contract::retention_in_background(open).await,
            true => contract::retention_after_restart(open).await,
        }
    }
}

/// More than are looked for at once: the prune must come to an end, and past them.
#[tokio::test(flavor = "multi_thread")]
async fn many_sessions_in_use_do_not_stop_a_prune() {
    let Some(url) = url() else { return };
    let (store, owner) = (store(&url).await, Owner::nobody());
    let term = Term::of(Duration::from_secs(60));
    for number in 0..210 {
        let id = format!("session {number}");
        if number < 205 {
            store.lease(&owner, &id, term).await.unwrap();
        }
        let write = SnapshotWrite::new(&owner, "helper", &id, &id);
        store.save(write, &|_| Ok(Some(SessionSnapshot::default()))).await.unwrap();
    }
    let zero = Retention::default();
    for retention in [
        Retention { max_bytes: Some(0), ..zero },
        Retention { max_age: Some(Duration::ZERO), ..zero },
    ] {
        let pruned = store.prune(&retention);
        let pruned = tokio::time::timeout(Duration::from_secs(60), pruned).await;
        let expected = if retention.max_bytes.is_some() { 5 } else { 0 };
        assert_eq!(pruned.expect("it ends").unwrap().sessions, expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_stores_of_one_schema_are_like_memory() {
    let Some(url) = url() else { return };
    let open = async || {
        let schema = schema();
        let mut small = PostgresOptions::default().with_schema(&schema);
        // So small that one of the handles forgets nearly everything.
        small.cache_bytes = 20_000;
        let other = PostgresStore::connect_with(&url, small).await.unwrap();
        [Arc::new(store_in(&url, &schema).await) as _, Arc::new(other) as _]
    };
    two_handles_are_like_memory(4, open).await;
}
