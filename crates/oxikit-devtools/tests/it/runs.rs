//! Actions, values and runs of `/api/v1`.

use std::time::Duration;

use reqwest::{Method, Response};
use serde_json::{Value, json};

use oxikit_testing::manager::{TRACE, soon, until};
use oxikit_testing::tools::{kit, read};

#[tokio::test]
async fn actions_and_values_are_those_of_the_runtime_that_is_named() {
    let kit = kit().await;
    let mut one = kit.runtime("one").await;
    let _two = kit.runtime("two").await;
    let actions = json!({"actions": {"/flow/greet": {"name": "greet"}, "/flow/bad": {"name": 7}}});
    let script = tokio::spawn(async move {
        for _ in 0..3 {
            let asked = one.expect_request("listActions").await;
            one.answer(&asked, actions.clone()).await;
        }
        let asked = one.expect_request("listValues").await;
        assert_eq!(asked.params, json!({"type": "defaultModel"}));
        one.answer(&asked, json!({"values": {"defaultModel": {"name": "m"}}})).await;
        one
    });
    let (status, list) = kit.get("/api/v1/actions?runtime=one").await;
    assert_eq!((status, &list["actions"]["/flow/greet"]["name"]), (200, &json!("greet")));
    assert_eq!(list["skipped"][0]["key"], "/flow/bad");
    let (status, action) = kit.get("/api/v1/actions/flow/greet?runtime=one").await;
    assert_eq!((status, &action["key"]), (200, &json!("/flow/greet")));
    let (status, missing) = kit.get("/api/v1/actions/flow/nope?runtime=one").await;
    assert_eq!((status, &missing["status"]), (404, &json!("NOT_FOUND")));
    let values = kit.get("/api/v1/values/defaultModel?runtime=one").await;
    assert_eq!(values, (200, json!({"defaultModel": {"name": "m"}})));
    soon(script).await.unwrap();
    let (status, missing) = kit.get("/api/v1/actions?runtime=three").await;
    assert_eq!((status, &missing["status"]), (404, &json!("NOT_FOUND")));
}

#[tokio::test]
async fn a_run_names_its_trace_before_it_ends() {
    let kit = kit().await;
    let mut runtime = kit.runtime("one").await;
    let head = kit.post_response("/api/v1/run", json!({"key": "/flow/slow", "runtimeId": "one"}));
    let script = async {
        let asked = runtime.expect_request("runAction").await;
        runtime.state(&asked, TRACE).await;
        asked
    };
    // The head is there, and the run has not ended.
    let (head, asked) = tokio::join!(head, script);
    assert_eq!(
        (head.status().as_u16(), &head.headers()["x-genkit-trace-id"]),
        (200, &TRACE.parse().unwrap())
    );
    let text = format!(
        r#"{{"jsonrpc":"2.0","id":{},"result":{{"result":{{"n": 12345678901234567890.50 }}}}}}"#,
        asked.id
    );
    runtime.send_text(text).await;
    let text = soon(head.text()).await.unwrap();
    // As it came, to the last digit.
    let expected = format!(
        r#"{{"result":{{"n": 12345678901234567890.50 }},"telemetry":{{"traceId":"{TRACE}"}}}}"#
    );
    assert_eq!(text, expected);
}

#[tokio::test]
async fn a_run_that_did_not_begin_has_the_status_of_its_failure() {
    let kit = kit().await;
    let (status, error) = kit.post("/api/v1/run", json!({"key": "/flow/x"})).await;
    assert_eq!((status, &error["status"]), (503, &json!("UNAVAILABLE")));
    let mut runtime = kit.runtime("one").await;
    let script = tokio::spawn(async move {
        let asked = runtime.expect_request("runAction").await;
        let error = json!({"code": -32602, "message": "action /flow/x not found"});
        runtime.fail(&asked, error).await;
        let asked = runtime.expect_request("runAction").await;
        runtime.state(&asked, TRACE).await;
        let data = json!({"code": 7, "message": "not for you", "details": {"traceId": TRACE}});
        runtime.fail(&asked, json!({"code": -32000, "message": "no", "data": data})).await;
        runtime
    });
    let (status, error) = kit.post("/api/v1/run", json!({"key": "/flow/x"})).await;
    assert_eq!((status, &error["status"]), (404, &json!("NOT_FOUND")));
    let (status, error) = kit.post("/api/v1/run", json!({"key": "/flow/y"})).await;
    let expected = json!({"error": {"code": 7, "status": "PERMISSION_DENIED",
        "message": "not for you", "details": {"traceId": TRACE}}});
    assert_eq!((status, error), (200, expected));
    let _runtime = soon(script).await.unwrap();
    let (status, error) = kit.post("/api/v1/run", json!([1])).await;
    assert_eq!((status, &error["status"]), (400, &json!("INVALID_ARGUMENT")));
    let (status, _) = kit.post("/api/v1/run", json!({"key": "/flow/x", "runtimeId": 7})).await;
    assert_eq!(status, 400);
}

