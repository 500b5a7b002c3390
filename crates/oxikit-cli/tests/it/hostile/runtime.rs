//! A runtime whose names, results, chunks, errors and spans are hostile.

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::client_async;
use tokio_tungstenite::tungstenite::Message;

use super::{hostile, long};
use oxikit_testing::manager::{ReceivedRequest, ScriptedRuntime, soon};

/// A runtime that answers until it is dropped.
pub(super) struct HostileRuntime(Option<tokio::runtime::Runtime>);

impl HostileRuntime {
    /// Registers with the developer tools of this file, and creates traces, logs and a dataset.
    pub(super) fn start(manager: &Value) -> Self {
        let tokio = tokio::runtime::Runtime::new().unwrap();
        let url = manager["reflectionUrl"].as_str().unwrap().to_owned();
        let runtime = tokio.block_on(async {
            let address = url.trim_start_matches("ws://").split('/').next().unwrap();
            let stream = TcpStream::connect(address).await.unwrap();
            let (socket, _) = soon(client_async(&url, stream)).await.unwrap();
            let mut runtime = ScriptedRuntime::new(socket);
            let params = json!({"id": format!("id-{}", short()), "pid": std::process::id(),
                "name": hostile(), "genkitVersion": hostile(), "reflectionApiSpecVersion": 1});
            let answer = runtime.request("1", "register", params).await;
            assert_eq!(answer["error"], Value::Null, "{answer}");
            runtime
        });
        tokio.spawn(answer_all(runtime));
        post_traces(manager);
        let samples = json!([{"testCaseId": hostile(), "input": hostile(), "reference": {hostile(): hostile()}}]);
        let body = json!({"datasetId": "hostile-set", "data": samples, "datasetType": "FLOW",
            "targetAction": format!("/flow/{}", hostile()), "metricRefs": []});
        post(manager, "/api/v1/datasets", &body);
        Self(Some(tokio))
    }
}

impl Drop for HostileRuntime {
    fn drop(&mut self) {
        if let Some(tokio) = self.0.take() {
            tokio.shutdown_background();
        }
    }
}

/// An id may have 256 bytes.
fn short() -> String {
    "\u{1b}]52;c;cm0gLXJm\u{7}\u{202e}\rx\n".to_owned()
}

async fn answer_all(mut runtime: ScriptedRuntime) {
    while let Some(Ok(message)) = runtime.socket.next().await {
        let Message::Text(text) = message else { continue };
        let mut message: Value = serde_json::from_str(&text).unwrap();
        if message["id"].is_null() {
            continue;
        }
        let asked = ReceivedRequest { id: message["id"].take(), params: message["params"].take() };
        let result = match message["method"].as_str().unwrap_or_default() {
            "listActions" => Ok(actions()),
            "listValues" => Ok(json!({})),
            "listSessions" => Ok(json!({"sessions": [session()], "continuationToken": hostile()})),
            "getSession" => Ok(session()),
            "forkSession" => Ok(json!({"sessionId": hostile(), "snapshotId": hostile()})),
            "deleteSession" => Ok(json!({"success": true, "sessionId": hostile()})),
            "runAction" => run(&mut runtime, &asked).await,
            _ => Err(json!({"code": -32601, "message": hostile()})),
        };
        let answer = match result {
            Ok(result) => json!({"jsonrpc": "2.0", "id": asked.id, "result": result}),
            Err(error) => json!({"jsonrpc": "2.0", "id": asked.id, "error": error}),
        };
        // The developer tools may have ended.
        if runtime.socket.send(Message::text(answer.to_string())).await.is_err() {
            return;
        }
    }
}

fn actions() -> Value {
    let mut actions = serde_json::Map::new();
    let mut add = |kind: &str, name: &str, metadata: Value| {
        let key = format!("/{kind}/{name}");
        let action =
            json!({"key": key, "name": name, "description": hostile(), "metadata": metadata});
        actions.insert(key, action);
    };
    for name in ["text", "json", "fails", &hostile(), &long()] {
        add("flow", name, json!({}));
    }
    let agent = json!({"agent": {"stateManagement": "server"}});
    add("agent", "asks", agent.clone());
    add("agent", &hostile(), agent);
    add("evaluator", &hostile(), json!({"evaluator": {"evaluatorDisplayName": hostile()}}));
    // An action that cannot be parsed.
    actions.insert(format!("/flow/broken{}", hostile()), json!(7));
    actions.into()
}

async fn run(runtime: &mut ScriptedRuntime, asked: &ReceivedRequest) -> Result<Value, Value> {
    runtime.state(asked, "0123456789abcdef0123456789abcdef").await;
    let telemetry = json!({"traceId": "0123456789abcdef0123456789abcdef"});
    let output = match asked.params["key"].as_str().unwrap_or_default() {
        "/flow/fails" => {
            let data = json!({"code": 9, "message": hostile(), "details": {"stack": hostile()}});
            return Err(json!({"code": -32000, "message": hostile(), "data": data}));
        }
        "/flow/json" => {
            runtime.chunk(asked, json!(hostile())).await;
            runtime.chunk(asked, json!({hostile(): hostile()})).await;
            json!({hostile(): [hostile()]})
        }
        "/agent-snapshot/asks" => json!({
            "snapshotId": "s", "sessionId": hostile(), "createdAt": hostile(), "status": "completed",
            "state": {"messages": [{"role": "model", "content": asking()}]},
        }),
        "/agent/asks" => {
            let content = asking();
            runtime.chunk(asked, json!({"modelChunk": {"content": content}})).await;
            json!({"snapshotId": hostile(), "finishReason": "interrupted",
                "message": {"role": "model", "content": content}, "artifacts": []})
        }
        key if key.starts_with("/evaluator/") => json!([{"testCaseId": hostile(),
            "evaluation": {"score": hostile(), "status": hostile(), "error": hostile(),
                "id": hostile(), "details": {"reasoning": hostile()}}}]),
        _ => json!(hostile()),
    };
    Ok(json!({"result": output, "telemetry": telemetry}))
}

