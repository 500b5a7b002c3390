//! The contract tests of revision stores.

mod heads;
mod log;
mod names;
mod renames;
mod sharing;

use std::sync::Arc;

use super::{Case, cases, failed, kept};
use crate::ports::{
    NewRevision, Revision, RevisionInfo, RevisionKind, RevisionStore, StoreError, text_hash,
};
use crate::timestamp;

/// The promises of a [`RevisionStore`].
pub const REVISION_STORE: &[Case<dyn RevisionStore>] = cases![
    what_is_not_there_is_not_found,
    numbers_begin_at_1_and_have_no_gaps,
    an_append_after_another_number_is_refused,
    appends_that_make_no_sense_are_refused,
    heads::the_newest_applied_revision_is_the_current_one,
    heads::two_revisions_of_one_append_are_stored_together,
    heads::a_deleted_document_keeps_its_log,
    heads::documents_are_listed_with_their_heads,
    log::a_log_is_read_in_pages_from_the_newest,
    log::an_op_is_found_for_a_time,
    log::kinds_authors_and_parents_are_kept,
    names::any_text_is_kept_as_it_is,
    names::a_text_of_4_mib_is_kept,
    names::names_may_have_any_characters,
    names::names_that_are_too_long_are_refused,
    renames::a_rename_moves_the_log_and_its_labels,
    renames::a_rename_onto_a_log_is_refused_and_changes_nothing,
    renames::a_rename_of_another_number_is_refused,
    renames::the_old_name_can_be_used_again,
    renames::a_label_is_set_moved_and_removed,
    renames::a_label_needs_a_revision,
    sharing::subscribers_are_notified_after_the_commit,
    sharing::subscribers_are_notified_of_renames_and_labels,
    sharing::of_appends_at_the_same_time_one_wins,
    sharing::of_first_appends_at_the_same_time_one_wins,
    sharing::writers_that_read_again_lose_nothing,
    sharing::of_renames_to_one_name_one_wins,
];

type Store = Arc<dyn RevisionStore>;

/// An applied edit of a text.
fn edit(parent: u64, text: &str) -> NewRevision {
    NewRevision {
        parent,
        kind: RevisionKind::Edit,
        author: "ada".to_owned(),
        text: Some(text.into()),
        is_applied: true,
        op: None,
        outcome: None,
    }
}

/// The deletion of a document.
fn deletion(parent: u64) -> NewRevision {
    NewRevision { kind: RevisionKind::Delete, text: None, ..edit(parent, "") }
}

/// A text that was sent and refused.
fn refusal(parent: u64, text: &str) -> NewRevision {
    NewRevision { kind: RevisionKind::Refused, is_applied: false, ..edit(parent, text) }
}

/// Appends, and returns what the store has made of it.
async fn append(
    store: &Store,
    document: &str,
    expected: u64,
    revisions: Vec<NewRevision>,
) -> Vec<RevisionInfo> {
    kept("revisions are appended", store.append(document, expected, revisions).await)
}

/// Begins a log with these texts, one append each.
async fn begin(store: &Store, document: &str, texts: &[&str]) {
    for (newest, text) in (0..).zip(texts) {
        append(store, document, newest, vec![edit(newest, text)]).await;
    }
}

async fn head(store: &Store, document: &str) -> Option<(u64, Revision)> {
    kept("a head is read", store.head(document).await)
}

/// The newest number and the current text of a document.
async fn shown(store: &Store, document: &str) -> Option<(u64, Option<String>)> {
    let (newest, revision) = head(store, document).await?;
    Some((newest, revision.text.map(|text| text.to_string())))
}

/// As [`shown`] answers for a document with this text.
fn text(newest: u64, text: &str) -> Option<(u64, Option<String>)> {
    Some((newest, Some(text.to_owned())))
}

/// The numbers of a whole log.
async fn numbers(store: &Store, document: &str) -> Vec<u64> {
    let log = kept("a log is read", store.log(document, None, usize::MAX).await);
    log.into_iter().map(|info| info.number).collect()
}

#[track_caller]
fn is_conflict<T>(promise: &str, result: Result<T, StoreError>) {
    let error = failed(promise, result);
    assert!(matches!(error, StoreError::Conflict(_)), "broken promise: {promise}: {error:?}");
}

