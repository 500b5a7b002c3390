//! What a turn costs: a lease, the latest snapshot, and the next one written.
//!
//! `cargo run --release -p oxikit-sql --example turn_cost -- [folder] [sessions]`
//! prints the processor time of a turn at the start and after 1,000 turns, the
//! bytes that reach the files, and how long lists of many sessions take. The folder
//! should be on a real disk; it is removed.

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a program that measures")]

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use oxikit_core::ports::{Owner, SessionQuery, SessionStore, SnapshotWrite, StoredSnapshot, Term};
use oxikit_sql::SqliteStore;
use oxikit_wire::{Message, SessionSnapshot, SessionState, SnapshotStatus};

/// So many conversations go on one after another.
const SESSIONS: usize = 8;
/// Turns that a figure is the mean of, for each session.
const WINDOW: usize = 50;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().map_or_else(std::env::temp_dir, PathBuf::from);
    let folder = folder.join(format!("oxikit-turn-cost-{}", std::process::id()));
    let sessions: usize = arguments.next().map_or(1000, |count| count.parse().unwrap());
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build();
    runtime.unwrap().block_on(async {
        let store = SqliteStore::open(folder.join("app.db")).unwrap();
        turns(&store).await;
        lists(&store, sessions).await;
    });
    std::fs::remove_dir_all(folder).unwrap();
}

async fn turns(store: &SqliteStore) {
    println!("turn   µs CPU   µs passed   bytes of the files a turn");
    let mut done = 0;
    for from in [0, 10, 100, 300, 1000] {
        while done < from {
            for session in 0..SESSIONS {
                turn(store, session, done).await;
            }
            done += 1;
        }
        let (cpu, bytes, start) = (cpu_time(), written(), Instant::now());
        for _ in 0..WINDOW {
            for session in 0..SESSIONS {
                turn(store, session, done).await;
            }
            done += 1;
        }
        let count = (WINDOW * SESSIONS) as u128;
        let cpu = (cpu_time() - cpu).as_micros() / count;
        let passed = start.elapsed().as_micros() / count;
        let bytes = (written() - bytes) / count as u64;
        println!("{from:>4}   {cpu:>6}   {passed:>9}   {bytes:>9}");
    }
}

async fn turn(store: &SqliteStore, session: usize, turn: usize) {
    let owner = Owner::nobody();
    let session = format!("session-{session}");
    let lease = store.lease(&owner, &session, Term::of(Duration::from_secs(30))).await.unwrap();
    let latest = store.latest(&owner, &session).await.unwrap();
    let id = format!("{session}-{turn:08}-6c1d2b3a4f5e6d7c");
    let write = SnapshotWrite {
        lease: Some(&lease),
        releases: true,
        ..SnapshotWrite::new(&owner, "helper", &session, &id)
    };
    store.save(write, &|_| Ok(Some(next(latest.as_ref(), turn)))).await.unwrap();
}

/// The snapshot with a question and an answer more.
fn next(latest: Option<&StoredSnapshot>, turn: usize) -> SessionSnapshot {
    let snapshot = latest.map(|latest| &latest.snapshot);
    let state = snapshot.and_then(|snapshot| snapshot.state.as_ref());
    let mut messages = state.and_then(|state| state.messages.clone()).unwrap_or_default();
    messages.push(Arc::new(Message::user(format!("question {turn}: {}", "word ".repeat(20)))));
    messages.push(Arc::new(Message::model(format!("answer {turn}: {}", "word ".repeat(60)))));
    SessionSnapshot {
        parent_id: snapshot.map(|snapshot| snapshot.snapshot_id.clone()),
        created_at: format!("2026-11-15T06:32:00.{turn:06}Z"),
        status: Some(SnapshotStatus::Completed),
        state: Some(SessionState { messages: Some(messages), ..SessionState::default() }),
        ..SessionSnapshot::default()
    }
}

async fn lists(store: &SqliteStore, sessions: usize) {
    let owner = Owner::principal("lister");
    let mut made = 0;
    println!("sessions   first page   deep page   active ones (µs)");
    for count in [1_000, 10_000, 100_000, 1_000_000].into_iter().filter(|count| *count <= sessions)
    {
        while made < count {
            let writes = (made..made + 250).map(|number| fill(store, &owner, number));
            futures_util::future::join_all(writes).await;
            made += 250;
        }
        let first = SessionQuery { agent: Some("helper".into()), ..SessionQuery::default() };
        let mut deep = first.clone();
        for _ in 0..(count / 1000 / 2).max(5) {
            let query = SessionQuery { limit: 1000, ..deep.clone() };
            let next = store.list(&owner, &query).await.unwrap().next;
            deep.after = next.or(deep.after);
        }
        let active = SessionQuery { is_active: Some(true), ..first.clone() };
        let mut figures = Vec::new();
        for query in [first, deep, active] {
            let mut times = Vec::new();
            for _ in 0..50 {
                let start = Instant::now();
                store.list(&owner, &query).await.unwrap();
                times.push(start.elapsed().as_micros());
            }
            times.sort_unstable();
            figures.push(times[25]);
        }
        println!("{count:>8}   {:>10}   {:>9}   {:>11}", figures[0], figures[1], figures[2]);
    }
}

async fn fill(store: &SqliteStore, owner: &Owner, number: usize) {
    let (session, id) = (format!("list-{number}"), format!("list-{number}-a"));
    let write = SnapshotWrite::new(owner, "helper", &session, &id);
    let mut snapshot = next(None, number);
    if number.is_multiple_of(500) {
        snapshot.status = Some(SnapshotStatus::Pending);
    }
    store.save(write, &|_| Ok(Some(snapshot.clone()))).await.unwrap();
}

/// Processor time of the whole process, in steps of a hundredth of a second.
fn cpu_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<_> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
    Duration::from_millis(ticks * 10)
}

/// Bytes that this process has handed to the file system.
fn written() -> u64 {
    let io = std::fs::read_to_string("/proc/self/io").unwrap();
    let line = io.lines().find_map(|line| line.strip_prefix("wchar: "));
    line.and_then(|count| count.parse().ok()).unwrap_or_default()
}
