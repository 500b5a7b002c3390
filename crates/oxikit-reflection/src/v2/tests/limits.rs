//! Limits: too many or too large messages of a manager.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use oxikit_core::{Action, ActionKind, Context, Emitter, Inputs};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::protocol::Message;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;

use super::kit::{App, flow};

#[tokio::test(start_paused = true)]
async fn more_than_256_runs_are_refused_and_the_rest_works() {
    let (app, mut manager) = App::registered().await;
    for n in 0..256 {
        manager.run(n.to_string(), "/flow/gated", json!(n)).await;
        manager.state_of(n.to_string()).await;
    }
    manager.run("256", "/flow/gated", json!(1)).await;
    let answer = manager.recv().await;
    assert_eq!(answer["id"], "256");
    assert_eq!(answer["error"]["data"]["code"], 8);
    manager.ask("257", "listActions", Value::Null).await;
    assert_eq!(manager.recv().await["id"], "257");
    app.gate.add_permits(256);
    for n in 0..256 {
        assert_eq!(manager.recv().await["result"]["result"], json!(n));
    }
    manager.run("258", "/flow/echo", json!("again")).await;
    manager.state_of("258").await;
    assert_eq!(manager.recv().await["result"]["result"], "again");
    app.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_thousand_requests_at_once_are_all_answered() {
    let (app, mut manager) = App::registered().await;
    for n in 0..1000 {
        let params = json!({"type": "middleware"});
        manager.feed(json!({"method": "listValues", "params": params, "id": n})).await;
    }
    manager.flush().await;
    for n in 0..1000 {
        assert_eq!(manager.recv().await["id"], n);
    }
    app.end().await;
}

/// A flow that sends chunks of a kilobyte; they are counted.
fn define_flood(app: &App) -> Arc<AtomicUsize> {
    let sent = Arc::<AtomicUsize>::default();
    let counter = sent.clone();
    flow(&app.registry, "flood", move |count: usize, _: Context, out: Emitter<String>| {
        let counter = counter.clone();
        async move {
            for n in 0..count {
                out.send(format!("{n:01000}")).await?;
                counter.fetch_add(1, Ordering::Relaxed);
            }
            Ok(count)
        }
    });
    sent
}

#[tokio::test(start_paused = true)]
async fn a_manager_that_does_not_read_stops_the_run_and_not_the_rest() {
    let (app, mut manager) = App::registered().await;
    let sent = define_flood(&app);
    let count = 10_000;
    let params = json!({"key": "/flow/flood", "input": count, "stream": true});
    manager.ask("1", "runAction", params).await;
    // The pings are not answered either: a while, but not too long.
    tokio::time::sleep(Duration::from_secs(5)).await;
    let waiting = sent.load(Ordering::Relaxed);
    // The queue of the run, the lane, a batch, the socket and the pipe.
    assert!(waiting < 256 + 256 + 300, "{waiting} chunks of a kilobyte wait");
    // Short answers go before what waits.
    let trace = manager.state_of("1").await;
    manager.ask("2", "listValues", json!({"type": "middleware"})).await;
    let mut before = 0;
    loop {
        let next = manager.recv().await;
        if next["id"] == "2" {
            break;
        }
        assert_eq!(next["params"]["chunk"], format!("{before:01000}"));
        before += 1;
    }
    assert!(before < 400, "{before} chunks came before a short answer");
    for n in before..count {
        if n % 100 == 0 {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        assert_eq!(manager.recv().await["params"]["chunk"], format!("{n:01000}"));
    }
    let result = json!({"result": count, "telemetry": {"traceId": trace}});
    assert_eq!(manager.recv().await["result"], result);
    app.end().await;
}

#[tokio::test(start_paused = true)]
async fn chunks_of_many_runs_keep_their_order() {
    let (app, mut manager) = App::registered().await;
    let runs = 20;
    for n in 0..runs {
        let params = json!({"key": "/flow/countdown", "input": 500, "stream": true});
        manager.feed(json!({"method": "runAction", "params": params, "id": n})).await;
    }
    manager.flush().await;
    let (mut next, mut ended) = (vec![501; runs], 0);
    while ended < runs {
        let frame = manager.recv().await;
        if let Some(id) = frame["id"].as_u64() {
            assert_eq!(next[id as usize], 1, "all chunks come before the result");
            ended += 1;
        } else {
            let run = frame["params"]["requestId"].as_u64().unwrap() as usize;
            next[run] -= 1;
            if frame["method"] == "runActionState" {
                assert_eq!(next[run], 500, "the state comes first");
                next[run] = 501;
            } else {
                assert_eq!(frame["params"]["chunk"], next[run]);
            }
        }
    }
    app.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_cancel_gets_through_a_flood() {
    let (app, mut manager) = App::registered().await;
    manager.run("1", "/flow/forever", Value::Null).await;
    let trace = manager.state_of("1").await;
    for n in 0..20_000 {
        manager.feed(json!({"garbage": n})).await;
    }
    manager.ask("2", "cancelAction", json!({"traceId": trace})).await;
    // One answer for all of it.
    assert_eq!(manager.recv().await["error"]["code"], -32600);
    assert_eq!(manager.recv().await["id"], "2");
    assert_eq!(manager.recv().await["error"]["data"]["code"], 1);
    app.end().await;
}

#[tokio::test(start_paused = true)]
async fn invalid_messages_do_not_affect_other_requests() {
    let (app, mut manager) = App::registered().await;
    for n in 0..100_000 {
        let garbage = ["hello", "{", r#"{"id":{}}"#, r#"{"id":"7","result":1}"#, "[[[["][n % 5];
        // Without a flush each: they come as fast as they can.
        manager.feed_message(Message::text(garbage)).await;
    }
    manager.run("1", "/flow/greet", json!({"name": "n"})).await;
    // One answer for all of it.
    assert_eq!(manager.recv().await["error"]["code"], -32700);
    manager.state_of("1").await;
    assert_eq!(manager.recv().await["result"]["result"], json!({"text": "Hi n"}));
    app.end().await;
}

#[tokio::test(start_paused = true)]
async fn inputs_that_the_action_does_not_read_fail_the_run() {
    let (app, mut manager) = App::registered().await;
    let waits = Action::builder(ActionKind::Flow, "waits");
    app.registry.register(waits.bidi(
        async |_: Option<Value>, inputs: Inputs<Value>, _: Context, _: Emitter<Value>| {
            std::future::pending::<()>().await;
            drop(inputs);
            Ok(())
        },
    ));
    manager.ask("1", "runAction", json!({"key": "/flow/waits", "streamInput": true})).await;
    let trace = manager.state_of("1").await;
    for n in 0..2000 {
        let params = json!({"requestId": "1", "chunk": n});
        manager.feed(json!({"method": "sendInputStreamChunk", "params": params})).await;
    }
    manager.flush().await;
    let answer = manager.recv().await;
    assert_eq!(answer["id"], "1");
    assert_eq!(answer["error"]["data"]["code"], 8);
    assert_eq!(answer["error"]["data"]["details"]["traceId"], trace);
    app.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_result_beyond_the_limit_is_an_error_that_says_so() {
    let (app, mut manager) = App::registered().await;
    flow(&app.registry, "large", async |bytes: usize| Ok("x".repeat(bytes)));
    manager.run("1", "/flow/large", json!(33 << 20)).await;
    manager.state_of("1").await;
    let error = manager.recv().await["error"].take();
    assert_eq!(error["data"]["code"], 8);
    assert!(error["message"].as_str().unwrap().contains("32 MiB"), "{error}");
    // Large, and not too large.
    manager.run("2", "/flow/large", json!(5 << 20)).await;
    manager.state_of("2").await;
    assert_eq!(manager.recv().await["result"]["result"].as_str().unwrap().len(), 5 << 20);
    app.end().await;
}

#[tokio::test(start_paused = true)]
async fn a_message_beyond_the_limit_closes_the_connection_and_says_why() {
    let (mut app, mut manager) = App::registered().await;
    let (mut sink, mut stream) = manager.into_halves();
    let large = Message::text("x".repeat(33 << 20));
    let send = tokio::spawn(async move {
        // The connection is closed early, or the rest is read and dropped.
        _ = sink.send(large).await;
    });
    let close = loop {
        match stream.next().await {
            Some(Ok(Message::Close(frame))) => break frame,
            Some(Ok(_)) => {}
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(close.unwrap().code, CloseCode::Size);
    drop(stream);
    manager = app.accept_registered().await;
    manager.run("1", "/flow/greet", json!({"name": "n"})).await;
    manager.state_of("1").await;
    manager.recv().await;
    send.await.unwrap();
    app.end().await;
}
