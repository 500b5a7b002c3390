//! Readers that do not read, are slow, or vanish, of an agent that publishes without a pause.

use std::sync::Arc;
use std::time::Duration;

use oxikit_core::ports::memory::MemoryTasks;
use serde_json::{Value, json};

use super::{App, FLOOD, LARGE, app, app_of, events};
use crate::a2a::kit::message;
#[cfg(target_os = "linux")]
use crate::hostile::resident_kilobytes;
use crate::kit::{Client, PATIENCE};

/// Position of the last event: the task, the chunks and the end.
const LAST: u64 = FLOOD as u64 + 2;
const LAST_LARGE: u64 = LARGE as u64 + 2;

/// A connection with a small buffer that has asked for the events of a task, and reads the head of
/// the answer only.
async fn stalled(app: &App, method: &str, params: &Value) -> Client {
    let client = Client::connect_narrow(app.address).await;
    let mut client = app.ask(client, method, params, "").await;
    assert_eq!(client.head().await.unwrap().status, 200);
    client
}

/// The number of the last whole event in the text of a stream, and how many there are.
fn last_event(text: &str) -> (u64, usize) {
    let whole = text.rsplit_once("\n\n").map_or("", |(whole, _)| whole);
    let numbers = whole.lines().filter_map(|line| line.strip_prefix("id: "));
    let numbers: Vec<u64> =
        numbers.map(|id| id.rsplit(':').next().unwrap().parse().unwrap()).collect();
    let first = numbers[0];
    assert!(numbers.iter().zip(first..).all(|(number, expected)| *number == expected));
    (*numbers.last().unwrap(), numbers.len())
}

#[tokio::test]
async fn a_reader_that_does_not_read_holds_up_neither_the_agent_nor_other_readers() {
    let app = app().await;
    let mut slow =
        stalled(&app, "SendStreamingMessage", &json!({ "message": message("flood") })).await;
    let first = String::from_utf8(slow.piece().await.unwrap()).unwrap();
    let id = first.lines().next().unwrap().strip_prefix("id: ").unwrap();
    let task = id.rsplit_once(':').unwrap().0.to_owned();
    // From the start, and to the end, while the first reader has read one event.
    let headers = format!("Last-Event-ID: {task}:0\r\n");
    let mut other = app.open("SubscribeToTask", &json!({ "id": task }), &headers).await;
    let events = events(&other.answer().await.unwrap());
    assert_eq!(events.len() as u64, LAST);
    assert!(events.iter().zip(1..).all(|((number, _), expected)| *number == expected));
    assert_eq!(app.state(&task).await, "TASK_STATE_COMPLETED");
    // The slow one has missed nothing.
    let text = rest(&mut slow, first).await;
    assert_eq!(last_event(&text), (LAST, LAST as usize));
}

#[tokio::test]
async fn a_reader_that_was_cut_off_because_it_did_not_read_comes_back_without_a_gap() {
    let limits = |limits: &mut oxikit_serve::Limits| {
        limits.stalled_reader_time = Duration::from_millis(100);
        limits.requests = 1;
    };
    let app = app_of(Arc::new(MemoryTasks::default()), limits).await;
    let task = app.send("large flood").await["id"].as_str().unwrap().to_owned();
    let params = json!({ "id": task });
    let resume = async |position: u64| {
        let headers = format!("Last-Event-ID: {task}:{position}\r\n");
        let client = Client::connect_narrow(app.address).await;
        let mut client = app.ask(client, "SubscribeToTask", &params, &headers).await;
        assert_eq!(client.head().await.unwrap().status, 200);
        client
    };
    let mut client = resume(0).await;
    // The one place is free when the server has closed the connection.
    free(&app, &task).await;
    let first = rest(&mut client, String::new()).await;
    let mut position = last_event(&first).0;
    assert!(position < LAST_LARGE, "the connection was closed before the end");
    while position < LAST_LARGE {
        let text = rest(&mut resume(position).await, String::new()).await;
        let (last, number) = last_event(&text);
        assert_eq!(last, position + number as u64, "no gap after {position}");
        position = last;
        free(&app, &task).await;
    }
}

/// Waits until the server takes requests again.
async fn free(app: &App, task: &str) {
    let free = async {
        loop {
            let mut again = app.open("GetTask", &json!({ "id": task }), "").await;
            if again.answer().await.unwrap().status == 200 {
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, free).await.expect("a place is free again");
}

/// Reads a stream to its end or until it breaks, behind this text.
async fn rest(client: &mut Client, mut text: String) -> String {
    while let Some(piece) = client.piece().await.filter(|piece| !piece.is_empty()) {
        text.push_str(str::from_utf8(&piece).unwrap());
    }
    text
}

/// Runs once more in a process of its own, where no other test takes memory.
#[cfg(target_os = "linux")]
#[tokio::test]
async fn readers_that_do_not_read_take_little_memory() {
    const ALONE: &str = "OXIKIT_SERVE_TEST_ALONE";
    const READERS: usize = 16;
    if std::env::var_os(ALONE).is_none() {
        let status = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "a2a::faults::readers::readers_that_do_not_read_take_little_memory"])
            .env(ALONE, "1")
            .status();
        assert!(status.unwrap().success());
        return;
    }
    let app = app().await;
    let task = app.send("large flood").await["id"].as_str().unwrap().to_owned();
    let headers = format!("Last-Event-ID: {task}:0\r\n");
    let params = json!({ "id": task });
    let read = async || {
        let mut reader = app.open("SubscribeToTask", &params, &headers).await;
        last_event(reader.answer().await.unwrap().text()).0
    };
    assert_eq!(read().await, LAST_LARGE);
    let before = resident_kilobytes();
    let mut readers = Vec::new();
    for _ in 0..READERS {
        let client = Client::connect_narrow(app.address).await;
        let mut client = app.ask(client, "SubscribeToTask", &params, &headers).await;
        assert_eq!(client.head().await.unwrap().status, 200);
        readers.push(client);
    }
    assert_eq!(read().await, LAST_LARGE, "others read on");
    // Each of them would take 10 MB if its events were kept for it.
    let grown = resident_kilobytes().saturating_sub(before);
    assert!(grown < READERS << 10, "{grown} KiB");
}

#[tokio::test]
async fn readers_that_vanish_leave_nothing_behind() {
    let places = 8;
    let limits = |limits: &mut oxikit_serve::Limits| limits.requests = places;
    let mut app = app_of(Arc::new(MemoryTasks::default()), limits).await;
    let task = app.begin("never").await;
    assert_eq!(app.told().await, "started");
    for _ in 0..3 {
        let mut readers = Vec::new();
        for _ in 0..places {
            readers.push(stalled(&app, "SubscribeToTask", &json!({ "id": task })).await);
        }
        let mut more = app.open("GetTask", &json!({ "id": task }), "").await;
        assert_eq!(more.answer().await.unwrap().status, 503, "all places are taken");
        readers.into_iter().for_each(Client::reset);
        free(&app, &task).await;
    }
    assert_eq!(app.state(&task).await, "TASK_STATE_WORKING", "the work goes on");
    assert_eq!(app.cancel(&task).await, "TASK_STATE_CANCELED");
    assert_eq!(app.told().await, format!("dropped {task}"));
}
