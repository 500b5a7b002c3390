//! A manager asks for the sessions of agents.

use oxikit::prelude::*;
use oxikit::{Agent, MemorySessions, Turn};
use oxikit_serve::{DevConfig, DevTools};

use super::manager::{Manager, Socket};

/// An application with an agent that keeps its sessions and one that does not.
async fn registered() -> (DevTools, Socket) {
    let (manager, url) = Manager::listen().await;
    let ai = Oxikit::builder().build().unwrap();
    let agent = |name: &str| {
        Agent::builder(name).turn(|it: Turn<Value>| async move { Ok(it.answer("done")) })
    };
    ai.define_agent(agent("kept").store(MemorySessions::default())).unwrap();
    ai.define_agent(agent("free")).unwrap();
    let mut config = DevConfig::default();
    config.manager = Some(url);
    let config = config.with_agents_api(oxikit_serve::dev_agents());
    let tools = config.start(&ai).await.unwrap();
    let mut socket = manager.accept().await;
    assert_eq!(socket.recv().await["method"], "register");
    (tools, socket)
}

async fn ask(socket: &mut Socket, method: &str, params: Value) -> Value {
    socket.send(json!({"jsonrpc": "2.0", "id": "1", "method": method, "params": params})).await;
    loop {
        let answer = socket.recv().await;
        if answer["id"] == "1" {
            return answer;
        }
    }
}

async fn say(socket: &mut Socket, session: &str) -> Value {
    let message = json!({"role": "user", "content": [{"text": "hi"}]});
    let params = json!({"key": "/agent/kept", "input": {"message": message}, "init": {"sessionId": session}});
    ask(socket, "runAction", params).await["result"]["result"]["snapshotId"].clone()
}

#[tokio::test]
async fn sessions_are_listed_shown_forked_and_deleted() {
    let (tools, mut socket) = registered().await;
    let first = say(&mut socket, "s").await;
    say(&mut socket, "t").await;

    let page = ask(&mut socket, "listSessions", json!({"agent": "kept", "limit": 1})).await;
    assert_eq!(page["result"]["sessions"][0]["sessionId"], "t", "{page}");
    let token = &page["result"]["continuationToken"];
    let next = json!({"agent": "kept", "limit": 1, "continuationToken": token});
    let page = ask(&mut socket, "listSessions", next).await;
    assert_eq!(page["result"]["sessions"][0]["sessionId"], "s", "{page}");
    assert_eq!(page["result"]["sessions"][0]["messageCount"], 2);
    let active = json!({"agent": "kept", "status": "active"});
    let page = ask(&mut socket, "listSessions", active).await;
    assert_eq!(page["result"], json!({"sessions": []}));

    let session = json!({"agent": "kept", "sessionId": "s"});
    let shown = ask(&mut socket, "getSession", session.clone()).await;
    assert_eq!(shown["result"]["threads"]["main"].as_array().unwrap().len(), 2, "{shown}");
    let forked = ask(&mut socket, "forkSession", session.clone()).await;
    assert_eq!(forked["result"]["parentSnapshotId"], first, "{forked}");
    // Callers who have logged in have sessions of their own.
    let ada = json!({"agent": "kept", "sessionId": "s", "context": {"auth": {"uid": "ada"}}});
    let none = ask(&mut socket, "getSession", ada).await;
    assert_eq!(none["error"]["data"]["code"], 5, "{none}");
    let gone = ask(&mut socket, "deleteSession", session.clone()).await;
    assert_eq!(gone["result"], json!({"success": true, "sessionId": "s"}));
    let copy = json!({"agent": "kept", "sessionId": forked["result"]["sessionId"]});
    let shown = ask(&mut socket, "getSession", copy).await;
    assert_eq!(shown["result"]["threads"]["main"].as_array().unwrap().len(), 2, "{shown}");
    tools.close().await;
}

#[tokio::test]
async fn a_failed_request_is_answered_with_its_code() {
    let (tools, mut socket) = registered().await;
    for (method, params, code, text) in [
        ("getSession", json!({"agent": "kept", "sessionId": "x"}), 5, "there is no session `x`"),
        ("deleteSession", json!({"agent": "kept", "sessionId": "x"}), 5, "there is no session"),
        ("forkSession", json!({"agent": "nobody", "sessionId": "x"}), 5, "there is no agent"),
        ("listSessions", json!({"agent": "free"}), 9, "agent `free` has no session store"),
        ("listSessions", json!({"agent": "kept", "limit": 0}), 3, "`limit` is a number"),
        ("listSessions", json!({"limit": 1}), 3, "the params of `listSessions`"),
        ("getSession", Value::Null, 3, "the params of `getSession`"),
    ] {
        let answer = ask(&mut socket, method, params).await;
        let data = &answer["error"]["data"];
        assert_eq!(data["code"], code, "{answer}");
        let message = data["message"].as_str().unwrap();
        assert!(message.contains(text), "{message}");
    }
    tools.close().await;
}
