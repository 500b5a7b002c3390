//! Conversations with agents of this process.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use oxikit_core::chat::{AgentTransport, Chat, ChatTurn, Invocation, LocalAgent};
use oxikit_core::{
    Action, ActionKind, Context, Emitter, Inputs, Registry, Result, Status, StatusCode,
};
use oxikit_wire::{
    AgentFinishReason, AgentInit, AgentInput, AgentOutput, AgentStreamChunk, GetSnapshotRequest,
    Message, Part, SessionSnapshot, SessionState, SnapshotStatus,
};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::toy_agent::Toy;

#[derive(Debug, PartialEq, Deserialize)]
struct Counter {
    count: u32,
    done: Option<bool>,
}

async fn agent(name: &str) -> (LocalAgent, Arc<Toy>) {
    let registry = Registry::default();
    let toy = Toy::register(&registry);
    (LocalAgent::find(&registry, name).await.unwrap(), toy)
}

async fn chat(name: &str) -> (Chat, Arc<Toy>) {
    let (agent, toy) = agent(name).await;
    (agent.chat(), toy)
}

fn texts(chat: &Chat) -> Vec<String> {
    chat.messages().iter().map(|message| message.text()).collect()
}

#[tokio::test]
async fn a_conversation_goes_on_from_turn_to_turn() {
    let (mut chat, toy) = chat("toy").await;
    let reply = chat.send("hello").await.unwrap();
    assert_eq!(reply.text(), "echo(1): hello");
    assert_eq!(reply.finish_reason(), Some(AgentFinishReason::Stop));
    assert_eq!(
        chat.send(vec![Part::text("ag"), Part::text("ain")]).await.unwrap().text(),
        "echo(3): again"
    );
    assert_eq!(chat.send(Message::user("once more")).await.unwrap().text(), "echo(5): once more");
    assert_eq!(
        toy.take_inits(),
        [json!({}), json!({ "snapshotId": "snapshot-1" }), json!({ "snapshotId": "snapshot-2" })]
    );
    assert_eq!(chat.session_id(), Some("session-1"));
    assert_eq!(chat.snapshot_id(), Some("snapshot-3"));
    assert_eq!(
        texts(&chat),
        ["hello", "echo(1): hello", "again", "echo(3): again", "once more", "echo(5): once more"]
    );
}

#[tokio::test]
async fn an_agent_without_store_gets_the_state_with_every_turn() {
    let (mut chat, toy) = chat("plain").await;
    chat.send("hello").await.unwrap();
    assert_eq!(chat.send("again").await.unwrap().text(), "echo(3): again");
    let inits = toy.take_inits();
    assert_eq!(inits[0], json!({}));
    assert_eq!(inits[1]["state"]["messages"].as_array().unwrap().len(), 2);
    assert_eq!(chat.snapshot_id(), None);
    assert_eq!(chat.messages().len(), 4);
}

#[tokio::test]
async fn a_state_can_be_brought_along_and_gets_no_members_of_its_own() {
    let (mut chat, toy) = chat("plain").await;
    chat = chat.from_state(SessionState {
        custom: Some(Arc::new(json!({ "seed": true }))),
        ..SessionState::default()
    });
    chat.send("hello").await.unwrap();
    assert_eq!(toy.take_inits(), [json!({ "state": { "custom": { "seed": true } } })]);
    assert_eq!(chat.state::<Value>().unwrap(), Some(json!({ "seed": true })));
}

#[tokio::test]
async fn a_turn_is_read_while_it_is_made() {
    let (mut chat, _toy) = chat("toy").await;
    let mut turn = chat.send_stream("hello").await.unwrap();
    let mut text = String::new();
    while let Some(chunk) = turn.next().await {
        text += &chunk.unwrap().to_text();
    }
    assert_eq!(text, "echo(1): hello");
    assert_eq!(turn.finish().await.unwrap().text(), text);
}

