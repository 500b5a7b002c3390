//! The files of the tools: deleted, damaged, gone while the tools run.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use oxikit_devtools::{DevServer, DevServerOptions};
use serde_json::{Value, json};

use oxikit_testing::tools::{Kit, kit, kit_with};

const PAGE: usize = 4096;

/// A server of the project in this folder.
async fn kit_in(root: &Path) -> Kit {
    kit_with(|_| DevServerOptions::new(root).on_any_ports()).await
}

/// Ends the server, and waits until it has given its files back.
async fn end(kit: Kit, root: &Path) {
    kit.server.close().await;
    let logs = ["devtools.db-wal", "project.db-wal"].map(|name| root.join(".oxikit").join(name));
    let end = Instant::now() + Duration::from_secs(20);
    while logs.iter().any(|log| log.exists()) && Instant::now() < end {
        tokio::task::yield_now().await;
    }
}

fn post(trace: &str) -> Value {
    json!({"traceId": trace, "spans": {"s": {
        "spanId": "s", "traceId": trace, "startTime": 1000, "endTime": 1500,
        "attributes": {"said": format!("lighthouse {trace}")}, "displayName": "work",
        "instrumentationLibrary": {"name": "test"}, "spanKind": "INTERNAL"
    }}})
}

async fn send(kit: &Kit, trace: &str) -> (u16, Value) {
    let url = format!("{}/api/traces", kit.server.urls().telemetry);
    oxikit_testing::tools::read(kit.client.post(url).json(&post(trace)).send().await.unwrap()).await
}

#[tokio::test]
async fn data_sets_outlive_the_traces() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let traces = root.join(".oxikit/devtools.db");
    let first = kit_in(root).await;
    let new = json!({"datasetId": "greetings", "data": [{"input": "Ada"}]});
    assert_eq!(first.post("/api/v1/datasets", new).await.0, 200);
    assert_eq!(send(&first, "a").await.0, 200);
    end(first, root).await;

    fs::remove_file(&traces).unwrap();
    let second = kit_in(root).await;
    let (status, found) = second.get("/api/v1/datasets/greetings").await;
    assert_eq!((status, &found["samples"][0]["input"]), (200, &json!("Ada")));
    assert_eq!(second.get("/api/v1/traces").await.1["traces"], json!([]));
    end(second, root).await;

    // Tools that cannot use the traces say how to go on, and the data sets are untouched.
    fs::write(&traces, "no database").unwrap();
    let refused = DevServer::start(DevServerOptions::new(root).on_any_ports()).await.unwrap_err();
    let text = refused.to_string();
    for part in ["devtools.db", "oxikit doctor --repair", "moved or deleted"] {
        assert!(text.contains(part), "{text}");
    }
    fs::remove_file(&traces).unwrap();
    let third = kit_in(root).await;
    assert_eq!(third.get("/api/v1/datasets/greetings").await.0, 200);
    end(third, root).await;
}

#[tokio::test]
async fn traces_of_an_unreleased_version_are_refused_after_peoples_work_was_taken_out() {
    /// Where a SQLite file has the version of its tables.
    const VERSION: std::ops::Range<usize> = 60..64;
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let [traces, project] =
        ["devtools.db", "project.db"].map(|name| root.join(".oxikit").join(name));
    end(kit_in(root).await, root).await;
    let mut bytes = fs::read(&traces).unwrap();
    bytes[VERSION].copy_from_slice(&4_u32.to_be_bytes());
    fs::write(&traces, bytes).unwrap();
    fs::remove_file(&project).unwrap();

    let refused = DevServer::start(DevServerOptions::new(root).on_any_ports()).await.unwrap_err();
    let text = refused.to_string();
    for part in ["devtools.db", "never released", "move or delete it"] {
        assert!(text.contains(part), "{text}");
    }
    assert!(project.exists(), "the project is opened first, and moves what it finds");
    fs::remove_file(&traces).unwrap();
    end(kit_in(root).await, root).await;
}

#[tokio::test]
async fn what_can_be_read_of_a_damaged_file_is_served_and_the_rest_named() {
    const TRACES: usize = 200;
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let path = root.join(".oxikit/devtools.db");
    let kit = kit_in(root).await;
    for number in 0..TRACES {
        assert_eq!(send(&kit, &format!("trace-{number:03}")).await.0, 200);
    }
    end(kit, root).await;
    let whole = fs::read(&path).unwrap();
    // Pages with the rows of many traces, and not with their spans.
    let is_list = |page: &[u8]| {
        let text = String::from_utf8_lossy(page);
        text.matches("trace-").count() > 9 && !text.contains("lighthouse")
    };
    let pages = whole.chunks(PAGE).enumerate().filter(|(_, page)| is_list(page));
    let mut warned = 0;
    for (page, _) in pages {
        let mut damaged = whole.clone();
        damaged[page * PAGE..(page + 1) * PAGE].fill(0xff);
        fs::write(&path, damaged).unwrap();
        let kit = kit_in(root).await;
        let (status, list) = kit.get("/api/v1/traces?limit=1000").await;
        assert_eq!(status, 200, "page {page}: {list}");
        if let Some(warning) = list["warning"].as_str() {
            assert!(warning.contains("trace-") && warning.contains("oxikit doctor --repair"));
            let found = list["traces"].as_array().unwrap().len();
            assert!(found < TRACES, "page {page}: {found}");
            // One of the pages leads to all others.
            warned += usize::from(found > TRACES / 2);
        }
        let (status, error) = kit.get("/api/v1/traces?text=lighthouse").await;
        assert!(status == 200 || error.to_string().contains("doctor --repair"), "{error}");
        let (status, error) = send(&kit, "new").await;
        assert!(status == 200 || error.to_string().contains("doctor --repair"), "{error}");
        end(kit, root).await;
    }
    assert!(warned > 0, "no page with the rows of traces was found");
}

#[tokio::test]
async fn nothing_is_acknowledged_when_the_files_are_gone() {
    let kit = kit().await;
    assert_eq!(send(&kit, "a").await.0, 200);
    fs::remove_dir_all(kit.root().join(".oxikit")).unwrap();
    let (status, error) = send(&kit, "b").await;
    assert_eq!(status, 503, "{error}");
    assert!(error["message"].as_str().unwrap().contains("deleted or replaced"), "{error}");
    let new = json!({"datasetId": "greetings", "data": []});
    let (status, error) = kit.post("/api/v1/datasets", new).await;
    assert_eq!((status, &error["status"]), (503, &json!("UNAVAILABLE")));
    assert!(error["message"].as_str().unwrap().contains("deleted or replaced"), "{error}");
}

#[tokio::test]
async fn a_torn_data_set_is_named_and_the_others_are_listed() {
    let kit = kit().await;
    for id in ["first-one", "second-one"] {
        let new = json!({"datasetId": id, "data": []});
        assert_eq!(kit.post("/api/v1/datasets", new).await.0, 200);
    }
    let project = kit.server.project();
    project.put_document("dataset", "first-one", "{".to_owned(), None).await.unwrap();
    project.put_document("evalRun", "torn-run", "{".to_owned(), None).await.unwrap();
    let (status, list) = kit.get("/api/v1/datasets").await;
    assert_eq!((status, list["datasets"].as_array().map(Vec::len)), (200, Some(1)), "{list}");
    assert!(list["warning"].as_str().unwrap().contains("first-one"), "{list}");
    let (status, list) = kit.get("/api/v1/evaluations").await;
    assert_eq!((status, list["evaluations"].as_array().map(Vec::len)), (200, Some(0)), "{list}");
    assert!(list["warning"].as_str().unwrap().contains("torn-run"), "{list}");
}
