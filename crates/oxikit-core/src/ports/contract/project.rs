//! The contract tests of project stores.

use std::sync::Arc;

use super::{Case, cases};
use crate::ports::{ProjectError, ProjectStore, StoreError, StoredDocument};

/// The promises of a [`ProjectStore`].
pub const PROJECT_STORE: &[Case<dyn ProjectStore>] = cases![
    what_is_not_there_is_not_found,
    a_version_grows_with_every_change,
    a_change_of_another_version_is_refused,
    kinds_are_apart,
    a_list_is_in_the_order_of_making,
    what_is_deleted_is_gone_and_may_be_made_again,
    times_are_of_the_making_and_of_the_last_change,
    any_text_is_kept_as_it_is,
    of_writers_at_the_same_time_one_wins,
];

#[track_caller]
fn kept<T>(promise: &str, result: Result<T, ProjectError>) -> T {
    result.unwrap_or_else(|error| panic!("broken promise: {promise}: {error}"))
}

/// Writes a document, and returns its version.
async fn put(store: &Arc<dyn ProjectStore>, kind: &str, id: &str, json: &str) -> u32 {
    kept("a document is written", store.put_document(kind, id, json.to_owned(), None).await)
}

async fn get(store: &Arc<dyn ProjectStore>, kind: &str, id: &str) -> Option<StoredDocument> {
    kept("a document is read", store.document(kind, id).await)
}

/// Id, version and JSON of all documents of a kind.
async fn list(store: &Arc<dyn ProjectStore>, kind: &str) -> Vec<(String, u32, String)> {
    let list = kept("documents are listed", store.documents(kind).await);
    assert!(list.unreadable.is_empty() && !list.may_be_incomplete, "all can be read: {list:?}");
    let shown = |document: StoredDocument| (document.id, document.version, document.json);
    list.documents.into_iter().map(shown).collect()
}

/// Unknown kinds and ids are `None`, an empty list and `false`, not errors.
async fn what_is_not_there_is_not_found(store: Arc<dyn ProjectStore>) {
    assert_eq!(get(&store, "contract.none", "a").await, None);
    assert_eq!(list(&store, "contract.none").await, []);
    assert!(!kept("delete", store.delete_document("contract.none", "a").await));
}

/// Versions begin at 1 and grow by one with every write, separately for each id.
async fn a_version_grows_with_every_change(store: Arc<dyn ProjectStore>) {
    assert_eq!(put(&store, "contract.versions", "a", "[1]").await, 1);
    assert_eq!(put(&store, "contract.versions", "a", "[2]").await, 2);
    assert_eq!(put(&store, "contract.versions", "b", "[3]").await, 1);
    let document = get(&store, "contract.versions", "a").await.expect("the document is there");
    assert_eq!((document.version, &*document.json), (2, "[2]"));
    assert_eq!((&*document.kind, &*document.id), ("contract.versions", "a"));
}

/// A write with an expected version is refused with `Conflict` if the store has another one.
async fn a_change_of_another_version_is_refused(store: Arc<dyn ProjectStore>) {
    let kind = "contract.expected";
    let put = async |id: &str, json: &str, expected| {
        store.put_document(kind, id, json.to_owned(), Some(expected)).await
    };
    assert_eq!(kept("0 is none", put("a", "[1]", 0).await), 1);
    assert_eq!(kept("1 is the first", put("a", "[2]", 1).await), 2);
    for (id, expected) in [("a", 0), ("a", 1), ("a", 3), ("b", 1)] {
        let refused = put(id, "[3]", expected).await;
        let is_conflict = matches!(refused, Err(ProjectError::Store(StoreError::Conflict(_))));
        assert!(is_conflict, "version {expected} of {id} is not there: {refused:?}");
    }
    assert_eq!(list(&store, kind).await, [("a".to_owned(), 2, "[2]".to_owned())]);
}