#[track_caller]
fn is_invalid<T>(promise: &str, result: Result<T, StoreError>) {
    let error = failed(promise, result);
    assert!(matches!(error, StoreError::Invalid(_)), "broken promise: {promise}: {error:?}");
}

#[track_caller]
fn is_not_found<T>(promise: &str, result: Result<T, StoreError>) {
    let error = failed(promise, result);
    assert!(matches!(error, StoreError::NotFound(_)), "broken promise: {promise}: {error:?}");
}

/// Unknown documents and revisions are `None` and empty lists, not errors.
async fn what_is_not_there_is_not_found(store: Store) {
    let none = "contract/none.md";
    assert_eq!(head(&store, none).await, None);
    assert_eq!(kept("revision", store.revision(none, 1).await), None);
    assert_eq!(kept("log", store.log(none, None, 10).await), []);
    assert_eq!(kept("op", store.find_op(none, "op", 0).await), None);
    assert!(kept("labels", store.labels(none).await).is_empty());
    let documents = kept("documents", store.documents().await);
    assert!(documents.iter().all(|head| head.document != none), "reading makes no log");

    begin(&store, "contract/known.md", &["a"]).await;
    for number in [0, 2, u64::MAX] {
        let found = kept("revision", store.revision("contract/known.md", number).await);
        assert_eq!(found, None, "there is no revision {number}");
    }
}

/// Numbers grow by one for each revision, separately for each document, and are what `append`
/// answers.
async fn numbers_begin_at_1_and_have_no_gaps(store: Store) {
    let document = "contract/numbers.md";
    let before = timestamp::now_millis();
    let first = append(&store, document, 0, vec![edit(0, "a")]).await;
    assert_eq!(first.iter().map(|info| info.number).collect::<Vec<_>>(), [1]);
    let more = append(&store, document, 1, vec![edit(1, "b"), edit(2, "c"), edit(3, "")]).await;
    assert_eq!(more.iter().map(|info| info.number).collect::<Vec<_>>(), [2, 3, 4]);
    let other = append(&store, "contract/numbers-2.md", 0, vec![edit(0, "a")]).await;
    assert_eq!(other[0].number, 1);
    for (info, text) in first.iter().chain(&more).zip(["a", "b", "c", ""]) {
        let revision = kept("revision", store.revision(document, info.number).await);
        let revision = revision.expect("the revision is there");
        assert_eq!(&revision.info, info, "what is answered is what is stored");
        assert_eq!(revision.text.as_deref(), Some(text));
        assert_eq!((&*info.hash, info.bytes), (&*text_hash(text), text.len() as u64));
        let about_now = before..=timestamp::now_millis();
        assert!(about_now.contains(&info.at), "{} is not in {about_now:?}", info.at);
    }
    assert_eq!(numbers(&store, document).await, [4, 3, 2, 1]);
}

/// An append that does not name the newest number is refused with `Conflict`, and nothing is
/// stored.
async fn an_append_after_another_number_is_refused(store: Store) {
    let document = "contract/conflict.md";
    is_conflict("there is no log", store.append(document, 1, vec![edit(0, "a")]).await);
    assert_eq!(head(&store, document).await, None, "nothing is stored");
    begin(&store, document, &["a", "b"]).await;
    for expected in [0, 1, 3, u64::MAX] {
        let late = store.append(document, expected, vec![edit(0, "c"), edit(0, "d")]).await;
        is_conflict("another number is the newest", late);
    }
    assert_eq!(shown(&store, document).await, text(2, "b"), "nothing is stored");
    assert_eq!(numbers(&store, document).await, [2, 1]);
}

/// No revisions, parents that do not exist yet, and a log without a current text are `Invalid`.
async fn appends_that_make_no_sense_are_refused(store: Store) {
    let document = "contract/invalid.md";
    is_invalid("nothing to append", store.append(document, 0, vec![]).await);
    let refused = store.append(document, 0, vec![refusal(0, "a")]).await;
    is_invalid("a document has a text from the start", refused);
    is_invalid("its own parent", store.append(document, 0, vec![edit(1, "a")]).await);
    assert_eq!(head(&store, document).await, None, "nothing is stored");
    begin(&store, document, &["a"]).await;
    is_invalid("nothing to append", store.append(document, 1, vec![]).await);
    is_invalid("a later parent", store.append(document, 1, vec![edit(1, "b"), edit(3, "c")]).await);
    assert_eq!(numbers(&store, document).await, [1], "nothing is stored");
}
