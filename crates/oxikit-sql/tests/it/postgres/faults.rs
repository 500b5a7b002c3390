//! A database that hangs or crashes, and answers that are lost.

use std::time::{Duration, Instant};

use oxikit_core::ports::{
    Notification, Owner, SessionStore, SnapshotWrite, StoreError, StreamScope, StreamStore, Topic,
};
use oxikit_core::{Payload, Status};
use oxikit_sql::{PostgresOptions, PostgresStore};
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use super::private::PrivateServer;
use super::proxy::Proxy;
use super::server::{schema, store, store_in, url};
use super::turns::{LONG, after, texts, turn, wait_for_lease};

/// Sends one request after another until `until`. Returns when each was sent, how long it took,
/// and its result.
async fn send_requests(store: PostgresStore, name: String, until: Instant) -> Vec<Answer> {
    let owner = Owner::nobody();
    let mut answers = Vec::new();
    let mut round = 0;
    while Instant::now() < until {
        let sent = Instant::now();
        round += 1;
        let session = format!("{name}-{round}");
        let result = match round % 5 {
            0 => store.lease(&owner, &session, LONG).await.map(drop),
            1 => store.latest(&owner, &session).await.map(drop),
            2 => {
                let write = SnapshotWrite::new(&owner, "helper", &session, &session);
                store.save(write, &|_| Ok(Some(after(None, "hello")))).await.map(drop)
            }
            3 => {
                let scope = StreamScope::new(owner.clone(), "/flow/x");
                StreamStore::open(&store, &scope, &session).await
            }
            _ => store.list(&owner, &Default::default()).await.map(drop),
        };
        answers.push(Answer { sent, took: sent.elapsed(), result });
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    answers
}

struct Answer {
    sent: Instant,
    took: Duration,
    result: Result<(), StoreError>,
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frozen_database_is_unavailable_and_then_at_once_as_before() {
    let Some(mut server) = PrivateServer::start() else { return };
    let options = PostgresOptions::default().with_max_connections(4);
    let store = PostgresStore::connect_with(&server.url, options).await.unwrap();
    const FROZEN: Duration = Duration::from_secs(11);
    const AFTER: Duration = Duration::from_secs(5);
    let until = Instant::now() + Duration::from_secs(1) + FROZEN + AFTER;
    let clients = (0..8).map(|client| {
        tokio::spawn(send_requests(store.clone(), format!("client-{client}"), until))
    });
    let clients: Vec<_> = clients.collect();
    tokio::time::sleep(Duration::from_secs(1)).await;
    tokio::task::block_in_place(|| server.order("freeze"));
    tokio::time::sleep(FROZEN).await;
    let thawed = Instant::now();
    tokio::task::block_in_place(|| server.order("thaw"));
    let mut failures = 0;
    for client in clients {
        for Answer { sent, took, result } in client.await.unwrap() {
            assert!(took < Duration::from_secs(5), "answered after {took:?}: {result:?}");
            if let Err(error) = result {
                assert!(matches!(error, StoreError::Unavailable(_)), "{error}");
                failures += 1;
                let late = sent.saturating_duration_since(thawed);
                assert!(late < Duration::from_secs(2), "failed {late:?} after its return");
            }
        }
    }
    assert!(failures >= 8, "everybody has noticed: {failures}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_falls_loses_nothing_and_is_found_again() {
    let Some(mut server) = PrivateServer::start() else { return };
    let store = store(&server.url).await;
    let mut subscription = store.notifier().subscribe(Topic::of(&["any"]));
    let mut acknowledged = Vec::new();
    for round in 0..3 {
        for number in 0..5 {
            let id = format!("{round}-{number}");
            turn(&store, &id).await.unwrap();
            acknowledged.push(id);
        }
        let lease = wait_for_lease(&store).await.unwrap();
        tokio::task::block_in_place(|| server.order("crash"));
        let error = store.latest(&Owner::nobody(), "session").await.unwrap_err();
        assert!(matches!(error, StoreError::Unavailable(_)), "{error}");
        tokio::task::block_in_place(|| server.order("start"));
        let back = Instant::now();
        while store.renew(&Owner::nobody(), &lease).await.is_err() {
            assert!(back.elapsed() < Duration::from_secs(2), "the lease is as it was");
        }
        store.release(&Owner::nobody(), lease).await.unwrap();
    }
    assert_eq!(texts(&store).await, acknowledged);
    assert_eq!(subscription.next().await, Notification::Lagged, "some may have been lost");
}

/// Repeats a request until the database answers.
async fn insist<T>(mut request: impl AsyncFnMut() -> Result<T, StoreError>) -> T {
    loop {
        match request().await {
            Ok(answer) => return answer,
            Err(error) => assert!(matches!(error, StoreError::Unavailable(_)), "{error}"),
        }
    }
}

/// A turn whose requests are repeated until they are answered; a snapshot that is stored already
/// is left as it is.
async fn insistent_turn(store: &PostgresStore, id: &str) {
    let owner = Owner::nobody();
    let lease = insist(async || wait_for_lease(store).await).await;
    let latest = insist(async || store.latest(&owner, "session").await).await;
    let snapshot = after(latest.as_ref(), id);
    let write = SnapshotWrite {
        lease: Some(&lease),
        releases: true,
        ..SnapshotWrite::new(&owner, "helper", "session", id)
    };
    let once = |row: Option<&_>| Ok(row.is_none().then(|| snapshot.clone()));
    insist(async || store.save(write, &once).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_whose_answer_was_lost_counts_once() {
    let Some(url) = url() else { return };
    let proxy = Proxy::start(&url).await;
    let store = store_in(&proxy.url, &schema()).await;
    let mut lost = 0;
    let ids: Vec<_> = (0..60).map(|number| format!("turn-{number}")).collect();
    for id in &ids {
        proxy.lose_answer(fastrand::i64(0..8));
        let start = Instant::now();
        insistent_turn(&store, id).await;
        assert!(
            start.elapsed() < Duration::from_secs(10),
            "a process does not wait for its own lease"
        );
        lost += u32::from(proxy.has_lost());
    }
    assert!(lost > 20, "answers were lost: {lost}");
    assert_eq!(texts(&store).await, ids);
}

#[tokio::test(flavor = "multi_thread")]
async fn chunks_whose_answer_was_lost_count_once() {
    let Some(url) = url() else { return };
    let proxy = Proxy::start(&url).await;
    let store = store_in(&proxy.url, &schema()).await;
    let scope = StreamScope::new(Owner::nobody(), "/flow/x");
    StreamStore::open(&store, &scope, "stream").await.unwrap();
    let mut lost = 0;
    for position in 0..60 {
        proxy.lose_answer(fastrand::i64(0..3));
        let chunk = || vec![Payload::of(position)];
        while let Err(error) = store.append("stream", position, chunk()).await {
            assert!(matches!(error, StoreError::Unavailable(_)), "{error}");
        }
        lost += u32::from(proxy.has_lost());
    }
    assert!(lost > 20, "answers were lost: {lost}");
    let page = store.read(&scope, "stream", 0, 100).await.unwrap();
    assert_eq!(page.events.len(), 60);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schema_of_another_version_is_refused_by_name() {
    let Some(url) = url() else { return };
    for change in [
        // As an unreleased version has left it, and as a newer one would.
        "UPDATE {schema}.migrations SET checksum = 'other'",
        "INSERT INTO {schema}.migrations (version, description, success, checksum, execution_time)
         VALUES (2, 'more tables', true, 'other', 1)",
    ] {
        let schema = schema();
        drop(store_in(&url, &schema).await);
        let mut connection = PgConnection::connect(&url).await.unwrap();
        let change = AssertSqlSafe(change.replace("{schema}", &schema));
        sqlx::query(change).execute(&mut connection).await.unwrap();
        let options = PostgresOptions::default().with_schema(&schema);
        let error = PostgresStore::connect_with(&url, options).await.unwrap_err();
        assert!(matches!(error, StoreError::Invalid(_)), "{error:?}");
        assert!(error.to_string().contains("name another schema"), "{error}");
    }
}

#[tokio::test]
async fn a_failure_says_nothing_about_the_database() {
    let url = "postgres://planted-user:planted-password@127.0.0.1:1/planted-name";
    let error = PostgresStore::connect(url).await.unwrap_err();
    let shown = error.to_string();
    let outgoing = Status::from(error).outgoing().message;
    for text in [shown, outgoing] {
        for secret in ["planted", "127.0.0.1", "SELECT", "sqlx", "postgres"] {
            assert!(!text.contains(secret), "{text}");
        }
    }
    for url in ["", "no address", "postgres://planted-password@[::1", "mysql://planted/x"] {
        let error = PostgresStore::connect(url).await.unwrap_err();
        assert!(!error.to_string().contains("planted"), "{error}");
    }
}
