//! Traces in the developer tools' own API.

use std::net::SocketAddr;

use axum::Router;
use oxikit_traces::TraceStore;
use oxikit_traces::trace_routes;
use serde_json::{Value, json};

use super::kit::{Answer, answer, plain, trace};

struct Api {
    store: TraceStore,
    address: SocketAddr,
    client: reqwest::Client,
    project: tempfile::TempDir,
}

async fn api() -> Api {
    let project = tempfile::tempdir().unwrap();
    let store = TraceStore::open(project.path().join("traces.db")).unwrap();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = Router::new().nest("/api/v1", trace_routes(store.clone(), project.path()));
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    Api { store, address, client: reqwest::Client::new(), project }
}

impl Api {
    async fn ask(&self, method: &str, path: &str, body: Option<Value>) -> Answer {
        let url = format!("http://{}/api/v1{path}", self.address);
        let request = self.client.request(method.parse().unwrap(), url);
        answer(match body {
            Some(body) => request.header("content-type", "application/json").body(body.to_string()),
            None => request,
        })
        .await
    }

    async fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, None).await
    }

    async fn names(&self, query: &str) -> Vec<String> {
        let answer = self.get(&format!("/traces{query}")).await;
        assert_eq!(answer.status, 200, "{query}: {answer:?}");
        let list = answer.json();
        let traces = list["traces"].as_array().unwrap();
        traces.iter().map(|trace| trace["name"].as_str().unwrap().to_owned()).collect()
    }

    /// Stores what official runtimes have sent.
    async fn replay(&self) {
        let posts = oxikit_recordings::lines("telemetry/runtime-posts-realtime.jsonl");
        for post in posts.iter().filter(|post| post["path"] == "/api/traces") {
            self.store.ingest(post["body"].to_string().as_bytes()).await.unwrap();
        }
    }
}

#[tokio::test]
async fn traces_are_found_by_what_is_true_of_them() {
    let api = api().await;
    api.replay().await;
    let all =
        ["slow", "lengthEval", "hello", "bidiEcho", "customAgent", "boom", "genFlow", "greet"];
    let cases: &[(&str, &[&str])] = &[
        ("", &all),
        ("?limit=2", &all[..2]),
        ("?name=greet", &["greet"]),
        ("?type=agent", &["customAgent"]),
        ("?status=error", &["boom"]),
        ("?status=running", &[]),
        ("?from=1794724513237", &["slow", "lengthEval"]),
        ("?to=1794724508273", &["greet"]),
        ("?minDuration=500", &["slow", "genFlow"]),
        ("?maxDuration=20&status=success&type=evaluator", &["lengthEval"]),
        ("?text=kaboom", &["boom"]),
        ("?text=kabo*", &["boom"]),
        ("?text=hi+ada", &["greet"]),
        ("?attribute=genkitx:env=dev", &["greet"]),
        ("?attribute=genkitx:env:dev", &["greet"]),
        ("?attribute=genkitx:env:prod", &[]),
        ("?session=1a0da651-214d-45db-b6e8-4d1949aa6641", &["customAgent"]),
    ];
    for (query, expected) in cases {
        assert_eq!(&api.names(query).await, expected, "{query}");
    }
    for query in [
        "?limit=x",
        "?from=today",
        "?status=good",
        "?attribute=x",
        "?nam=greet",
        "?continuationToken=x",
    ] {
        let answer = api.get(&format!("/traces{query}")).await;
        assert_eq!((answer.status, &answer.json()["status"]), (400, &json!("INVALID_ARGUMENT")));
    }
}

#[tokio::test]
async fn pages_go_on_where_the_last_one_ended() {
    let api = api().await;
    for number in 0..7 {
        let mut trace = trace(&format!("t{number}"));
        trace["startTime"] = (1000 + number).into();
        api.store.ingest(trace.to_string().as_bytes()).await.unwrap();
    }
    let (mut ids, mut query) = (Vec::new(), "?limit=3".to_owned());
    loop {
        let page = api.get(&format!("/traces{query}")).await.json();
        let traces = page["traces"].as_array().unwrap();
        ids.extend(traces.iter().map(|trace| trace["traceId"].as_str().unwrap().to_owned()));
        let Some(token) = page["continuationToken"].as_str() else { break };
        query = format!("?limit=3&continuationToken={token}");
    }
    assert_eq!(ids, ["t6", "t5", "t4", "t3", "t2", "t1", "t0"]);
}

