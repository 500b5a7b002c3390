//! Registration: the runtime id of a connection, and attempts to take over the id of another one.

use std::time::Duration;

use oxikit_manager::Preferred;
use serde_json::{Value, json};

use oxikit_testing::manager::{
    code_and_message, end, flow, manager, next_chunk, options, soon, until,
};

#[tokio::test]
async fn a_runtime_is_listed_as_the_official_tools_show_it() {
    let manager = manager(options().with_socket_url("ws://localhost:3200")).await;
    let mut changes = manager.runtimes.watch();
    let mut runtime = manager.connect().await;
    let mut answer = runtime.register("4242", 77).await;
    // Ours: who the manager is, for a runtime that comes back.
    let id = answer["result"].as_object_mut().unwrap().remove("managerId").unwrap();
    assert_eq!(id.as_str().unwrap().len(), 32);
    assert_eq!(
        answer,
        json!({"jsonrpc": "2.0", "id": "1",
            "result": {"telemetryServerUrl": "http://127.0.0.1:4033/t/secret"}})
    );
    soon(changes.changed()).await.unwrap();
    let listed = serde_json::to_value(&changes.borrow()[..]).unwrap();
    let timestamp = listed[0]["timestamp"].clone();
    assert_eq!(
        listed,
        json!([{"id": "4242", "pid": 77, "name": "app", "genkitVersion": "test/1",
            "reflectionApiSpecVersion": 1, "reflectionServerUrl": "ws://localhost:3200",
            "timestamp": timestamp, "projectName": "shop", "envs": ["dev"]}])
    );
    drop(runtime);
    until(|| manager.runtimes.list().is_empty()).await;
    until(|| manager.runtimes.counts().runtimes == 0 && manager.runtimes.counts().sockets == 0)
        .await;
}

/// Python's runtime writes them so.
#[tokio::test]
async fn numbers_of_a_registration_may_be_floats() {
    let manager = manager(options()).await;
    let mut runtime = manager.connect().await;
    let params = json!({"id": "31913", "pid": 31913.0, "reflectionApiSpecVersion": 1.0,
        "name": null, "genkitVersion": null, "envs": null, "unknown": []});
    let answer = runtime.request("1", "register", params).await;
    assert_eq!(answer["error"], Value::Null, "{answer}");
    until(|| !manager.runtimes.list().is_empty()).await;
    let listed = manager.runtimes.list()[0].clone();
    assert_eq!((listed.pid, listed.reflection_api_spec_version), (31913, Some(1)));
}

#[tokio::test]
async fn every_request_is_answered_also_a_bad_one() {
    let manager = manager(options()).await;
    let mut runtime = manager.connect().await;
    let refused = [
        json!({"id": 1, "pid": 1}),
        json!({"id": "a", "pid": "1"}),
        json!({"id": "a"}),
        json!({"id": "a", "pid": -1}),
        json!({"id": "a", "pid": 1, "name": 5}),
        json!({"id": "", "pid": 1}),
        json!({"id": "x".repeat(300), "pid": 1}),
        json!(["a", 1]),
        json!("a"),
        Value::Null,
    ];
    for params in refused {
        let answer = runtime.request("q", "register", params.clone()).await;
        assert_eq!(answer["error"]["code"], -32602, "{params} {answer}");
        assert_eq!(answer["error"]["data"]["code"], 3);
    }
    for params in [json!({}), json!(7), Value::Null] {
        let answer = runtime.request("q", "selfDestruct", params).await;
        assert_eq!(answer["error"]["code"], -32601);
        assert_eq!(answer["error"]["message"], "Method not found: selfDestruct");
    }
    assert!(manager.runtimes.list().is_empty());
    // The official manager drops these without a response.
    let params = json!({"id": "a", "pid": 1, "name": null, "genkitVersion": null, "other": {}});
    let answer = runtime.request("r", "register", params).await;
    assert_eq!(answer["error"], Value::Null);
    assert_eq!(manager.runtimes.list().len(), 1);
}

