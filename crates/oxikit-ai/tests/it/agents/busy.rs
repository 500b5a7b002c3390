//! A second message while a turn runs.

use std::time::Duration;

use oxikit::{StatusCode, Turn, WhileBusy};
use oxikit_core::ports::{Owner, SessionStore};
use tokio::sync::Notify;

use super::*;

/// An agent whose turns notify `begun` when they begin, and end when `go` is notified.
struct Slow {
    ai: Oxikit,
    agent: Agent,
    store: Arc<MemorySessions>,
    begun: Arc<Notify>,
    go: Arc<Notify>,
}

impl Slow {
    fn new(policy: WhileBusy) -> Self {
        Self::with_store(policy, store())
    }

    fn with_store(policy: WhileBusy, store: Arc<MemorySessions>) -> Self {
        let (begun, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let ai = Oxikit::builder().build().unwrap();
        let (announce, wait) = (begun.clone(), go.clone());
        let turn = move |turn: Turn| {
            let (announce, wait) = (announce.clone(), wait.clone());
            async move {
                announce.notify_one();
                wait.notified().await;
                Ok(turn.answer(turn.text()))
            }
        };
        let builder = Agent::builder("slow").turn(turn).while_busy(policy);
        let agent = ai.define_agent(builder.shared_store(store.clone())).unwrap();
        Self { ai, agent, store, begun, go }
    }

    fn say(&self, text: &str) -> tokio::task::JoinHandle<Result<AgentOutput>> {
        let (ai, agent, input) = (self.ai.clone(), self.agent.clone(), user(text));
        tokio::spawn(async move { invoke(&ai, &agent, in_session("s"), input).await })
    }

    async fn texts(&self) -> Vec<String> {
        let latest = self.store.latest(&Owner::nobody(), "s").await.unwrap().unwrap();
        let messages = latest.snapshot.state.unwrap().messages.unwrap();
        messages.iter().map(|message| message.text()).collect()
    }
}

/// Lets a message run until it has to wait: there is one thread, and nothing else
/// to wait for before that.
async fn came_to_wait() {
    for _ in 0..20 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn by_default_it_is_refused() {
    let slow = Slow::new(WhileBusy::default());
    let first = slow.say("first");
    slow.begun.notified().await;
    let refused = slow.say("second").await.unwrap().unwrap_err();
    assert_eq!(refused.code(), StatusCode::Aborted);
    slow.go.notify_one();
    first.await.unwrap().unwrap();
    // The session is free again at once.
    let third = slow.say("third");
    slow.go.notify_one();
    third.await.unwrap().unwrap();
    assert_eq!(slow.texts().await, ["first", "first", "third", "third"]);
}

#[tokio::test]
async fn but_not_if_the_other_is_just_about_to_end() {
    let slow = Slow::new(WhileBusy::default());
    let first = slow.say("first");
    slow.begun.notified().await;
    let second = slow.say("second");
    came_to_wait().await;
    slow.go.notify_one();
    first.await.unwrap().unwrap();
    slow.begun.notified().await;
    slow.go.notify_one();
    second.await.unwrap().unwrap();
    assert_eq!(slow.texts().await, ["first", "first", "second", "second"]);
}

#[tokio::test]
async fn it_may_wait_in_line() {
    let slow = Slow::new(WhileBusy::Queue(Duration::from_secs(10)));
    let mut turns = Vec::new();
    for text in ["1", "2", "3"] {
        turns.push(slow.say(text));
        came_to_wait().await;
    }
    for _ in 0..3 {
        slow.begun.notified().await;
        slow.go.notify_one();
    }
    for turn in turns {
        turn.await.unwrap().unwrap();
    }
    assert_eq!(slow.texts().await, ["1", "1", "2", "2", "3", "3"], "in the order they came");
}

#[tokio::test]
async fn but_not_for_ever() {
    let slow = Slow::new(WhileBusy::Queue(Duration::from_millis(50)));
    let _first = slow.say("first");
    slow.begun.notified().await;
    let refused = slow.say("second").await.unwrap().unwrap_err();
    assert_eq!(refused.code(), StatusCode::Aborted);
}

#[tokio::test]
async fn it_may_take_the_session_over() {
    let slow = Slow::new(WhileBusy::Interrupt);
    let first = slow.say("first");
    slow.begun.notified().await;
    let second = slow.say("second");
    let stopped = tokio::time::timeout(Duration::from_millis(500), first).await;
    assert_eq!(stopped.unwrap().unwrap().unwrap_err().code(), StatusCode::Aborted);
    slow.go.notify_one();
    second.await.unwrap().unwrap();
    assert_eq!(slow.texts().await, ["second", "second"], "nothing of the first is kept");
}

/// Another application knows of the turn by the store only, as another process does.
#[tokio::test]
async fn another_application_may_take_the_session_over_within_a_second() {
    let one = Slow::new(WhileBusy::Interrupt);
    let other = Slow::with_store(WhileBusy::Interrupt, one.store.clone());
    let first = one.say("first");
    one.begun.notified().await;
    let second = other.say("second");
    let stopped = tokio::time::timeout(Duration::from_secs(1), first).await;
    assert_eq!(stopped.unwrap().unwrap().unwrap_err().code(), StatusCode::Aborted);
    other.go.notify_one();
    second.await.unwrap().unwrap();
    assert_eq!(one.texts().await, ["second", "second"], "nothing of the first is kept");
}

#[tokio::test]
async fn the_same_rule_holds_for_a_snapshot_of_the_session() {
    let slow = Slow::new(WhileBusy::default());
    let first = slow.say("first");
    slow.go.notify_one();
    let snapshot_id = first.await.unwrap().unwrap().snapshot_id;
    slow.begun.notified().await;
    let second = slow.say("second");
    slow.begun.notified().await;
    let init = AgentInit { snapshot_id, ..Default::default() };
    let refused = invoke(&slow.ai, &slow.agent, init, user("third")).await.unwrap_err();
    assert_eq!(refused.code(), StatusCode::Aborted);
    slow.go.notify_one();
    second.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_turn_that_is_dropped_is_stopped_and_leaves_nothing() {
    let slow = Slow::new(WhileBusy::default());
    let first = slow.say("first");
    slow.begun.notified().await;
    first.abort();
    _ = first.await;
    assert_eq!(slow.store.latest(&Owner::nobody(), "s").await.unwrap(), None);
    // Its lease is given back without waiting for its time to run out.
    let second = slow.say("second");
    slow.go.notify_one();
    tokio::time::timeout(Duration::from_secs(5), second).await.unwrap().unwrap().unwrap();
}

#[tokio::test]
async fn many_writers_on_one_session_lose_nothing() {
    let (ai, store) = (Oxikit::builder().build().unwrap(), store());
    let count = |turn: Turn<u64>| async move {
        turn.update(|count| *count += 1).await?;
        tokio::task::yield_now().await;
        Ok(turn.answer("done"))
    };
    let builder = Agent::builder("count").turn(count).shared_store(store.clone());
    let agent = ai.define_agent(builder).unwrap();
    let writers = (0..16).map(|_| {
        let (ai, agent) = (ai.clone(), agent.clone());
        tokio::spawn(async move {
            let mut done = 0;
            while done < 25 {
                match invoke(&ai, &agent, in_session("s"), user("one more")).await {
                    Ok(_) => done += 1,
                    Err(status) => assert_eq!(status.code(), StatusCode::Aborted),
                }
                tokio::task::yield_now().await;
            }
        })
    });
    for writer in writers.collect::<Vec<_>>() {
        writer.await.unwrap();
    }
    let latest = store.latest(&Owner::nobody(), "s").await.unwrap().unwrap().snapshot;
    assert_eq!(latest.state.unwrap().custom.as_deref(), Some(&json!(400)));
    let tree = store.tree(&Owner::nobody(), "s").await.unwrap();
    let parents: std::collections::HashSet<_> = tree.iter().map(|node| &node.parent).collect();
    assert_eq!((tree.len(), parents.len()), (400, 400), "a chain without a branch");
}

/// The end of the inputs is only seen after the last turn was kept.
#[tokio::test]
async fn a_session_is_free_when_a_stream_of_inputs_is_answered() {
    let (ai, _) = counting();
    let agent = ai.define_agent(Agent::builder("kept").shared_store(store())).unwrap();
    for _ in 0..2 {
        let (inputs, call) = Call::streaming();
        inputs.send(Payload::of(user("hi"))).await.unwrap();
        drop(inputs);
        let call = call.with_init(Payload::of(in_session("s"))).in_registry(ai.registry());
        agent.action().run(call).await.unwrap();
    }
}
