//! Conversations of the official client, held again with what official servers
//! answered: we send what it sent.

use std::time::Duration;

use oxikit_client::{Chat, RemoteAgent, Result, StatusCode};
use oxikit_wire::{AgentInput, SessionState, SnapshotStatus};
use serde_json::{Value, json};

use crate::peer::{Peer, Reply, peer, reply};

fn recorded(file: &str) -> Vec<Value> {
    serde_json::from_value(oxikit_recordings::json(&format!("agents/{file}"))).unwrap()
}

fn step<'a>(steps: &'a [Value], name: &str) -> &'a Value {
    steps.iter().find(|step| step["step"] == name).unwrap()
}

fn exchanges(step: &Value) -> &[Value] {
    step["wire"].as_array().unwrap()
}

fn answer(exchange: &Value) -> Reply {
    let response = &exchange["response"];
    let writes = response["writes"].as_array().unwrap().iter().map(|text| text.as_str().unwrap());
    reply(response["status"].as_u64().unwrap() as u16, writes)
}

fn agent(peer: &Peer, path: &str) -> RemoteAgent {
    RemoteAgent::new(&format!("http://{}{path}", peer.address)).unwrap()
}

/// A recorded request: path and body.
async fn sent(peer: Peer) -> Vec<(String, Value)> {
    let requests = peer.requests().await.into_iter().map(|request| {
        let (head, body) = request.split_once("\r\n\r\n").unwrap();
        let path = head.split(' ').nth(1).unwrap().to_owned();
        (path, serde_json::from_str(body).unwrap())
    });
    requests.collect()
}

fn asked(exchange: &Value) -> (String, Value) {
    let request = &exchange["request"];
    (request["path"].as_str().unwrap().to_owned(), request["body"].clone())
}

/// Compares the results of the official client for a turn with those of this client.
async fn check_turn(chat: &mut Chat, step: &Value) {
    let input: AgentInput =
        serde_json::from_value(exchanges(step)[0]["request"]["body"]["data"].clone()).unwrap();
    let ended = async { chat.start(input).await?.finish().await }.await;
    let name = &step["step"];
    let client = &step["client"];
    if client.get("THROWN").is_some() {
        let status = ended.unwrap_err();
        assert_eq!(status.code().name(), client["status"], "{name}");
        assert!(
            client["message"].as_str().unwrap().ends_with(status.message()),
            "{name}: {status}"
        );
        assert_eq!(status.details(), client.get("details"), "{name}");
        assert_eq!(json!(chat.snapshot_id()), client["snapshotId"], "{name}");
        return;
    }
    let reply = ended.unwrap();
    let seen = client.get("res").unwrap_or(client);
    assert_eq!(reply.text(), seen["text"], "{name}");
    assert_eq!(json!(reply.finish_reason()), seen["finishReason"], "{name}");
    assert_eq!(json!(chat.snapshot_id()), seen["snapshotId"], "{name}");
    assert_eq!(json!(chat.session_id()), seen["sessionId"], "{name}");
    assert_eq!(json!(chat.state::<Value>().unwrap()), seen["state"], "{name}");
    assert_eq!(json!(chat.artifacts()), seen["artifacts"], "{name}");
    let interrupts: Vec<_> = reply.interrupts().iter().map(|tool| json!(tool.request())).collect();
    assert_eq!(json!(interrupts), seen["interrupts"], "{name}");
}

async fn check_conversation(steps: &[&Value], begin: impl FnOnce(RemoteAgent) -> Chat) {
    let exchanges: Vec<_> = steps.iter().flat_map(|step| exchanges(step)).collect();
    let peer = peer(exchanges.iter().map(|exchange| answer(exchange))).await;
    let path = asked(exchanges[0]).0;
    let mut chat = begin(agent(&peer, &path));
    for step in steps {
        check_turn(&mut chat, step).await;
    }
    let expected: Vec<_> = exchanges.iter().map(|exchange| asked(exchange)).collect();
    assert_eq!(sent(peer).await, expected);
}

#[tokio::test]
async fn a_conversation_with_a_server_that_keeps_the_state() {
    let steps = recorded("client-remote-agent.json");
    let turns = [
        "chat.send first (server-managed)",
        "chat.send second",
        "chat.sendStream",
        "send with custom state + artifacts",
        "interrupt",
        "chat.resume respond",
        "interrupt (restartable)",
        "chat.resume restart with builder (no metadata)",
        "chat.resume restart with metadata.resumed",
        "chat.resumeStream forged",
        "failed turn",
        "turn after a failed turn",
    ];
    let turns: Vec<_> = turns.iter().map(|name| step(&steps, name)).collect();
    check_conversation(&turns, |agent| agent.chat()).await;
}

#[tokio::test]
async fn a_conversation_with_a_server_that_keeps_nothing() {
    let steps = recorded("client-remote-agent.json");
    let turns = ["client-managed first", "client-managed second"];
    let turns: Vec<_> = turns.iter().map(|name| step(&steps, name)).collect();
    let seed = SessionState {
        custom: Some(std::sync::Arc::new(json!({ "seed": true }))),
        ..SessionState::default()
    };
    check_conversation(&turns, |agent| agent.chat().from_state(seed)).await;
}

