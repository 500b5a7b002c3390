//! Reconnects, to the same manager and to another one.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use oxikit_core::{Context, Emitter};
use serde_json::json;
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::protocol::Message;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use super::kit::{App, Manager, flow};

/// Counts the lines of a log.
#[derive(Clone, Default)]
struct Lines(Arc<AtomicUsize>);

impl Subscriber for Lines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::INFO && metadata.target().starts_with("oxikit_reflection")
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// Lets all work that can go on go on.
async fn settle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}

#[tokio::test(start_paused = true)]
async fn a_result_of_the_time_between_is_delivered_once() {
    let (mut app, mut manager) = App::registered().await;
    manager.run("70", "/flow/gated", json!("done")).await;
    let trace = manager.state_of("70").await;
    app.is_up.store(false, Ordering::Relaxed);
    manager.vanish();
    tokio::time::sleep(Duration::from_secs(3)).await;
    app.gate.add_permits(1);
    settle().await;
    app.is_up.store(true, Ordering::Relaxed);

    let mut manager = app.accept().await;
    let register = manager.recv().await;
    assert_eq!((&register["method"], &register["id"]), (&json!("register"), &json!("2")));
    assert_eq!(register["params"]["id"], "4242");
    let began = Instant::now();
    let answer = manager.recv().await;
    assert_eq!(answer["id"], "70");
    assert_eq!(answer["result"], json!({"result": "done", "telemetry": {"traceId": trace}}));
    assert!(began.elapsed() >= Duration::from_millis(290), "it has to be known who asks");
    manager.hears_nothing_for(Duration::from_secs(5)).await;

    // The response was confirmed, so it is not sent again.
    manager.vanish();
    let mut manager = app.accept_registered().await;
    manager.hears_nothing_for(Duration::from_secs(5)).await;
    app.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_request_with_a_higher_id_comes_from_the_same_manager() {
    let (mut app, mut manager) = App::registered().await;
    manager.run("70", "/flow/gated", json!("done")).await;
    manager.state_of("70").await;
    manager.vanish();
    app.gate.add_permits(1);
    let mut manager = app.accept_registered().await;
    let began = Instant::now();
    manager.ask("71", "listValues", json!({"type": "middleware"})).await;
    let answers = [manager.recv().await, manager.recv().await];
    assert!(answers.iter().any(|answer| answer["id"] == "70"), "{answers:?}");
    assert!(answers.iter().any(|answer| answer["id"] == "71"), "{answers:?}");
    assert!(began.elapsed() < Duration::from_millis(100), "the request tells at once");
    app.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_result_that_was_written_and_not_read_is_written_again() {
    let (mut app, mut manager) = App::registered().await;
    manager.run("5", "/flow/greet", json!({"name": "n"})).await;
    // The response is in the pipe when the pipe breaks.
    settle().await;
    manager.vanish();
    let mut manager = app.accept_registered().await;
    let answer = manager.recv().await;
    assert_eq!(answer["id"], "5");
    assert_eq!(answer["result"]["result"], json!({"text": "Hi n"}));
    app.end().await;
}

#[tokio::test(start_paused = true)]
async fn chunks_of_the_time_between_are_kept_in_order() {
    let (mut app, mut manager) = App::registered().await;
    app.is_up.store(false, Ordering::Relaxed);
    flow(&app.registry, "late", async |_: u32, _: Context, out: Emitter<u32>| {
        tokio::time::sleep(Duration::from_secs(1)).await;
        for n in 0..50 {
            out.send(n).await?;
        }
        Ok("end")
    });
    manager.ask("2", "runAction", json!({"key": "/flow/late", "input": 1, "stream": true})).await;
    manager.state_of("2").await;
    manager.vanish();
    tokio::time::sleep(Duration::from_secs(3)).await;
    app.is_up.store(true, Ordering::Relaxed);
    let mut manager = app.accept_registered().await;
    for n in 0..50 {
        assert_eq!(manager.recv().await["params"], json!({"requestId": "2", "chunk": n}));
    }
    assert_eq!(manager.recv().await["result"]["result"], "end");
    app.end().await;
}

#[tokio::test(start_paused = true)]
async fn another_manager_gets_nothing_of_the_former() {
    let (mut app, mut manager) = App::registered().await;
    manager.run("1", "/flow/gated", json!("first")).await;
    manager.state_of("1").await;
    manager.run("2", "/flow/gated", json!("second")).await;
    manager.state_of("2").await;
    manager.vanish();
    app.gate.add_permits(1);
    settle().await;
    // The manager numbers from 1 again: the queued result is not for it.
    let mut manager = app.accept_registered().await;
    manager.run("1", "/flow/gated", json!("new")).await;
    manager.state_of("1").await;
    // The old run continues, and its result is dropped.
    app.gate.add_permits(1);
    manager.hears_nothing_for(Duration::from_secs(5)).await;
    app.gate.add_permits(1);
    let answer = manager.recv().await;
    assert_eq!((&answer["id"], &answer["result"]["result"]), (&json!("1"), &json!("new")));
    manager.hears_nothing_for(Duration::from_secs(5)).await;
    app.end().await;
}

/// The next connection, to a manager of this name or to an official one, which asks
/// something with this id.
async fn accept_and_ask(app: &mut App, name: Option<&str>, id: &str) -> Manager {
    let mut manager = match name {
        Some(name) => app.accept_named(name).await,
        None => app.accept_registered().await,
    };
    manager.ask(id, "cancelAction", json!({"traceId": "0".repeat(32)})).await;
    assert_eq!(manager.recv().await["error"]["code"], -32602);
    manager
}

/// Takes the managers before and after a lost connection, the ids of their first requests, and
/// whether the
/// result of a run from before is delivered.
async fn check_delivery(names: [Option<&str>; 2], run: &str, ids: [&str; 2], is_delivered: bool) {
    let mut app = App::start();
    let mut manager = accept_and_ask(&mut app, names[0], ids[0]).await;
    manager.run(run, "/flow/gated", json!("owed")).await;
    manager.state_of(run).await;
    // The response must be confirmed, or it would be sent again.
    manager.hears_nothing_for(Duration::from_secs(1)).await;
    manager.vanish();
    let mut manager = accept_and_ask(&mut app, names[1], ids[1]).await;
    app.gate.add_permits(1);
    if is_delivered {
        let answer = manager.recv().await;
        assert_eq!((&answer["id"], &answer["result"]["result"]), (&json!(run), &json!("owed")));
    }
    manager.hears_nothing_for(Duration::from_secs(5)).await;
    app.end().await;
}

#[tokio::test(start_paused = true)]
async fn the_same_manager_gets_its_results_and_another_does_not() {
    let (a, b) = (Some("a"), Some("b"));
    // Our managers: cancels of old ones had the id 0, always.
    check_delivery([a, a], "x", ["0", "0"], true).await;
    check_delivery([a, a], "7", ["5", "1"], true).await;
    check_delivery([a, a], "7", ["5", "7"], true).await;
    check_delivery([a, b], "x", ["0", "1"], false).await;
    check_delivery([a, None], "7", ["6", "8"], false).await;
    check_delivery([None, a], "7", ["6", "8"], false).await;
    // Official ones count, and others do what they like.
    check_delivery([None, None], "7", ["6", "8"], true).await;
    check_delivery([None, None], "7", ["6", "1"], false).await;
    check_delivery([None, None], "x", ["0", "0"], true).await;
    check_delivery([None, None], "340282366920938463463374607431768211455", ["0", "0"], true).await;
}

#[tokio::test(start_paused = true)]
async fn results_for_a_manager_that_rejects_the_registration_are_kept_for_the_next_connection() {
    let (mut app, mut manager) = App::registered().await;
    manager.run("5", "/flow/gated", json!("owed")).await;
    manager.state_of("5").await;
    manager.vanish();
    app.gate.add_permits(1);
    let error = json!({"code": -32602, "message": "the id is in use"});
    let mut manager = app.accept_answered(json!({"error": error})).await;
    manager.hears_nothing_for(Duration::from_secs(5)).await;
    manager.vanish();
    let mut manager = app.accept_registered().await;
    assert_eq!(manager.recv().await["result"]["result"], "owed");
    app.end().await;
}

#[tokio::test(start_paused = true)]
async fn an_id_of_a_run_that_goes_on_means_another_manager() {
    let (mut app, mut manager) = App::registered().await;
    manager.run("uuid", "/flow/gated", json!("old")).await;
    manager.state_of("uuid").await;
    manager.vanish();
    let mut manager = app.accept_registered().await;
    manager.ask("other", "listValues", json!({"type": "middleware"})).await;
    manager.recv().await;
    manager.run("uuid", "/flow/gated", json!("new")).await;
    manager.state_of("uuid").await;
    app.gate.add_permits(2);
    assert_eq!(manager.recv().await["result"]["result"], "new");
    manager.hears_nothing_for(Duration::from_secs(5)).await;
    app.end().await;
}

#[tokio::test(start_paused = true)]
async fn results_are_dropped_after_a_minute_without_a_manager() {
    let (mut app, mut manager) = App::registered().await;
    manager.run("9", "/flow/gated", json!("late")).await;
    manager.state_of("9").await;
    app.is_up.store(false, Ordering::Relaxed);
    manager.vanish();
    app.gate.add_permits(1);
    tokio::time::sleep(Duration::from_secs(70)).await;
    app.is_up.store(true, Ordering::Relaxed);
    let mut manager = app.accept_registered().await;
    manager.hears_nothing_for(Duration::from_secs(5)).await;
    app.end().await;
}

#[tokio::test(start_paused = true)]
async fn inputs_end_with_the_connection_and_the_run_goes_on() {
    let (mut app, mut manager) = App::registered().await;
    let params = json!({"key": "/flow/bidiEcho", "stream": true, "streamInput": true});
    manager.ask("1", "runAction", params).await;
    manager.state_of("1").await;
    manager.tell("sendInputStreamChunk", json!({"requestId": "1", "chunk": "a"})).await;
    assert_eq!(manager.recv().await["params"]["chunk"], "A");
    manager.send_message(Message::Close(None)).await;
    let mut manager = app.accept_registered().await;
    assert_eq!(manager.recv().await["result"]["result"], json!({"count": 1}));
    app.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_manager_that_does_not_answer_pings_is_left() {
    let (mut app, manager) = App::registered().await;
    let began = Instant::now();
    // Nothing is read: no ping is answered.
    let next = app.accept_registered().await;
    let waited = began.elapsed();
    assert!(waited >= Duration::from_secs(30), "{waited:?}");
    assert!(waited < Duration::from_secs(32), "{waited:?}");
    drop((manager, next));
    app.end().await;
}

#[tokio::test(start_paused = true)]
async fn an_idle_manager_is_pinged_and_stays_connected() {
    let (app, mut manager) = App::registered().await;
    manager.hears_nothing_for(Duration::from_secs(80)).await;
    assert_eq!(manager.pings.len(), 5, "every 15 s");
    assert_eq!(app.connects.load(Ordering::Relaxed), 1);
    app.end().await;
}

#[tokio::test(start_paused = true)]
async fn many_answers_are_confirmed_by_few_pings() {
    let (app, mut manager) = App::registered().await;
    for n in 0..1000 {
        manager.ask(n.to_string(), "listValues", json!({"type": "middleware"})).await;
        manager.recv().await;
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    manager.hears_nothing_for(Duration::from_secs(1)).await;
    assert!((9..=12).contains(&manager.pings.len()), "{} pings", manager.pings.len());
    assert!(!app.session.outbox.needs_ping(0), "all are confirmed");
    app.end().await;
}

#[tokio::test(start_paused = true)]
async fn without_a_manager_few_lines_are_logged() {
    let lines = Lines::default();
    let _watched = tracing::subscriber::set_default(lines.clone());
    let app = App::start();
    app.is_up.store(false, Ordering::Relaxed);
    tokio::time::sleep(Duration::from_secs(600)).await;
    let connects = app.connects.load(Ordering::Relaxed);
    assert!((95..=160).contains(&connects), "{connects} connects in ten minutes");
    let lines = lines.0.load(Ordering::Relaxed);
    assert!((30..=60).contains(&lines), "{lines} lines of log in ten minutes");
    app.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_manager_that_hangs_up_at_once_is_not_besieged() {
    let lines = Lines::default();
    let _watched = tracing::subscriber::set_default(lines.clone());
    let mut app = App::start();
    let began = Instant::now();
    let mut connections = 0;
    while began.elapsed() < Duration::from_secs(600) {
        app.accept().await.vanish();
        connections += 1;
    }
    assert!(connections <= 160, "{connections} connections in ten minutes");
    let lines = lines.0.load(Ordering::Relaxed);
    assert!(lines <= 120, "{lines} lines of log in ten minutes");
    app.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_manager_that_comes_up_is_met_within_six_seconds() {
    let (mut app, manager) = App::registered().await;
    app.is_up.store(false, Ordering::Relaxed);
    manager.vanish();
    tokio::time::sleep(Duration::from_secs(40)).await;
    app.is_up.store(true, Ordering::Relaxed);
    let began = Instant::now();
    app.accept_registered().await;
    assert!(began.elapsed() <= Duration::from_secs(6), "{:?}", began.elapsed());
    app.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_lost_connection_is_back_at_once() {
    let (mut app, manager) = App::registered().await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    manager.vanish();
    let began = Instant::now();
    app.accept_registered().await;
    assert!(began.elapsed() <= Duration::from_millis(130), "{:?}", began.elapsed());
    app.end().await;
}

#[tokio::test(start_paused = true)]
async fn shutdown_closes_the_connection_at_once_with_a_reason() {
    let (app, mut manager) = App::registered().await;
    manager.ask("1", "runAction", json!({"key": "/flow/forever", "stream": true})).await;
    manager.state_of("1").await;
    manager.recv().await;
    let began = Instant::now();
    app.end().await;
    assert!(began.elapsed() < Duration::from_millis(300), "{:?}", began.elapsed());
    match manager.next().await {
        Some(Ok(Message::Close(Some(frame)))) => assert_eq!(frame.code, CloseCode::Away),
        other => panic!("{other:?}"),
    }
}
