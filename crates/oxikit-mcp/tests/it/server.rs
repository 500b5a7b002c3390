//! Tests of a server from the view of a client.

use std::sync::Arc;
use std::time::{Duration, Instant};

use oxikit_core::Status;
use oxikit_mcp::{Effect, McpServer, McpTool};
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::kit::{Client, initialize_params, request, text_of};

fn tool(name: &str, effect: Effect) -> McpTool {
    McpTool::new(name, "For tests.", effect)
}

/// A server with a tool for each kind of outcome.
fn server() -> McpServer {
    let echo = tool("echo", Effect::Reads).with_input(json!({
        "type": "object", "properties": {"say": {"type": "string"}},
    }));
    McpServer::new("tests", "7")
        .with_instructions("Try them.")
        .tool(echo, |arguments: Value| async move { Ok(arguments["say"].clone()) })
        .tool(tool("whole", Effect::Acts), |arguments| async move { Ok(json!({"got": arguments})) })
        .tool(tool("refuse", Effect::Destroys), |_| async {
            Err(Status::not_found("look elsewhere").with_details(json!({"traceId": "7"})))
        })
        .tool(tool("hide", Effect::Reads), |_| async { Err(Status::internal("password 1234")) })
        .tool(tool("panic", Effect::Reads), |_| async { panic!("on purpose") })
        .tool(tool("wait", Effect::Reads), |_| std::future::pending())
}

#[tokio::test]
async fn a_client_receives_the_server_info_and_the_list_of_tools() {
    let mut client = Client::uninitialized(server());
    let hello = client.ask(1, "initialize", initialize_params()).await["result"].take();
    assert_eq!(hello["serverInfo"]["name"], "tests");
    assert_eq!(hello["serverInfo"]["version"], "7");
    assert_eq!(hello["protocolVersion"], "2025-06-18");
    assert_eq!(hello["instructions"], "Try them.");
    assert_eq!(hello["capabilities"], json!({"tools": {}}));

    let list = client.ask(2, "tools/list", json!({})).await["result"]["tools"].take();
    let names: Vec<_> = list.as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, ["echo", "whole", "refuse", "hide", "panic", "wait"]);
    let echo = json!({
        "name": "echo", "description": "For tests.",
        "inputSchema": {"type": "object", "properties": {"say": {"type": "string"}}},
        "annotations": {"readOnlyHint": true},
    });
    assert_eq!(list[0], echo);
    assert_eq!(list[1]["annotations"], json!({"readOnlyHint": false, "destructiveHint": false}));
    assert_eq!(list[2]["annotations"], json!({"readOnlyHint": false, "destructiveHint": true}));
}

#[tokio::test]
async fn a_tool_returns_text_a_value_or_a_readable_error() {
    let mut client = Client::connect(server()).await;
    assert_eq!(client.call("echo", json!({"say": "hi"})).await, ("hi".into(), false));
    let whole = r#"{"got":{"a":1}}"#.to_owned();
    assert_eq!(client.call("whole", json!({"a": 1})).await, (whole, false));
    let refused = r#"{"status":"NOT_FOUND","message":"look elsewhere","details":{"traceId":"7"}}"#;
    assert_eq!(client.call("refuse", json!({})).await, (refused.into(), true));
    let (hidden, is_error) = client.call("hide", json!({})).await;
    assert!(is_error && !hidden.contains("1234"), "{hidden}");
    let (broken, is_error) = client.call("panic", json!({})).await;
    assert!(is_error && broken.contains("INTERNAL"), "{broken}");
    let unknown = client.ask(3, "tools/call", json!({"name": "nothing"})).await;
    assert_eq!(unknown["error"]["code"], -32602);
    assert!(unknown["error"]["message"].as_str().unwrap().contains("`nothing`"));
    let unknown = client.ask(4, "no/such", json!({})).await;
    assert_eq!(unknown["error"]["code"], -32601);
    // The server still works.
    assert_eq!(client.call("echo", json!({"say": "hi"})).await, ("hi".into(), false));
}

#[tokio::test]
async fn lines_that_are_not_messages_are_ignored() {
    let mut client = Client::connect(server()).await;
    for line in ["", "{", "not json", "\u{0}"] {
        client.send_line(line).await;
    }
    assert_eq!(client.call("echo", json!({"say": "hi"})).await, ("hi".into(), false));
}

#[tokio::test]
async fn a_cancelled_call_is_dropped() {
    struct Dropped(Arc<Notify>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.notify_one();
        }
    }
    let (begun, dropped) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (begin, drop_of) = (begun.clone(), dropped.clone());
    let server = server().tool(tool("long", Effect::Acts), move |_| {
        let (begin, guard) = (begin.clone(), Dropped(drop_of.clone()));
        async move {
            let _guard = guard;
            begin.notify_one();
            std::future::pending().await
        }
    });
    let mut client = Client::connect(server).await;
    client.send(&request(5, "tools/call", &json!({"name": "long"}))).await;
    begun.notified().await;
    let cancel = json!({"requestId": 5, "reason": "enough"});
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancel});
    client.send(&cancel).await;
    tokio::time::timeout(super::kit::TIMEOUT, dropped.notified()).await.unwrap();
    assert_eq!(client.call("echo", json!({"say": "hi"})).await, ("hi".into(), false));
}

#[tokio::test]
async fn the_end_of_the_input_ends_the_server() {
    // A client that sends nothing.
    let mut client = Client::uninitialized(server());
    client.close().await;
    client.ended().await.unwrap();
    // A client that closes the input during a call does not keep the server running.
    let mut client = Client::connect(server()).await;
    client.send(&request(1, "tools/call", &json!({"name": "wait"}))).await;
    client.close().await;
    let left = Instant::now();
    client.ended().await.unwrap();
    assert!(left.elapsed() < Duration::from_millis(900), "{:?}", left.elapsed());
}

#[tokio::test]
async fn a_client_that_closes_its_input_still_gets_responses() {
    let slow = McpServer::new("tests", "7").tool(tool("slow", Effect::Reads), |_| async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        Ok(json!("done"))
    });
    let mut client = Client::connect(slow).await;
    client.send(&request(1, "tools/call", &json!({"name": "slow"}))).await;
    client.close().await;
    assert_eq!(text_of(&client.receive().await), ("done".to_owned(), false));
    client.ended().await.unwrap();
}
