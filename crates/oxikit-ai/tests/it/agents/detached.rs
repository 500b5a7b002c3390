//! Work that goes on without its caller.

use std::time::Duration;

use oxikit::wire::{AgentFinishReason, GetSnapshotRequest, SessionSnapshot, SnapshotStatus};
use oxikit::{StatusCode, Turn};
use oxikit_core::chat::AgentTransport;
use oxikit_core::ports::{Owner, SessionStore, SnapshotWrite, Term};
use tokio::sync::Notify;

use super::*;

fn detached(text: &str) -> AgentInput {
    AgentInput { detach: Some(true), ..user(text) }
}

#[tokio::test]
async fn detached_work_keeps_its_place_in_the_tree() {
    let (ai, _) = counting();
    let store = store();
    let agent = ai.define_agent(Agent::builder("a").shared_store(store.clone())).unwrap();
    let mut chat = agent.chat();
    chat.send("begin").await.unwrap();
    let before = chat.snapshot_id().unwrap().to_owned();
    let work = chat.detach("think").await.unwrap();
    let done = work.wait().await.unwrap();
    assert_eq!(done.parent_id.as_deref(), Some(before.as_str()), "not itself");
    assert_eq!(done.finish_reason, Some(AgentFinishReason::Stop));
    assert_eq!(done.state.unwrap().messages.unwrap().len(), 4);
    // The session goes on from there, by session id too.
    let session = chat.session_id().unwrap();
    let loaded = agent.load_session(session).await.unwrap();
    assert_eq!(loaded.snapshot_id(), Some(work.snapshot_id()));
    assert_eq!(chat.send("go on").await.unwrap().text(), "three");
    assert_eq!(chat.messages().len(), 6);
}

#[tokio::test]
async fn an_aborted_turn_is_stopped_and_stays_aborted() {
    struct Dropped(Arc<Notify>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.notify_one();
        }
    }
    let (ai, store) = (Oxikit::builder().build().unwrap(), store());
    let (begun, stopped) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (begins, stops) = (begun.clone(), stopped.clone());
    let blocks = move |turn: Turn| {
        let (begins, guard) = (begins.clone(), Dropped(stops.clone()));
        async move {
            let _guard = guard;
            begins.notify_one();
            std::future::pending::<()>().await;
            Ok(turn.answer("never"))
        }
    };
    let builder = Agent::builder("a").turn(blocks).shared_store(store.clone());
    let agent = ai.define_agent(builder).unwrap();
    let output = invoke(&ai, &agent, in_session("s"), detached("work")).await.unwrap();
    let id = output.snapshot_id.unwrap();
    assert_eq!(output.finish_reason, Some(AgentFinishReason::Detached));
    let transport = agent.for_caller(ActionContext::default());
    begun.notified().await;
    assert_eq!(transport.abort(&id).await.unwrap(), Some(SnapshotStatus::Pending));
    assert_eq!(transport.abort(&id).await.unwrap(), Some(SnapshotStatus::Aborted));
    let stop = tokio::time::timeout(Duration::from_millis(500), stopped.notified());
    stop.await.expect("stop stops");
    let row = store.get(&Owner::nobody(), &id).await.unwrap().unwrap().snapshot;
    assert_eq!(row.status, Some(SnapshotStatus::Aborted));
    // The session is free and goes on without it.
    let output = invoke(&ai, &agent, in_session("s"), detached("again")).await.unwrap();
    let row = store.get(&Owner::nobody(), &output.snapshot_id.unwrap()).await.unwrap().unwrap();
    assert_eq!(row.snapshot.parent_id, None);
}

#[tokio::test]
async fn a_deleted_session_stops_its_work() {
    let (ai, store) = (Oxikit::builder().build().unwrap(), store());
    let (begun, gone) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (begins, tell) = (begun.clone(), gone.clone());
    let blocks = move |turn: Turn| {
        let (begins, tell) = (begins.clone(), tell.clone());
        async move {
            begins.notify_one();
            let token = turn.context().cancellation().clone();
            tokio::spawn(async move {
                token.cancelled().await;
                tell.notify_one();
            });
            std::future::pending::<()>().await;
            Ok(turn.answer("never"))
        }
    };
    let builder = Agent::builder("a").turn(blocks).shared_store(store.clone());
    let agent = ai.define_agent(builder).unwrap();
    let output = invoke(&ai, &agent, in_session("s"), detached("work")).await.unwrap();
    begun.notified().await;
    assert!(store.delete(&Owner::nobody(), "s").await.unwrap());
    tokio::time::timeout(Duration::from_secs(2), gone.notified()).await.unwrap();
    let row = store.get(&Owner::nobody(), &output.snapshot_id.unwrap()).await.unwrap();
    assert_eq!(row, None, "nothing comes back");
}

