//! The cases by name.

use std::pin::Pin;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use oxikit_client::{Chat, RemoteAgent, Status, StatusCode};
use oxikit_core::chat::AgentTransport;
use oxikit_wire::{
    AgentFinishReason, AgentStreamChunk, GetSnapshotRequest, SessionSnapshot, SessionState,
    SnapshotStatus,
};
use serde_json::{Value, json};

type Case = Pin<Box<dyn Future<Output = Result<()>> + Send>>;

/// All cases against the server at this address.
pub(crate) fn all(base: &str) -> Vec<(&'static str, Case)> {
    let server = Server(base.to_owned());
    macro_rules! cases {
        ($($name:literal: $function:ident,)+) => {
            vec![$(($name, Box::pin($function(server.clone())) as Case)),+]
        };
    }
    cases![
        "chat: turns go on from each other": turns,
        "chat: unicode and long texts": unicode,
        "chat: in a session of the client": in_session,
        "chat: from a snapshot, twice": branches,
        "stream: words as they are said": words,
        "stream: a turn that is dropped changes nothing": dropped_turn,
        "stream: a tool round": tool_round,
        "interrupt: respond": respond,
        "interrupt: restart": restart,
        "interrupt: restart with a reason": restart_with_reason,
        "interrupt: one of two tools": one_of_two,
        "interrupt: a forged answer": forged,
        "state: patches and artifacts": patches,
        "state: changed by a tool": remembered,
        "load: by snapshot": load_snapshot,
        "load: by session": load_session,
        "load: by session after a failed turn": load_after_failure,
        "load: unknown": load_unknown,
        "snapshot: read": snapshot,
        "snapshot: unknown": unknown_snapshot,
        "failure: the model, and on from the last good turn": failure,
        "failure: the first turn": first_failure,
        "failure: after a patch, and the next turn": patch_failure,
        "failure: an unknown snapshot": unknown_start,
        "failure: a state for an agent with a store": unwanted_state,
        "failure: no such agent": no_agent,
        "client state: turns": client_turns,
        "client state: tools and interrupts": client_tools,
        "client state: a failure leaves the last good state": client_failure,
        "client state: a session is refused": client_session,
        "client state: of the wrong type": client_schema,
        "detach: wait, and the next turn": detach,
        "detach: poll": poll,
        "detach: abort, and the next turn": abort,
        "detach: a failure": detached_failure,
        "abort: what has ended, and what never was": abort_ended,
        "transform: state, chunks and snapshots": transforms,
        "client: headers for every request": headers,
        "client: a turn that takes too long": timeout,
    ]
}

#[derive(Clone)]
struct Server(String);

impl Server {
    fn agent(&self, name: &str) -> Result<RemoteAgent> {
        Ok(RemoteAgent::new(&format!("{}/{name}", self.0))?)
    }

    fn chat(&self, name: &str) -> Result<Chat> {
        Ok(self.agent(name)?.chat())
    }
}

async fn turns(server: Server) -> Result<()> {
    let mut chat = server.chat("agentStore")?;
    let first = chat.send("hello").await?;
    same(first.text(), "echo(1): hello")?;
    same(first.finish_reason(), Some(AgentFinishReason::Stop))?;
    let session = chat.session_id().context("a session")?.to_owned();
    let before = chat.snapshot_id().context("a snapshot")?.to_owned();
    same(chat.send("again").await?.text(), "echo(3): again")?;
    same(chat.session_id(), Some(session.as_str()))?;
    ensure!(chat.snapshot_id() != Some(before.as_str()), "another snapshot");
    same(chat.messages().len(), 4)
}

async fn unicode(server: Server) -> Result<()> {
    let text = format!("héllo 😀 \n\n 漢字 \u{2028} \"quoted\" {}", "x".repeat(100_000));
    let reply = server.chat("agentStore")?.send(text.as_str()).await?;
    same(reply.text(), format!("echo(1): {text}"))
}

async fn in_session(server: Server) -> Result<()> {
    let session = format!("made-by-oxikit-{}", std::process::id());
    let chat = || anyhow::Ok(server.chat("agentStore")?.in_session(&session));
    let mut first = chat()?;
    first.send("one").await?;
    same(first.session_id(), Some(session.as_str()))?;
    same(chat()?.send("two").await?.text(), "echo(3): two")
}

