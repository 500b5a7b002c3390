//! Documents and their versions.

use std::sync::Arc;

use oxikit_core::ports::contract::{self, PROJECT_STORE};
use oxikit_core::ports::{ProjectError, ProjectStore, StoreError};

use super::{folder, open};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_project_keeps_every_promise() {
    let folder = folder();
    let store = Arc::new(open(&folder));
    contract::each("sqlite", PROJECT_STORE, async || store.clone() as _).await;
}

/// Two handles stand for two processes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_one_process_writes_another_one_reads_at_once() {
    let folder = folder();
    let (one, other) = (open(&folder), open(&folder));
    one.put_document("dataset", "a", "[1]".to_owned(), None).await.unwrap();
    other.put_document("dataset", "a", "[2]".to_owned(), Some(1)).await.unwrap();
    let refused = one.put_document("dataset", "a", "[3]".to_owned(), Some(1)).await;
    assert!(matches!(refused, Err(ProjectError::Store(StoreError::Conflict(_)))), "{refused:?}");
    assert_eq!(one.document("dataset", "a").await.unwrap().unwrap().json, "[2]");
}

#[tokio::test]
async fn documents_have_versions() {
    let folder = folder();
    let store = open(&folder);
    let put = async |kind: &str, id: &str, json: &str, expected| {
        store.put_document(kind, id, json.to_owned(), expected).await
    };
    assert_eq!(put("dataset", "a", "[1]", None).await.unwrap(), 1);
    assert_eq!(put("dataset", "b", "[2]", Some(0)).await.unwrap(), 1);
    assert_eq!(put("evalRun", "a", "{}", None).await.unwrap(), 1);
    assert_eq!(put("dataset", "a", "[1,2]", Some(1)).await.unwrap(), 2);
    for (id, expected) in [("a", 1), ("a", 0), ("c", 1)] {
        let refused = put("dataset", id, "[]", Some(expected)).await;
        assert!(
            matches!(refused, Err(ProjectError::Store(StoreError::Conflict(_)))),
            "{refused:?}"
        );
    }
    let documents = store.documents("dataset").await.unwrap().documents;
    let shown: Vec<_> = documents.iter().map(|d| (&*d.id, d.version, &*d.json)).collect();
    assert_eq!(shown, [("a", 2, "[1,2]"), ("b", 1, "[2]")]);
    let document = store.document("dataset", "a").await.unwrap().unwrap();
    assert_eq!(document, documents[0]);
    assert!(document.created_at > 0 && document.updated_at >= document.created_at);
    assert!(store.delete_document("dataset", "a").await.unwrap());
    assert!(!store.delete_document("dataset", "a").await.unwrap());
    assert_eq!(store.document("dataset", "a").await.unwrap(), None);
    assert!(store.document("evalRun", "a").await.unwrap().is_some());
}
