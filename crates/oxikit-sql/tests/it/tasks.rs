//! Tasks in a database that several processes use, for both databases.

use std::sync::Arc;

use oxikit_core::ports::{
    ArtifactEntry, NewTask, Owner, StatusEntry, StoreError, TaskEntry, TaskScope, TaskStore,
    TaskWrite,
};
use oxikit_wire::a2a::{Artifact, Part, TaskState, TaskStatus};

pub(crate) type Tasks = Arc<dyn TaskStore>;

pub(crate) fn scope() -> TaskScope {
    TaskScope::new(Owner::nobody(), "agent")
}

fn entry(state: TaskState) -> TaskEntry {
    let status = TaskStatus::new(state);
    TaskEntry::Status(Box::new(StatusEntry { status, received: None, metadata: None }))
}

pub(crate) fn new(id: &str) -> NewTask {
    NewTask {
        scope: scope(),
        id: id.to_owned(),
        context_id: "context".to_owned(),
        metadata: None,
        runner: "runner".into(),
        entries: vec![entry(TaskState::Working).into()],
        push: None,
    }
}

pub(crate) fn chunk(text: &str) -> TaskEntry {
    let artifact = Artifact::new("a", vec![Part::text(text)]);
    let entry = ArtifactEntry { artifact, append: true, last_chunk: false, metadata: None };
    TaskEntry::Artifact(Box::new(entry))
}

pub(crate) fn write(number: u64, entries: Vec<TaskEntry>) -> TaskWrite {
    let entries = entries.into_iter().map(Arc::new).collect();
    TaskWrite { runner: "runner".into(), number, turn: 1, entries, releases: false }
}

/// Two stores of one database stand for two processes.
pub(crate) async fn two_processes_end_a_task_once([one, other]: [Tasks; 2]) {
    for round in 0..25 {
        let id = format!("race-{round}");
        one.create(new(&id)).await.unwrap();
        let end = |state| TaskStatus::new(state);
        let scope = scope();
        let (done, canceled) = tokio::join!(
            one.append(&id, write(1, vec![chunk("a"), entry(TaskState::Completed)])),
            other.end(&scope, &id, end(TaskState::Canceled)),
        );
        let (expected, error) = match (done, canceled) {
            (Ok(_), Err(error)) => (TaskState::Completed, error),
            (Err(error), Ok(_)) => (TaskState::Canceled, error),
            both => panic!("one of the two ends the task: {both:?}"),
        };
        assert!(matches!(error, StoreError::Ended(_)), "{error}");
        for store in [&one, &other] {
            let page = store.read(&scope, &id, 0, 10).await.unwrap();
            let states: Vec<_> = page.events.iter().filter_map(|it| it.entry.state()).collect();
            assert_eq!(states, [TaskState::Working, expected]);
            assert_eq!(page.head.status.state, expected);
        }
    }
}

pub(crate) async fn a_reader_hears_of_events_of_another_process([one, other]: [Tasks; 2]) {
    one.create(new("heard")).await.unwrap();
    let reader = async {
        let mut position = 1;
        loop {
            other.wait(&scope(), "heard", position).await.unwrap();
            let head = other.head(&scope(), "heard").await.unwrap();
            position = head.position;
            if head.status.state.is_terminal() {
                return position;
            }
        }
    };
    let writer = async {
        tokio::task::yield_now().await;
        one.append("heard", write(1, vec![chunk("a")])).await.unwrap();
        one.append("heard", write(2, vec![entry(TaskState::Completed)])).await.unwrap();
    };
    let (position, ()) = tokio::join!(reader, writer);
    assert_eq!(position, 3);
}

/// The store accepts 500 bytes a task.
pub(crate) async fn a_task_of_500_bytes_can_still_end(store: Tasks) {
    let long = "x".repeat(500);
    let too_long = NewTask {
        entries: vec![entry(TaskState::Working).into(), chunk(&long).into()],
        ..new("full")
    };
    assert!(matches!(store.create(too_long).await, Err(StoreError::Full(..))));
    store.create(new("full")).await.unwrap();
    let full = store.append("full", write(1, vec![chunk(&long)])).await.unwrap_err();
    assert!(matches!(full, StoreError::Full(..)), "{full}");
    store.append("full", write(1, vec![chunk("short")])).await.unwrap();
    let last = vec![chunk(&long), entry(TaskState::Completed)];
    assert_eq!(store.append("full", write(2, last)).await.unwrap().position, 4);
}
