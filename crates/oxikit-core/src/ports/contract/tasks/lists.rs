//! Lists of tasks.

use oxikit_wire::a2a::{TaskState, TaskStatus};

use super::{Store, appended, chunk, entry, is_invalid, kept, refused, task, write};
use crate::ports::{NewTask, Owner, StatusEntry, TaskEntry, TaskList, TaskQuery, TaskScope};

/// A scope that only one case uses, so that it knows all of its tasks.
fn scope(agent: &str) -> TaskScope {
    TaskScope::new(Owner::principal("lists"), agent)
}

async fn create_in(store: &Store, scope: &TaskScope, id: &str, context: &str) {
    let (scope, context_id) = (scope.clone(), context.to_owned());
    kept("create", store.create(NewTask { scope, context_id, ..task(id) }).await);
}

fn ids(list: &TaskList) -> Vec<&str> {
    list.tasks.iter().map(|task| &*task.id).collect()
}

fn all() -> TaskQuery {
    TaskQuery { limit: 100, ..TaskQuery::default() }
}

pub(super) async fn the_last_change_of_a_status_is_first(store: Store) {
    let scope = scope("contract-order");
    let list = kept("list", store.list(&scope, &all()).await);
    assert_eq!((ids(&list).len(), list.total, list.cursor), (0, 0, None), "nothing yet");
    let [one, two, three] = ["contract-list-1", "contract-list-2", "contract-list-3"];
    for id in [one, two, three] {
        create_in(&store, &scope, id, "context").await;
    }
    let list = kept("list", store.list(&scope, &all()).await);
    assert_eq!((ids(&list), list.total, &list.cursor), (vec![three, two, one], 3, &None));
    appended(&store, two, write(1, vec![entry(TaskState::Working)])).await;
    appended(&store, one, write(1, vec![chunk("a chunk is no change of the status")])).await;
    let list = kept("list", store.list(&scope, &all()).await);
    assert_eq!(ids(&list), [two, three, one]);
    kept("end", store.end(&scope, one, TaskStatus::new(TaskState::Canceled)).await);
    let list = kept("list", store.list(&scope, &all()).await);
    assert_eq!(ids(&list), [one, two, three]);
    let heads: Vec<_> = list.tasks.iter().map(|task| (task.status.state, task.position)).collect();
    let expected = [(TaskState::Canceled, 3), (TaskState::Working, 2), (TaskState::Submitted, 1)];
    assert_eq!(heads, expected);
    for task in list.tasks {
        assert_eq!(task, kept("head", store.head(&scope, &task.id).await), "whole heads");
    }
}

pub(super) async fn pages_have_each_task_once(store: Store) {
    const TASKS: usize = 25;
    let scope = scope("contract-pages");
    let id = |number: usize| format!("contract-pages-{number:02}");
    for number in 0..TASKS {
        create_in(&store, &scope, &id(number), "context").await;
    }
    for limit in [1, 7, TASKS - 1, TASKS, TASKS + 1] {
        let mut query = TaskQuery { limit, ..TaskQuery::default() };
        let mut seen = Vec::new();
        loop {
            let list = kept("list", store.list(&scope, &query).await);
            assert_eq!(list.total, TASKS as u64, "the number on all pages");
            assert!(list.tasks.len() <= limit);
            seen.extend(list.tasks.into_iter().map(|task| task.id));
            query.cursor = list.cursor;
            if query.cursor.is_none() {
                break;
            }
        }
        let expected: Vec<String> = (0..TASKS).rev().map(id).collect();
        assert_eq!(seen, expected, "pages of {limit}");
    }
    // Tasks whose status changes between two pages disturb no other.
    let mut query = TaskQuery { limit: 10, ..TaskQuery::default() };
    let first = kept("list", store.list(&scope, &query).await);
    for number in [20, 5] {
        appended(&store, &id(number), write(1, vec![entry(TaskState::Working)])).await;
    }
    query.cursor = first.cursor.clone();
    let second = kept("list", store.list(&scope, &query).await);
    let expected: Vec<String> = (0..15).rev().filter(|n| *n != 5).take(10).map(id).collect();
    assert_eq!(ids(&second), expected);
}

pub(super) async fn lists_are_filtered(store: Store) {
    let scope = scope("contract-filters");
    let ids_of = |number: usize| format!("contract-filter-{number}");
    for number in 0..6 {
        let context = if number % 2 == 0 { "even" } else { "odd\0" };
        create_in(&store, &scope, &ids_of(number), context).await;
        let timestamp = Some(format!("2026-01-01T00:00:0{number}.000Z"));
        let state = if number < 4 { TaskState::Working } else { TaskState::InputRequired };
        let status = TaskStatus { state, message: None, timestamp };
        let entry = StatusEntry { status, received: None, metadata: None };
        let entries = vec![TaskEntry::Status(Box::new(entry))];
        appended(&store, &ids_of(number), write(1, entries)).await;
    }
    let second_3 = 1_767_225_603_000;
    let (even, odd) = (Some("even".to_owned()), Some("odd\0".to_owned()));
    let working = Some(TaskState::Working);
    for (query, expected) in [
        (TaskQuery { context_id: even.clone(), ..all() }, vec![4, 2, 0]),
        (TaskQuery { context_id: odd, ..all() }, vec![5, 3, 1]),
        (TaskQuery { context_id: Some("none".to_owned()), ..all() }, vec![]),
        (TaskQuery { state: working, ..all() }, vec![3, 2, 1, 0]),
        (TaskQuery { state: Some(TaskState::Failed), ..all() }, vec![]),
        (TaskQuery { changed_since: Some(second_3), ..all() }, vec![5, 4, 3]),
        (TaskQuery { changed_since: Some(second_3 + 1), ..all() }, vec![5, 4]),
        (TaskQuery { changed_since: Some(u64::MAX), ..all() }, vec![]),
        (TaskQuery { context_id: even.clone(), state: working, ..all() }, vec![2, 0]),
        (
            TaskQuery {
                context_id: even,
                state: working,
                changed_since: Some(second_3 - 1000),
                ..all()
            },
            vec![2],
        ),
    ] {
        let list = kept("list", store.list(&scope, &query).await);
        let expected: Vec<String> = expected.into_iter().map(ids_of).collect();
        assert_eq!(
            (ids(&list), list.total),
            (expected.iter().map(|id| &**id).collect(), expected.len() as u64),
            "{query:?}"
        );
        let short = TaskQuery { limit: 1, ..query };
        let page = kept("list", store.list(&scope, &short).await);
        assert_eq!(page.total, expected.len() as u64, "the total is of all pages: {short:?}");
        assert_eq!(page.cursor.is_some(), expected.len() > 1, "{short:?}");
    }
}

pub(super) async fn a_foreign_cursor_is_refused(store: Store) {
    for cursor in ["", "x", "-1", "1.5", "99999999999999999999999", "1\0"] {
        let query = TaskQuery { cursor: Some(cursor.to_owned()), ..all() };
        refused(cursor, store.list(&scope("contract-cursor"), &query).await, is_invalid);
    }
}
