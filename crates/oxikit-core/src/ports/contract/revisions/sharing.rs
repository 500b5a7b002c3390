//! Writers at the same time, and readers that wait for them.

use std::time::Duration;

use super::{Store, append, begin, edit, head, is_conflict, kept, numbers, refusal, shown, text};
use crate::ports::{StoreError, Subscription, all_revisions_topic, revision_topic};

/// Maximum time until a notification arrives. A loaded machine needs far less.
const DEADLINE: Duration = Duration::from_secs(30);
/// Number of writers at the same time.
const WRITERS: usize = 8;

/// Waits for a notification. Whether it is `Changed` or `Lagged` is left to the notifier.
async fn notified(promise: &str, subscription: &mut Subscription) {
    let next = tokio::time::timeout(DEADLINE, subscription.next()).await;
    assert!(next.is_ok(), "broken promise: {promise}: no notification came");
}

/// A subscriber that reads after a notification finds the revision.
pub(super) async fn subscribers_are_notified_after_the_commit(store: Store) {
    let document = "contract/notified.md";
    for (newest, revision) in [(0, edit(0, "a")), (1, edit(1, "b")), (2, refusal(1, "c"))] {
        let notifier = store.notifier();
        let mut of_one = notifier.subscribe(revision_topic(document));
        let mut of_all = notifier.subscribe(all_revisions_topic());
        let reader = async {
            // Other documents of the store may be notified of, too.
            while head(&store, document).await.is_none_or(|(found, _)| found == newest) {
                notified("the document has changed", &mut of_one).await;
            }
            notified("a document has changed", &mut of_all).await;
        };
        let writer = async {
            tokio::task::yield_now().await;
            append(&store, document, newest, vec![revision]).await;
        };
        futures_util::future::join(reader, writer).await;
    }
}

/// Both names of a rename are notified, and labels like revisions.
pub(super) async fn subscribers_are_notified_of_renames_and_labels(store: Store) {
    let (from, to) = ("contract/notified/a.md", "contract/notified/b.md");
    begin(&store, from, &["a"]).await;
    let notifier = store.notifier();
    let mut subscriptions = [revision_topic(from), revision_topic(to), all_revisions_topic()]
        .map(|topic| notifier.subscribe(topic));
    kept("rename", store.rename(from, to, 1, edit(1, "a")).await);
    for subscription in &mut subscriptions {
        notified("a rename changes both names", subscription).await;
    }
    for number in [Some(1), None] {
        let mut subscription = notifier.subscribe(revision_topic(to));
        kept("label", store.set_label(to, "label", number).await);
        notified("a label has changed", &mut subscription).await;
    }
}

/// Runs `work` of all writers at the same time; their results in order.
async fn at_once<T: Send + 'static, F: Future<Output = T> + Send + 'static>(
    work: impl Fn(usize) -> F,
) -> Vec<T> {
    let tasks: Vec<_> = (0..WRITERS).map(|writer| tokio::spawn(work(writer))).collect();
    let mut results = Vec::new();
    for task in tasks {
        results.push(task.await.unwrap_or_else(|error| panic!("the writer ends: {error}")));
    }
    results
}

/// The number of the one writer that has succeeded; all others have got a refusal that `is`.
#[track_caller]
fn winner<T>(results: Vec<Result<T, StoreError>>, is: fn(&str, Result<T, StoreError>)) -> usize {
    let winners: Vec<_> = (0..).zip(&results).filter(|(_, result)| result.is_ok()).collect();
    let [(winner, _)] = *winners else { panic!("one writer wins: {} did", winners.len()) };
    for result in results.into_iter().filter(Result::is_err) {
        is("the others are refused", result);
    }
    winner
}

/// Of appends with the same expected number exactly one succeeds, with all of its revisions.
pub(super) async fn of_appends_at_the_same_time_one_wins(store: Store) {
    let document = "contract/writers.md";
    begin(&store, document, &["a"]).await;
    let results = at_once(|writer| {
        let store = store.clone();
        let revisions = vec![edit(1, "sent"), edit(1, &writer.to_string())];
        async move { store.append(document, 1, revisions).await }
    });
    let winner = winner(results.await, is_conflict);
    assert_eq!(shown(&store, document).await, text(3, &winner.to_string()));
    assert_eq!(numbers(&store, document).await, [3, 2, 1]);
}

/// The same for a document that has no log yet.
pub(super) async fn of_first_appends_at_the_same_time_one_wins(store: Store) {
    let document = "contract/first-writers.md";
    let results = at_once(|writer| {
        let store = store.clone();
        let revisions = vec![edit(0, &writer.to_string())];
        async move { store.append(document, 0, revisions).await }
    });
    let winner = winner(results.await, is_conflict);
    assert_eq!(shown(&store, document).await, text(1, &winner.to_string()));
}

/// Writers that read again after a conflict all get their revision stored, once.
pub(super) async fn writers_that_read_again_lose_nothing(store: Store) {
    const ROUNDS: usize = 10;
    let document = "contract/insistent.md";
    let write = |writer: usize| {
        let store = store.clone();
        async move {
            for round in 0..ROUNDS {
                loop {
                    let newest = head(&store, document).await.map_or(0, |(newest, _)| newest);
                    let text = format!("{writer}-{round}");
                    match store.append(document, newest, vec![edit(newest, &text)]).await {
                        Ok(_) => break,
                        conflict => is_conflict("only another writer is a reason", conflict),
                    }
                }
            }
        }
    };
    at_once(write).await;
    let count = (WRITERS * ROUNDS) as u64;
    assert_eq!(numbers(&store, document).await, (1..=count).rev().collect::<Vec<_>>());
    let mut found = Vec::new();
    for number in 1..=count {
        let revision = kept("revision", store.revision(document, number).await);
        found.push(revision.and_then(|revision| revision.text).expect("a text").to_string());
    }
    found.sort();
    let all = (0..WRITERS).flat_map(|writer| (0..ROUNDS).map(move |round| (writer, round)));
    let mut all: Vec<_> = all.map(|(writer, round)| format!("{writer}-{round}")).collect();
    all.sort();
    assert_eq!(found, all);
}

/// Of renames to the same name exactly one succeeds; the other logs stay where they were.
pub(super) async fn of_renames_to_one_name_one_wins(store: Store) {
    let to = "contract/renamers/to.md";
    let from = |writer: usize| format!("contract/renamers/{writer}.md");
    for writer in 0..WRITERS {
        begin(&store, &from(writer), &[&writer.to_string()]).await;
    }
    let results = at_once(|writer| {
        let (store, from) = (store.clone(), from(writer));
        async move { store.rename(&from, to, 1, edit(1, &writer.to_string())).await }
    });
    let is_taken = |promise: &str, result: Result<_, StoreError>| {
        assert!(matches!(result, Err(StoreError::Exists(_))), "broken promise: {promise}");
    };
    let winner = winner(results.await, is_taken);
    assert_eq!(shown(&store, to).await, text(2, &winner.to_string()));
    for writer in 0..WRITERS {
        let expected = if writer == winner { None } else { text(1, &writer.to_string()) };
        assert_eq!(shown(&store, &from(writer)).await, expected);
    }
}
