//! Runtimes that have left a file and are called over HTTP.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::response::Response;
use futures_util::stream;
use oxikit_manager::{ManagerOptions, RunSpec};
use serde_json::{Value, json};
use tempfile::TempDir;

use oxikit_testing::manager::{
    Manager, TRACE, code_and_message, end, flow, manager, next_chunk, options, soon, until,
};

/// A request as the runtime saw it.
type Seen = (String, Value);

/// A runtime with an HTTP server whose responses are written by the test.
#[derive(Clone)]
struct Served {
    port: u16,
    seen: Arc<Mutex<Vec<Seen>>>,
    answers: Arc<Answers>,
}

/// The response to each path; 404 for any other.
type Answers = dyn Fn(&str, &Value) -> Option<Response> + Send + Sync;

impl Served {
    async fn new(
        answers: impl Fn(&str, &Value) -> Option<Response> + Send + Sync + 'static,
    ) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let served = Self { port, seen: Arc::default(), answers: Arc::new(answers) };
        let router = Router::new().fallback(answer).with_state(served.clone());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        served
    }

    fn file(&self) -> Value {
        json!({"id": format!("{}-{}", std::process::id(), self.port), "pid": std::process::id(),
            "name": "app", "reflectionServerUrl": format!("http://localhost:{}", self.port),
            "timestamp": "2026-11-15T06:32:35.191Z", "genkitVersion": "nodejs/1.42.0",
            "reflectionApiSpecVersion": 1})
    }

    fn requests(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    fn has_seen(&self, target: &str) -> bool {
        self.requests().iter().any(|(seen, _)| seen.starts_with(target))
    }
}

async fn answer(State(served): State<Served>, request: Request) -> Response {
    let target = format!("{} {}", request.method(), request.uri());
    let body = axum::body::to_bytes(request.into_body(), 1 << 20).await.unwrap();
    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    served.seen.lock().unwrap().push((target.clone(), body.clone()));
    if target.starts_with("GET /api/__health") || target.starts_with("POST /api/notify") {
        return Response::new(Body::from("OK"));
    }
    let not_found = || Response::builder().status(404).body(Body::from("nothing")).unwrap();
    (served.answers)(&target, &body).unwrap_or_else(not_found)
}

fn fast() -> ManagerOptions {
    let mut options = options();
    options.poll_interval = Duration::from_millis(20);
    options.health_interval = Duration::from_millis(100);
    options
}

/// A project with one runtime, found.
async fn found(served: &Served) -> (Manager, TempDir, PathBuf) {
    let (manager, root) = (manager(fast()).await, tempfile::tempdir().unwrap());
    manager.runtimes.discover(root.path()).unwrap();
    let path = write(root.path(), "a.json", &served.file().to_string());
    until(|| manager.runtimes.list().len() == 1).await;
    (manager, root, path)
}

fn write(root: &Path, name: &str, text: &str) -> PathBuf {
    let folder = root.join(".genkit/runtimes");
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path
}

/// An answer that goes on, with the trace in its head.
fn streamed(pieces: Vec<Result<Bytes, std::io::Error>>, goes_on: bool) -> Response {
    let body = stream::iter(pieces);
    let builder = Response::builder().header("x-genkit-trace-id", TRACE);
    let body = match goes_on {
        true => Body::from_stream(futures_util::StreamExt::chain(body, stream::pending())),
        false => Body::from_stream(body),
    };
    builder.body(body).unwrap()
}

