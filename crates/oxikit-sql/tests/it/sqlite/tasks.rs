//! Tasks.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use oxikit_core::ports::contract::{self, TASK_STORE};
use oxikit_core::ports::{LocalNotifier, Notifier, TaskStore, Topic};
use oxikit_sql::{SqliteOptions, SqliteStore};
use rusqlite::Connection;

use super::{file, folder, open, options};
use crate::tasks::{
    a_reader_hears_of_events_of_another_process, a_task_of_500_bytes_can_still_end, chunk, new,
    scope, two_processes_end_a_task_once, write,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tasks_keep_every_promise_alone() {
    let (folder, next) = (folder(), AtomicU32::new(0));
    let make = async || {
        let number = next.fetch_add(1, Ordering::Relaxed);
        SqliteStore::open(folder.path().join(format!("{number}.db"))).unwrap().tasks()
    };
    contract::each("sqlite", TASK_STORE, make).await;
}

/// In one file, and without more than one thread of the caller's.
#[tokio::test]
async fn all_promises_of_tasks_hold_on_one_thread() {
    let folder = folder();
    contract::task_store(open(&folder).tasks()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tasks_are_like_the_model() {
    let folder = folder();
    contract::task_store_model(open(&folder).tasks(), 10..25).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_handles_share_their_tasks() {
    let folder = folder();
    let handles = || [open(&folder).tasks(), open(&folder).tasks()];
    two_processes_end_a_task_once(handles()).await;
    a_reader_hears_of_events_of_another_process(handles()).await;
}

#[tokio::test]
async fn a_task_is_limited_in_bytes() {
    let folder = folder();
    let options = options(|options| options.max_task_bytes = 500);
    let store = SqliteStore::open_with(file(&folder), options).unwrap();
    a_task_of_500_bytes_can_still_end(store.tasks()).await;
}

#[tokio::test]
async fn a_task_goes_on_after_a_restart() {
    let folder = folder();
    let store = open(&folder).tasks();
    store.create(new("task")).await.unwrap();
    store.append("task", write(1, vec![chunk("a")])).await.unwrap();
    drop(store);
    let store = open(&folder).tasks();
    let repeated = store.append("task", write(1, vec![chunk("a")])).await.unwrap();
    assert_eq!(repeated.position, 2);
    assert_eq!(store.append("task", write(2, vec![chunk("b")])).await.unwrap().position, 3);
    let page = store.read(&scope(), "task", 0, 10).await.unwrap();
    assert_eq!(page.events.len(), 3);
    assert_eq!(page.head.runner.as_deref(), Some("runner"));
}

#[tokio::test]
async fn tasks_are_published_with_the_notifier_that_is_given() {
    let folder = folder();
    let notifier = Arc::new(LocalNotifier::default());
    let options = SqliteOptions::default().with_notifier(notifier.clone());
    let store = SqliteStore::open_with(file(&folder), options).unwrap();
    let mut subscription = notifier.subscribe(Topic::of(&["task", "task"]));
    TaskStore::create(&store, new("task")).await.unwrap();
    subscription.next().await;
}

/// Rows that were written, and the bytes of their texts.
fn written(connection: &Connection) -> (i64, i64) {
    let row = connection
        .query_row("SELECT rows, bytes FROM written", [], |row| Ok((row.get(0)?, row.get(1)?)));
    row.unwrap()
}

/// Counts every row that is written for tasks from now on.
fn count_rows(connection: &Connection) {
    let mut sql = "CREATE TABLE written (rows INTEGER, bytes INTEGER);
        INSERT INTO written VALUES (0, 0);"
        .to_owned();
    for (table, event, text) in [
        ("task_events", "INSERT", "json"),
        ("task_events", "UPDATE", "json"),
        ("tasks", "UPDATE", "last_write"),
        ("task_pushes", "UPDATE", "json"),
        ("task_metadata", "UPDATE", "json"),
    ] {
        sql += &format!(
            "CREATE TRIGGER count_{table}_{event} AFTER {event} ON {table} BEGIN
                 UPDATE written SET rows = rows + 1, bytes = bytes + length(NEW.{text});
             END;"
        );
    }
    connection.execute_batch(&sql).unwrap();
}

/// A chunk costs one insert and one update of a short row, at every length of the task.
#[tokio::test]
async fn sixteen_thousand_chunks_cost_four_times_what_four_thousand_do() {
    let folder = folder();
    let store = open(&folder).tasks();
    let connection = Connection::open(file(&folder)).unwrap();
    count_rows(&connection);
    store.create(new("task")).await.unwrap();
    let mut seen = vec![written(&connection)];
    for number in 1..=16_000 {
        store.append("task", write(number, vec![chunk("a word")])).await.unwrap();
        if number % 4000 == 0 {
            seen.push(written(&connection));
        }
    }
    let rows: Vec<i64> = seen.windows(2).map(|pair| pair[1].0 - pair[0].0).collect();
    assert_eq!(rows, [8000; 4], "an insert and an update each");
    let bytes: Vec<i64> = seen.windows(2).map(|pair| (pair[1].1 - pair[0].1) / 4000).collect();
    assert!(bytes.iter().all(|bytes| *bytes < 300), "bytes a chunk: {bytes:?}");
    // Only the numbers in the row get longer.
    assert!(bytes[3] <= bytes[0] + 4, "the same at every length: {bytes:?}");
}
