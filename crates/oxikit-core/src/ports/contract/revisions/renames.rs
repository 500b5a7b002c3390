//! Renames and labels.

use super::{
    Store, append, begin, deletion, edit, failed, head, is_conflict, is_not_found, kept, numbers,
    shown, text,
};
use crate::ports::{NewRevision, RevisionKind, StoreError};

fn rename(parent: u64, text: &str) -> NewRevision {
    NewRevision { kind: RevisionKind::Rename, ..edit(parent, text) }
}

/// The labels of a document.
async fn labels(store: &Store, document: &str) -> Vec<(String, u64)> {
    kept("labels", store.labels(document).await).into_iter().collect()
}

/// The log, its labels and its ops are found by the new name only, and go on there.
pub(super) async fn a_rename_moves_the_log_and_its_labels(store: Store) {
    let (from, to) = ("contract/rename/from.md", "contract/rename/to.md");
    let op = NewRevision { op: Some("op".to_owned()), ..edit(0, "a") };
    append(&store, from, 0, vec![op]).await;
    begin(&store, "contract/rename/other.md", &["other"]).await;
    kept("label", store.set_label(from, "production", Some(1)).await);
    let renamed = kept("rename", store.rename(from, to, 1, rename(1, "a")).await);
    assert_eq!((renamed.number, renamed.kind), (2, RevisionKind::Rename));

    assert_eq!(head(&store, from).await, None);
    assert_eq!(numbers(&store, from).await, [0; 0]);
    assert_eq!(labels(&store, from).await, []);
    assert_eq!(kept("op", store.find_op(from, "op", 0).await), None);

    assert_eq!(shown(&store, to).await, text(2, "a"));
    assert_eq!(numbers(&store, to).await, [2, 1]);
    assert_eq!(labels(&store, to).await, [("production".to_owned(), 1)]);
    assert!(kept("op", store.find_op(to, "op", 0).await).is_some());
    append(&store, to, 2, vec![edit(2, "b")]).await;
    assert_eq!(shown(&store, to).await, text(3, "b"));

    let documents = kept("documents", store.documents().await);
    let names = documents.iter().map(|head| &*head.document);
    let names: Vec<_> = names.filter(|name| name.starts_with("contract/rename/")).collect();
    assert_eq!(names, ["contract/rename/other.md", to]);
}

/// A name that has a log is taken, also if that document is deleted.
pub(super) async fn a_rename_onto_a_log_is_refused_and_changes_nothing(store: Store) {
    let (from, to, gone) = ("contract/taken/a.md", "contract/taken/b.md", "contract/taken/c.md");
    begin(&store, from, &["a"]).await;
    begin(&store, to, &["b"]).await;
    begin(&store, gone, &["c"]).await;
    append(&store, gone, 1, vec![deletion(1)]).await;
    kept("label", store.set_label(to, "production", Some(1)).await);
    for to in [to, gone, from] {
        let error = failed("taken", store.rename(from, to, 1, rename(1, "x")).await);
        assert!(matches!(&error, StoreError::Exists(name) if name == to), "{error:?}");
    }
    assert_eq!(shown(&store, from).await, text(1, "a"));
    assert_eq!(shown(&store, to).await, text(1, "b"));
    assert_eq!(shown(&store, gone).await, Some((2, None)));
    assert_eq!(labels(&store, from).await, []);
    assert_eq!(labels(&store, to).await, [("production".to_owned(), 1)]);
}

/// A rename names the newest number, as an append does; without a log it is `NotFound`.
pub(super) async fn a_rename_of_another_number_is_refused(store: Store) {
    let (from, to) = ("contract/stale/a.md", "contract/stale/b.md");
    is_not_found("no log", store.rename(from, to, 1, rename(1, "a")).await);
    is_not_found("no log", store.rename(from, to, 0, rename(0, "a")).await);
    begin(&store, from, &["a", "b"]).await;
    for expected in [0, 1, 3] {
        let late = store.rename(from, to, expected, rename(0, "c")).await;
        is_conflict("another number is the newest", late);
    }
    assert_eq!(shown(&store, from).await, text(2, "b"));
    assert_eq!(head(&store, to).await, None);
}

/// A new document at the old name is another one, and a rename can be undone.
pub(super) async fn the_old_name_can_be_used_again(store: Store) {
    let (one, other) = ("contract/swap/a.md", "contract/swap/b.md");
    begin(&store, one, &["a"]).await;
    kept("rename", store.rename(one, other, 1, rename(1, "a")).await);
    kept("rename back", store.rename(other, one, 2, rename(2, "a")).await);
    assert_eq!(numbers(&store, one).await, [3, 2, 1]);
    kept("rename", store.rename(one, other, 3, rename(3, "a")).await);
    begin(&store, one, &["new"]).await;
    assert_eq!(shown(&store, one).await, text(1, "new"));
    assert_eq!(shown(&store, other).await, text(4, "a"));
}

/// A label names one revision at a time, also one that is not applied.
pub(super) async fn a_label_is_set_moved_and_removed(store: Store) {
    let document = "contract/labels.md";
    begin(&store, document, &["a", "b"]).await;
    begin(&store, "contract/labels-2.md", &["a"]).await;
    append(&store, document, 2, vec![super::refusal(1, "c")]).await;
    let set = async |label: &str, number| {
        kept("label", store.set_label(document, label, number).await);
        labels(&store, document).await
    };
    let is = |label: &str, number| (label.to_owned(), number);
    assert_eq!(set("production", Some(1)).await, [is("production", 1)]);
    assert_eq!(set("draft", Some(3)).await, [is("draft", 3), is("production", 1)]);
    assert_eq!(set("production", Some(2)).await, [is("draft", 3), is("production", 2)]);
    assert_eq!(set("draft", None).await, [is("production", 2)]);
    assert_eq!(set("draft", None).await, [is("production", 2)], "it is removed already");
    assert_eq!(labels(&store, "contract/labels-2.md").await, []);
    append(&store, document, 3, vec![edit(2, "d")]).await;
    assert_eq!(labels(&store, document).await, [is("production", 2)], "labels stay");
}

/// A label of a revision that does not exist is `NotFound`, and the label stays as it was.
pub(super) async fn a_label_needs_a_revision(store: Store) {
    let document = "contract/label-none.md";
    is_not_found("no log", store.set_label(document, "a", Some(1)).await);
    kept("there is nothing to remove", store.set_label(document, "a", None).await);
    assert_eq!(head(&store, document).await, None, "a label makes no log");
    begin(&store, document, &["a"]).await;
    kept("label", store.set_label(document, "a", Some(1)).await);
    for number in [0, 2, u64::MAX] {
        is_not_found("no revision", store.set_label(document, "a", Some(number)).await);
    }
    assert_eq!(labels(&store, document).await, [("a".to_owned(), 1)]);
}
