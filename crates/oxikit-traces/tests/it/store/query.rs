//! Lists: filters, pages, and what does not disturb them.

use oxikit_traces::{TraceError, TraceQuery, TraceStatus};
use serde_json::json;

use super::{child, folder, list, open, put, query, span};

#[tokio::test]
async fn every_filter_finds_what_it_says() {
    let folder = folder();
    let store = open(&folder);
    for (place, name) in ["a", "b", "c", "d"].into_iter().enumerate() {
        let mut root = span(name, "root", 0.0, json!({"genkitx:n": place, "batchRun": name}));
        let start = 1000.0 * (place + 1) as f64;
        root["displayName"] = format!("name-{name}").into();
        root["startTime"] = start.into();
        root["endTime"] = json!(if name == "d" { 0.0 } else { start + 100.0 * (place + 1) as f64 });
        if name == "c" {
            root["status"] = json!({"code": 2, "message": "Broken pipe"});
        }
        root["attributes"]["genkit:metadata:subtype"] =
            if name == "a" { "flow" } else { "agent" }.into();
        put(&store, &root).await;
        let session = json!({"genkit:metadata:agent:sessionId": format!("session-{}", place % 2)});
        put(&store, &child(name, "inner", start + 1.0, session)).await;
    }
    let check = async |change: fn(&mut TraceQuery), expected: &[&str]| {
        assert_eq!(list(&store, &query(change)).await, expected, "{:?}", query(change));
    };
    check(|_| (), &["d", "c", "b", "a"]).await;
    check(|query| query.name = Some("name-b".into()), &["b"]).await;
    check(|query| query.name = Some("name".into()), &[]).await;
    check(|query| query.kind = Some("agent".into()), &["d", "c", "b"]).await;
    check(|query| query.status = Some(TraceStatus::Running), &["d"]).await;
    check(|query| query.status = Some(TraceStatus::Success), &["b", "a"]).await;
    check(|query| query.status = Some(TraceStatus::Error), &["c"]).await;
    check(|query| query.started_from = Some(2000.0), &["d", "c", "b"]).await;
    check(|query| query.started_before = Some(2000.0), &["a"]).await;
    check(|query| query.min_duration = Some(200.0), &["c", "b"]).await;
    check(|query| query.max_duration = Some(200.0), &["b", "a"]).await;
    check(|query| query.session_id = Some("session-1".into()), &["d", "b"]).await;
    check(|query| query.labels = vec![("genkitx:n".into(), "2".into())], &["c"]).await;
    check(|query| query.labels = vec![("batchRun".into(), "a".into())], &["a"]).await;
    check(
        |query| {
            query.labels = vec![("batchRun".into(), "b".into()), ("genkitx:n".into(), "1".into())];
            query.session_id = Some("session-1".into());
        },
        &["b"],
    )
    .await;
    check(|query| query.text = Some("broken".into()), &["c"]).await;
    check(
        |query| {
            query.text = Some("work".into());
            query.session_id = Some("session-0".into());
            query.kind = Some("flow".into());
        },
        &["a"],
    )
    .await;
    check(|query| query.limit = 0, &[]).await;
}

#[tokio::test]
async fn pages_stay_where_they_are_while_traces_arrive() {
    let folder = folder();
    let store = open(&folder);
    let add = async |number: usize| {
        let labels = json!({"genkitx:even": number.is_multiple_of(2), "text": "needle"});
        let id = format!("t{number}");
        put(&store, &span(&id, "root", 2000.0, labels.clone())).await;
        put(&store, &child(&id, "inner", 2000.0, labels)).await;
    };
    for number in 0..20 {
        add(number).await;
    }
    let kinds: [fn(&mut TraceQuery); 3] = [
        |_| (),
        |query| query.text = Some("needle".into()),
        |query| query.labels = vec![("text".into(), "needle".into())],
    ];
    for (round, kind) in kinds.into_iter().enumerate() {
        let newest = 20 + 7 * round;
        let mut asked = query(kind);
        asked.limit = 3;
        let mut seen = Vec::new();
        for page_number in 0_usize.. {
            let page = store.list(&asked).await.unwrap();
            seen.extend(page.traces.into_iter().map(|trace| trace.trace_id));
            if page_number < 7 {
                add(newest + page_number).await;
            }
            let Some(next) = page.next else { break };
            asked.after = Some(next);
        }
        let expected: Vec<_> = (0..newest).rev().map(|number| format!("t{number}")).collect();
        assert_eq!(seen, expected, "{asked:?}");
    }
}

#[tokio::test]
async fn foreign_tokens_are_refused() {
    let folder = folder();
    let store = open(&folder);
    for token in ["", "10", "t", "tx", "t-1", "t7fffffffffffffff", "w1", "t1' OR 1=1"] {
        let asked = query(|query| query.after = Some(token.to_owned()));
        let answer = store.list(&asked).await;
        assert!(matches!(answer, Err(TraceError::Query(_))), "{token}: {answer:?}");
    }
}

#[tokio::test]
async fn the_list_shows_long_attributes_cut_and_the_trace_whole() {
    let folder = folder();
    let store = open(&folder);
    let long = "ü".repeat(1500);
    let root = span("t", "root", 2000.0, json!({"a": "short", "b": long, "c": [long], "d": 1}));
    put(&store, &root).await;
    let page = store.list(&query(|_| ())).await.unwrap();
    let shown: serde_json::Value = serde_json::from_str(&page.traces[0].root).unwrap();
    let cut = format!("{}…", "ü".repeat(1000));
    assert_eq!(shown["attributes"]["b"], cut);
    assert_eq!(shown["attributes"]["c"], format!("[\"{}…", "ü".repeat(998)));
    assert_eq!(
        (&shown["attributes"]["a"], &shown["attributes"]["d"]),
        (&json!("short"), &json!(1))
    );
    assert_eq!(super::get(&store, "t").await["spans"]["root"], root);
}
