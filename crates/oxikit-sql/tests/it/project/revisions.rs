//! Revision logs in the file of a project.

use std::sync::Arc;

use oxikit_core::ports::contract::{self, NOTIFIER, REVISION_STORE};
use oxikit_core::ports::{
    LocalNotifier, NewRevision, Notifier, ProjectStore, RevisionStore, StoreError, revision_topic,
};
use oxikit_sql::{SqliteProject, SqliteProjectOptions};

use super::{file, folder, open};
use crate::revisions::{
    a_reader_hears_of_changes_by_another_process, edit, shown,
    two_processes_append_one_after_the_other,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn revisions_keep_every_promise() {
    let folder = folder();
    let store = Arc::new(open(&folder));
    contract::each("sqlite", REVISION_STORE, async || store.clone() as _).await;
}

/// Two handles stand for two processes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_processes_share_their_revisions() {
    let folder = folder();
    let (one, other) = (Arc::new(open(&folder)), Arc::new(open(&folder)));
    two_processes_append_one_after_the_other([one.clone(), other.clone()]).await;
    a_reader_hears_of_changes_by_another_process([one, other]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn notifications_of_a_project_keep_the_contract() {
    /// The notifier of a store that is open as long as this is used.
    #[derive(Debug)]
    struct Open(SqliteProject);

    impl Notifier for Open {
        fn publish(&self, topic: oxikit_core::ports::Topic) {
            self.0.notifier().publish(topic);
        }

        fn subscribers(&self) -> &oxikit_core::ports::Subscribers {
            self.0.notifier().subscribers()
        }

        fn subscribe(&self, topic: oxikit_core::ports::Topic) -> oxikit_core::ports::Subscription {
            self.0.notifier().subscribe(topic)
        }
    }

    let folder = folder();
    contract::each("sqlite", NOTIFIER, async || Arc::new(Open(open(&folder))) as _).await;
}

#[tokio::test]
async fn revisions_are_published_with_the_notifier_that_is_given() {
    let folder = folder();
    let notifier = Arc::new(LocalNotifier::default());
    let options = SqliteProjectOptions::default().with_notifier(notifier.clone());
    let store = SqliteProject::open_with(file(&folder), options).unwrap();
    let mut subscription = notifier.subscribe(revision_topic("prompts/a.md"));
    store.append("prompts/a.md", 0, vec![edit(0, "a")]).await.unwrap();
    subscription.next().await;
}

#[tokio::test]
async fn numbers_go_on_after_a_restart() {
    let folder = folder();
    let store = open(&folder);
    let op = NewRevision { op: Some("op".to_owned()), ..edit(0, "a") };
    store.append("prompts/a.md", 0, vec![op]).await.unwrap();
    store.set_label("prompts/a.md", "production", Some(1)).await.unwrap();
    drop(store);
    let store = open(&folder);
    assert_eq!(shown(&store, "prompts/a.md").await, Some((1, "a".to_owned())));
    assert!(store.find_op("prompts/a.md", "op", 0).await.unwrap().is_some());
    assert_eq!(store.labels("prompts/a.md").await.unwrap()["production"], 1);
    let more = store.append("prompts/a.md", 1, vec![edit(1, "b")]).await.unwrap();
    assert_eq!(more[0].number, 2);
}

/// Documents are what a user deletes; revisions of the same name are something else.
#[tokio::test]
async fn documents_and_revisions_are_apart() {
    let folder = folder();
    let store = open(&folder);
    store.put_document("dataset", "a", "[]".to_owned(), None).await.unwrap();
    store.append("a", 0, vec![edit(0, "text")]).await.unwrap();
    assert!(store.delete_document("dataset", "a").await.unwrap());
    assert_eq!(shown(&store, "a").await, Some((1, "text".to_owned())));
    assert_eq!(RevisionStore::documents(&store).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_file_that_is_gone_takes_no_revisions() {
    let folder = folder();
    let below = folder.path().join(".oxikit");
    let store = SqliteProject::open(below.join("project.db")).unwrap();
    store.append("prompts/a.md", 0, vec![edit(0, "a")]).await.unwrap();
    std::fs::remove_dir_all(&below).unwrap();
    let error = store.append("prompts/a.md", 1, vec![edit(1, "b")]).await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable(_)), "{error:?}");
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert!(source.contains("deleted or replaced"), "{source}");
}

/// The log is removed with the last connection, so that the file alone is the whole database.
#[tokio::test]
async fn a_store_that_is_dropped_leaves_one_file() {
    let folder = folder();
    for round in 0..20 {
        let store = open(&folder);
        let _subscription = store.notifier().subscribe(revision_topic("prompts/a.md"));
        store.append("prompts/a.md", round, vec![edit(0, "a")]).await.unwrap();
        drop(store);
        let log = file(&folder).with_file_name("project.db-wal");
        let closed = tokio::time::timeout(std::time::Duration::from_secs(10), async {
            while log.exists() {
                tokio::task::yield_now().await;
            }
        });
        closed.await.expect("the last connection removes the log");
    }
}