/// A call of a model that has used 5 and 7 tokens.
fn model_trace() -> Value {
    let mut trace = trace("t1");
    let output = json!({"usage": {"inputTokens": 5, "outputTokens": 7}, "apiKey": "hush-hush"});
    trace["spans"]["s1"]["attributes"] = json!({"genkit:metadata:subtype": "model",
        "genkit:metadata:agent:sessionId": "session-1", "genkit:output": output.to_string()});
    trace
}

#[tokio::test]
async fn a_trace_has_its_spans_and_sums() {
    let api = api().await;
    let trace = model_trace();
    api.store.ingest(trace.to_string().as_bytes()).await.unwrap();
    let usage = json!({"inputTokens": 5, "outputTokens": 7, "totalTokens": 12});
    let summary = json!({"traceId": "t1", "name": "greet", "type": "model", "status": "success",
        "startTime": 1000, "endTime": 1002.5, "duration": 2.5, "sessionId": "session-1",
        "rootSpanId": "s1", "spans": 1, "droppedSpans": 0, "usage": usage});
    let span = json!({"spanId": "s1", "usage": usage, "span": trace["spans"]["s1"]});
    let list = api.get("/traces").await.json();
    assert_eq!(plain(list), json!({"traces": [summary], "total": 1}));
    let whole = api.get("/traces/t1").await.json();
    assert_eq!(plain(whole), json!({"trace": summary, "spans": [span]}));
    let missing = api.get("/traces/t2").await;
    assert_eq!((missing.status, &missing.json()["status"]), (404, &json!("NOT_FOUND")));
}

#[tokio::test]
async fn exports_are_files_without_secrets() {
    let api = api().await;
    api.store.ingest(model_trace().to_string().as_bytes()).await.unwrap();
    for (path, name) in [
        ("/traces/t1/export", "trace-t1.json"),
        ("/traces/export?session=session-1", "session-session-1.json"),
    ] {
        let url = format!("http://{}/api/v1{path}", api.address);
        let response = api.client.get(url).send().await.unwrap();
        let disposition = response.headers()["content-disposition"].to_str().unwrap().to_owned();
        assert_eq!(disposition, format!("attachment; filename=\"{name}\""));
        let text = response.text().await.unwrap();
        assert!(!text.contains("hush-hush") && text.contains("<redacted>"), "{text}");
        serde_json::from_str::<Value>(&text).unwrap();
    }
    for path in ["/traces/t2/export", "/traces/export?session=x"] {
        assert_eq!(api.get(path).await.status, 404);
    }
    assert_eq!(api.get("/traces/export").await.status, 400);
}

#[tokio::test]
async fn what_is_removed_is_gone() {
    let api = api().await;
    for id in ["t1", "t2", "t3"] {
        api.store.ingest(trace(id).to_string().as_bytes()).await.unwrap();
    }
    assert_eq!(api.ask("DELETE", "/traces/t1", None).await.status, 200);
    assert_eq!(api.ask("DELETE", "/traces/t1", None).await.status, 404);
    assert_eq!(api.names("").await.len(), 2);
    assert_eq!(api.ask("DELETE", "/traces", None).await.status, 200);
    assert_eq!(api.names("").await.len(), 0);
}

#[tokio::test]
async fn only_folders_of_the_official_tools_below_the_project_are_imported() {
    let api = api().await;
    let folder = api.project.path().join("web/.genkit/traces");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("t1"), model_trace().to_string()).unwrap();
    std::fs::write(folder.join("torn"), "{").unwrap();
    let other = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(other.path().join(".genkit/traces")).unwrap();
    std::fs::create_dir_all(api.project.path().join("plain")).unwrap();
    let outside = other.path().join(".genkit").to_str().unwrap().to_owned();
    let mut refused = vec![outside, "../.genkit".into(), "plain".into(), ".genkit".into()];
    #[cfg(unix)]
    {
        let link = api.project.path().join(".linked");
        std::os::unix::fs::symlink(other.path(), link).unwrap();
        refused.push(".linked/.genkit".into());
    }
    for path in refused {
        let answer = api.ask("POST", "/traces/import", Some(json!({"path": path}))).await;
        assert_eq!(answer.status, 404, "{path}: {answer:?}");
    }
    let answer = api.ask("POST", "/traces/import", Some(json!({"path": "web/.genkit"}))).await;
    let answer = answer.json();
    assert_eq!((&answer["imported"], &answer["skipped"][0]["file"]), (&json!(1), &json!("torn")));
    assert_eq!(api.names("").await, ["greet"]);
    let stored = api.get("/traces/t1").await.text;
    assert!(!stored.contains("hush-hush"), "{stored}");
}