fn pieces(texts: &[&'static str]) -> Vec<Result<Bytes, std::io::Error>> {
    texts.iter().map(|text| Ok(Bytes::from_static(text.as_bytes()))).collect()
}

#[tokio::test]
async fn a_runtime_file_is_found_greeted_and_forgotten() {
    let served = Served::new(|_, _| None).await;
    let (manager, _root, path) = found(&served).await;
    until(|| served.has_seen("POST /api/notify")).await;
    let id = served.file()["id"].as_str().unwrap().to_owned();
    let (health, notify) = (&served.requests()[0], served.requests()[1].1.clone());
    assert_eq!(health.0, format!("GET /api/__health?id={}", id.replace('-', "%2D")));
    assert_eq!(
        notify,
        json!({"telemetryServerUrl": "http://127.0.0.1:4033/t/secret", "reflectionApiSpecVersion": 1})
    );
    let listed = serde_json::to_value(manager.runtimes.current().unwrap()).unwrap();
    let mut expected = served.file();
    expected["projectName"] = "shop".into();
    assert_eq!(listed, expected);
    std::fs::remove_file(path).unwrap();
    until(|| manager.runtimes.list().is_empty()).await;
    soon(manager.runtimes.shutdown()).await;
}

#[tokio::test]
async fn files_that_do_not_count_are_left_alone() {
    let served = Served::new(|_, _| None).await;
    let (manager, root, _) = found(&served).await;
    let edit = |member: &str, value: Value| {
        let mut file = served.file();
        (file["id"], file[member]) = ("other".into(), value);
        file.to_string()
    };
    let port = served.port;
    let files = [
        edit("reflectionApiSpecVersion", 2.into()),
        edit("reflectionServerUrl", "http://evil.example".into()),
        edit("reflectionServerUrl", format!("https://localhost:{port}").into()),
        edit("reflectionServerUrl", format!("http://localhost:{port}@evil.example").into()),
        edit("reflectionServerUrl", format!("http://user@localhost:{port}").into()),
        edit("reflectionServerUrl", format!("http://0.0.0.0:{port}").into()),
        edit("reflectionServerUrl", "file:///etc/passwd".into()),
        edit("reflectionServerUrl", 7.into()),
        edit("pid", "1".into()),
        edit("id", "".into()),
        "not json".to_owned(),
        "[]".to_owned(),
        String::new(),
        "x".repeat(1 << 20),
    ];
    for (n, text) in files.iter().enumerate() {
        write(root.path(), &format!("{n}.json"), text);
    }
    write(root.path(), "devui.log", "a log");
    // It stands for a runtime that is connected already.
    write(root.path(), "oxikit-1-1.json", &edit("name", "app".into()));
    std::fs::create_dir(root.path().join(".genkit/runtimes/folder.json")).unwrap();
    // One that counts is found behind all of these.
    let last = Served::new(|_, _| None).await;
    write(root.path(), "z.json", &last.file().to_string());
    until(|| manager.runtimes.list().len() == 2).await;
    for n in 0..files.len() {
        assert!(root.path().join(format!(".genkit/runtimes/{n}.json")).exists(), "{n}");
    }
    // An id in use is not given to another runtime, also if both were found by files.
    let mut twice = served.file();
    twice["id"] = last.file()["id"].clone();
    write(root.path(), "twice.json", &twice.to_string());
    // Written last: a manager that has found it has scanned the others.
    let newest = Served::new(|_, _| None).await;
    write(root.path(), "zz.json", &newest.file().to_string());
    let is_there = |id: &Value| manager.runtimes.list().iter().any(|it| *id == *it.id);
    until(|| is_there(&newest.file()["id"])).await;
    assert_eq!(manager.runtimes.list().len(), 3);
    soon(manager.runtimes.shutdown()).await;
}

#[tokio::test]
async fn a_file_is_removed_only_when_its_process_is_gone() {
    let (manager, root) = (manager(fast()).await, tempfile::tempdir().unwrap());
    let served = Served::new(|_, _| None).await;
    let mut child = tokio::process::Command::new("sleep").arg("60").spawn().unwrap();
    let mut file = served.file();
    file["pid"] = child.id().unwrap().into();
    let path = write(root.path(), "a.json", &file.to_string());
    // Nothing listens there, but the process is alive.
    file["reflectionServerUrl"] = "http://127.0.0.1:1".into();
    file["id"] = "away".into();
    let away = write(root.path(), "b.json", &file.to_string());
    manager.runtimes.discover(root.path()).unwrap();
    until(|| manager.runtimes.list().len() == 1).await;
    // Written later and found: the others have been looked at again by then.
    let newest = Served::new(|_, _| None).await;
    write(root.path(), "c.json", &newest.file().to_string());
    until(|| manager.runtimes.list().len() == 2).await;
    assert!(away.exists());
    child.kill().await.unwrap();
    until(|| manager.runtimes.list().len() == 1).await;
    until(|| !path.exists() && !away.exists()).await;
    soon(manager.runtimes.shutdown()).await;
}

#[tokio::test]
async fn a_runtime_that_is_reached_both_ways_is_one() {
    let served = Served::new(|_, _| None).await;
    let (manager, _root, _) = found(&served).await;
    let mut connected = manager.connect().await;
    connected.register("same process", std::process::id()).await;
    assert_eq!(manager.runtimes.list().len(), 1);
    assert_eq!(manager.runtimes.current().unwrap().id, "same process");
    drop(connected);
    until(|| manager.runtimes.current().is_some_and(|info| info.id != "same process")).await;
    // With the same id the socket takes its place.
    let mut connected = manager.connect().await;
    let id = served.file()["id"].as_str().unwrap().to_owned();
    assert_eq!(connected.register(&id, std::process::id()).await["error"], Value::Null);
    assert_eq!(manager.runtimes.list().len(), 1);
    assert!(manager.runtimes.current().unwrap().reflection_server_url.starts_with("ws:"));
    soon(manager.runtimes.shutdown()).await;
}

#[tokio::test]
async fn the_trace_and_the_chunks_of_a_stream_come_before_its_end() {
    let served = Served::new(|target, body| {
        assert_eq!(target, "POST /api/runAction?stream=true");
        assert_eq!(body, &json!({"key": "/flow/count", "input": 1}));
        let texts = ["{\"a\":", "1}\n2\n\"thr", "ee\"\n{\"result\":\"done\"", ",\"telemetry\":{}}"];
        Some(streamed(pieces(&texts), false))
    })
    .await;
    let (manager, _root, _) = found(&served).await;
    let mut run = manager.start(flow("count", json!(1)).streaming()).await;
    assert_eq!(soon(run.trace_id()).await.as_deref(), Some(TRACE));
    for chunk in [json!({"a": 1}), json!(2), json!("three")] {
        assert_eq!(next_chunk(&mut run).await, Some(chunk));
    }
    assert_eq!(next_chunk(&mut run).await, None);
    assert_eq!(end(run).await, Ok(Some(json!("done"))));
    manager.is_idle().await;
    let error = manager.runtimes.run(flow("count", json!(1)).bidi()).await.unwrap_err();
    assert_eq!(code_and_message(error).0, 9);
    soon(manager.runtimes.shutdown()).await;
}

#[tokio::test]
async fn a_run_over_http_is_cancelled_and_dropped() {
    let served = Served::new(|target, _| match target {
        "POST /api/cancelAction" => Some(Response::new(Body::from(r#"{"message":"Stopped"}"#))),
        _ => Some(streamed(pieces(&["1\n"]), true)),
    })
    .await;
    let (manager, _root, _) = found(&served).await;
    let mut run = manager.start(flow("slow", json!(1)).streaming()).await;
    assert_eq!(next_chunk(&mut run).await, Some(json!(1)));
    assert_eq!(soon(manager.runtimes.cancel(TRACE, None)).await.unwrap(), "Stopped");
    assert_eq!(served.requests().last().unwrap().1, json!({"traceId": TRACE}));
    drop(run);
    let cancels = || served.requests().iter().filter(|(seen, _)| seen.contains("cancel")).count();
    until(|| cancels() == 2).await;
    manager.is_idle().await;
    soon(manager.runtimes.shutdown()).await;
}

/// Python's runtime does so.
#[tokio::test]
async fn a_cancelled_run_of_which_nothing_more_is_said_is_cancelled() {
    let cancelled = Arc::new(tokio::sync::Notify::new());
    let served = Served::new(move |target, _| {
        if target.starts_with("POST /api/cancelAction") {
            cancelled.notify_one();
            return Some(Response::new(Body::from(r#"{"message":"Cancelled"}"#)));
        }
        let cancelled = cancelled.clone();
        let silence = stream::once(async move {
            cancelled.notified().await;
            Ok::<_, std::io::Error>(Bytes::new())
        });
        let builder = Response::builder().header("x-genkit-trace-id", TRACE);
        Some(builder.body(Body::from_stream(silence)).unwrap())
    })
    .await;
    let (manager, _root, _) = found(&served).await;
    let mut run = manager.start(flow("slow", json!(1))).await;
    assert_eq!(soon(run.trace_id()).await.as_deref(), Some(TRACE));
    assert_eq!(soon(manager.runtimes.cancel(TRACE, None)).await.unwrap(), "Cancelled");
    assert_eq!(end(run).await, Err((1, "Action was cancelled".to_owned())));
}

#[tokio::test]
async fn lines_of_a_stream_may_be_blank_and_end_with_a_carriage_return() {
    let served = Served::new(|_, _| {
        Some(streamed(pieces(&["1\r", "\n\r\n\n", " 2 \n", "\r\n{\"result\":3.0}"]), false))
    })
    .await;
    let (manager, _root, _) = found(&served).await;
    let mut run = manager.start(flow("count", json!(2)).streaming()).await;
    assert_eq!(next_chunk(&mut run).await, Some(json!(1)));
    assert_eq!(next_chunk(&mut run).await, Some(json!(2)));
    assert_eq!(next_chunk(&mut run).await, None);
    assert_eq!(end(run).await, Ok(Some(json!(3.0))));
}

#[tokio::test]
async fn a_runtime_that_is_not_well_loses_its_runs() {
    let served = Served::new(|_, _| Some(streamed(pieces(&["1\n"]), true))).await;
    let (manager, _root, path) = found(&served).await;
    let mut run = manager.start(flow("slow", json!(1)).streaming()).await;
    assert_eq!(next_chunk(&mut run).await, Some(json!(1)));
    let start = Instant::now();
    std::fs::remove_file(path).unwrap();
    assert_eq!(end(run).await.unwrap_err().0, 14);
    assert!(start.elapsed() < Duration::from_secs(1));
    manager.is_idle().await;
    soon(manager.runtimes.shutdown()).await;
}

#[tokio::test]
async fn answers_over_http_that_are_none_fail_the_run() {
    let texts = ["", "{", "[1]", "null", "1\n2\n", "x\n{\"result\":1}"];
    for text in texts {
        let served = Served::new(move |_, _| Some(streamed(pieces(&[text]), false))).await;
        let (manager, _root, _) = found(&served).await;
        let run = manager.start(flow("f", json!(1)).streaming()).await;
        assert!(matches!(end(run).await.unwrap_err().0, 13 | 14), "{text}");
        soon(manager.runtimes.shutdown()).await;
    }
}

#[tokio::test]
async fn the_recorded_exchanges_are_read_as_they_were_meant() {
    let exchanges = oxikit_recordings::lines("reflection-v1/exchanges.jsonl");
    let played = Arc::new(exchanges.clone());
    let served = Served::new(move |target, body| {
        let is_meant = |exchange: &&Value| {
            let request = &exchange["request"];
            let recorded = format!("{} {}", request["method"].as_str()?, request["path"].as_str()?);
            (recorded == target && (body.is_null() || request["body"] == *body)).then_some(())
        };
        let exchange = played.iter().find(|exchange| is_meant(exchange).is_some())?;
        let recorded = &exchange["response"];
        let body = match (&recorded["lines"], &recorded["body"], &recorded["text"]) {
            (Value::Array(lines), ..) => {
                lines.iter().map(Value::to_string).collect::<Vec<_>>().join("\n")
            }
            (Value::String(text), ..) | (_, _, Value::String(text)) => text.clone(),
            (_, body, _) => body.to_string(),
        };
        let status = u16::try_from(recorded["status"].as_u64()?).ok()?;
        let mut response = Response::builder().status(status);
        if let Some(trace_id) = recorded["headers"]["x-genkit-trace-id"].as_str() {
            response = response.header("x-genkit-trace-id", trace_id);
        }
        response.body(Body::from(body)).ok()
    })
    .await;
    let (manager, _root, _) = found(&served).await;
    let mut played = 0;
    for exchange in &exchanges {
        let (request, recorded) = (&exchange["request"], &exchange["response"]);
        let path = request["path"].as_str().unwrap();
        // Parameters that are not an object are rejected before a request is sent.
        if !path.starts_with("/api/runAction") || !request["body"].is_object() {
            continue;
        }
        played += 1;
        let mut spec = RunSpec::new(request["body"].to_string());
        spec.stream = path.ends_with("stream=true");
        let mut run = manager.start(spec).await;
        let trace_id = recorded["headers"]["x-genkit-trace-id"].as_str();
        assert_eq!(soon(run.trace_id()).await.as_deref(), trace_id, "{exchange}");
        let lines = recorded["lines"].as_array().cloned();
        let lines = lines.unwrap_or_else(|| vec![recorded["body"].clone()]);
        let (last, chunks) = lines.split_last().unwrap();
        for chunk in chunks {
            assert_eq!(next_chunk(&mut run).await.as_ref(), Some(chunk));
        }
        match end(run).await {
            Ok(result) => assert_eq!(result.as_ref(), last.get("result"), "{exchange}"),
            Err((code, message)) if recorded["status"] == 404 => {
                assert_eq!((code, message.as_str()), (5, "action /flow/nope not found"));
            }
            Err((code, message)) => {
                assert_eq!(
                    json!([code, message]),
                    json!([last["error"]["code"], last["error"]["message"]])
                );
            }
        }
    }
    assert!(played > 15, "{played}");
    let values = soon(manager.runtimes.list_values(None, "defaultModel")).await.unwrap();
    assert_eq!(Value::Object(values), json!({"defaultModel": {"name": "echo/model"}}));
    let error = soon(manager.runtimes.list_values(None, "prompt")).await.unwrap_err();
    assert!(code_and_message(error).1.contains("not supported"));
    let error = soon(manager.runtimes.cancel(&"f".repeat(32), None)).await.unwrap_err();
    assert_eq!(code_and_message(error), (5, "Action not found or already completed".to_owned()));
    manager.is_idle().await;
    soon(manager.runtimes.shutdown()).await;
}