#[tokio::test]
async fn a_stream_is_events_in_order_and_one_end() {
    let kit = kit().await;
    let mut runtime = kit.runtime("one").await;
    let body = json!({"key": "/flow/count"});
    let script = tokio::spawn(async move {
        let asked = runtime.expect_request("runAction").await;
        assert_eq!(
            (&asked.params["stream"], &asked.params["streamInput"]),
            (&json!(true), &json!(false))
        );
        runtime.state(&asked, TRACE).await;
        let id = &asked.id;
        let chunk = format!(
            "{{\"jsonrpc\":\"2.0\",\"method\":\"streamChunk\",\"params\":{{\"requestId\":{id},\"chunk\":{{\r\n\"a\":\n1}}}}}}"
        );
        runtime.send_text(chunk).await;
        runtime.chunk(&asked, Value::Null).await;
        runtime.answer(&asked, json!({"result": "done"})).await;
        runtime
    });
    let answer = kit.post_response("/api/v1/stream", body).await;
    assert_eq!(answer.headers()["content-type"], "text/event-stream");
    assert_eq!(answer.headers()["x-genkit-trace-id"], TRACE);
    let text = soon(answer.text()).await.unwrap();
    let expected = format!(
        "event: state\ndata: {{\"traceId\":\"{TRACE}\"}}\n\n\
         id: 1\nevent: chunk\ndata: {{  \"a\": 1}}\n\n\
         id: 2\nevent: chunk\ndata: null\n\n\
         id: 3\nevent: done\ndata: {{\"result\":\"done\",\"telemetry\":{{\"traceId\":\"{TRACE}\"}}}}\n\n"
    );
    assert_eq!(text, expected);
    soon(script).await.unwrap();
}

#[tokio::test]
async fn a_runtime_that_leaves_ends_its_streams() {
    let kit = kit().await;
    let mut runtime = kit.runtime("one").await;
    let answer = kit.post_response("/api/v1/stream", json!({"key": "/flow/count"}));
    let (mut answer, ()) = tokio::join!(answer, async {
        let asked = runtime.expect_request("runAction").await;
        runtime.state(&asked, TRACE).await;
        runtime.chunk(&asked, json!(1)).await;
    });
    let started = std::time::Instant::now();
    drop(runtime);
    let text = rest(&mut answer).await;
    assert!(text.contains("event: chunk\ndata: 1\n\n"), "{text}");
    assert!(text.contains("event: error\ndata: {\"code\":14"), "{text}");
    assert!(started.elapsed() < Duration::from_secs(3), "{:?}", started.elapsed());
}

