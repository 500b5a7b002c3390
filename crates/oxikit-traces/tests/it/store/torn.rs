//! Rows that something else has written over.

use oxikit_traces::TraceQuery;
use rusqlite::Connection;
use serde_json::{Value, json};

use super::{file, folder, get, open, put, span};

#[tokio::test]
async fn a_torn_row_is_named_and_the_others_are_served() {
    let folder = folder();
    let store = open(&folder);
    for id in ["a", "b", "c", "d"] {
        put(&store, &span(id, "root", 1500.0, json!({}))).await;
    }
    let tears = [
        ("a", "UPDATE spans SET json = substr(json, 1, 40) WHERE trace = ?1"),
        ("b", "UPDATE spans SET json = CAST(X'7bff' AS TEXT) WHERE trace = ?1"),
        ("c", "UPDATE traces SET name = CAST(X'ff' AS TEXT), start = 'then' WHERE number = ?1"),
    ];
    let database = Connection::open(file(&folder)).unwrap();
    for (id, tear) in tears {
        let number: i64 = database
            .query_row("SELECT number FROM traces WHERE id = ?1", [id], |row| row.get(0))
            .unwrap();
        assert_eq!(database.execute(tear, [number]).unwrap(), 1);
    }
    let page = store.list(&TraceQuery::default()).await.unwrap();
    let ids: Vec<&str> = page.traces.iter().map(|trace| &*trace.trace_id).collect();
    assert_eq!(ids, ["d", "c", "b", "a"]);
    for trace in &page.traces {
        let json: Value = serde_json::from_str(&trace.to_json()).unwrap();
        let is_torn = json["spans"]["root"]["attributes"]["oxikit:torn"] == true;
        assert_eq!(is_torn, ["a", "b"].contains(&&*trace.trace_id), "{json}");
    }
    assert_eq!(page.traces[1].name, "(a torn record)");
    let trace = get(&store, "a").await;
    assert_eq!(trace["spans"]["root"]["status"]["code"], 2);
    assert_eq!(get(&store, "d").await["spans"]["root"]["displayName"], "work");
    assert_eq!(get(&store, "c").await["spans"]["root"]["displayName"], "work");
    let spans = store.spans("b").await.unwrap();
    assert!(spans[0].json.contains("torn"), "{spans:?}");
}