#[tokio::test]
async fn the_id_of_a_request_comes_back_as_it_was() {
    let manager = manager(options()).await;
    for id in ["7", "0", "\"0\"", "1.50", "\"\\u0061\"", "-3"] {
        let mut runtime = manager.connect().await;
        let text =
            format!(r#"{{"id":{id},"method":"register","params":{{"id":"a{id}","pid":1}}}}"#);
        runtime.send_text(text.replace("\"a\"", "\"a").replace("\"\"", "\"")).await;
        let answer = runtime.next().await;
        assert_eq!(answer["id"], serde_json::from_str::<Value>(id).unwrap(), "{id} {answer}");
    }
    let mut runtime = manager.connect().await;
    runtime
        .send(json!({"id": {"a": 1}, "method": "register", "params": {"id": "o", "pid": 1}}))
        .await;
    assert_eq!(runtime.next().await["id"], Value::Null);
}

#[tokio::test]
async fn a_connection_has_one_id() {
    let manager = manager(options()).await;
    let mut runtime = manager.runtime("first").await;
    let answer = runtime.register("second", 4242).await;
    assert_eq!(answer["error"]["code"], -32602);
    // A second registration with the same id is accepted.
    assert_eq!(runtime.register("first", 4242).await["error"], Value::Null);
    assert_eq!(manager.runtimes.list().len(), 1);
    drop(runtime);
    until(|| manager.runtimes.counts().runtimes == 0).await;
    assert!(manager.runtimes.current().is_none());
}

#[tokio::test]
async fn an_id_in_use_is_not_given_away() {
    let manager = manager(options()).await;
    let mut owner = manager.runtime("a").await;
    let alive = tokio::spawn(async move {
        let asked = owner.expect_request("runAction").await;
        owner.answer(&asked, json!({"result": "of the owner"})).await;
        owner
    });
    for _ in 0..20 {
        let mut stranger = manager.connect().await;
        let answer = stranger.register("a", 4242).await;
        assert_eq!(answer["error"]["code"], -32602);
        assert!(answer["error"]["message"].as_str().unwrap().contains("in use"), "{answer}");
    }
    let run = manager.start(flow("f", json!(1))).await;
    assert_eq!(end(run).await, Ok(Some(json!("of the owner"))));
    drop(alive.await.unwrap());
}

#[tokio::test]
async fn an_id_is_taken_over_when_its_owner_does_not_answer() {
    let mut options = options();
    options.probe_timeout = Duration::from_millis(100);
    let manager = manager(options).await;
    // It is not polled from now on, so it answers no ping.
    let mut mute = manager.runtime("a").await;
    let mut run = manager.start(flow("f", json!(1)).streaming()).await;
    let asked = mute.expect_request("runAction").await;
    mute.chunk(&asked, json!("before")).await;
    assert_eq!(next_chunk(&mut run).await, Some(json!("before")));
    let mut next = manager.runtime("a").await;
    assert_eq!(manager.runtimes.list().len(), 1);
    // The same process reconnects and continues its runs.
    next.answer(&asked, json!({"result": "after"})).await;
    assert_eq!(end(run).await, Ok(Some(json!("after"))));
    assert_eq!(u16::from(mute.closed().await.unwrap().code), 1001);
}

#[tokio::test]
async fn another_process_with_the_id_does_not_get_its_runs() {
    let manager = manager(options()).await;
    let mut first = manager.runtime("a").await;
    let run = manager.start(flow("f", json!(1))).await;
    let asked = first.expect_request("runAction").await;
    drop(first);
    until(|| manager.runtimes.list().is_empty()).await;
    let mut second = manager.connect().await;
    second.register("a", 5555).await;
    second.answer(&asked, json!({"result": "forged"})).await;
    assert_eq!(end(run).await.unwrap_err().0, 14);
}

#[tokio::test]
async fn the_default_target_is_the_newest_or_the_one_that_was_started_here() {
    let manager = manager(options()).await;
    let own = std::process::id();
    let error = manager.runtimes.run(flow("f", json!(1))).await.unwrap_err();
    assert_eq!(code_and_message(error).0, 14);
    let _first = manager.runtime("first").await;
    let mut second = manager.connect().await;
    second.register("second", own).await;
    let _third = manager.runtime("third").await;
    let current = || manager.runtimes.current().unwrap().id;
    assert_eq!(current(), "third");
    manager.runtimes.set_preferred(Some(Preferred::Runtime("first".to_owned())));
    assert_eq!(current(), "first");
    manager.runtimes.set_preferred(Some(Preferred::Process(own)));
    assert_eq!(current(), "second");
    let run = manager.start(flow("f", json!(1))).await;
    second.expect_request("runAction").await;
    drop(run);
    drop(second);
    until(|| manager.runtimes.list().len() == 2).await;
    assert_eq!(current(), "third");
    let error = manager.runtimes.run(flow("f", json!(1)).on("nobody")).await.unwrap_err();
    assert_eq!(code_and_message(error).0, 5);
}

#[tokio::test]
async fn a_new_telemetry_url_is_sent_to_all_runtimes() {
    let manager = manager(options()).await;
    let (mut a, mut b) = (manager.runtime("a").await, manager.runtime("b").await);
    manager.runtimes.set_telemetry_url(Some("http://127.0.0.1:1/t/x".to_owned()));
    for runtime in [&mut a, &mut b] {
        let changed = json!({"telemetryServerUrl": "http://127.0.0.1:1/t/x"});
        assert_eq!(runtime.configured().await, changed);
    }
    let mut c = manager.connect().await;
    let answer = c.register("c", 1).await;
    assert_eq!(answer["result"]["telemetryServerUrl"], "http://127.0.0.1:1/t/x");
    // For those who read the protocol's document, which has nothing in the answer.
    let pushed = json!({"telemetryServerUrl": "http://127.0.0.1:1/t/x"});
    assert_eq!(c.configured().await, pushed);
}

#[tokio::test]
async fn a_runtime_that_reads_its_settings_in_the_response_gets_no_configure() {
    let manager = manager(options()).await;
    for version in ["nodejs/1.42.0", "rust/0.1.0"] {
        let mut runtime = manager.connect().await;
        let params = json!({"id": version, "pid": 1, "genkitVersion": version});
        runtime.request("1", "register", params).await;
        manager.runtimes.set_telemetry_url(Some(format!("http://127.0.0.1:1/t/{version}")));
        let changed = json!({"telemetryServerUrl": format!("http://127.0.0.1:1/t/{version}")});
        assert_eq!(runtime.configured().await, changed, "the first is that of the change");
    }
}

#[tokio::test]
async fn invalid_frames_are_answered_at_a_limited_rate() {
    let manager = manager(options()).await;
    for (frame, code) in [
        ("garbage", -32700),
        ("", -32700),
        ("{", -32700),
        ("null", -32600),
        ("[1,2]", -32600),
        ("{}", -32600),
        (r#"{"jsonrpc":"2.0"}"#, -32600),
        (r#"{"method":7,"id":"x"}"#, -32600),
    ] {
        let mut runtime = manager.runtime("a").await;
        runtime.send_text(frame).await;
        let answer = runtime.next().await;
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&Value::Null, &json!(code)));
        // Answers are never answered, whatever they answer.
        for answer in [
            r#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"Parse error"},"id":null}"#,
            r#"{"jsonrpc":"2.0","result":{},"id":"nothing"}"#,
            r#"{"jsonrpc":"2.0","error":7}"#,
            r#"{"id":"w"}"#,
        ] {
            runtime.send_text(answer).await;
        }
        assert_eq!(runtime.request("q", "unknown", Value::Null).await["error"]["code"], -32601);
        drop(runtime);
        until(|| manager.runtimes.list().is_empty()).await;
    }
    let mut runtime = manager.runtime("b").await;
    for _ in 0..10_000 {
        runtime.send_text("garbage").await;
    }
    runtime.send(json!({"id": "q", "method": "unknown"})).await;
    let (mut answers, began) = (0, std::time::Instant::now());
    while runtime.next().await["id"] != "q" {
        answers += 1;
    }
    let seconds = began.elapsed().as_secs() + 30;
    assert!((1..=10 * seconds).contains(&answers), "{answers} answers");
}

#[tokio::test]
async fn a_shutdown_of_the_manager_closes_connections_with_a_reason() {
    let manager = manager(options()).await;
    let mut runtime = manager.runtime("a").await;
    let run = manager.start(flow("f", json!(1))).await;
    runtime.expect_request("runAction").await;
    let (closed, ()) = tokio::join!(runtime.closed(), manager.runtimes.shutdown());
    assert_eq!(u16::from(closed.unwrap().code), 1012);
    assert_eq!(end(run).await.unwrap_err().0, 14);
}
