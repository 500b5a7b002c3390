//! Several processes with one database, and their sudden ends.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use oxikit_core::ports::{
    Owner, SessionStore, SnapshotWrite, StoreError, StreamScope, StreamStore,
};
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use super::child;
use super::server::{schema, store_in, url};
use super::turns::{LONG, after, texts, turn, wait_for_lease};

#[tokio::test(flavor = "multi_thread")]
async fn sixteen_writers_in_two_processes_lose_and_mix_nothing() {
    let Some(url) = url() else { return };
    let schema = schema();
    let mut players = ["one", "two"].map(|name| child::start(name, &url, &schema));
    for player in &mut players {
        assert_eq!(player.hear().as_deref(), Some("done"));
    }
    let store = store_in(&url, &schema).await;
    let said = texts(&store).await;
    let different: HashSet<_> = said.iter().collect();
    assert_eq!((said.len(), different.len()), (160, 160), "every turn once");
    let tree = store.tree(&Owner::nobody(), "session").await.unwrap();
    let parents: Vec<_> = tree.iter().skip(1).map(|node| node.parent.clone().unwrap()).collect();
    let order: Vec<_> = tree.iter().take(159).map(|node| node.snapshot.clone()).collect();
    assert_eq!(parents, order, "one chain: no turn went on from an old snapshot");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_process_holds_no_lease_and_its_work_is_found() {
    let Some(url) = url() else { return };
    let schema = schema();
    let store = store_in(&url, &schema).await;
    let mut player = child::start("hold", &url, &schema);
    assert_eq!(player.hear().as_deref(), Some("held"));
    let refused = store.lease(&Owner::nobody(), "session", LONG).await;
    assert!(matches!(refused, Err(StoreError::Conflict(_))), "its holder lives: {refused:?}");
    assert_eq!(store.stalled("helper", 10).await.unwrap(), []);
    player.kill();
    let start = Instant::now();
    while store.stalled("helper", 10).await.unwrap().is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    wait_for_lease(&store).await.unwrap();
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn all_leases_of_a_store_that_is_gone_are_free_at_the_same_time() {
    let Some(url) = url() else { return };
    let (schema, owner) = (schema(), Owner::nobody());
    let (gone, store) = (store_in(&url, &schema).await, store_in(&url, &schema).await);
    let sessions: Vec<_> = (0..64).map(|number| format!("session {number}")).collect();
    for session in sessions.iter().map(String::as_str).chain(["session"]) {
        gone.lease(&owner, session, LONG).await.unwrap();
    }
    drop(gone);
    wait_for_lease(&store).await.unwrap();
    let leases = sessions.iter().map(|session| store.lease(&owner, session, LONG));
    let leases = futures_util::future::join_all(leases).await;
    let refused: Vec<_> = leases.iter().filter(|lease| lease.is_err()).collect();
    assert!(refused.is_empty(), "{} of {}", refused.len(), leases.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frozen_holder_is_fenced_when_it_wakes() {
    let Some(url) = url() else { return };
    let schema = schema();
    let store = store_in(&url, &schema).await;
    let mut player = child::start("freeze", &url, &schema);
    assert_eq!(player.hear().as_deref(), Some("held"));
    player.signal("-STOP");
    let lease = wait_for_lease(&store).await.unwrap();
    let owner = Owner::nobody();
    let write = SnapshotWrite {
        lease: Some(&lease),
        ..SnapshotWrite::new(&owner, "helper", "session", "taken")
    };
    store.save(write, &|_| Ok(Some(after(None, "taken")))).await.unwrap();
    player.signal("-CONT");
    assert_eq!(player.hear().as_deref(), Some("fenced"));
    assert_eq!(texts(&store).await, ["taken"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_acknowledged_outlives_a_kill() {
    let Some(url) = url() else { return };
    let schema = schema();
    let mut player = child::start("write", &url, &schema);
    let mut acknowledged: Vec<_> = (0..20).filter_map(|_| player.hear()).collect();
    player.kill();
    acknowledged.extend(std::iter::from_fn(|| player.hear()));
    assert!(acknowledged.len() >= 20);
    let store = store_in(&url, &schema).await;
    turn(&store, "after").await.unwrap();
    let said = texts(&store).await;
    let missing: Vec<_> = acknowledged.iter().filter(|id| !said.contains(id)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn stores_that_make_the_tables_at_once_all_succeed() {
    let Some(url) = url() else { return };
    let schema = schema();
    let stores = futures_util::future::join_all((0..4).map(|_| store_in(&url, &schema))).await;
    for (number, store) in stores.iter().enumerate() {
        turn(store, &number.to_string()).await.unwrap();
    }
    assert_eq!(texts(&stores[0]).await.len(), 4);
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_of_another_store_are_notified_at_once() {
    let Some(url) = url() else { return };
    let schema = schema();
    let (writer, reader) = (store_in(&url, &schema).await, store_in(&url, &schema).await);
    let scope = StreamScope::new(Owner::nobody(), "/flow/x");
    writer.open(&scope, "stream").await.unwrap();
    let mut delays = Vec::new();
    for position in 0..5 {
        let notified = async {
            reader.wait(&scope, "stream", position).await.unwrap();
            Instant::now()
        };
        let written = async {
            tokio::time::sleep(Duration::from_millis(100)).await;
            let chunk = vec![oxikit_core::Payload::of("x")];
            writer.append("stream", position, chunk).await.unwrap();
            Instant::now()
        };
        let (notified, written) = futures_util::future::join(notified, written).await;
        delays.push(notified.saturating_duration_since(written));
    }
    delays.sort();
    // By a notification, not by the look at the rows every 750 ms.
    assert!(delays[2] < Duration::from_millis(500), "{delays:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_that_another_process_takes_is_lost_within_a_second() {
    let Some(url) = url() else { return };
    let (schema, owner) = (schema(), Owner::nobody());
    let store = store_in(&url, &schema).await;
    let lease = store.lease(&owner, "session", LONG).await.unwrap();
    let taken = async {
        let mut player = child::start("take over", &url, &schema);
        let play = move || (player.hear().expect("it has taken the lease"), player);
        let (_, player) = tokio::task::spawn_blocking(play).await.unwrap();
        (Instant::now(), player)
    };
    let notified = async {
        store.lease_lost(&owner, &lease).await.unwrap();
        Instant::now()
    };
    let ((taken, _player), notified) = futures_util::future::join(taken, notified).await;
    let delay = notified.saturating_duration_since(taken);
    println!("notified after {delay:?}");
    assert!(delay < Duration::from_secs(1), "{delay:?}");
}

/// As if the writer had been killed between its commit and its notification.
#[tokio::test(flavor = "multi_thread")]
async fn changes_that_nobody_announces_are_found_within_two_seconds() {
    let Some(url) = url() else { return };
    let schema = schema();
    let store = store_in(&url, &schema).await;
    let owner = Owner::nobody();
    let scope = StreamScope::new(owner.clone(), "/flow/x");
    StreamStore::open(&store, &scope, "stream").await.unwrap();
    let revision = turn(&store, "snapshot").await.unwrap().unwrap();
    let notified = async {
        let stream = async {
            store.wait(&scope, "stream", 0).await.unwrap();
            Instant::now()
        };
        let snapshot = async {
            store.changed(&owner, "snapshot", revision).await.unwrap();
            Instant::now()
        };
        futures_util::future::join(stream, snapshot).await
    };
    let written = async {
        tokio::time::sleep(Duration::from_millis(200)).await;
        let mut connection = PgConnection::connect(&url).await.unwrap();
        for change in ["streams SET position = 1", "snapshots SET revision = revision + 1"] {
            let change = AssertSqlSafe(format!("UPDATE {schema}.{change}"));
            sqlx::query(change).execute(&mut connection).await.unwrap();
        }
        Instant::now()
    };
    let ((stream, snapshot), written) = futures_util::future::join(notified, written).await;
    for notified in [stream, snapshot] {
        let delay = notified.saturating_duration_since(written);
        assert!(delay < Duration::from_secs(2), "{delay:?}");
    }
}