#[tokio::test]
async fn a_chunk_that_cannot_be_read_is_an_error_and_the_turn_goes_on() {
    let registry = Registry::default();
    registry.register(Action::builder(ActionKind::Agent, "odd").bidi(
        |_: AgentInit,
         mut turns: Inputs<AgentInput>,
         _: Context,
         out: Emitter<AgentStreamChunk>| async move {
            turns.next().await?;
            out.retype::<&'static str>().send("not a chunk").await?;
            out.send(AgentStreamChunk::default()).await?;
            let message = Some(Message::model("done").into());
            Ok(AgentOutput { message, ..AgentOutput::default() })
        },
    ));
    let mut chat = LocalAgent::find(&registry, "odd").await.unwrap().chat();
    let turn = chat.send_stream("hello").await.unwrap();
    let (is_read, turn) = read_all(turn).await;
    assert_eq!(is_read, [false, true]);
    assert_eq!(turn.finish().await.unwrap().text(), "done");
    assert_eq!(chat.messages().len(), 2);
}

/// Reads a turn as a stream; says of each item whether it could be read.
async fn read_all(mut turn: ChatTurn<'_>) -> (Vec<bool>, ChatTurn<'_>) {
    let items = futures_util::StreamExt::map(&mut turn, |item| item.is_ok());
    (futures_util::StreamExt::collect(items).await, turn)
}

#[tokio::test]
async fn state_and_artifacts_follow_the_chunks() {
    for name in ["toy", "plain"] {
        let (mut chat, _toy) = chat(name).await;
        assert_eq!(chat.state::<Counter>().unwrap(), None);
        let mut turn = chat.send_stream("count").await.unwrap();
        turn.next().await.unwrap().unwrap();
        assert_eq!(turn.state().unwrap(), Some(Counter { count: 1, done: None }));
        turn.next().await.unwrap().unwrap();
        assert_eq!(turn.state().unwrap(), Some(Counter { count: 1, done: Some(true) }));
        turn.finish().await.unwrap();
        chat.send("count").await.unwrap();
        assert_eq!(chat.state().unwrap(), Some(Counter { count: 2, done: Some(true) }));
        assert_eq!(chat.artifacts().len(), 1, "the newer one replaces the older");
        assert_eq!(chat.artifacts()[0].parts, [Part::data(2)]);
    }
}

#[tokio::test]
async fn a_failed_turn_is_an_error_and_changes_nothing() {
    for name in ["toy", "plain"] {
        let (mut chat, _toy) = chat(name).await;
        chat.send("count").await.unwrap();
        let before = (texts(&chat), chat.snapshot_id().map(str::to_owned));
        for (said, message) in [("fail", "model down"), ("throw", "the model is away")] {
            let status = chat.send(said).await.unwrap_err();
            assert_eq!(status.code(), StatusCode::Unavailable);
            assert_eq!(status.message(), message);
            assert_eq!(status.details().is_some(), said == "fail");
            assert_eq!((texts(&chat), chat.snapshot_id().map(str::to_owned)), before);
            assert_eq!(chat.state().unwrap(), Some(Counter { count: 1, done: Some(true) }));
        }
        assert_eq!(chat.send("go on").await.unwrap().text(), "echo(3): go on");
    }
}

#[tokio::test]
async fn after_a_first_turn_that_failed_the_session_is_named_and_no_state_is_sent() {
    let (mut chat, toy) = chat("toy").await;
    chat.send("fail").await.unwrap_err();
    assert_eq!(chat.session_id(), Some("session-1"));
    assert_eq!(chat.send("hello").await.unwrap().text(), "echo(1): hello");
    assert_eq!(toy.take_inits(), [json!({}), json!({ "sessionId": "session-1" })]);
    assert_eq!(chat.session_id(), Some("session-1"));
}

#[tokio::test]
async fn a_turn_that_is_dropped_is_cancelled_and_forgotten() {
    let (mut chat, toy) = chat("toy").await;
    chat.send("hello").await.unwrap();
    let mut turn = chat.send_stream("wait").await.unwrap();
    assert_eq!(turn.next().await.unwrap().unwrap().to_text(), "waiting");
    drop(turn);
    toy.dropped.notified().await;
    assert_eq!(chat.send("again").await.unwrap().text(), "echo(3): again");
}

/// The transport of an agent that is busy when it is entered.
#[derive(Debug)]
struct BusyTransport {
    agent: LocalAgent,
    /// Number of invocations that are still refused.
    refusals: AtomicUsize,
}

