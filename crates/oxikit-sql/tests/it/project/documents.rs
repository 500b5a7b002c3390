//! Documents and their versions.

use oxikit_core::ports::StoreError;
use oxikit_sql::ProjectError;

use super::{folder, open};

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
