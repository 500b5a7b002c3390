//! Files that are deleted while they are open.

use oxikit_core::ports::StoreError;
use oxikit_sql::SqliteStore;
use oxikit_traces::{TraceError, TraceStore};
use serde_json::json;

use super::{folder, get, put, span};

/// Deletes a file of the folder, or the whole folder.
#[track_caller]
fn delete(folder: &std::path::Path, what: &str) {
    match what {
        "the folder" => std::fs::remove_dir_all(folder).unwrap(),
        file => std::fs::remove_file(folder.join(file)).unwrap(),
    }
}

async fn post(store: &TraceStore, trace: &str) -> Result<(), TraceError> {
    let post = json!({"traceId": trace, "spans": {"s": span(trace, "s", 1500.0, json!({}))}});
    store.ingest(post.to_string().as_bytes()).await
}

#[tokio::test]
async fn what_goes_into_a_deleted_file_is_not_acknowledged() {
    for what in ["the folder", "traces.db", "traces.db-wal"] {
        let folder = folder();
        let below = folder.path().join(".oxikit");
        let path = below.join("traces.db");
        let store = TraceStore::open(&path).unwrap();
        put(&store, &span("kept", "s", 1500.0, json!({}))).await;
        delete(&below, what);
        for trace in ["a", "b"] {
            let error = post(&store, trace).await.unwrap_err();
            assert!(matches!(error, TraceError::Gone), "{what}: {error:?}");
            assert!(error.to_string().contains("deleted or replaced"), "{error}");
        }
        let error = store.clear().await.unwrap_err();
        assert!(matches!(error, TraceError::Gone), "{what}: {error:?}");
        drop(store);
        if what == "traces.db-wal" {
            // All commits that were acknowledged before were moved into the database itself.
            let store = TraceStore::open(&path).unwrap();
            assert!(!get(&store, "kept").await.is_null());
        }
    }
}

#[tokio::test]
async fn a_file_that_was_replaced_is_not_written_to() {
    let folder = folder();
    let path = folder.path().join("traces.db");
    let store = TraceStore::open(&path).unwrap();
    put(&store, &span("kept", "s", 1500.0, json!({}))).await;
    let moved = folder.path().join("moved.db");
    std::fs::rename(&path, &moved).unwrap();
    std::fs::write(&path, "somebody else's").unwrap();
    assert!(matches!(post(&store, "a").await, Err(TraceError::Gone)));
    assert_eq!(std::fs::read(&path).unwrap(), b"somebody else's");
    // Back in its place, it is the file that is open.
    std::fs::rename(&moved, &path).unwrap();
    post(&store, "b").await.unwrap();
}

#[tokio::test]
async fn a_session_in_a_deleted_file_is_refused() {
    use oxikit_core::ports::{Owner, SessionStore, Term};
    let folder = folder();
    let below = folder.path().join("data");
    let store = SqliteStore::open(below.join("app.db")).unwrap();
    let term = Term::of(std::time::Duration::from_secs(600));
    let lease = async |session: &str| store.lease(&Owner::nobody(), session, term).await;
    lease("a").await.unwrap();
    std::fs::remove_dir_all(&below).unwrap();
    let error = lease("b").await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable(_)), "{error:?}");
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert!(source.contains("deleted or replaced"), "{source}");
}
