//! Revisions in a database that several processes use, for both databases.

use std::sync::Arc;
use std::time::Duration;

use oxikit_core::ports::{
    NewRevision, RevisionKind, RevisionStore, StoreError, Topic, all_revisions_topic,
    revision_topic,
};

pub(crate) type Revisions = Arc<dyn RevisionStore>;

pub(crate) fn edit(parent: u64, text: &str) -> NewRevision {
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

/// The newest number and the current text.
pub(crate) async fn shown(store: &dyn RevisionStore, document: &str) -> Option<(u64, String)> {
    let (newest, revision) = store.head(document).await.unwrap()?;
    Some((newest, revision.text.unwrap().to_string()))
}

/// Two stores of one database stand for two processes.
pub(crate) async fn two_processes_append_one_after_the_other([one, other]: [Revisions; 2]) {
    for round in 0..25 {
        let document = format!("race/{round}.md");
        for newest in 0..2 {
            let (first, second) = tokio::join!(
                one.append(&document, newest, vec![edit(newest, "one")]),
                other.append(&document, newest, vec![edit(newest, "other")]),
            );
            let (expected, error) = match (first, second) {
                (Ok(_), Err(error)) => ("one", error),
                (Err(error), Ok(_)) => ("other", error),
                both => panic!("one of the two wins: {both:?}"),
            };
            assert!(matches!(error, StoreError::Conflict(_)), "{error}");
            for store in [&one, &other] {
                let expected = Some((newest + 1, expected.to_owned()));
                assert_eq!(shown(&**store, &document).await, expected);
            }
        }
    }
}

/// Maximum time until a change by another process is found. It takes about half a second; a
/// loaded machine needs more.
const SOON: Duration = Duration::from_secs(10);

/// Waits for notifications of a topic until `is_done`.
async fn wait(store: &Revisions, topic: Topic, is_done: impl AsyncFn() -> bool) {
    let mut subscription = store.notifier().subscribe(topic);
    while !is_done().await {
        let next = tokio::time::timeout(SOON, subscription.next()).await;
        next.expect("a notification comes");
    }
}

pub(crate) async fn a_reader_hears_of_changes_by_another_process([one, other]: [Revisions; 2]) {
    let (from, to) = ("heard/a.md", "heard/b.md");
    let of_all = async || other.documents().await.unwrap().iter().any(|it| it.document == from);
    let first = async { one.append(from, 0, vec![edit(0, "a")]).await.unwrap() };
    tokio::join!(wait(&other, all_revisions_topic(), of_all), after_a_moment(first));

    let of_one = async || shown(&*other, from).await.unwrap().0 == 2;
    let second = async { one.append(from, 1, vec![edit(1, "b")]).await.unwrap() };
    tokio::join!(wait(&other, revision_topic(from), of_one), after_a_moment(second));

    let of_label = async || !other.labels(from).await.unwrap().is_empty();
    let label = async { one.set_label(from, "production", Some(1)).await.unwrap() };
    tokio::join!(wait(&other, revision_topic(from), of_label), after_a_moment(label));

    let of_old = async || shown(&*other, from).await.is_none();
    let of_new = async || shown(&*other, to).await.is_some();
    let rename = async { one.rename(from, to, 2, edit(2, "b")).await.unwrap() };
    tokio::join!(
        wait(&other, revision_topic(from), of_old),
        wait(&other, revision_topic(to), of_new),
        after_a_moment(rename),
    );
}

/// Lets the readers subscribe and read first.
async fn after_a_moment<T>(write: impl Future<Output = T>) {
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    write.await;
}