#[tokio::test]
async fn a_session_is_loaded_and_gone_on_with() -> Result<()> {
    let steps = recorded("client-remote-agent.json");
    let step = step(&steps, "loadChat by sessionId then send");
    let view = &step["client"]["v0"];
    // The recording of the snapshot is cut short.
    let snapshot = json!({ "result": {
        "snapshotId": view["snapshotId"],
        "sessionId": view["sessionId"],
        "createdAt": "2026-11-15T06:30:03.569Z",
        "status": "completed",
        "state": { "custom": view["state"], "messages": [], "sessionId": view["sessionId"] },
    } });
    let loaded = reply(200, [snapshot.to_string()]);
    let peer = peer([loaded, answer(&exchanges(step)[1])]).await;
    let mut chat =
        agent(&peer, "/agentStore").load_session(view["sessionId"].as_str().unwrap()).await?;
    assert_eq!(json!(chat.snapshot_id()), view["snapshotId"]);
    assert_eq!(json!(chat.state::<Value>()?), view["state"]);
    chat.send("loaded").await?;
    assert_eq!(json!(chat.snapshot_id()), step["client"]["v1"]["snapshotId"]);
    let expected: Vec<_> = exchanges(step).iter().map(asked).collect();
    assert_eq!(sent(peer).await, expected);
    Ok(())
}

#[tokio::test]
async fn detached_work_is_waited_for() -> Result<()> {
    let steps = recorded("client-remote-agent.json");
    let detached = exchanges(step(&steps, "detach + wait"));
    let after = exchanges(step(&steps, "turn after detach"));
    // We look once more before the next turn, to take over what was done.
    let replies = detached.iter().chain(detached.last()).chain(after).map(answer);
    let peer = peer(replies).await;
    let mut chat = agent(&peer, "/customAgent").chat();
    let work = chat.detach("wait 700").await?.look_every(Duration::from_millis(1));
    assert_eq!(work.wait().await?.status, Some(SnapshotStatus::Completed));
    assert_eq!(chat.send("next").await?.text(), "custom:next");
    assert_eq!(chat.messages().len(), 4, "also what was said while it was detached");
    let sent = sent(peer).await;
    assert_eq!(sent.first().unwrap(), &asked(&detached[0]));
    assert_eq!(sent.last().unwrap(), &asked(&after[0]));
    Ok(())
}

#[tokio::test]
async fn after_an_abort_the_session_goes_on() -> Result<()> {
    let steps = recorded("client-remote-agent.json");
    let aborted = exchanges(step(&steps, "detach + abort"));
    let next = exchanges(step(&steps, "chat with sessionId init, two turns"));
    let peer = peer(aborted.iter().chain(&next[..1]).map(answer)).await;
    let mut chat = agent(&peer, "/customAgent").chat();
    let work = chat.detach("wait 5000").await?;
    assert_eq!(work.abort().await?, Some(SnapshotStatus::Pending));
    let session = chat.session_id().unwrap().to_owned();
    chat.send("one").await?;
    // The official client names the aborted snapshot here, and is refused.
    assert_eq!(sent(peer).await.last().unwrap().1["init"], json!({ "sessionId": session }));
    Ok(())
}

#[tokio::test]
async fn what_is_not_there_is_told_apart() -> Result<()> {
    let steps = recorded("client-remote-agent.json");
    let names = ["loadChat unknown", "404 agent url", "state sent to server-managed agent"];
    let replies = names.map(|name| answer(&exchanges(step(&steps, name))[0]));
    let peer = peer(replies).await;
    let agent = agent(&peer, "/agentStore");
    assert_eq!(agent.load_session("nope").await.unwrap_err().code(), StatusCode::NotFound);
    let mut chat = agent.chat();
    assert_eq!(chat.send("x").await.unwrap_err().code(), StatusCode::NotFound);
    assert_eq!(chat.send("x").await.unwrap_err().code(), StatusCode::FailedPrecondition);
    Ok(())
}

#[tokio::test]
async fn a_go_server_that_does_not_know_the_work_to_stop_says_so_by_404() -> Result<()> {
    let detached =
        r#"data: {"result":{"sessionId":"s","snapshotId":"p","finishReason":"detached"}}"#;
    let unknown = r#"{"status":"NOT_FOUND","message":"no such snapshot"}"#;
    let peer = peer([reply(200, [detached, "\n\n"]), reply(404, [unknown])]).await;
    let mut chat = agent(&peer, "/agent").chat();
    chat.detach("work").await?;
    assert_eq!(chat.abort().await?, None);
    Ok(())
}

#[tokio::test]
async fn a_finish_reason_that_nobody_knows_fails_no_turn() -> Result<()> {
    let weird = r#"data: {"result":{"snapshotId":"p","finishReason":"weird","zzz":1}}"#;
    let peer = peer([reply(200, [weird, "\n\n"])]).await;
    let reply = agent(&peer, "/agent").chat().send("x").await?;
    assert_eq!(json!(reply.finish_reason()), "unknown");
    Ok(())
}

/// Every streamed answer of the official server is understood.
#[tokio::test]
async fn all_recorded_turns_are_understood() {
    let turns = recorded("turns.json");
    let mut understood = 0;
    for turn in turns.iter().filter(|turn| turn["blocks"].is_array()) {
        let blocks = turn["blocks"].as_array().unwrap().iter().map(|text| text.as_str().unwrap());
        let (_, last) = blocks.clone().next_back().unwrap().split_once(": ").unwrap();
        // One recording is cut short.
        let Ok(last) = serde_json::from_str::<Value>(last) else { continue };
        let peer = peer([reply(200, blocks)]).await;
        let reply = agent(&peer, "/agent").chat().send("x").await;
        let name = &turn["name"];
        let error = last.get("error").or_else(|| last["result"].get("error"));
        match (reply, error) {
            (Ok(reply), None) => assert_eq!(json!(reply.output()), last["result"], "{name}"),
            (Err(status), Some(error)) => {
                assert_eq!(status.code().name(), error["status"], "{name}");
                assert!(error["message"].as_str().unwrap().ends_with(status.message()), "{name}");
            }
            (reply, _) => panic!("{name}: {reply:?}"),
        }
        understood += 1;
    }
    assert_eq!(understood, 27);
}