async fn branches(server: Server) -> Result<()> {
    let mut root = server.chat("agentStore")?;
    root.send("root").await?;
    let id = root.snapshot_id().context("a snapshot")?;
    for text in ["a", "b"] {
        let mut branch = server.chat("agentStore")?.from_snapshot(id);
        same(branch.send(text).await?.text(), format!("echo(3): {text}"))?;
        let snapshot = read(&server, "agentStore", branch.snapshot_id()).await?;
        same(snapshot.parent_id.as_deref(), Some(id))?;
    }
    Ok(())
}

async fn words(server: Server) -> Result<()> {
    let mut chat = server.chat("agentStore")?;
    let mut turn = chat.send_stream("three words here").await?;
    let mut words = Vec::new();
    let mut last = AgentStreamChunk::default();
    while let Some(chunk) = turn.next().await.transpose()? {
        words.push(chunk.to_text());
        last = chunk;
    }
    same(words, ["echo(1): ", "three ", "words ", "here", ""])?;
    let end = last.turn_end.context("the end of the turn")?;
    turn.finish().await?;
    same(end.snapshot_id.as_deref(), chat.snapshot_id())
}

async fn dropped_turn(server: Server) -> Result<()> {
    let mut chat = server.chat("agentStore")?;
    chat.send("one").await?;
    let before = chat.snapshot_id().map(str::to_owned);
    let mut turn = chat.send_stream("/slow").await?;
    same(turn.next().await.context("a chunk")??.to_text(), "0 ")?;
    drop(turn);
    same(chat.snapshot_id(), before.as_deref())?;
    same(chat.send("two").await?.text(), "echo(3): two")
}

async fn tool_round(server: Server) -> Result<()> {
    let mut chat = server.chat("agentStore")?;
    let reply = chat.send("/tool getWeather {\"city\":\"Oslo\"}").await?;
    same(reply.text(), "tool said {\"tempC\":11}")?;
    chat.refresh().await?;
    same(chat.messages().len(), 4)
}

async fn respond(server: Server) -> Result<()> {
    let mut chat = server.chat("agentStore")?;
    let reply = chat.send("/tool confirm {\"q\":\"sure?\"} c9").await?;
    same(reply.finish_reason(), Some(AgentFinishReason::Interrupted))?;
    let [tool] = &reply.interrupts()[..] else { bail!("one interrupt") };
    same((tool.name(), tool.input::<Value>()?), ("confirm", json!({ "q": "sure?" })))?;
    same(chat.interrupts().len(), 1)?;
    let reply = chat.resume([tool.respond(json!({ "ok": true }))]).await?;
    same(reply.text(), "tool said {\"ok\":true}")?;
    same(chat.interrupts().len(), 0)
}

/// The official server needs a flag that a tool is resumed.
async fn restart(server: Server) -> Result<()> {
    let mut chat = server.chat("agentStore")?;
    let reply = chat.send("/tool danger {\"path\":\"/p\"} k2").await?;
    let [tool] = &reply.interrupts()[..] else { bail!("one interrupt") };
    same(tool.metadata(), Some(&json!({ "why": "needs approval" })))?;
    let reply = chat.resume([tool.restart()]).await?;
    same(reply.text(), "tool said \"deleted /p (true)\"")
}

