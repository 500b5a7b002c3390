//! Revision logs.

use std::sync::Arc;
use std::time::Duration;

use oxikit_core::ports::contract::{self, REVISION_STORE};
use oxikit_core::ports::{
    LocalNotifier, NewRevision, Notifier, RevisionStore, StoreError, revision_topic,
};
use oxikit_sql::{PostgresOptions, PostgresStore};
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use super::proxy::Proxy;
use super::server::{schema, store, store_in, url};
use crate::revisions::{
    a_reader_hears_of_changes_by_another_process, edit, shown,
    two_processes_append_one_after_the_other,
};

#[tokio::test(flavor = "multi_thread")]
async fn revisions_keep_the_contract() {
    let Some(url) = url() else { return };
    let store = Arc::new(store(&url).await);
    contract::each("postgres", REVISION_STORE, async || store.clone() as _).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_stores_share_their_revisions() {
    let Some(url) = url() else { return };
    let schema = schema();
    let one = Arc::new(store_in(&url, &schema).await);
    let other = Arc::new(store_in(&url, &schema).await);
    two_processes_append_one_after_the_other([one.clone(), other.clone()]).await;
    a_reader_hears_of_changes_by_another_process([one, other]).await;
}

/// With a notifier that reaches only its own process, others find changes by looking.
#[tokio::test(flavor = "multi_thread")]
async fn a_store_with_another_notifier_finds_revisions_of_others() {
    let Some(url) = url() else { return };
    let schema = schema();
    let notifier = Arc::new(LocalNotifier::default());
    let connect = async |notifier| {
        let options = PostgresOptions::default().with_schema(&schema).with_notifier(notifier);
        Arc::new(PostgresStore::connect_with(&url, options).await.unwrap())
    };
    let one = connect(notifier.clone()).await;
    let other = connect(Arc::new(LocalNotifier::default())).await;
    a_reader_hears_of_changes_by_another_process([one.clone(), other]).await;
    let mut subscription = notifier.subscribe(revision_topic("prompts/a.md"));
    one.append("prompts/a.md", 0, vec![edit(0, "a")]).await.unwrap();
    subscription.next().await;
}

/// A transaction that began before a look and commits after it has a smaller number than those
/// that the look has seen.
#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_commits_late_is_found() {
    let Some(url) = url() else { return };
    let schema = schema();
    let options = PostgresOptions::default().with_schema(&schema);
    let options = options.with_notifier(Arc::new(LocalNotifier::default()));
    let store = PostgresStore::connect_with(&url, options).await.unwrap();
    for document in ["late.md", "other.md"] {
        store.append(document, 0, vec![edit(0, "a")]).await.unwrap();
    }
    // As another process does it, whose notification is lost.
    let late = format!(
        "UPDATE {schema}.revision_logs SET current = 1, changed = pg_current_xact_id()
         WHERE document = 'late.md'"
    );
    let mut connection = PgConnection::connect(&url).await.unwrap();
    let mut transaction = connection.begin().await.unwrap();
    sqlx::query(AssertSqlSafe(late)).execute(&mut *transaction).await.unwrap();
    // Two looks have seen this later change, which is committed first.
    let notifier = RevisionStore::notifier(&store);
    for newest in [1, 2] {
        let mut subscription = notifier.subscribe(revision_topic("other.md"));
        let other = store_in(&url, &schema).await;
        other.append("other.md", newest, vec![edit(1, "b")]).await.unwrap();
        tokio::time::timeout(Duration::from_secs(10), subscription.next()).await.unwrap();
    }
    let mut subscription = notifier.subscribe(revision_topic("late.md"));
    transaction.commit().await.unwrap();
    tokio::time::timeout(Duration::from_secs(10), subscription.next()).await.unwrap();
}

/// A writer whose answer was lost finds out by its `op` whether its revision is stored.
#[tokio::test(flavor = "multi_thread")]
async fn revisions_whose_answer_was_lost_count_once() {
    let Some(url) = url() else { return };
    let proxy = Proxy::start(&url).await;
    let store = store_in(&proxy.url, &schema()).await;
    let document = "prompts/a.md";
    let mut lost = 0;
    for newest in 0..60 {
        proxy.lose_answer(fastrand::i64(0..4));
        let op = format!("op-{newest}");
        let revision = NewRevision { op: Some(op.clone()), ..edit(newest, &op) };
        let is_unavailable = |error: &StoreError| matches!(error, StoreError::Unavailable(_));
        loop {
            match store.append(document, newest, vec![revision.clone()]).await {
                Ok(_) => break,
                Err(StoreError::Conflict(_)) => {
                    let found = store.find_op(document, &op, 0).await;
                    match found {
                        Ok(found) => break assert!(found.is_some(), "{op}"),
                        Err(error) => assert!(is_unavailable(&error), "{error}"),
                    }
                }
                Err(error) => assert!(is_unavailable(&error), "{error}"),
            }
        }
        lost += u32::from(proxy.has_lost());
    }
    assert!(lost > 20, "answers were lost: {lost}");
    assert_eq!(shown(&store, document).await, Some((60, "op-59".to_owned())));
}
