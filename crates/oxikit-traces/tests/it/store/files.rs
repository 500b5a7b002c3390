//! Import and export.

use std::fs;

use serde_json::{Value, json};

use super::{folder, get, list, open, put, query, span};

#[tokio::test]
async fn a_folder_of_traces_is_taken_over_and_torn_files_are_named() {
    let folder = folder();
    let traces = folder.path().join("traces");
    fs::create_dir_all(traces.join("a-folder")).unwrap();
    let whole = [
        include_str!("recordings/stored-trace.greet.json"),
        include_str!("recordings/stored-trace.boom-error.json"),
        include_str!("recordings/stored-trace.genFlow-with-tool.json"),
    ];
    for text in whole {
        let trace: Value = serde_json::from_str(text).unwrap();
        fs::write(traces.join(trace["traceId"].as_str().unwrap()), text).unwrap();
    }
    fs::write(traces.join("torn"), &whole[0][..700]).unwrap();
    fs::write(traces.join("empty"), "").unwrap();
    fs::write(traces.join("foreign"), r#"{"hello":"world"}"#).unwrap();
    let store = open(&folder);
    for _ in 0..2 {
        let imported = store.import(&traces).await.unwrap();
        assert_eq!(imported.traces, 3);
        let mut skipped: Vec<_> = imported
            .skipped
            .iter()
            .map(|(path, reason)| (path.file_name().unwrap().to_str().unwrap(), !reason.is_empty()))
            .collect();
        skipped.sort_unstable();
        assert_eq!(skipped, [("empty", true), ("foreign", true), ("torn", true)]);
        let page = store.list(&query(|_| ())).await.unwrap();
        let names: Vec<_> = page.traces.iter().map(|trace| &*trace.name).collect();
        assert_eq!(names, ["boom", "genFlow", "greet"], "newest first");
        for text in whole {
            let trace: Value = serde_json::from_str(text).unwrap();
            assert_eq!(get(&store, trace["traceId"].as_str().unwrap()).await, trace);
        }
    }
    assert!(store.import(folder.path().join("none")).await.is_err());
    assert!(traces.join("torn").exists());
}

#[tokio::test]
async fn an_export_has_no_secrets() {
    let folder = folder();
    let store = open(&folder);
    let input = json!({"apiKey": "AIzaSyA-planted-secret-value-000000000", "question": "why"});
    let attributes =
        json!({"genkit:input": input.to_string(), "authorization": "Bearer planted-token-123456"});
    put(&store, &span("t", "root", 2000.0, attributes)).await;
    let exported = store.export("t").await.unwrap().unwrap();
    assert!(!exported.contains("planted"), "{exported}");
    let exported: Value = serde_json::from_str(&exported).unwrap();
    assert!(
        exported["spans"]["root"]["attributes"]["genkit:input"].as_str().unwrap().contains("why")
    );
    assert_eq!(store.export("none").await.unwrap(), None);
    assert!(get(&store, "t").await.to_string().contains("planted"), "the store has it as it came");
    assert_eq!(list(&store, &query(|_| ())).await, ["t"]);
}
