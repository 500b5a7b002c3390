//! Unusual messages: those of a recording with official runtimes, and invalid ones.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use oxikit_core::{Action, ActionKind, ActionResolver, Result};
use oxikit_wire::ActionDescriptor;
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::protocol::Message;

use super::super::requests::ERROR_RESPONSE_INTERVAL;
use super::kit::{App, Manager};

/// Sends a message and asks for something else: answers what came before that.
async fn reply_to(manager: &mut Manager, message: &str) -> Vec<Value> {
    manager.send_text(message).await;
    let mut replies = Vec::new();
    loop {
        manager.ask("fence", "listValues", json!({"type": "defaultModel"})).await;
        let next = manager.recv().await;
        if next["id"] == "fence" {
            return replies;
        }
        replies.push(next);
        // The answer to the fence is still to come.
        let fence = manager.recv().await;
        assert_eq!(fence["id"], "fence", "{fence}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_means_nothing_is_passed_over() {
    let (app, mut manager) = App::registered().await;
    for message in [
        r#"{"jsonrpc":"2.0","method":"nope","params":{}}"#,
        r#"{"jsonrpc":"2.0","id":"zz","result":1}"#,
        r#"{"jsonrpc":"2.0","method":"runAction","params":{"key":"/flow/greet","input":{"name":"n"}}}"#,
        r#"{"jsonrpc":"2.0","method":"runAction","params":{"key":"/flow/greet"},"id":null}"#,
        r#"{"method":"sendInputStreamChunk","params":{"requestId":"zzz","chunk":1}}"#,
        r#"{"method":"sendInputStreamChunk","params":{"requestId":"zzz","chunk":1},"id":"u"}"#,
        r#"{"method":"sendInputStreamChunk"}"#,
        r#"{"method":"endInputStream","params":{"requestId":"zzz"}}"#,
        r#"{"method":"configure","params":{},"id":"v"}"#,
        r#"{"method":"configure","params":null}"#,
        // Answers to nothing, also those that we would send ourselves.
        r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error"},"id":null}"#,
        r#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"Invalid Request"}}"#,
        r#"{"id":"w"}"#,
    ] {
        assert_eq!(reply_to(&mut manager, message).await, [] as [Value; 0], "{message}");
    }
    app.end().await;
}

#[tokio::test(start_paused = true)]
async fn invalid_frames_are_answered_at_a_limited_rate() {
    let (app, mut manager) = App::registered().await;
    for (message, code) in [
        ("hello", -32700),
        ("", -32700),
        ("{", -32700),
        (r#"{"jsonrpc":"2.0","method":"listActions","id":"1"#, -32700),
        ("null", -32600),
        ("[]", -32600),
        ("{}", -32600),
        (r#"[{"jsonrpc":"2.0","method":"listValues","params":{"type":"x"},"id":"bb"}]"#, -32600),
        (r#"["x","listActions"]"#, -32600),
        (r#"{"jsonrpc":"2.0","method":"listActions","id":{"a":1}}"#, -32600),
        (r#"{"method":5,"id":"w"}"#, -32600),
    ] {
        tokio::time::sleep(ERROR_RESPONSE_INTERVAL).await;
        let replies = reply_to(&mut manager, message).await;
        let [answer] = &replies[..] else { panic!("{message}: {replies:?}") };
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&Value::Null, &json!(code)));
        assert!(answer["error"]["data"]["message"].is_string(), "{answer}");
    }
    tokio::time::sleep(ERROR_RESPONSE_INTERVAL).await;
    for _ in 0..1000 {
        manager.send_text("garbage").await;
    }
    assert_eq!(manager.recv().await["error"]["code"], -32700);
    manager.hears_nothing_for(Duration::from_secs(5)).await;
    app.end().await;
}

#[tokio::test(start_paused = true)]
async fn requests_that_cannot_be_read_are_answered() {
    let (app, mut manager) = App::registered().await;
    for (message, code, status, text) in [
        (r#"{"method":"nope","params":{},"id":"a"}"#, -32601, 12, "Method not found: nope"),
        (r#"{"method":"listValues","id":"a"}"#, -32000, 3, "the params of `listValues`"),
        (r#"{"method":"listValues","params":null,"id":"a"}"#, -32000, 3, "the params of"),
        (r#"{"method":"runAction","id":"a"}"#, -32000, 3, "the params of `runAction`"),
        (r#"{"method":"runAction","params":{"input":1},"id":"a"}"#, -32000, 3, "field `key`"),
        (r#"{"method":"cancelAction","params":{},"id":"a"}"#, -32000, 3, "field `traceId`"),
        (
            r#"{"method":"runAction","params":{"key":"/flow/greet","telemetryLabels":{"n":1}},"id":"a"}"#,
            -32000,
            3,
            "invalid type",
        ),
        (
            r#"{"method":"listValues","params":{"type":"prompt"},"id":"a"}"#,
            -32602,
            3,
            "'type' prompt is not supported. Only 'defaultModel' and 'middleware' are supported",
        ),
    ] {
        let replies = reply_to(&mut manager, message).await;
        let [answer] = &replies[..] else { panic!("{message}: {replies:?}") };
        assert_eq!(answer["id"], "a");
        let error = &answer["error"];
        assert_eq!(error["code"], code, "{answer}");
        assert_eq!(error["data"]["code"], status, "{answer}");
        assert!(error["message"].as_str().unwrap().contains(text), "{answer}");
        assert_eq!(error["data"]["message"], error["message"]);
        assert!(error["data"]["details"]["stack"].is_string(), "{answer}");
    }
    app.end().await;
}

#[tokio::test(start_paused = true)]
async fn ids_come_back_as_they_were_given() {
    let (app, mut manager) = App::registered().await;
    // Official runtimes ignore 0; the protocol does not say so.
    for id in [json!(7), json!(0), json!("7"), json!("5f0c2c5e-0000-4000-8000-000000000001")] {
        manager.run(id.clone(), "/flow/greet", json!({"name": "n"})).await;
        manager.state_of(id.clone()).await;
        let answer = manager.recv().await;
        assert_eq!(answer["id"], id);
        assert_eq!(answer["result"]["result"], json!({"text": "Hi n"}));
        manager.ask(id.clone(), "listValues", json!({"type": "middleware"})).await;
        assert_eq!(
            manager.recv().await,
            json!({"jsonrpc": "2.0", "result": {"values": {}}, "id": id})
        );
    }
    app.end().await;
}

#[tokio::test(start_paused = true)]
async fn null_is_the_same_as_absent() {
    let (app, mut manager) = App::registered().await;
    let params = json!({"key": "/flow/greet", "input": {"name": "n"}, "context": null, "init": null,
        "telemetryLabels": null, "stream": null, "streamInput": null, "runtimeId": null});
    manager.ask("e", "runAction", params).await;
    manager.state_of("e").await;
    assert_eq!(manager.recv().await["result"]["result"], json!({"text": "Hi n"}));
    for params in [None, Some(Value::Null), Some(json!({})), Some(json!({"x": 1}))] {
        let mut message = json!({"method": "listActions", "id": "l"});
        if let Some(params) = params {
            message["params"] = params;
        }
        manager.send(message).await;
        assert!(manager.recv().await["result"]["actions"]["/flow/greet"].is_object());
    }
    // The input alone: none is not the same as `null` to an action that passes it on.
    manager.run("n", "/flow/echo", json!([null])).await;
    manager.state_of("n").await;
    assert_eq!(manager.recv().await["result"]["result"], json!([null]));
    app.end().await;
}

#[tokio::test(start_paused = true)]
async fn json_in_a_binary_frame_is_read() {
    let (app, mut manager) = App::registered().await;
    let text = r#" {"method":"listValues","params":{"type":"middleware"},"id":"b"} "#;
    manager.send_message(Message::binary(text.as_bytes())).await;
    assert_eq!(manager.recv().await["id"], "b");
    app.end().await;
}

#[tokio::test(start_paused = true)]
async fn it_works_whatever_the_answer_to_the_registration_is() {
    for answer in [
        Some(r#"{"jsonrpc":"2.0","id":"1","result":null}"#),
        Some(r#"{"jsonrpc":"2.0","id":"1","result":{}}"#),
        Some(r#"{"jsonrpc":"2.0","id":"1","result":"yes"}"#),
        Some(r#"{"jsonrpc":"2.0","id":"1","error":{"code":-32000,"message":"no"}}"#),
        None,
    ] {
        let mut app = App::start();
        let mut manager = app.accept().await;
        manager.recv().await;
        if let Some(answer) = answer {
            manager.send_text(answer).await;
        }
        manager.hears_nothing_for(Duration::from_secs(5)).await;
        manager.run("1", "/flow/greet", json!({"name": "n"})).await;
        manager.state_of("1").await;
        assert_eq!(manager.recv().await["result"]["result"], json!({"text": "Hi n"}));
        app.end().await;
    }
}

#[tokio::test(start_paused = true)]
async fn two_runs_at_once_do_not_wait_for_each_other() {
    let (app, mut manager) = App::registered().await;
    manager.run("p", "/flow/gated", json!("p")).await;
    manager.state_of("p").await;
    manager.run("q", "/flow/echo", json!("q")).await;
    manager.state_of("q").await;
    assert_eq!(manager.recv().await["id"], "q");
    app.gate.add_permits(1);
    assert_eq!(manager.recv().await["id"], "p");
    app.end().await;
}

struct Panics;

#[async_trait]
impl ActionResolver for Panics {
    fn namespace(&self) -> &str {
        "panics"
    }

    async fn resolve(&self, _: ActionKind, name: &str) -> Result<Option<Action>> {
        panic!("looking for {name}")
    }

    async fn list(&self) -> Result<Vec<ActionDescriptor>> {
        panic!("listing")
    }
}

#[tokio::test(start_paused = true)]
async fn code_that_panics_around_an_action_is_answered_for() {
    let (app, mut manager) = App::registered().await;
    app.registry.add_resolver(Arc::new(Panics));
    manager.run("1", "/flow/panics/unknown", json!(1)).await;
    assert_eq!(manager.recv().await["error"]["data"]["code"], 13);
    manager.ask("2", "listActions", Value::Null).await;
    assert_eq!(manager.recv().await["error"]["data"]["code"], 13);
    app.end().await;
}