async fn restart_with_reason(server: Server) -> Result<()> {
    let mut chat = server.chat("agentStore")?;
    let reply = chat.send("/tool danger {\"path\":\"/p\"} k2").await?;
    let [tool] = &reply.interrupts()[..] else { bail!("one interrupt") };
    let reply = chat.resume([tool.restart_with(json!({ "by": "me" }))]).await?;
    same(reply.text(), r#"tool said "deleted /p ({\"by\":\"me\"})""#)
}

async fn one_of_two(server: Server) -> Result<()> {
    let mut chat = server.chat("agentStore")?;
    let reply = chat.send("/two").await?;
    let [tool] = &reply.interrupts()[..] else { bail!("one interrupt") };
    let reply = chat.resume([tool.respond(json!({ "ok": false }))]).await?;
    same(reply.text(), "tool said {\"tempC\":11},{\"ok\":false}")
}

async fn forged(server: Server) -> Result<()> {
    let mut chat = server.chat("agentStore")?;
    chat.send("/tool confirm {\"q\":\"sure?\"} c9").await?;
    let answer = oxikit_wire::Part::tool_response("nope", Some("x".to_owned()), json!(1));
    let status = failed(chat.resume([answer]).await)?;
    same(status.code(), StatusCode::InvalidArgument)?;
    has(&status, "not found in session history")?;
    same(chat.interrupts().len(), 1)
}

async fn patches(server: Server) -> Result<()> {
    let mut chat = server.chat("customAgent")?;
    let mut turn = chat.send_stream("one").await?;
    let mut states = Vec::new();
    while let Some(chunk) = turn.next().await.transpose()? {
        if chunk.custom_patch.is_some() {
            states.push(turn.state::<Value>()?.context("a state")?);
        }
    }
    let whole = json!({ "turns": 1, "last": "one", "list": ["one"], "a/b~c": 3 });
    same(states, [json!({ "turns": 1, "last": "one" }), whole.clone()])?;
    turn.finish().await?;
    same(chat.state::<Value>()?, Some(whole))?;
    chat.send("two").await?;
    let state = json!({ "turns": 2, "last": "two", "list": ["one", "two"], "a/b~c": 3 });
    same(chat.state::<Value>()?, Some(state))?;
    same(json!(chat.artifacts()), json!([{ "name": "doc", "parts": [{ "text": "two" }] }]))
}

async fn remembered(server: Server) -> Result<()> {
    let mut chat = server.chat("agentStore")?;
    chat.send("/tool remember {\"k\":\"color\",\"v\":\"red\"}").await?;
    same(chat.state::<Value>()?, Some(json!({ "color": "red", "n": 1 })))?;
    same(json!(chat.artifacts()), json!([{ "name": "color", "parts": [{ "text": "red" }] }]))
}

async fn load_snapshot(server: Server) -> Result<()> {
    let mut chat = server.chat("customAgent")?;
    chat.send("one").await?;
    let id = chat.snapshot_id().context("a snapshot")?;
    let mut loaded = server.agent("customAgent")?.load_snapshot(id).await?;
    same(loaded.messages().len(), 2)?;
    same(loaded.state::<Value>()?, chat.state::<Value>()?)?;
    same(loaded.send("two").await?.text(), "custom:two")
}

async fn load_session(server: Server) -> Result<()> {
    let mut chat = server.chat("agentStore")?;
    chat.send("one").await?;
    chat.send("two").await?;
    let session = chat.session_id().context("a session")?;
    let mut loaded = server.agent("agentStore")?.load_session(session).await?;
    same(loaded.snapshot_id(), chat.snapshot_id())?;
    same(loaded.send("three").await?.text(), "echo(5): three")
}

async fn load_after_failure(server: Server) -> Result<()> {
    let mut chat = server.chat("agentStore")?;
    chat.send("good").await?;
    failed(chat.send("/fail").await)?;
    let session = chat.session_id().context("a session")?;
    let mut loaded = server.agent("agentStore")?.load_session(session).await?;
    same(loaded.send("again").await?.text(), "echo(3): again")
}

async fn load_unknown(server: Server) -> Result<()> {
    let agent = server.agent("agentStore")?;
    same(failed(agent.load_session("nope").await)?.code(), StatusCode::NotFound)?;
    same(failed(agent.load_snapshot("nope").await)?.code(), StatusCode::NotFound)
}

async fn snapshot(server: Server) -> Result<()> {
    let mut chat = server.chat("agentStore")?;
    chat.send("hello").await?;
    let by_id = read(&server, "agentStore", chat.snapshot_id()).await?;
    same(by_id.status, Some(SnapshotStatus::Completed))?;
    same(by_id.finish_reason, Some(AgentFinishReason::Stop))?;
    let session_id = chat.session_id().map(str::to_owned);
    let request = GetSnapshotRequest { session_id, snapshot_id: None };
    same(server.agent("agentStore")?.snapshot(request).await?, by_id)
}

async fn unknown_snapshot(server: Server) -> Result<()> {
    let request = GetSnapshotRequest { snapshot_id: Some("nope".to_owned()), session_id: None };
    let status = failed(server.agent("agentStore")?.snapshot(request).await)?;
    same(status.code(), StatusCode::NotFound)
}

async fn failure(server: Server) -> Result<()> {
    let mut chat = server.chat("agentStore")?;
    chat.send("good").await?;
    let before = chat.snapshot_id().map(str::to_owned);
    let status = failed(chat.send("/fail").await)?;
    same(status.code(), StatusCode::Unavailable)?;
    has(&status, "model down")?;
    same(status.details(), Some(&json!({ "retry": true })))?;
    same(chat.snapshot_id(), before.as_deref())?;
    same(chat.send("better").await?.text(), "echo(3): better")
}

async fn first_failure(server: Server) -> Result<()> {
    let mut chat = server.chat("customAgent")?;
    let status = failed(chat.send("fail now").await)?;
    same(status.code(), StatusCode::ResourceExhausted)?;
    same(chat.snapshot_id(), None)?;
    same(chat.send("now").await?.text(), "custom:now")
}

/// The official client sends the patched state next, which the server refuses.
async fn patch_failure(server: Server) -> Result<()> {
    let mut chat = server.chat("customAgent")?;
    failed(chat.send("patchfail").await)?;
    chat.send("now").await?;
    same(chat.state::<Value>()?.context("a state")?["turns"].clone(), json!(1))
}

async fn unknown_start(server: Server) -> Result<()> {
    let mut chat = server.chat("agentStore")?.from_snapshot("nope");
    same(failed(chat.send("x").await)?.code(), StatusCode::NotFound)
}

async fn unwanted_state(server: Server) -> Result<()> {
    let state = SessionState { custom: Some(json!({ "a": 1 }).into()), ..Default::default() };
    let mut chat = server.chat("agentStore")?.from_state(state);
    let status = failed(chat.send("x").await)?;
    same(status.code(), StatusCode::FailedPrecondition)?;
    has(&status, "Cannot send 'state' to agent")
}

async fn no_agent(server: Server) -> Result<()> {
    same(failed(server.chat("noSuchAgent")?.send("x").await)?.code(), StatusCode::NotFound)
}

fn seeded() -> SessionState {
    SessionState { custom: Some(json!({ "seed": true }).into()), ..Default::default() }
}

async fn client_turns(server: Server) -> Result<()> {
    let mut chat = server.chat("agentClient")?.from_state(seeded());
    chat.send("hi").await?;
    same(chat.snapshot_id(), None)?;
    let session = chat.session_id().map(str::to_owned);
    same(chat.send("hi2").await?.text(), "echo(3): hi2")?;
    same(chat.session_id(), session.as_deref())?;
    same(chat.state::<Value>()?, Some(json!({ "seed": true })))?;
    same(chat.messages().len(), 4)
}

async fn client_tools(server: Server) -> Result<()> {
    let mut chat = server.chat("agentClient")?;
    chat.send("/tool remember {\"k\":\"a\",\"v\":1}").await?;
    same(chat.state::<Value>()?, Some(json!({ "a": 1, "n": 1 })))?;
    let reply = chat.send("/tool confirm {\"q\":\"?\"} c1").await?;
    let [tool] = &reply.interrupts()[..] else { bail!("one interrupt") };
    same(chat.resume([tool.respond("yes")]).await?.text(), "tool said \"yes\"")?;
    same(chat.artifacts().len(), 1)
}

async fn client_failure(server: Server) -> Result<()> {
    let mut chat = server.chat("agentClient")?.from_state(seeded());
    chat.send("hi").await?;
    same(failed(chat.send("/fail").await)?.code(), StatusCode::Unavailable)?;
    same(chat.state::<Value>()?, Some(json!({ "seed": true })))?;
    same(chat.send("again").await?.text(), "echo(3): again")
}

async fn client_session(server: Server) -> Result<()> {
    let mut chat = server.chat("agentClient")?.in_session("s");
    let status = failed(chat.send("x").await)?;
    same(status.code(), StatusCode::FailedPrecondition)?;
    has(&status, "Cannot use 'sessionId'")
}

async fn client_schema(server: Server) -> Result<()> {
    let state = |n: Value| SessionState {
        custom: Some(json!({ "n": n }).into()),
        ..SessionState::default()
    };
    let mut chat = server.chat("agentSchema")?.from_state(state(json!("no")));
    same(failed(chat.send("x").await)?.code(), StatusCode::InvalidArgument)?;
    let mut chat = server.chat("agentSchema")?.from_state(state(json!(1)));
    same(chat.send("x").await?.text(), "echo(1): x")
}

const POLL: Duration = Duration::from_millis(20);

async fn detach(server: Server) -> Result<()> {
    let mut chat = server.chat("customAgent")?;
    let work = chat.detach("wait 200").await?.look_every(POLL);
    let snapshot = work.wait().await?;
    same(snapshot.status, Some(SnapshotStatus::Completed))?;
    same(chat.send("next").await?.text(), "custom:next")?;
    same(chat.state::<Value>()?.context("a state")?["turns"].clone(), json!(2))
}

async fn poll(server: Server) -> Result<()> {
    let work = server.chat("customAgent")?.detach("wait 800").await?.look_every(POLL);
    same(work.poll().await?.status, Some(SnapshotStatus::Pending))?;
    work.wait().await?;
    same(work.poll().await?.status, Some(SnapshotStatus::Completed))
}

/// The official client would go on from the aborted snapshot, and be refused.
async fn abort(server: Server) -> Result<()> {
    let mut chat = server.chat("customAgent")?;
    chat.send("one").await?;
    let work = chat.detach("wait 20000").await?.look_every(POLL);
    same(work.abort().await?, Some(SnapshotStatus::Pending))?;
    same(
        read(&server, "customAgent", Some(work.snapshot_id())).await?.status,
        Some(SnapshotStatus::Aborted),
    )?;
    same(work.abort().await?, Some(SnapshotStatus::Aborted))?;
    same(chat.send("two").await?.text(), "custom:two")?;
    same(chat.state::<Value>()?.context("a state")?["list"].clone(), json!(["one", "two"]))
}

async fn detached_failure(server: Server) -> Result<()> {
    let work = server.chat("customAgent")?.detach("fail").await?.look_every(POLL);
    // Either way of telling it is good; the snapshot is the record.
    _ = work.wait().await;
    let snapshot = read(&server, "customAgent", Some(work.snapshot_id())).await?;
    same(snapshot.status, Some(SnapshotStatus::Failed))?;
    let error = snapshot.error.context("an error")?;
    same(error.status.as_deref(), Some("RESOURCE_EXHAUSTED"))
}

async fn abort_ended(server: Server) -> Result<()> {
    let mut chat = server.chat("agentStore")?;
    chat.send("x").await?;
    let id = chat.snapshot_id().context("a snapshot")?.to_owned();
    let agent = server.agent("agentStore")?;
    same(agent.abort(&id).await?, Some(SnapshotStatus::Completed))?;
    same(agent.abort("nope").await?, None)?;
    same(chat.abort().await?, None)
}

async fn transforms(server: Server) -> Result<()> {
    let mut chat = server.chat("redacted")?;
    let mut turn = chat.send_stream("x").await?;
    while let Some(chunk) = turn.next().await.transpose()? {
        ensure!(chunk.model_chunk.is_none(), "the model's chunks are dropped");
    }
    turn.finish().await?;
    same(chat.state::<Value>()?, Some(json!({ "visible": 1 })))?;
    let mut chat = server.chat("redactedStore")?;
    chat.send("x").await?;
    let snapshot = read(&server, "redactedStore", chat.snapshot_id()).await?;
    same(json!(snapshot.state.context("a state")?.custom), json!({ "visible": 1 }))
}

async fn headers(server: Server) -> Result<()> {
    let asked = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(0));
    let counter = asked.clone();
    let agent = server.agent("agentStore")?.with_headers_from(move || {
        let number = counter.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        async move { Ok([("x-test", number.to_string())]) }
    });
    let mut chat = agent.chat();
    chat.send("a").await?;
    chat.send("b").await?;
    same(asked.load(std::sync::atomic::Ordering::Relaxed), 2)
}

async fn timeout(server: Server) -> Result<()> {
    let agent = server.agent("agentStore")?.with_timeout(Duration::from_millis(300));
    let status = failed(agent.chat().send("/slow").await)?;
    same(status.code(), StatusCode::DeadlineExceeded)
}

async fn read(server: &Server, agent: &str, id: Option<&str>) -> Result<SessionSnapshot> {
    let snapshot_id = Some(id.context("a snapshot")?.to_owned());
    let request = GetSnapshotRequest { snapshot_id, session_id: None };
    Ok(server.agent(agent)?.snapshot(request).await?)
}

fn same<A: PartialEq<B> + std::fmt::Debug, B: std::fmt::Debug>(
    actual: A,
    expected: B,
) -> Result<()> {
    ensure!(actual == expected, "expected {expected:?}, got {actual:?}");
    Ok(())
}

fn has(status: &Status, part: &str) -> Result<()> {
    ensure!(status.message().contains(part), "expected {part:?} in {:?}", status.message());
    Ok(())
}

fn failed<T>(result: oxikit_client::Result<T>) -> Result<Status> {
    match result {
        Ok(_) => bail!("it should have failed"),
        Err(status) => Ok(status),
    }
}