#[async_trait::async_trait]
impl AgentTransport for BusyTransport {
    async fn invoke(&self, init: AgentInit, input: AgentInput) -> Result<Invocation> {
        let count_down = |left: usize| left.checked_sub(1);
        if self.refusals.fetch_update(Ordering::SeqCst, Ordering::SeqCst, count_down).is_ok() {
            let busy = Status::new(StatusCode::Aborted, "another message is being worked on");
            return Ok(Box::pin(futures_util::stream::iter([Err(busy)])));
        }
        self.agent.invoke(init, input).await
    }

    async fn snapshot(&self, request: GetSnapshotRequest) -> Result<SessionSnapshot> {
        self.agent.snapshot(request).await
    }

    async fn abort(&self, snapshot_id: &str) -> Result<Option<SnapshotStatus>> {
        self.agent.abort(snapshot_id).await
    }
}

#[tokio::test(start_paused = true)]
async fn only_who_has_left_a_turn_waits_until_the_agent_has_noticed() {
    let (agent, _toy) = agent("toy").await;
    let transport = Arc::new(BusyTransport { agent, refusals: AtomicUsize::new(0) });
    let mut chat = Chat::new(transport.clone());
    let refuse = |times| transport.refusals.store(times, Ordering::SeqCst);

    refuse(1);
    let status = chat.send("hello").await.unwrap_err();
    assert_eq!(status.code(), StatusCode::Aborted, "somebody else is at work");
    chat.send("hello").await.unwrap();

    drop(chat.send_stream("wait").await.unwrap());
    refuse(3);
    assert_eq!(chat.send("again").await.unwrap().text(), "echo(3): again");

    drop(chat.send_stream("wait").await.unwrap());
    refuse(usize::MAX);
    assert_eq!(chat.send("never").await.unwrap_err().code(), StatusCode::Aborted);
}

#[tokio::test]
async fn tools_that_wait_are_answered_or_run_again() {
    let (mut chat, _toy) = chat("toy").await;
    let reply = chat.send("confirm").await.unwrap();
    assert_eq!(reply.finish_reason(), Some(AgentFinishReason::Interrupted));
    let [interrupt] = &reply.interrupts()[..] else { panic!("one tool waits") };
    assert_eq!(chat.interrupts(), reply.interrupts());
    assert_eq!(
        (interrupt.name(), interrupt.metadata()),
        ("confirm", Some(&json!({ "why": "careful" })))
    );
    assert_eq!(interrupt.input::<Value>().unwrap(), json!({ "q": 1 }));

    let answers = [interrupt.respond(json!({ "ok": true })), interrupt.restart()];
    let seen: Value = serde_json::from_str(&chat.resume(answers).await.unwrap().text()).unwrap();
    assert_eq!(
        seen,
        json!({
            "respond": [{ "toolResponse": { "name": "confirm", "ref": "k1", "output": { "ok": true } } }],
            "restart": [{
                "toolRequest": { "name": "confirm", "ref": "k1", "input": { "q": 1 } },
                "metadata": { "resumed": true },
            }],
        })
    );
    assert!(chat.interrupts().is_empty());
    for answers in [vec![], vec![Part::text("yes")]] {
        let status = chat.resume(answers).await.unwrap_err();
        assert_eq!(status.code(), StatusCode::InvalidArgument);
    }
}

#[tokio::test(start_paused = true)]
async fn detached_work_is_waited_for_and_taken_over() {
    let (mut chat, toy) = chat("toy").await;
    chat.send("hello").await.unwrap();
    let work = chat.detach("long work").await.unwrap();
    assert_eq!(chat.snapshot_id(), Some("snapshot-1"), "the last good one");
    assert_eq!(work.poll().await.unwrap().status, Some(SnapshotStatus::Pending));
    let status = chat.send("too early").await.unwrap_err();
    assert_eq!(status.code(), StatusCode::FailedPrecondition);

    let waiting = tokio::spawn({
        let work = work.clone();
        async move { work.wait().await }
    });
    tokio::time::sleep(std::time::Duration::from_secs(30)).await;
    assert!(!waiting.is_finished());
    toy.set_status(work.snapshot_id(), SnapshotStatus::Completed);
    assert_eq!(waiting.await.unwrap().unwrap().snapshot_id, work.snapshot_id());

    chat.refresh().await.unwrap();
    assert_eq!(texts(&chat), ["hello", "echo(1): hello", "long work", "done at last"]);
    assert_eq!(chat.send("next").await.unwrap().text(), "echo(5): next");
    let before = toy.take_inits().pop().unwrap();
    assert_eq!(before, json!({ "snapshotId": "snapshot-2" }));
}