/// The same id under two kinds names two documents.
async fn kinds_are_apart(store: Arc<dyn ProjectStore>) {
    put(&store, "contract.one", "a", "[1]").await;
    put(&store, "contract.other", "a", "[2]").await;
    assert!(kept("delete", store.delete_document("contract.one", "a").await));
    assert_eq!(list(&store, "contract.one").await, []);
    assert_eq!(list(&store, "contract.other").await, [("a".to_owned(), 1, "[2]".to_owned())]);
}

/// A list is in the order of creation; changes do not move a document.
async fn a_list_is_in_the_order_of_making(store: Arc<dyn ProjectStore>) {
    let ids = ["m", "b", "z", "a", "k"];
    for id in ids {
        put(&store, "contract.order", id, "1").await;
    }
    put(&store, "contract.order", "b", "2").await;
    let found = list(&store, "contract.order").await;
    let found: Vec<_> = found.iter().map(|(id, ..)| &**id).collect();
    assert_eq!(found, ids, "a change does not move a document");
}

/// A deleted document is not found, and a new one with its id begins at version 1.
async fn what_is_deleted_is_gone_and_may_be_made_again(store: Arc<dyn ProjectStore>) {
    for id in ["a", "b"] {
        put(&store, "contract.deleted", id, "1").await;
    }
    assert!(kept("delete", store.delete_document("contract.deleted", "a").await));
    assert!(!kept("delete again", store.delete_document("contract.deleted", "a").await));
    assert_eq!(get(&store, "contract.deleted", "a").await, None);
    assert_eq!(put(&store, "contract.deleted", "a", "2").await, 1, "it is another document");
    let found = list(&store, "contract.deleted").await;
    let found: Vec<_> = found.iter().map(|(id, ..)| &**id).collect();
    assert_eq!(found, ["b", "a"], "which was made later");
}

/// The time of creation stays, the time of the last change grows.
async fn times_are_of_the_making_and_of_the_last_change(store: Arc<dyn ProjectStore>) {
    put(&store, "contract.times", "a", "1").await;
    let made = get(&store, "contract.times", "a").await.expect("the document is there");
    assert!(made.created_at > 0 && made.updated_at == made.created_at, "{made:?}");
    put(&store, "contract.times", "a", "2").await;
    let changed = get(&store, "contract.times", "a").await.expect("the document is there");
    assert_eq!(changed.created_at, made.created_at, "a change does not make it younger");
    assert!(changed.updated_at >= made.updated_at, "{changed:?}");
}

/// The store does not read or change the text: it may be empty, large, or not JSON.
async fn any_text_is_kept_as_it_is(store: Arc<dyn ProjectStore>) {
    let large = format!("[\"{}\"]", "x".repeat(2_000_000));
    let id = "a/b c'\"%_\u{1f980}";
    for json in ["", "not JSON", "{ \"a\":\n1.0 }", "\"\u{0}\u{1f980}\u{202e}\"", &large] {
        put(&store, "contract.text", id, json).await;
        let document = get(&store, "contract.text", id).await.expect("the document is there");
        assert!(document.json == json, "{} bytes are kept as they are", json.len());
    }
}

/// Of concurrent writes with the same expected version exactly one succeeds.
async fn of_writers_at_the_same_time_one_wins(store: Arc<dyn ProjectStore>) {
    put(&store, "contract.writers", "a", "0").await;
    let write = |number: u32| {
        let store = store.clone();
        let json = number.to_string();
        tokio::spawn(async move {
            store.put_document("contract.writers", "a", json, Some(1)).await.is_ok()
        })
    };
    let writers: Vec<_> = (1..=8).map(write).collect();
    let mut winners = Vec::new();
    for (number, writer) in (1..).zip(writers) {
        if writer.await.unwrap_or_else(|error| panic!("the writer ends: {error}")) {
            winners.push(number);
        }
    }
    let [winner] = &*winners else { panic!("one writer wins: {winners:?}") };
    let written: u32 = *winner;
    let found = list(&store, "contract.writers").await;
    assert_eq!(found, [("a".to_owned(), 2, written.to_string())]);
}
