//! Writes cost what is new.

use std::sync::Arc;

use oxikit_core::ports::{Owner, SessionStore, SnapshotWrite};
use oxikit_sql::PostgresStore;
use oxikit_wire::{Message, SessionSnapshot};
use serde_json::Value;
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use super::server::{schema, store_in, url};
use super::turns::{after, texts};

/// Bytes of all that is in the tables of a schema, without what the database itself
/// adds.
async fn size(url: &str, schema: &str) -> i64 {
    let mut connection = PgConnection::connect(url).await.unwrap();
    let mut bytes = 0;
    for table in ["sessions", "snapshots", "segments", "messages", "documents"] {
        let query =
            format!("SELECT coalesce(sum(pg_column_size(t.*)), 0)::bigint FROM {schema}.{table} t");
        let sum = sqlx::query_scalar::<_, i64>(AssertSqlSafe(query));
        bytes += sum.fetch_one(&mut connection).await.unwrap();
    }
    bytes
}

async fn put(store: &PostgresStore, id: &str, snapshot: &SessionSnapshot) {
    let owner = Owner::nobody();
    let write = SnapshotWrite::new(&owner, "helper", "session", id);
    store.save(write, &|_| Ok(Some(snapshot.clone()))).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_turns_grow_by_what_they_say() {
    let Some(url) = url() else { return };
    let schema = schema();
    let store = store_in(&url, &schema).await;
    let (mut sizes, mut times) = (Vec::new(), Vec::new());
    for hundred in 0..10 {
        let start = std::time::Instant::now();
        for number in 0..100 {
            let latest = store.latest(&Owner::nobody(), "session").await.unwrap();
            let snapshot = after(latest.as_ref(), &"word ".repeat(100));
            put(&store, &format!("s-{hundred}-{number}"), &snapshot).await;
        }
        times.push(start.elapsed() / 100);
        sizes.push(size(&url, &schema).await);
    }
    let grown: Vec<_> = sizes.windows(2).map(|pair| (pair[1] - pair[0]) / 100).collect();
    println!("bytes a turn: {grown:?}; time of a turn: {times:?}");
    assert!(grown.iter().all(|bytes| *bytes < 2000), "bytes a turn: {grown:?}");
    assert!(grown[8] <= grown[0] + grown[0] / 4, "the same at every length: {grown:?}");
    let other = store_in(&url, &schema).await;
    assert_eq!(texts(&other).await.len(), 1000, "read anew, all is there");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_row_that_is_written_again_and_again_leaves_no_rubbish() {
    let Some(url) = url() else { return };
    let schema = schema();
    let store = store_in(&url, &schema).await;
    let mut sizes = Vec::new();
    for number in 0..40 {
        let mut snapshot = after(None, "hello");
        let state = snapshot.state.as_mut().unwrap();
        // Another end of the conversation, and a state too different for a change.
        let end = Message::user(format!("{number} ").repeat(1000));
        state.messages.as_mut().unwrap().push(Arc::new(end));
        state.custom = Some(Arc::new(Value::String(format!("{number} ").repeat(1000))));
        put(&store, "one", &snapshot).await;
        sizes.push(size(&url, &schema).await);
    }
    assert!(sizes[39] < 2 * sizes[10], "{sizes:?}");
    let other = store_in(&url, &schema).await;
    assert_eq!(texts(&other).await, ["hello".to_owned(), "39 ".repeat(1000)]);
}
