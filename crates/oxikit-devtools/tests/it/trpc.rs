//! The procedures and raw endpoints of the official tools.

use reqwest::Method;
use serde_json::{Value, json};

use oxikit_testing::manager::{TRACE, soon};
use oxikit_testing::tools::{Kit, kit, read};

/// Exchanges that depend on nothing but the input.
const FIXED: [&str; 7] = [
    "listValues-missing-input",
    "unknown-procedure",
    "query-called-with-POST",
    "mutation-called-with-GET",
    "addTrace",
    "cancelAction-unknown",
    "listValues",
];

pub(crate) async fn exchange(kit: &Kit, request: &Value) -> (u16, Value) {
    let path = request["path"].as_str().unwrap();
    match request["method"].as_str().unwrap() {
        "GET" => kit.get(path).await,
        _ => kit.post(path, request["body"].clone()).await,
    }
}

#[tokio::test]
async fn recorded_procedures_are_answered_as_the_official_tools_do() {
    let kit = kit().await;
    let mut runtime = kit.runtime("one").await;
    let script = tokio::spawn(async move {
        let asked = runtime.expect_request("listValues").await;
        runtime.answer(&asked, json!({"values": {"defaultModel": {"name": "echo/model"}}})).await;
        let asked = runtime.expect_request("cancelAction").await;
        let message = "Action not found or already completed";
        runtime.fail(&asked, json!({"code": -32602, "message": message})).await;
        runtime
    });
    let mut played = 0;
    for mut recorded in oxikit_recordings::lines("tools-api/trpc-exchanges.jsonl") {
        let name = recorded["name"].as_str().unwrap().to_owned();
        if !FIXED.contains(&name.as_str()) {
            continue;
        }
        let (status, body) = exchange(&kit, &recorded["request"]).await;
        let theirs = &mut recorded["response"];
        if let Some(data) = theirs.pointer_mut("/body/error/data") {
            data.as_object_mut().unwrap().remove("stack");
        }
        assert_eq!((json!(status), &body), (theirs["status"].clone(), &theirs["body"]), "{name}");
        played += 1;
    }
    assert_eq!(played, FIXED.len());
    soon(script).await.unwrap();
    let trace = kit.server.traces().get("11111111111111111111111111111111").await.unwrap();
    assert!(trace.unwrap().contains("imported"));
}

#[tokio::test]
async fn runtimes_are_described_as_the_official_tools_do() {
    let kit = kit().await;
    assert_eq!(kit.get("/api/getCurrentRuntime").await, (200, json!({"result": {"data": {}}})));
    let _runtime = kit.runtime("one").await;
    let (_, current) = kit.get("/api/getCurrentRuntime").await;
    let current = &current["result"]["data"];
    let members: Vec<_> = current.as_object().unwrap().keys().collect();
    assert_eq!(
        members,
        [
            "id",
            "pid",
            "name",
            "genkitVersion",
            "reflectionApiSpecVersion",
            "reflectionServerUrl",
            "timestamp",
            "projectName"
        ]
    );
    let (_, active) = kit.get("/api/getActiveRuntimes").await;
    assert_eq!(active["result"]["data"], json!([current]));
    let (status, missing) = kit.get("/api/listActions?input={\"runtimeId\":\"nobody\"}").await;
    let data = json!({"code": "INTERNAL_SERVER_ERROR", "httpStatus": 500, "path": "listActions"});
    assert_eq!(
        (status, &missing["error"]["code"], &missing["error"]["data"]),
        (500, &json!(-32603), &data)
    );
}

#[tokio::test]
async fn batches_answer_in_their_order() {
    let kit = kit().await;
    let batch = "/api/getAppProcessStatus,nothing,getActiveRuntimes?batch=1&input={}";
    let (status, answers) = kit.get(batch).await;
    assert_eq!(status, 207);
    assert_eq!(answers[0], json!({"result": {"data": {"status": "unconfigured"}}}));
    assert_eq!(answers[1]["error"]["data"]["path"], "nothing");
    assert_eq!(answers[2], json!({"result": {"data": []}}));
    let (status, answers) = kit.post("/api/sendX,cancelAction?batch=1", json!({"1": {}})).await;
    assert_eq!(status, 207);
    assert_eq!(answers[1]["error"]["data"]["code"], "BAD_REQUEST");
    let many = ["getActiveRuntimes"; 33].join(",");
    assert_eq!(kit.get(&format!("/api/{many}?batch=1")).await.0, 400);
    // Without the flag it is one strange name.
    assert_eq!(kit.get("/api/getActiveRuntimes,getActiveRuntimes").await.0, 404);
}

#[tokio::test]
async fn what_is_no_json_is_a_parse_error() {
    let kit = kit().await;
    let request = kit.call(Method::POST, "/api/cancelAction");
    let request = request.header("content-type", "application/json").body("greetings");
    let (status, error) = read(soon(request.send()).await.unwrap()).await;
    let data = json!({"code": "PARSE_ERROR", "httpStatus": 400});
    assert_eq!(
        (status, &error["error"]["code"], &error["error"]["data"]),
        (400, &json!(-32700), &data)
    );
    assert_eq!(kit.get("/api/listValues?input={").await.0, 400);
    let (status, error) = kit.get("/api/listValues?input=[1]").await;
    assert_eq!(status, 400);
    assert!(error["error"]["message"].as_str().unwrap().contains("received array"), "{error}");
}

