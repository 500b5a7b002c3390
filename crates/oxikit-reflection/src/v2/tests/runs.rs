//! The requests of an ordinary session.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use oxikit_core::{Context, OpenSpan, SpanExporter, SpanRecord};
use serde_json::{Value, json};

use super::kit::{App, flow};

#[tokio::test(start_paused = true)]
async fn it_registers_and_serves_right_behind_the_answer() {
    let mut app = App::start();
    let mut manager = app.accept().await;
    assert_eq!(
        manager.recv().await,
        json!({
            "jsonrpc": "2.0", "id": "1", "method": "register",
            "params": {
                "id": "4242", "pid": 4242, "name": "reflect-app",
                "genkitVersion": concat!("rust/", env!("CARGO_PKG_VERSION")),
                "reflectionApiSpecVersion": 1, "envs": ["dev"],
            },
        })
    );
    let url = "http://localhost:4033";
    manager.feed(json!({"jsonrpc": "2.0", "result": {"telemetryServerUrl": url}, "id": "1"})).await;
    manager.feed(json!({"jsonrpc": "2.0", "method": "listActions", "id": "1"})).await;
    manager.flush().await;
    let answer = manager.recv().await;
    assert_eq!(answer["id"], "1");
    assert_eq!(answer["result"]["actions"]["/flow/greet"]["name"], "greet");
    assert_eq!(answer["result"]["actions"]["/flow/bidiEcho"]["metadata"]["bidi"], true);
    assert_eq!(app.telemetry.server().as_deref(), Some(url));
    for (sent, used) in
        [("http://localhost:1", "http://localhost:1"), ("no URL", "http://localhost:1")]
    {
        manager.tell("configure", json!({"telemetryServerUrl": sent})).await;
        manager.ask("2", "listValues", json!({"type": "defaultModel"})).await;
        manager.recv().await;
        assert_eq!(app.telemetry.server().as_deref(), Some(used));
    }
    app.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_run_is_its_state_then_its_chunks_then_one_answer() {
    let (app, mut manager) = App::registered().await;
    manager
        .ask("11", "runAction", json!({"key": "/flow/countdown", "input": 3, "stream": true}))
        .await;
    let trace = manager.state_of("11").await;
    for chunk in [3, 2, 1] {
        let params = json!({"requestId": "11", "chunk": chunk});
        let expected = json!({"jsonrpc": "2.0", "method": "streamChunk", "params": params});
        assert_eq!(manager.recv().await, expected);
    }
    let result = json!({"result": "liftoff", "telemetry": {"traceId": trace}});
    assert_eq!(manager.recv().await, json!({"jsonrpc": "2.0", "result": result, "id": "11"}));

    // Without `stream`, no chunks.
    manager.run("12", "/flow/countdown", json!(2)).await;
    manager.state_of("12").await;
    assert_eq!(manager.recv().await["result"]["result"], "liftoff");
    // A void result is left out.
    manager.run("13", "/flow/returnsNothing", Value::Null).await;
    let trace = manager.state_of("13").await;
    let result = json!({"telemetry": {"traceId": trace}});
    assert_eq!(manager.recv().await, json!({"jsonrpc": "2.0", "result": result, "id": "13"}));
    app.end().await;
}

#[tokio::test(start_paused = true)]
async fn failures_say_all_that_the_tools_show() {
    let (app, mut manager) = App::registered().await;
    manager.run("14", "/flow/boom", json!(1)).await;
    let trace = manager.state_of("14").await;
    let details = json!({"stack": "INTERNAL: kaboom", "traceId": trace});
    let data = json!({"code": 13, "message": "kaboom", "details": details});
    let error = json!({"code": -32000, "message": "kaboom", "data": data});
    assert_eq!(manager.recv().await, json!({"jsonrpc": "2.0", "error": error, "id": "14"}));

    manager.run("15", "/flow/denied", json!(1)).await;
    manager.state_of("15").await;
    let error = manager.recv().await["error"].take();
    assert_eq!(error["message"], "PERMISSION_DENIED: not for you");
    assert_eq!(error["data"]["code"], 7);

    // A request that is rejected before its run begins has neither state nor trace.
    manager.run("21", "/flow/greet", json!({"name": 5})).await;
    let answer = manager.recv().await;
    assert_eq!(answer["error"]["code"], -32000);
    assert_eq!(answer["error"]["data"]["code"], 3);
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("INVALID_ARGUMENT: Schema validation failed."), "{message}");
    assert_eq!(answer["error"]["data"]["details"].get("traceId"), None);
    for key in ["/flow/nope", "nope"] {
        manager.run("18", key, json!(1)).await;
        let error = manager.recv().await["error"].take();
        assert_eq!(error["code"], -32602);
        assert_eq!(error["message"], format!("action {key} not found"));
        assert_eq!(error["data"]["code"], 5);
        assert_eq!(error["data"]["message"], error["message"]);
        assert!(error["data"]["details"]["stack"].is_string());
    }
    app.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_run_is_cancelled_by_its_trace_once() {
    let (app, mut manager) = App::registered().await;
    manager.ask("34", "runAction", json!({"key": "/flow/forever", "stream": true})).await;
    let trace = manager.state_of("34").await;
    assert_eq!(manager.recv().await["params"]["chunk"], "started");
    manager.ask("35", "cancelAction", json!({"traceId": trace})).await;
    let answers = [manager.recv().await, manager.recv().await];
    let result = json!({"message": "Action cancelled"});
    assert_eq!(answers[0], json!({"jsonrpc": "2.0", "result": result, "id": "35"}));
    assert_eq!(answers[1]["id"], "34");
    assert_eq!(answers[1]["error"]["message"], "Action was cancelled");
    assert_eq!(answers[1]["error"]["data"]["code"], 1);
    assert_eq!(answers[1]["error"]["data"]["details"]["traceId"], trace);
    manager.ask("36", "cancelAction", json!({"traceId": trace})).await;
    let error = manager.recv().await["error"].take();
    assert_eq!(error["code"], -32602);
    assert_eq!(error["message"], "Action not found or already completed");
    assert_eq!(error["data"]["code"], 5);
    app.end().await;
}

#[tokio::test(start_paused = true)]
async fn inputs_are_taken_while_it_runs() {
    let (app, mut manager) = App::registered().await;
    let bidi =
        |init| json!({"key": "/flow/bidiEcho", "init": init, "stream": true, "streamInput": true});
    manager.ask("42", "runAction", bidi(json!({"prefix": "> "}))).await;
    manager.state_of("42").await;
    for (chunk, echo) in [("one", "> ONE"), ("two", "> TWO")] {
        manager.tell("sendInputStreamChunk", json!({"requestId": "42", "chunk": chunk})).await;
        assert_eq!(manager.recv().await["params"], json!({"requestId": "42", "chunk": echo}));
    }
    manager.tell("endInputStream", json!({"requestId": "42"})).await;
    assert_eq!(manager.recv().await["result"]["result"], json!({"count": 2}));

    // Right behind the request, and without an init.
    let request =
        json!({"jsonrpc": "2.0", "method": "runAction", "params": bidi(Value::Null), "id": "r"});
    manager.feed(request).await;
    for chunk in ["one", "two"] {
        let params = json!({"requestId": "r", "chunk": chunk});
        manager.feed(json!({"method": "sendInputStreamChunk", "params": params})).await;
    }
    manager.feed(json!({"method": "endInputStream", "params": {"requestId": "r"}})).await;
    manager.flush().await;
    manager.state_of("r").await;
    assert_eq!(manager.recv().await["params"]["chunk"], "ONE");
    assert_eq!(manager.recv().await["params"]["chunk"], "TWO");
    assert_eq!(manager.recv().await["result"]["result"], json!({"count": 2}));

    // One that does not fit ends the run.
    manager.ask("43", "runAction", bidi(json!({}))).await;
    let trace = manager.state_of("43").await;
    manager.tell("sendInputStreamChunk", json!({"requestId": "43", "chunk": 42})).await;
    let error = manager.recv().await["error"].take();
    assert_eq!(error["data"]["code"], 3);
    assert_eq!(error["data"]["details"]["traceId"], trace);

    // Without `streamInput` there is one.
    manager.run("44", "/flow/bidiEcho", json!("solo")).await;
    manager.state_of("44").await;
    assert_eq!(manager.recv().await["result"]["result"], json!({"count": 1}));
    app.end().await;
}

#[tokio::test(start_paused = true)]
async fn an_action_of_one_input_takes_that_of_the_request() {
    let (app, mut manager) = App::registered().await;
    let params = json!({"key": "/flow/greet", "input": {"name": "zz"}, "streamInput": true});
    manager.ask("t", "runAction", params).await;
    manager.state_of("t").await;
    let chunk = json!({"name": "chunk"});
    manager.tell("sendInputStreamChunk", json!({"requestId": "t", "chunk": chunk})).await;
    assert_eq!(manager.recv().await["result"]["result"], json!({"text": "Hi zz"}));
    app.end().await;
}

/// Notes when spans are flushed.
#[derive(Default)]
struct Notes(Mutex<Vec<&'static str>>);

#[async_trait]
impl SpanExporter for Notes {
    fn start(&self, _: &OpenSpan) {}

    fn end(&self, _: SpanRecord) {
        self.0.lock().unwrap().push("end");
    }

    async fn flush(&self) {
        tokio::task::yield_now().await;
        self.0.lock().unwrap().push("flush");
    }
}

#[tokio::test(start_paused = true)]
async fn the_trace_is_sent_before_the_answer() {
    let (app, mut manager) = App::registered().await;
    let notes = Arc::new(Notes::default());
    app.registry.add_exporter(notes.clone());
    manager.run("1", "/flow/echo", json!("x")).await;
    manager.state_of("1").await;
    manager.recv().await;
    assert_eq!(*notes.0.lock().unwrap(), ["end", "flush"]);
    app.end().await;
}

#[tokio::test(start_paused = true)]
async fn context_and_labels_reach_the_action() {
    let (app, mut manager) = App::registered().await;
    flow(&app.registry, "who", async |_: Value, ctx: Context| Ok(ctx.auth().cloned()));
    let labels = json!({"batchRun": "x"});
    let params = json!({"key": "/flow/who", "input": 1, "context": {"auth": {"uid": "u1"}},
        "telemetryLabels": labels, "unknown": [1], "runtimeId": "4242"});
    manager.ask("7", "runAction", params).await;
    manager.state_of("7").await;
    assert_eq!(manager.recv().await["result"]["result"], json!({"uid": "u1"}));
    app.end().await;
}
