//! The limits of tasks in memory.

use std::sync::Arc;
use std::time::Duration;

use oxikit_core::ports::memory::{MemoryTaskOptions, MemoryTasks};
use oxikit_core::ports::{
    ArtifactEntry, NewTask, NewTurn, Owner, PushTarget, StatusEntry, StoreError, TaskEntry,
    TaskQuery, TaskScope, TaskStore, TaskWrite,
};
use oxikit_wire::a2a::{Artifact, Part, PushConfig, TaskState, TaskStatus};

fn scope() -> TaskScope {
    TaskScope::new(Owner::nobody(), "agent")
}

fn store(change: impl FnOnce(&mut MemoryTaskOptions)) -> MemoryTasks {
    let mut options = MemoryTaskOptions::default();
    change(&mut options);
    MemoryTasks::new(options)
}

fn status_entry(state: TaskState) -> StatusEntry {
    StatusEntry { status: TaskStatus::new(state), received: None, metadata: None }
}

fn new(id: &str) -> NewTask {
    NewTask {
        scope: scope(),
        id: id.to_owned(),
        context_id: "context".to_owned(),
        metadata: None,
        runner: "runner".into(),
        entries: vec![Arc::new(TaskEntry::Status(Box::new(status_entry(TaskState::Working))))],
        push: None,
    }
}

fn chunk(text: &str) -> TaskEntry {
    let artifact = Artifact::new("a", vec![Part::text(text)]);
    TaskEntry::Artifact(Box::new(ArtifactEntry {
        artifact,
        append: true,
        last_chunk: false,
        metadata: None,
    }))
}

fn write(number: u64, entries: Vec<TaskEntry>) -> TaskWrite {
    let entries = entries.into_iter().map(Arc::new).collect();
    TaskWrite { runner: "runner".into(), number, turn: 1, entries, releases: false }
}

async fn end(store: &MemoryTasks, id: &str) {
    store.end(&scope(), id, TaskStatus::new(TaskState::Completed)).await.unwrap();
}

async fn is_there(store: &MemoryTasks, id: &str) -> bool {
    store.head(&scope(), id).await.is_ok()
}

#[tokio::test]
async fn memory_stays_flat_over_a_hundred_thousand_finished_tasks() {
    let store = store(|options| options.max_tasks = 100);
    store.create(new("open")).await.unwrap();
    for number in 0..100_000 {
        let id = format!("task-{number}");
        store.create(new(&id)).await.unwrap();
        store.append(&id, write(1, vec![chunk("text")])).await.unwrap();
        end(&store, &id).await;
    }
    assert_eq!(format!("{store:?}"), "MemoryTasks { tasks: 100 }");
    let query = TaskQuery { limit: 1000, ..TaskQuery::default() };
    let list = store.list(&scope(), &query).await.unwrap();
    assert_eq!(list.tasks.len(), 100, "no list keeps more than the tasks");
    assert_eq!(list.tasks[0].id, "task-99999");
    assert!(is_there(&store, "open").await, "a task that has not ended stays");
    assert!(!is_there(&store, "task-99900").await, "those that ended first are gone");
}

#[tokio::test(start_paused = true)]
async fn an_ended_task_is_dropped_after_its_time_and_an_open_one_never() {
    let store = store(|options| options.keep_ended = Duration::from_secs(300));
    for id in ["open", "ended"] {
        store.create(new(id)).await.unwrap();
    }
    end(&store, "ended").await;
    tokio::time::advance(Duration::from_secs(299)).await;
    store.create(new("later")).await.unwrap();
    assert!(is_there(&store, "ended").await);
    tokio::time::advance(Duration::from_secs(3600)).await;
    store.create(new("much later")).await.unwrap();
    assert!(!is_there(&store, "ended").await);
    assert!(is_there(&store, "open").await);
}

#[tokio::test(start_paused = true)]
async fn a_full_store_keeps_what_has_not_ended_and_what_is_not_delivered() {
    let store = store(|options| options.max_tasks = 2);
    let config = PushConfig { url: "https://example.com".to_owned(), ..PushConfig::default() };
    let target = PushTarget { id: "hook".to_owned(), config, version: "1.0".to_owned() };
    store.create(NewTask { push: Some(target), ..new("a") }).await.unwrap();
    store.create(new("b")).await.unwrap();
    let full = store.create(new("c")).await.unwrap_err();
    assert!(matches!(full, StoreError::Full(..)), "{full}");
    end(&store, "a").await;
    let full = store.create(new("c")).await.unwrap_err();
    assert!(matches!(full, StoreError::Full(..)), "a webhook waits for the end: {full}");
    let due = store.claim_pushes("runner", 1).await.unwrap();
    store.release_push("runner", &due[0], 2, 0, Duration::ZERO).await.unwrap();
    store.create(new("c")).await.unwrap();
    assert!(!is_there(&store, "a").await);
}

#[tokio::test(start_paused = true)]
async fn a_task_is_limited_in_bytes_and_can_still_end() {
    let store = store(|options| options.max_task_bytes = 500);
    let long = "x".repeat(500);
    let too_long =
        NewTask { entries: vec![new("a").entries[0].clone(), chunk(&long).into()], ..new("a") };
    assert!(matches!(store.create(too_long).await, Err(StoreError::Full(..))));
    store.create(new("a")).await.unwrap();
    let full = store.append("a", write(1, vec![chunk(&long)])).await.unwrap_err();
    assert!(matches!(full, StoreError::Full(..)), "{full}");
    let mut entry = status_entry(TaskState::Working);
    entry.status.message = Some(oxikit_wire::a2a::Message::new(
        "m",
        oxikit_wire::a2a::Role::User,
        vec![Part::text(&*long)],
    ));
    let turn = NewTurn { runner: "runner".into(), entry, max_waiting: 8 };
    let full = store.receive(&scope(), "a", turn).await.unwrap_err();
    assert!(matches!(full, StoreError::Full(..)), "{full}");
    store.append("a", write(1, vec![chunk("short")])).await.unwrap();
    let last = TaskEntry::Status(Box::new(status_entry(TaskState::Completed)));
    store.append("a", write(2, vec![chunk(&long), last])).await.unwrap();
    assert_eq!(store.head(&scope(), "a").await.unwrap().status.state, TaskState::Completed);
}
