//! Several processes with one file, and their sudden ends.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use oxikit_core::ports::{Owner, SessionStore, SnapshotWrite, Term};
use oxikit_sql::SqliteStore;

use super::child;
use super::{LONG, after, file, folder, open, said, turn, wait_for_lease};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_of_eight_writers_lose_and_mix_nothing() {
    let folder = folder();
    let mut players = ["one", "two"].map(|name| child::start(name, &file(&folder)));
    for player in &mut players {
        assert_eq!(player.hear().as_deref(), Some("done"));
    }
    let store = open(&folder);
    let said = said(&store, "session").await;
    let different: HashSet<_> = said.iter().collect();
    assert_eq!((said.len(), different.len()), (160, 160), "every turn once");
    let tree = store.tree(&Owner::nobody(), "session").await.unwrap();
    let parents: Vec<_> = tree.iter().skip(1).map(|node| node.parent.clone().unwrap()).collect();
    let order: Vec<_> = tree.iter().take(159).map(|node| node.snapshot.clone()).collect();
    assert_eq!(parents, order, "one chain: no turn went on from an old snapshot");
}

#[tokio::test]
async fn a_lease_is_free_as_soon_as_its_process_is_killed() {
    let folder = folder();
    let store = open(&folder);
    let mut player = child::start("hold", &file(&folder));
    assert_eq!(player.hear().as_deref(), Some("held"));
    let refused = store.lease(&Owner::nobody(), "session", LONG).await;
    assert!(refused.is_err(), "its holder lives");
    player.kill();
    let start = Instant::now();
    wait_for_lease(&store, "session").await.unwrap();
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
}

#[tokio::test]
async fn a_store_that_was_closed_holds_no_lease() {
    let folder = folder();
    let closed = open(&folder);
    closed.lease(&Owner::nobody(), "session", LONG).await.unwrap();
    drop(closed);
    open(&folder).lease(&Owner::nobody(), "session", LONG).await.unwrap();
    let left = std::fs::read_dir(folder.path()).unwrap().filter_map(Result::ok);
    let alive = left.filter(|file| file.file_name().to_string_lossy().contains("-alive-"));
    assert_eq!(alive.count(), 0, "the files that say who lives are removed");
}

#[tokio::test]
async fn a_frozen_holder_is_fenced_when_it_wakes() {
    let folder = folder();
    let store = open(&folder);
    let mut player = child::start("freeze", &file(&folder));
    assert_eq!(player.hear().as_deref(), Some("held"));
    player.signal("-STOP");
    let lease = wait_for_lease(&store, "session").await.unwrap();
    let owner = Owner::nobody();
    let write = SnapshotWrite {
        lease: Some(&lease),
        ..SnapshotWrite::new(&owner, "helper", "session", "taken")
    };
    store.save(write, &|_| Ok(Some(after(None, "taken")))).await.unwrap();
    player.signal("-CONT");
    assert_eq!(player.hear().as_deref(), Some("fenced"));
    assert_eq!(said(&store, "session").await, ["taken"]);
}

#[tokio::test]
async fn a_change_of_another_process_is_noticed_in_time() {
    let folder = folder();
    let store = open(&folder);
    let owner = Owner::nobody();
    let waiter = store.changed(&owner, "waited-for", 0);
    let writer = async {
        let file = file(&folder);
        tokio::task::spawn_blocking(move || child::start("change", &file).hear()).await.unwrap();
        Instant::now()
    };
    let notified = async {
        waiter.await.unwrap();
        Instant::now()
    };
    let limit = Duration::from_secs(20);
    let both = futures_util::future::join(writer, notified);
    let (written, notified) = tokio::time::timeout(limit, both).await.unwrap();
    let delay = notified.saturating_duration_since(written);
    assert!(delay < Duration::from_secs(2), "{delay:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_that_another_process_takes_is_lost_within_a_second() {
    let folder = folder();
    let (store, owner) = (open(&folder), Owner::nobody());
    let term = Term::of(Duration::from_secs(60));
    let lease = store.lease(&owner, "session", term).await.unwrap();
    let taken = async {
        let file = file(&folder);
        let play = move || child::start("take over", &file).hear();
        tokio::task::spawn_blocking(play).await.unwrap().expect("it has taken the lease");
        Instant::now()
    };
    let notified = async {
        store.lease_lost(&owner, &lease).await.unwrap();
        Instant::now()
    };
    let (taken, notified) = futures_util::future::join(taken, notified).await;
    let delay = notified.saturating_duration_since(taken);
    println!("notified after {delay:?}");
    assert!(delay < Duration::from_secs(1), "{delay:?}");
}

/// The writes that a killed writer had acknowledged, and those of them that are missing.
async fn missing_after_kill(role: &str) -> (usize, Vec<String>) {
    let folder = folder();
    let mut player = child::start(role, &file(&folder));
    let mut acknowledged: Vec<_> = (0..20).filter_map(|_| player.hear()).collect();
    player.kill();
    acknowledged.extend(std::iter::from_fn(|| player.hear()));
    let start = Instant::now();
    let store = open(&folder);
    assert!(start.elapsed() < Duration::from_secs(1), "it opens at once");
    let mut missing = Vec::new();
    for id in &acknowledged {
        if store.get(&Owner::nobody(), id).await.unwrap().is_none() {
            missing.push(id.clone());
        }
    }
    // The process of the lease's holder has ended, so the next turn can take the lease.
    turn(&store, "session", "after").await.unwrap();
    (acknowledged.len(), missing)
}

#[tokio::test]
async fn what_was_acknowledged_outlives_a_kill() {
    let (acknowledged, missing) = missing_after_kill("write").await;
    assert!(acknowledged >= 20);
    assert!(missing.is_empty(), "{missing:?}");
}

#[tokio::test]
async fn the_check_above_finds_a_store_that_answers_too_early() {
    for _ in 0..20 {
        if !missing_after_kill("write-too-early").await.1.is_empty() {
            return;
        }
    }
    panic!("the planted fault was not found");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stores_that_open_a_new_file_at_once_all_succeed() {
    // Often, as each finds the file in another state.
    for _ in 0..20 {
        let folder = folder();
        let opened = (0..8).map(|_| {
            let file = file(&folder);
            tokio::task::spawn_blocking(move || SqliteStore::open(file).unwrap())
        });
        let opened = futures_util::future::join_all(opened).await;
        for (number, store) in opened.into_iter().enumerate() {
            turn(&store.unwrap(), "session", &number.to_string()).await.unwrap();
        }
        assert_eq!(said(&open(&folder), "session").await.len(), 8);
    }
}

#[tokio::test]
async fn time_is_measured_by_whoever_wants_the_lease() {
    let folder = folder();
    let (holder, contender) = (open(&folder), open(&folder));
    let owner = Owner::nobody();
    let term = Term::of(Duration::from_millis(400));
    let lease = holder.lease(&owner, "session", term).await.unwrap();
    tokio::time::sleep(Duration::from_millis(500)).await;
    let first = contender.lease(&owner, "session", LONG).await;
    assert!(first.is_err(), "it has not been watched yet");
    tokio::time::sleep(Duration::from_millis(200)).await;
    holder.renew(&owner, &lease).await.unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    let second = contender.lease(&owner, "session", LONG).await;
    assert!(second.is_err(), "it was renewed meanwhile");
    tokio::time::sleep(Duration::from_millis(450)).await;
    contender.lease(&owner, "session", LONG).await.unwrap();
    assert!(holder.renew(&owner, &lease).await.is_err(), "the holder has lost it");
}