#[tokio::test]
async fn after_detached_work_that_came_to_nothing_the_last_good_turn_counts() {
    for (end, code) in [
        (SnapshotStatus::Aborted, StatusCode::Aborted),
        (SnapshotStatus::Failed, StatusCode::Unavailable),
        (SnapshotStatus::Expired, StatusCode::DeadlineExceeded),
    ] {
        let (mut chat, toy) = chat("toy").await;
        chat.send("hello").await.unwrap();
        let work = chat.detach("long work").await.unwrap();
        if end == SnapshotStatus::Aborted {
            assert_eq!(chat.abort().await.unwrap(), Some(SnapshotStatus::Pending));
            assert_eq!(work.abort().await.unwrap(), Some(SnapshotStatus::Aborted));
        } else {
            toy.set_status(work.snapshot_id(), end);
        }
        assert_eq!(work.wait().await.unwrap_err().code(), code);
        assert_eq!(chat.send("next").await.unwrap().text(), "echo(3): next");
        assert_eq!(chat.abort().await.unwrap(), None);
    }
}

#[tokio::test]
async fn a_first_turn_that_was_detached_and_stopped_leaves_its_session() {
    let (mut chat, toy) = chat("toy").await;
    let work = chat.detach("long work").await.unwrap();
    work.abort().await.unwrap();
    assert_eq!(chat.send("next").await.unwrap().text(), "echo(1): next");
    assert_eq!(toy.take_inits(), [json!({}), json!({ "sessionId": "session-1" })]);
}

#[tokio::test]
async fn a_session_is_loaded_with_all_it_holds() {
    let (agent, _toy) = agent("toy").await;
    let mut first = agent.chat().in_session("mine");
    first.send("count").await.unwrap();
    first.send("hello").await.unwrap();

    let mut loaded = agent.load_session("mine").await.unwrap();
    assert_eq!(texts(&loaded), texts(&first));
    assert_eq!(loaded.snapshot_id(), Some("snapshot-2"));
    assert_eq!(loaded.artifacts(), first.artifacts());
    assert_eq!(loaded.state().unwrap(), Some(Counter { count: 1, done: Some(true) }));
    assert_eq!(loaded.send("go on").await.unwrap().text(), "echo(5): go on");

    let branch = agent.load_snapshot("snapshot-1").await.unwrap();
    assert_eq!(texts(&branch), ["count", "counted"]);
    let mut unread = agent.chat().from_snapshot("snapshot-1");
    assert_eq!(unread.send("other").await.unwrap().text(), "echo(3): other");
    unread.refresh().await.unwrap();
    assert_eq!(texts(&unread), ["count", "counted", "other", "echo(3): other"]);

    let status = agent.load_session("nobody's").await.unwrap_err();
    assert_eq!(status.code(), StatusCode::NotFound);
}

#[tokio::test]
async fn a_session_whose_last_turn_was_stopped_is_loaded_from_the_one_before() {
    let (agent, toy) = agent("toy").await;
    let mut first = agent.chat().in_session("mine");
    first.send("hello").await.unwrap();
    let work = first.detach("long work").await.unwrap();

    let mut early = agent.load_session("mine").await.unwrap();
    assert_eq!(texts(&early), ["hello", "echo(1): hello"]);
    let status = early.send("too early").await.unwrap_err();
    assert_eq!(status.code(), StatusCode::FailedPrecondition);

    toy.set_status(work.snapshot_id(), SnapshotStatus::Failed);
    let mut late = agent.load_session("mine").await.unwrap();
    assert_eq!(late.snapshot_id(), Some("snapshot-1"));
    assert_eq!(late.send("go on").await.unwrap().text(), "echo(3): go on");
    assert_eq!(early.send("go on").await.unwrap().text(), "echo(3): go on");
}

#[tokio::test]
async fn what_an_agent_without_store_cannot_do_says_what_to_do() {
    let (agent, _toy) = agent("plain").await;
    let status = agent.load_session("any").await.unwrap_err();
    assert_eq!(status.code(), StatusCode::FailedPrecondition);
    assert!(status.message().contains("give it a session store"), "{status}");
    let missing = LocalAgent::find(&Registry::default(), "nobody").await.unwrap_err();
    assert_eq!(missing.code(), StatusCode::NotFound);
}