#[tokio::test]
async fn inputs_and_cancel_reach_a_run_by_its_trace() {
    let kit = kit().await;
    let mut runtime = kit.runtime("one").await;
    let answer = kit.post_response("/api/v1/stream?bidi=true", json!({"key": "/flow/echo"}));
    let (mut answer, asked) = tokio::join!(answer, async {
        let asked = runtime.expect_request("runAction").await;
        assert_eq!(asked.params["streamInput"], true);
        runtime.state(&asked, TRACE).await;
        asked
    });
    // Sent before anything else: inputs need it, and the first chunk may need an input.
    let first = soon(answer.chunk()).await.unwrap().unwrap();
    assert_eq!(first, format!("event: state\ndata: {{\"traceId\":\"{TRACE}\"}}\n\n"));
    let run = |rest: &str| format!("/api/v1/runs/{TRACE}/{rest}");
    assert_eq!(kit.post(&run("input"), json!({"n": 1})).await, (200, json!({})));
    let received = runtime.expect_request("sendInputStreamChunk").await;
    assert_eq!(received.params["chunk"], json!({"n": 1}));
    assert_eq!(kit.post(&run("end-input"), json!({})).await, (200, json!({})));
    runtime.expect_request("endInputStream").await;
    assert_eq!(kit.post(&run("input"), json!(2)).await.0, 404);
    let cancel = run("cancel");
    let cancelled = kit.post(&cancel, json!({}));
    let (cancelled, ()) = tokio::join!(cancelled, async {
        let cancel = runtime.expect_request("cancelAction").await;
        assert_eq!(cancel.params, json!({"traceId": TRACE}));
        runtime.answer(&cancel, json!({"message": "Action cancelled"})).await;
        let data = json!({"code": 1, "message": "Action was cancelled", "details": {}});
        let error = json!({"code": -32000, "message": "x", "data": data});
        runtime.fail(&asked, error).await;
    });
    assert_eq!(cancelled, (200, json!({"message": "Action cancelled"})));
    assert!(rest(&mut answer).await.contains("event: error\ndata: {\"code\":1,"));
    assert_eq!(kit.post("/api/v1/runs/nope/input", json!(1)).await.0, 404);
}

#[tokio::test]
async fn a_caller_that_leaves_cancels_its_run() {
    let kit = kit().await;
    let mut runtime = kit.runtime("one").await;
    let answer = kit.post_response("/api/v1/stream", json!({"key": "/flow/slow"}));
    let (answer, ()) = tokio::join!(answer, async {
        let asked = runtime.expect_request("runAction").await;
        runtime.state(&asked, TRACE).await;
    });
    drop(answer);
    assert_eq!(runtime.expect_request("cancelAction").await.params, json!({"traceId": TRACE}));
    until(|| kit.server.runtimes().counts().traces == 0).await;
}

#[tokio::test]
async fn a_body_that_is_too_large_or_too_deep_is_refused() {
    let kit = kit().await;
    let _runtime = kit.runtime("one").await;
    for path in ["/api/v1/run", "/api/runAction", "/api/cancelAction"] {
        let large = format!("\"{}\"", "x".repeat(33 << 20));
        let request = kit.call(Method::POST, path).header("content-type", "application/json");
        let (status, error) = read(soon(request.body(large).send()).await.unwrap()).await;
        assert_eq!((status, &error["status"]), (413, &json!("RESOURCE_EXHAUSTED")), "{path}");
        let deep = "[".repeat(2_000_000);
        let request = kit.call(Method::POST, path).header("content-type", "application/json");
        let (status, _) = read(soon(request.body(deep).send()).await.unwrap()).await;
        assert_eq!(status, 400, "{path}");
    }
}

#[tokio::test]
async fn an_input_of_any_depth_passes_through() {
    let kit = kit().await;
    let mut runtime = kit.runtime("one").await;
    let input = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let body = format!(r#"{{"key":"/flow/x","input":{input}}}"#);
    let request = kit.call(Method::POST, "/api/v1/run").header("content-type", "application/json");
    let (answer, ()) = tokio::join!(soon(request.body(body).send()), async {
        let frame =
            soon(futures_util::StreamExt::next(&mut runtime.socket)).await.unwrap().unwrap();
        let text = frame.into_text().unwrap();
        assert!(text.contains(&input));
        let id = text.split("\"id\":\"").nth(1).unwrap().split('"').next().unwrap();
        let answer = format!(r#"{{"jsonrpc":"2.0","id":"{id}","result":{{"result":{input}}}}}"#);
        runtime.send_text(answer).await;
    });
    assert_eq!(soon(answer.unwrap().text()).await.unwrap(), format!(r#"{{"result":{input}}}"#));
}

async fn rest(answer: &mut Response) -> String {
    let mut text = String::new();
    while let Some(piece) = soon(answer.chunk()).await.unwrap() {
        text.push_str(str::from_utf8(&piece).unwrap());
    }
    text
}
