//! What was written is what is read.

use std::sync::Arc;

use oxikit_wire::a2a::{Artifact, Part, TaskState, TaskStatus};
use serde_json::{Value, json};

use super::{
    Store, appended, chunk, created, entry, head, is_invalid, kept, own, read, received, refused,
    shown, task, user_message, write,
};
use crate::ports::{
    ArtifactEntry, MAX_PAGE_BYTES, NewTask, NewTurn, Owner, StatusEntry, StoreError, TaskEntry,
    TaskScope,
};

pub(super) async fn a_task_is_read_from_any_position(store: Store) {
    let id = "contract-task-read";
    created(&store, id).await;
    let answer = appended(&store, id, write(1, vec![entry(TaskState::Working), chunk("a")])).await;
    assert_eq!((answer.position, answer.turns, answer.is_released), (3, 1, false));
    assert_eq!(appended(&store, id, write(2, Vec::new())).await.position, 3, "nothing to add");
    assert_eq!(appended(&store, id, write(3, vec![chunk("b")])).await.position, 4);
    let done = vec![entry(TaskState::Completed)];
    assert_eq!(appended(&store, id, write(4, done)).await.position, 5);
    let all = shown(&[
        (1, 1, "submitted hello"),
        (2, 1, "working"),
        (3, 1, "a"),
        (4, 1, "b"),
        (5, 1, "completed"),
    ]);
    for (position, limit, expected) in [
        (0, 10, &all[..]),
        (2, 10, &all[2..]),
        (1, 2, &all[1..3]),
        (0, 0, &[]),
        (5, 10, &[]),
        (99, 10, &[]),
        (u64::MAX, 10, &[]),
        (0, usize::MAX, &all[..]),
    ] {
        assert_eq!(read(&store, id, position, limit).await, expected, "{limit} after {position}");
    }
}

pub(super) async fn pages_are_limited_in_bytes(store: Store) {
    let id = "contract-task-pages";
    created(&store, id).await;
    let of_bytes = |bytes: u64| chunk(&"x".repeat(usize::try_from(bytes).unwrap_or_default()));
    let large = vec![of_bytes(MAX_PAGE_BYTES + 1), of_bytes(1), of_bytes(MAX_PAGE_BYTES / 2)];
    appended(&store, id, write(1, large)).await;
    appended(&store, id, write(2, vec![of_bytes(MAX_PAGE_BYTES / 2), of_bytes(1)])).await;
    // The JSON around the texts makes two halves more than one page.
    let pages: [(u64, &[u64]); 5] = [(0, &[1]), (1, &[2]), (2, &[3, 4]), (4, &[5, 6]), (6, &[])];
    for (position, expected) in pages {
        let page = kept("read", store.read(&own(), id, position, 64).await);
        let sequences: Vec<u64> = page.events.iter().map(|event| event.sequence).collect();
        assert_eq!(sequences, expected, "after {position}");
        assert_eq!(page.head.position, 6);
    }
    assert_eq!(read(&store, id, 2, 1).await.len(), 1, "the number counts as well");
}

pub(super) async fn entries_are_kept_whole(store: Store) {
    let id = "contract-task-whole";
    let object = |value: Value| value.as_object().cloned();
    let spoken = TaskStatus {
        state: TaskState::Working,
        message: Some(user_message("é\u{0}\u{10FFFF} \"quoted\"")),
        timestamp: Some("2026-11-15T06:32:35.495Z".to_owned()),
    };
    let mut artifact = Artifact::new("a\0b", vec![Part::text("text")]).with_name("name");
    artifact.metadata = object(json!({"deep": [1, {"x": null}]}));
    artifact.extensions = vec!["https://example.com/extension".to_owned()];
    let entries = vec![
        TaskEntry::Status(Box::new(StatusEntry {
            status: spoken.clone(),
            received: Some(user_message("hello")),
            metadata: object(json!({"a": 1.5})),
        })),
        TaskEntry::Artifact(Box::new(ArtifactEntry {
            artifact,
            append: true,
            last_chunk: true,
            metadata: object(json!({"b": "\u{0}"})),
        })),
    ];
    let metadata = object(json!({"topic": "\u{0} text", "none": null}));
    let new = NewTask {
        context_id: "con\0text".to_owned(),
        metadata: metadata.clone(),
        entries: entries.iter().cloned().map(Arc::new).collect(),
        ..task(id)
    };
    assert_eq!(kept("create", store.create(new).await), 2);
    let page = kept("read", store.read(&own(), id, 0, 10).await);
    let stored: Vec<TaskEntry> = page.events.iter().map(|event| (*event.entry).clone()).collect();
    assert_eq!(stored, entries);
    assert_eq!(page.head.status, spoken, "the status of the last entry that has one");
    assert_eq!((page.head.metadata, &*page.head.context_id), (metadata, "con\0text"));
    assert_eq!(page.head.id, id);
}

pub(super) async fn a_head_is_that_of_the_last_event(store: Store) {
    let id = "contract-task-head";
    created(&store, id).await;
    let first = head(&store, id).await;
    assert_eq!((first.position, first.turns, first.runner.as_deref()), (1, 1, Some("runner-1")));
    assert_eq!(first.status.state, TaskState::Submitted);
    let entries = vec![entry(TaskState::Working), entry(TaskState::InputRequired), chunk("a")];
    appended(&store, id, write(1, entries)).await;
    let page = kept("read", store.read(&own(), id, 3, 10).await);
    assert_eq!(page.events.len(), 1);
    assert_eq!(page.head, head(&store, id).await, "a page and a head say the same");
    assert_eq!(page.head.status.state, TaskState::InputRequired);
    assert_eq!((page.head.position, page.head.turns), (4, 1));
}

pub(super) async fn an_id_is_used_once(store: Store) {
    let id = "contract-task-once";
    created(&store, id).await;
    let other = TaskScope::new(Owner::principal("bob"), "other");
    for scope in [own(), other] {
        let again = NewTask { scope, ..task(id) };
        refused("an id is used once", store.create(again).await, |error| {
            matches!(error, StoreError::Exists(_))
        });
    }
    assert_eq!(head(&store, id).await.position, 1, "the first is unchanged");
}

pub(super) async fn entries_that_make_no_sense_are_refused(store: Store) {
    let id = "contract-task-odd";
    for entries in [
        Vec::new(),
        vec![chunk("no status")],
        vec![entry(TaskState::Completed), chunk("late")],
        vec![entry(TaskState::Failed), entry(TaskState::Completed)],
    ] {
        let entries = entries.into_iter().map(Arc::new).collect();
        let odd = NewTask { entries, ..task(id) };
        refused("an odd task", store.create(odd).await, is_invalid);
    }
    created(&store, id).await;
    let late = write(1, vec![entry(TaskState::Completed), chunk("late")]);
    refused("an entry after the end", store.append(id, late).await, is_invalid);
    let ahead = crate::ports::TaskWrite { turn: 2, ..write(1, vec![chunk("ahead")]) };
    refused("a turn to come", store.append(id, ahead).await, is_invalid);
    let open = TaskStatus::new(TaskState::Working);
    refused("an end that is none", store.end(&own(), id, open.clone()).await, is_invalid);
    refused("an expiry that is none", store.expire(id, "runner-1", open).await, is_invalid);
    let status = TaskStatus::new(TaskState::Canceled);
    let entry = StatusEntry { status, ..received("bye") };
    let last = NewTurn { runner: "runner-1".into(), entry, max_waiting: 8 };
    refused("a message that ends", store.receive(&own(), id, last).await, is_invalid);
    assert_eq!(head(&store, id).await.position, 1, "nothing was added");
}