#[tokio::test]
async fn without_a_store_nothing_is_detached_and_nothing_runs() {
    let (ai, script) = counting();
    let agent = ai.define_agent(Agent::builder("a")).unwrap();
    let status = invoke(&ai, &agent, AgentInit::default(), detached("work")).await.unwrap_err();
    assert_eq!(status.code(), StatusCode::FailedPrecondition);
    assert!(script.requests.lock().unwrap().is_empty());
}

/// A pending snapshot as another process has left it.
async fn left_behind(store: &MemorySessions, heartbeat: &str, work: Option<&str>) {
    let owner = Owner::nobody();
    let write = SnapshotWrite { work, ..SnapshotWrite::new(&owner, "a", "s", "left") };
    let row = SessionSnapshot {
        created_at: "2026-01-01T00:00:00.000Z".into(),
        heartbeat_at: Some(heartbeat.into()),
        status: Some(SnapshotStatus::Pending),
        ..Default::default()
    };
    store.save(write, &|_| Ok(Some(row.clone()))).await.unwrap();
}

#[tokio::test]
async fn work_without_heartbeats_is_reported_as_expired() {
    let (ai, _) = counting();
    let store = store();
    let agent = ai.define_agent(Agent::builder("a").shared_store(store.clone())).unwrap();
    left_behind(&store, "2026-01-01T00:00:00.000Z", None).await;
    let transport = agent.for_caller(ActionContext::default());
    let request = GetSnapshotRequest { session_id: Some("s".into()), ..Default::default() };
    let snapshot = transport.snapshot(request).await.unwrap();
    assert_eq!(snapshot.status, Some(SnapshotStatus::Expired));
    let kept = store.get(&Owner::nobody(), "left").await.unwrap().unwrap().snapshot;
    assert_eq!(kept.status, Some(SnapshotStatus::Pending), "it is only reported");
    assert_eq!(transport.abort("left").await.unwrap(), Some(SnapshotStatus::Pending));
}

#[tokio::test]
async fn lost_work_is_taken_up_again_by_whoever_finds_it() {
    let (ai, _) = counting();
    let store = store();
    let agent = ai.define_agent(Agent::builder("a").shared_store(store.clone())).unwrap();
    let work = json!({ "inputs": [user("think")] }).to_string();
    left_behind(&store, "2026-01-01T00:00:00.000Z", Some(&work)).await;
    // Not while somebody is at it.
    let owner = Owner::nobody();
    let lease = store.lease(&owner, "s", Term::of(Duration::from_secs(60))).await.unwrap();
    assert_eq!(agent.recover().await.unwrap(), 0);
    store.release(&owner, lease).await.unwrap();

    assert_eq!(agent.recover().await.unwrap(), 1);
    let done = oxikit::DetachedTurn::new(Arc::new(agent.for_caller(Default::default())), "left");
    // Until its first heartbeat it still counts as lost.
    while done.poll().await.unwrap().status == Some(SnapshotStatus::Expired) {
        tokio::task::yield_now().await;
    }
    let done = done.wait().await.unwrap();
    let texts: Vec<_> =
        done.state.unwrap().messages.unwrap().iter().map(|message| message.text()).collect();
    assert_eq!(texts, ["think", "one"]);
    assert_eq!(done.created_at, "2026-01-01T00:00:00.000Z");
    assert_eq!(agent.recover().await.unwrap(), 0, "once");
}

#[tokio::test]
async fn the_caller_of_lost_work_is_known_but_not_its_credentials() {
    let (ai, _) = counting();
    let store = store();
    let builder = Agent::builder("a").shared_store(store.clone()).turn(|_: Turn| async {
        std::future::pending::<()>().await;
        Ok(Default::default())
    });
    let agent = ai.define_agent(builder).unwrap();
    let context = ActionContext::default()
        .with("auth", json!({ "uid": "ada", "apiKey": "sk-123", "role": "admin" }))
        .with("secrets", json!({ "db": "hunter2" }));
    let call = Call::new(detached("work")).with_context(context).in_registry(ai.registry());
    agent.action().run(call).await.unwrap();
    // Its holder does not come back.
    let owner = Owner::principal("ada");
    let page = store.list(&owner, &Default::default()).await.unwrap();
    let session = &page.sessions[0].session;
    let by_force = Term { ttl: Duration::from_secs(1), by_force: true };
    let lease = store.lease(&owner, session, by_force).await.unwrap();
    store.release(&owner, lease).await.unwrap();
    let stalled = store.stalled("a", 10).await.unwrap();
    let work = &stalled[0].work;
    assert_eq!(stalled[0].owner, owner);
    assert!(work.contains("ada") && work.contains("admin"), "{work}");
    assert!(!work.contains("sk-123") && !work.contains("hunter2"), "{work}");
}