#[tokio::test]
async fn the_environment_shows_names_and_never_values() {
    let kit = kit().await;
    let (_, official) = kit.get("/api/getGenkitEnvironment").await;
    let (_, info) = kit.get("/api/v1/info").await;
    let names = official["result"]["data"]["environmentVars"].as_array().unwrap();
    assert!(names.iter().any(|variable| variable["name"] == "PATH"));
    assert!(info["environment"].as_array().unwrap().contains(&json!("PATH")));
    let text = format!("{official}{}", info["environment"]);
    let values = std::env::vars().filter(|(_, value)| value.len() > 12);
    for (name, value) in values {
        assert!(!text.contains(&value), "the value of {name} is shown");
    }
}

#[tokio::test]
async fn inputs_of_a_bidi_run_are_sent_by_its_trace() {
    let kit = kit().await;
    let mut runtime = kit.runtime("one").await;
    let answer = kit.post_response("/api/streamAction?bidi=true", json!({"key": "/flow/bidiEcho"}));
    let (answer, asked) = tokio::join!(answer, async {
        let asked = runtime.expect_request("runAction").await;
        runtime.state(&asked, TRACE).await;
        asked
    });
    let send = |body: Value| kit.post("/api/sendBidiInput", body);
    assert_eq!(send(json!({"traceId": TRACE, "chunk": "one"})).await, (200, json!("OK")));
    assert_eq!(runtime.expect_request("sendInputStreamChunk").await.params["chunk"], "one");
    let end = kit.post("/api/endBidiInput", json!({"traceId": TRACE})).await;
    assert_eq!(end, (200, json!("OK")));
    runtime.expect_request("endInputStream").await;
    let late = send(json!({"traceId": TRACE, "chunk": "late"})).await;
    assert_eq!(late, (404, json!("Stream not found")));
    assert_eq!(send(json!({"chunk": 1})).await, (404, json!("Stream not found")));
    runtime.answer(&asked, json!({"result": {"count": 1}})).await;
    let text = soon(answer.text()).await.unwrap();
    assert_eq!(text, format!(r#"{{"result":{{"count":1}},"telemetry":{{"traceId":"{TRACE}"}}}}"#));
}

#[tokio::test]
async fn health_and_quit_are_answered() {
    let kit = kit().await;
    assert_eq!(kit.get("/api/__health").await, (200, json!("")));
    let quit = kit.post("/api/__quitquitquit", json!({})).await;
    assert_eq!(quit, (200, json!("Server is shutting down")));
    soon(kit.server.quit_requested()).await;
}

#[tokio::test]
async fn spans_that_a_runtime_sends_are_shown_and_followed() {
    let kit = kit().await;
    let missing = kit.get("/api/getTrace?input={\"traceId\":\"ffff\"}").await;
    assert_eq!(missing, (200, json!({"result": {"data": ""}})));
    let missing = kit.post("/api/streamTrace", json!({})).await;
    assert_eq!(missing, (400, json!({"error": "traceId is required"})));
    let span = json!({"spanId": "1111111111111111", "traceId": TRACE, "startTime": 1, "endTime": 2,
        "attributes": {"genkit:input": "{\"apiKey\":\"planted-secret\"}"}, "displayName": "greet",
        "instrumentationLibrary": {"name": "x"}, "spanKind": "INTERNAL"});
    let trace = json!({"traceId": TRACE, "displayName": "greet", "startTime": 1, "endTime": 2,
        "spans": {"1111111111111111": span}});
    let url = format!("{}/api/traces", kit.server.urls().telemetry);
    let posted = soon(kit.client.post(url).json(&trace).send()).await.unwrap();
    assert_eq!(posted.status(), 200);
    let (_, list) = kit.get("/api/listTraces").await;
    assert_eq!(list["result"]["data"]["traces"][0]["traceId"], TRACE);
    let (_, read) = kit.get(&format!("/api/getTrace?input={{\"traceId\":\"{TRACE}\"}}")).await;
    assert_eq!(read["result"]["data"]["displayName"], "greet");
    let followed = kit.post_response("/api/streamTrace", json!({"traceId": TRACE})).await;
    let followed = soon(followed.text()).await.unwrap();
    assert!(followed.starts_with('{') && followed.contains(TRACE), "{followed}");
    let logs = kit.get("/api/listLogs?input={\"limit\":1}").await;
    assert_eq!(logs, (200, json!({"result": {"data": {"logs": []}}})));
    for answer in [list.to_string(), read.to_string(), followed] {
        assert!(!answer.contains("planted-secret"), "{answer}");
    }
    assert_eq!(kit.get("/api/listTraces?input={\"filter\":7}").await.0, 400);
}