/// A message with a tool that waits for an answer.
fn asking() -> Value {
    let part = json!({"toolRequest": {"name": hostile(), "input": {hostile(): hostile()}},
        "metadata": {"interrupt": {"question": hostile()}}});
    json!([{"text": hostile()}, part])
}

fn session() -> Value {
    let text = hostile();
    let snapshot = |id: &str, parent: &str| {
        json!({"snapshotId": id, "parentId": parent, "status": text, "finishReason": text,
            "messageCount": 1, "createdAt": -1e300, "children": []})
    };
    json!({
        "sessionId": text, "agentName": text, "createdAt": 1e300, "updatedAt": -1, "status": text,
        "messageCount": 2, "metadata": {text.clone(): text}, "snapshotId": text,
        "threads": {"main": [
            {"role": text, "content": [{"text": text}, {"reasoning": text}, {"media": {"url": text}},
                {"toolRequest": {"name": text, "input": text}}, {"data": {text.clone(): text}},
                {"toolResponse": {"name": text, "output": text}}]},
        ]},
        "state": {"artifacts": [{"name": text, "parts": [{"text": text}]}], text.clone(): text},
        "error": {"message": text},
        // A root, a cycle, and a span below the cycle.
        "snapshots": [snapshot(&text, ""), snapshot("a", "b"), snapshot("b", "a"), snapshot(&long(), "b")],
    })
}

/// Sends traces and log lines without a token, as any program on this machine can.
pub(crate) fn post_traces(manager: &Value) {
    let span = |trace: &str, id: &str, parent: Option<&str>, name: &str, times: [f64; 2]| {
        let mut span = json!({"traceId": trace, "spanId": id, "displayName": name,
            "startTime": times[0], "endTime": times[1], "spanKind": "INTERNAL",
            "attributes": {"genkit:type": hostile(), "genkit:name": "text", "genkit:input": json!(hostile()).to_string(),
                "genkit:output": json!(hostile()).to_string(), "genkit:metadata:subtype": "flow",
                "genkit:sessionId": hostile(), hostile(): hostile()},
            "instrumentationLibrary": {"name": hostile()},
            "status": {"code": 2, "message": hostile()}});
        if let Some(parent) = parent {
            span["parentSpanId"] = parent.into();
        }
        span
    };
    let usual = [1000.0, 1001.0];
    let traces: [(&str, Vec<Value>); 4] = [
        ("hostile", vec![span("hostile", "s", None, &hostile(), usual)]),
        ("long", vec![span("long", "s", None, &long(), usual)]),
        (
            "cycle",
            vec![
                span("cycle", "a", Some("b"), "a", usual),
                span("cycle", "b", Some("a"), "b", usual),
                span("cycle", "c", Some("b"), "c", usual),
            ],
        ),
        (
            "times",
            vec![
                span("times", "a", None, "", [1e300, 1e-300]),
                span("times", "b", None, "", [-1e300, 1e300]),
                span("times", "c", None, "", [5.0, 1.0]),
            ],
        ),
    ];
    for (id, spans) in traces {
        let spans: serde_json::Map<_, _> = spans
            .into_iter()
            .map(|span| (span["spanId"].as_str().unwrap().to_owned(), span))
            .collect();
        post(manager, "telemetry:/api/traces", &json!({"traceId": id, "spans": spans}));
    }
    let value = json!({"stringValue": hostile()});
    let record = json!({"timeUnixNano": "1", "severityText": hostile(), "body": value,
        "attributes": [{"key": hostile(), "value": value}]});
    let logs = json!({"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]});
    post(manager, "telemetry:/api/otlp", &logs);
}

fn post(manager: &Value, path: &str, body: &Value) {
    let at = |member: &str| manager[member].as_str().unwrap().to_owned();
    let url = match path.strip_prefix("telemetry:") {
        // Without the token: traces are accepted without it.
        Some(path) => at("telemetryUrl").split("/t/").next().unwrap().to_owned() + path,
        None => at("apiUrl") + path,
    };
    let (body, token) = (body.to_string(), at("token"));
    let sent = std::thread::spawn(move || {
        let tokio = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        tokio.block_on(async {
            let http = reqwest::Client::builder().no_proxy().build().unwrap();
            let request = http.post(&url).header("content-type", "application/json").body(body);
            let request =
                if url.contains("/api/v1") { request.bearer_auth(token) } else { request };
            let answer = soon(request.send()).await.unwrap();
            (answer.status().as_u16(), soon(answer.text()).await.unwrap())
        })
    });
    let (status, text) = sent.join().unwrap();
    assert_eq!(status, 200, "{path}: {text}");
}
