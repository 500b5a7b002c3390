//! Conversations with agents of oxikit's own server.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use oxikit::{Agent, MemorySessions, Oxikit, Tool, Turn};
use oxikit_client::{Client, RemoteAgent, Status, StatusCode};
use oxikit_core::Registry;
use oxikit_serve::{ApiKey, Server};
use oxikit_wire::{AgentFinishReason, Part, SnapshotStatus};
use serde_json::{Value, json};

use crate::toy_agent::Toy;

async fn served(server: Server) -> SocketAddr {
    let server = server.port(0).bind().await.unwrap();
    let address = server.local_addr().unwrap();
    tokio::spawn(server.run(std::future::pending()));
    address
}

fn remote(address: SocketAddr, name: &str) -> RemoteAgent {
    RemoteAgent::new(&format!("http://{address}/{name}")).unwrap()
}

async fn toy(name: &str) -> (RemoteAgent, Arc<Toy>) {
    let registry = Registry::default();
    let toy = Toy::register(&registry);
    (remote(served(Server::new(&registry)).await, name), toy)
}

#[tokio::test]
async fn a_conversation_is_the_same_as_in_the_process() {
    for name in ["toy", "plain"] {
        let (agent, _toy) = toy(name).await;
        let mut chat = agent.chat();
        assert_eq!(chat.send("hello").await.unwrap().text(), "echo(1): hello");
        let mut turn = chat.send_stream("count").await.unwrap();
        turn.next().await.unwrap().unwrap();
        assert_eq!(turn.state().unwrap(), Some(json!({ "count": 1 })));
        turn.finish().await.unwrap();
        assert_eq!(chat.state().unwrap(), Some(json!({ "count": 1, "done": true })));
        assert_eq!(chat.artifacts().len(), 1);

        let status = chat.send("fail").await.unwrap_err();
        assert_eq!((status.code(), status.message()), (StatusCode::Unavailable, "model down"));
        assert_eq!(status.details(), Some(&json!({ "retry": true })));
        let status = chat.send("throw").await.unwrap_err();
        assert_eq!(status.message(), "the model is away");
        assert_eq!(chat.send("go on").await.unwrap().text(), "echo(5): go on");
        assert_eq!(chat.messages().len(), 6);

        let interrupt = chat.send("confirm").await.unwrap().interrupts().remove(0);
        let answered = chat.resume([interrupt.respond("yes")]).await.unwrap();
        assert!(answered.text().contains(r#""output":"yes""#), "{}", answered.text());
    }
}

#[tokio::test]
async fn a_turn_that_is_dropped_ends_on_the_server() {
    let (agent, toy) = toy("toy").await;
    let mut chat = agent.chat();
    let mut turn = chat.send_stream("wait").await.unwrap();
    assert_eq!(turn.next().await.unwrap().unwrap().to_text(), "waiting");
    drop(turn);
    tokio::time::timeout(Duration::from_secs(20), toy.dropped.notified()).await.unwrap();
    assert_eq!(chat.send("hello").await.unwrap().text(), "echo(1): hello");
    assert_eq!(toy.take_inits(), [json!({}), json!({})], "nothing of it is left");
}

#[tokio::test]
async fn detached_work_is_waited_for_stopped_and_loaded() {
    let (agent, toy) = toy("toy").await;
    let mut chat = agent.chat().in_session("mine");
    let work = chat.detach("long work").await.unwrap().look_every(Duration::from_millis(1));
    assert_eq!(work.poll().await.unwrap().status, Some(SnapshotStatus::Pending));
    toy.set_status(work.snapshot_id(), SnapshotStatus::Completed);
    assert_eq!(work.wait().await.unwrap().status, Some(SnapshotStatus::Completed));
    assert_eq!(chat.send("next").await.unwrap().text(), "echo(3): next");

    chat.detach("more work").await.unwrap();
    assert_eq!(chat.abort().await.unwrap(), Some(SnapshotStatus::Pending));
    let mut loaded = agent.load_session("mine").await.unwrap();
    assert_eq!(loaded.messages().len(), 4);
    assert_eq!(loaded.send("after all").await.unwrap().text(), "echo(5): after all");
    let status = agent.load_snapshot("missing").await.unwrap_err();
    assert_eq!(status.code(), StatusCode::NotFound);
}

#[tokio::test]
async fn headers_are_made_for_every_request() {
    let registry = Registry::default();
    let _toy = Toy::register(&registry);
    let address = served(Server::new(&registry).auth(ApiKey::new("2").or("3").or("4"))).await;
    let made = Arc::new(AtomicUsize::new(0));
    let agent = remote(address, "toy").with_headers_from(move || {
        let number = made.fetch_add(1, Ordering::SeqCst) + 1;
        async move { Ok([("authorization", number.to_string())]) }
    });
    let mut chat = agent.chat();
    let status = chat.send("hello").await.unwrap_err();
    assert_eq!(status.code(), StatusCode::PermissionDenied, "the first is not good");
    chat.send("hello").await.unwrap();
    chat.send("hello").await.unwrap();
    chat.refresh().await.unwrap();
    assert_eq!(chat.refresh().await.unwrap_err().code(), StatusCode::PermissionDenied);

    let fixed = remote(address, "toy").with_header("authorization", "3");
    fixed.chat().send("hello").await.unwrap();
    assert!(!format!("{fixed:?}").contains("\"3\""), "values are shown nowhere");
    let broken = fixed.with_headers_from(|| async {
        Err::<[(&str, &str); 0], _>(Status::unauthenticated("log in again"))
    });
    assert_eq!(broken.chat().send("x").await.unwrap_err().message(), "log in again");
}

#[tokio::test]
async fn snapshots_and_abort_may_be_elsewhere() {
    let registry = Registry::default();
    let _toy = Toy::register(&registry);
    let path =
        |kind: &str| oxikit_serve::Expose::new(registry.get(&format!("/{kind}/toy")).unwrap());
    let server = Server::new(&registry)
        .expose(path("agent-snapshot").path("s"))
        .expose(path("agent-abort").path("a"))
        .expose(path("agent").path("deep/toy"));
    let address = served(server).await;
    let client = Client::new().unwrap();
    let at = |path: &str| format!("http://{address}/{path}");
    let agent = client.agent(&at("deep/toy/")).unwrap();
    let agent = agent.with_snapshot_url(&at("s")).unwrap().with_abort_url(&at("a")).unwrap();
    let mut chat = agent.chat();
    chat.detach("long work").await.unwrap();
    assert_eq!(chat.abort().await.unwrap(), Some(SnapshotStatus::Pending));
    chat.send("next").await.unwrap();
    assert_eq!(agent.with_abort_url("ftp://x").unwrap_err().code(), StatusCode::InvalidArgument);
}

/// An application with agents as people write them.
fn application() -> Oxikit {
    let ai = Oxikit::builder()
        .plugin(oxikit::offline::Offline)
        .default_model("offline/demo")
        .build()
        .unwrap();
    let counter = Agent::builder("counter").turn(|turn: Turn<Value>| async move {
        match turn.text().as_str() {
            "fail" => Err(Status::failed_precondition("not today")),
            "wait" => {
                turn.emit(vec![Part::text("waiting")]).await?;
                std::future::pending().await
            }
            text => {
                let before: Value = turn.state()?;
                let count = before["count"].as_u64().unwrap_or(0) + 1;
                turn.update(|state| *state = json!({ "count": count })).await?;
                turn.emit(vec![Part::text(format!("{count}: {text}"))]).await?;
                Ok(turn.answer(format!("{count}: {text}")))
            }
        }
    });
    ai.define_agent(counter.store(MemorySessions::default())).unwrap();
    for (name, store) in [("clerk", Some(MemorySessions::default())), ("guest", None)] {
        let mut agent =
            Agent::builder(name)
                .system("You help in a shop.")
                .tool(Tool::interrupt::<Value>("ask", "Asks the customer."));
        if let Some(store) = store {
            agent = agent.store(store);
        }
        ai.define_agent(agent).unwrap();
    }
    ai
}

#[tokio::test]
async fn a_real_agent_is_talked_to_over_http() {
    let agent = remote(served(Server::new(&application())).await, "counter");
    let mut chat = agent.chat();
    let mut turn = chat.send_stream("one").await.unwrap();
    let mut text = String::new();
    while let Some(chunk) = turn.next().await {
        text += &chunk.unwrap().to_text();
    }
    assert_eq!(text, "1: one");
    assert_eq!(turn.finish().await.unwrap().text(), "1: one");
    assert_eq!(chat.state().unwrap(), Some(json!({ "count": 1 })));

    let status = chat.send("fail").await.unwrap_err();
    assert_eq!((status.code(), status.message()), (StatusCode::FailedPrecondition, "not today"));
    assert_eq!(chat.send("two").await.unwrap().text(), "2: two");

    let work = chat.detach("three").await.unwrap().look_every(Duration::from_millis(5));
    let snapshot = work.wait().await.unwrap();
    assert_eq!(snapshot.finish_reason, None);
    chat.refresh().await.unwrap();
    assert_eq!(chat.state().unwrap(), Some(json!({ "count": 3 })));
    assert_eq!(chat.snapshot_id(), Some(snapshot.snapshot_id.as_str()));

    chat.detach("wait").await.unwrap();
    assert_eq!(chat.send("x").await.unwrap_err().code(), StatusCode::FailedPrecondition);
    assert_eq!(chat.abort().await.unwrap(), Some(SnapshotStatus::Pending));
    let session = chat.session_id().unwrap().to_owned();
    let mut loaded = agent.load_session(session).await.unwrap();
    assert_eq!(loaded.state().unwrap(), Some(json!({ "count": 3 })));
    assert_eq!(loaded.send("four").await.unwrap().text(), "4: four");
}

#[tokio::test]
async fn after_a_turn_that_was_dropped_the_next_one_need_not_wait() {
    let agent = remote(served(Server::new(&application())).await, "counter");
    let mut chat = agent.chat();
    chat.send("one").await.unwrap();
    for count in 2..20 {
        let mut turn = chat.send_stream("wait").await.unwrap();
        turn.next().await.unwrap().unwrap();
        drop(turn);
        let reply = chat.send("more").await.unwrap();
        assert_eq!(reply.text(), format!("{count}: more"));
    }
}

#[tokio::test]
async fn a_tool_of_a_real_agent_is_answered_over_http() {
    let address = served(Server::new(&application())).await;
    for name in ["clerk", "guest"] {
        let mut chat = remote(address, name).chat();
        let reply = chat.send("What does ask say?").await.unwrap();
        assert_eq!(reply.finish_reason(), Some(AgentFinishReason::Interrupted), "{reply:?}");
        let [tool] = &chat.interrupts()[..] else { panic!("one tool waits: {reply:?}") };

        let forged = Part::tool_response("ask", Some("other".into()), json!("no"));
        let status = chat.resume([forged]).await.unwrap_err();
        assert_eq!(status.code(), StatusCode::InvalidArgument, "{status}");

        let reply = chat.resume([tool.respond("the blue one")]).await.unwrap();
        assert!(reply.text().contains("the blue one"), "{reply:?}");
        assert!(chat.interrupts().is_empty());
        let seen = chat.messages().len();
        chat.refresh().await.unwrap();
        assert_eq!(chat.messages().len(), 4, "{seen} were seen");
    }
}
