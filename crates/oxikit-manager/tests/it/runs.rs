//! Runs of actions over WebSockets (V2).

use std::time::{Duration, Instant};

use oxikit_manager::RunSpec;
use serde_json::{Value, json};

use oxikit_testing::manager::{
    TRACE, code_and_message, end, flow, manager, next_chunk, options, soon, until,
};

#[tokio::test]
async fn a_run_passes_its_parameters_on_and_gives_back_the_result() {
    let manager = manager(options()).await;
    let mut runtime = manager.runtime("a").await;
    let params = r#"{ "key":"/flow/greet","stream":"x","input":{"b":1,"a":12345678901234567890},
        "context":null,"odd":[1 , 2],"streamInput":7,"init":{"\u0061":0}}"#;
    let mut run = manager.start(RunSpec::new(params)).await;
    let text = soon(futures_util::StreamExt::next(&mut runtime.socket)).await.unwrap().unwrap();
    let text = text.into_text().unwrap();
    // Nothing of it is written anew.
    assert!(text.contains(r#""params":{"key":"/flow/greet","input":{"b":1,"a":12345678901234567890},"context":null,"odd":[1 , 2],"init":{"\u0061":0},"stream":false,"streamInput":false}}"#), "{text}");
    let frame: Value = serde_json::from_str(&text).unwrap();
    assert!(frame["id"].is_string());
    let asked =
        oxikit_testing::manager::ReceivedRequest { id: frame["id"].clone(), params: Value::Null };
    runtime.state(&asked, TRACE).await;
    assert_eq!(soon(run.trace_id()).await.as_deref(), Some(TRACE));
    let result = format!(
        r#"{{"jsonrpc":"2.0","id":{},"result":{{"result":{{"n": 1.50 }},"telemetry":{{"traceId":"{TRACE}"}}}}}}"#,
        asked.id
    );
    runtime.send_text(result).await;
    assert_eq!(soon(run.next_chunk()).await, None);
    let outcome = soon(run.finish()).await.unwrap();
    assert_eq!(outcome.result.as_deref(), Some(&br#"{"n": 1.50 }"#[..]));
    assert_eq!(outcome.trace_id.as_deref(), Some(TRACE));
    manager.is_idle().await;
}

#[tokio::test]
async fn chunks_come_in_order_and_before_the_result() {
    let manager = manager(options()).await;
    let mut runtime = manager.runtime("a").await;
    let mut run = manager.start(flow("count", json!(1000)).streaming()).await;
    let asked = runtime.expect_request("runAction").await;
    assert_eq!(asked.params["stream"], true);
    let script = tokio::spawn(async move {
        runtime.state(&asked, TRACE).await;
        for n in 0..1000 {
            runtime.chunk(&asked, json!({"n": n})).await;
        }
        runtime.chunk(&asked, Value::Null).await;
        runtime.answer(&asked, json!({"result": "done"})).await;
        runtime
    });
    for n in 0..1000 {
        assert_eq!(next_chunk(&mut run).await, Some(json!({"n": n})));
    }
    assert_eq!(next_chunk(&mut run).await, Some(Value::Null));
    assert_eq!(next_chunk(&mut run).await, None);
    assert_eq!(end(run).await, Ok(Some(json!("done"))));
    drop(soon(script).await.unwrap());
    manager.is_idle().await;
}

#[tokio::test]
async fn inputs_reach_a_run_and_end() {
    let manager = manager(options()).await;
    let mut runtime = manager.runtime("a").await;
    let run = manager.start(flow("echo", Value::Null).bidi()).await;
    let asked = runtime.expect_request("runAction").await;
    assert_eq!(asked.params["streamInput"], true);
    soon(run.send_input(b"\"one\"")).await.unwrap();
    assert!(soon(run.send_input(b"{nothing")).await.is_err());
    runtime.state(&asked, TRACE).await;
    let input = runtime.expect_request("sendInputStreamChunk").await;
    assert_eq!(input.params, json!({"requestId": asked.id, "chunk": "one"}));
    until(|| manager.runtimes.counts().traces == 1).await;
    soon(manager.runtimes.send_input(TRACE, b"{\"two\": 2}")).await.unwrap();
    let input = runtime.expect_request("sendInputStreamChunk").await;
    assert_eq!(input.params, json!({"requestId": asked.id, "chunk": {"two": 2}}));
    soon(manager.runtimes.end_input(TRACE)).await.unwrap();
    assert_eq!(
        runtime.expect_request("endInputStream").await.params,
        json!({"requestId": asked.id})
    );
    let error = soon(manager.runtimes.send_input(TRACE, b"1")).await.unwrap_err();
    assert_eq!(error.code, Some(5));
    runtime.answer(&asked, json!({"result": {"count": 2}})).await;
    assert_eq!(end(run).await, Ok(Some(json!({"count": 2}))));
    let error = soon(manager.runtimes.end_input(TRACE)).await.unwrap_err();
    assert_eq!(error.message.as_deref(), Some("Stream not found"));
}

#[tokio::test]
async fn a_run_is_cancelled_by_its_trace() {
    let manager = manager(options()).await;
    let mut runtime = manager.runtime("a").await;
    let mut run = manager.start(flow("slow", json!(1))).await;
    let asked = runtime.expect_request("runAction").await;
    runtime.state(&asked, TRACE).await;
    soon(run.trace_id()).await;
    let runtimes = manager.runtimes.clone();
    let cancel = tokio::spawn(async move { runtimes.cancel(TRACE, None).await });
    let cancelled = runtime.expect_request("cancelAction").await;
    assert_eq!(cancelled.params, json!({"traceId": TRACE}));
    runtime.answer(&cancelled, json!({"message": "Action cancelled"})).await;
    assert_eq!(soon(cancel).await.unwrap().unwrap(), "Action cancelled");
    let error = json!({"code": -32000, "message": "Action was cancelled", "data":
        {"code": 1, "message": "Action was cancelled", "details": {"traceId": TRACE}}});
    runtime.fail(&asked, error).await;
    assert_eq!(end(run).await, Err((1, "Action was cancelled".to_owned())));
    manager.is_idle().await;
}

#[tokio::test]
async fn a_cancel_works_at_once_although_the_runtime_is_frozen() {
    let mut options = options();
    options.cancel_timeout = Duration::from_millis(200);
    let manager = manager(options).await;
    let mut runtime = manager.runtime("a").await;
    let mut run = manager.start(flow("slow", json!(1))).await;
    let asked = runtime.expect_request("runAction").await;
    runtime.state(&asked, TRACE).await;
    soon(run.trace_id()).await;
    let start = Instant::now();
    assert_eq!(soon(manager.runtimes.cancel(TRACE, None)).await.unwrap(), "Action cancelled");
    assert_eq!(end(run).await.unwrap_err().0, 1);
    assert!(start.elapsed() < Duration::from_secs(1));
    manager.is_idle().await;
}

#[tokio::test]
async fn a_dropped_run_is_cancelled() {
    let manager = manager(options()).await;
    let mut runtime = manager.runtime("a").await;
    // With a trace at once, without one as soon as it comes.
    for is_known in [true, false] {
        let mut run = manager.start(flow("slow", json!(1))).await;
        let asked = runtime.expect_request("runAction").await;
        if is_known {
            runtime.state(&asked, TRACE).await;
            soon(run.trace_id()).await;
        }
        drop(run);
        if !is_known {
            runtime.state(&asked, TRACE).await;
        }
        assert_eq!(runtime.expect_request("cancelAction").await.params, json!({"traceId": TRACE}));
        manager.is_idle().await;
        runtime.chunk(&asked, json!("late")).await;
        runtime.answer(&asked, json!({"result": "late"})).await;
    }
    // One that is answered first needs no cancel.
    let run = manager.start(flow("slow", json!(1))).await;
    let asked = runtime.expect_request("runAction").await;
    drop(run);
    runtime.answer(&asked, json!({})).await;
    manager.is_idle().await;
}

#[tokio::test]
async fn only_who_was_asked_can_answer() {
    let manager = manager(options()).await;
    let mut owner = manager.runtime("owner").await;
    let mut run = manager.start(flow("f", json!(1)).streaming()).await;
    let asked = owner.expect_request("runAction").await;
    let (mut stranger, mut other) = (manager.connect().await, manager.runtime("other").await);
    for forger in [&mut stranger, &mut other] {
        forger.state(&asked, "ffffffffffffffffffffffffffffffff").await;
        forger.chunk(&asked, json!("forged chunk")).await;
        forger.answer(&asked, json!({"result": "forged"})).await;
        forger.fail(&asked, json!({"code": 1, "message": "forged"})).await;
        // It is answered behind all of these.
        forger.request("q", "unknown", Value::Null).await;
    }
    for guess in 0..10_000 {
        stranger.send(json!({"id": guess.to_string(), "result": {"result": "guessed"}})).await;
    }
    stranger.request("q", "unknown", Value::Null).await;
    owner.chunk(&asked, json!("mine")).await;
    owner.answer(&asked, json!({"result": "mine"})).await;
    assert_eq!(next_chunk(&mut run).await, Some(json!("mine")));
    assert_eq!(next_chunk(&mut run).await, None);
    assert_eq!(end(run).await, Ok(Some(json!("mine"))));
}

#[tokio::test]
async fn an_id_may_come_back_as_a_number() {
    let manager = manager(options()).await;
    let mut runtime = manager.runtime("a").await;
    let mut run = manager.start(flow("f", json!(1)).streaming()).await;
    let asked = runtime.expect_request("runAction").await;
    let id = asked.id.as_str().unwrap();
    runtime
        .send_text(format!(r#"{{"method":"streamChunk","params":{{"requestId":{id},"chunk":1}}}}"#))
        .await;
    runtime.send_text(format!(r#"{{"id":{id},"result":{{"result":2}}}}"#)).await;
    assert_eq!(next_chunk(&mut run).await, Some(json!(1)));
    assert_eq!(end(run).await, Ok(Some(json!(2))));
}

#[tokio::test]
async fn results_and_errors_of_every_form_end_a_run() {
    let manager = manager(options()).await;
    let mut runtime = manager.runtime("a").await;
    let cases = [
        (r#""result":{}"#, Ok(None)),
        (r#""result":{"result":null}"#, Ok(Some(Value::Null))),
        (r#""result":{"telemetry":null}"#, Ok(None)),
        (
            r#""result":{"result":{"x":1},"telemetry":{"traceId":"../../x"}}"#,
            Ok(Some(json!({"x":1}))),
        ),
        (r#""result":null"#, Err(13)),
        (r#""result":"bare""#, Err(13)),
        (r#""result":[1]"#, Err(13)),
        (r#""other":1"#, Err(13)),
        (r#""error":{"code":-32602,"message":"action /flow/f not found"}"#, Err(5)),
        (r#""error":{"code":-32602,"message":"bad type"}"#, Err(3)),
        (r#""error":{"code":-32601,"message":"Method not found: runAction"}"#, Err(12)),
        (r#""error":{"code":-32000,"message":"m","data":{"stack":"s"}}"#, Err(13)),
        (r#""error":{"code":-32000,"message":"m","data":"text"}"#, Err(13)),
        (r#""error":{"code":-32000,"message":"m","data":{"code":9,"message":"n"}}"#, Err(9)),
        (r#""error":{"code":"x","message":7}"#, Err(2)),
        (r#""error":"plain""#, Err(2)),
        (r#""error":{"code":-32000,"message":"both"},"result":{}"#, Err(13)),
    ];
    for (member, expected) in cases {
        let run = manager.start(flow("f", json!(1))).await;
        let asked = runtime.expect_request("runAction").await;
        runtime.send_text(format!(r#"{{"jsonrpc":"2.0","id":{},{member}}}"#, asked.id)).await;
        assert_eq!(end(run).await.map_err(|(code, _)| code), expected, "{member}");
    }
    let run = manager.start(flow("f", json!(1))).await;
    let asked = runtime.expect_request("runAction").await;
    runtime.fail(&asked, json!({"code": -32602, "message": "action /flow/f not found"})).await;
    assert_eq!(end(run).await, Err((5, "action /flow/f not found".to_owned())));
    manager.is_idle().await;
}

#[tokio::test]
async fn a_late_result_of_a_runtime_that_comes_back_reaches_its_caller() {
    let mut options = options();
    options.reconnect_grace = Duration::from_secs(60);
    let manager = manager(options).await;
    let mut first = manager.runtime("a").await;
    let mut run = manager.start(flow("slow", json!(1)).streaming()).await;
    let asked = first.expect_request("runAction").await;
    first.state(&asked, TRACE).await;
    first.chunk(&asked, json!("started")).await;
    assert_eq!(next_chunk(&mut run).await, Some(json!("started")));
    drop(first);
    until(|| manager.runtimes.list().is_empty()).await;
    let mut second = manager.runtime("a").await;
    second.chunk(&asked, json!("again")).await;
    second.answer(&asked, json!({"result": "done"})).await;
    assert_eq!(next_chunk(&mut run).await, Some(json!("again")));
    assert_eq!(end(run).await, Ok(Some(json!("done"))));
    manager.is_idle().await;
}

#[tokio::test]
async fn all_runs_of_a_runtime_that_dies_fail_within_a_second() {
    let manager = manager(options()).await;
    let mut runtime = manager.runtime("a").await;
    let mut runs = Vec::new();
    for n in 0..100 {
        let mut run = manager.start(flow("f", json!(n)).streaming()).await;
        let asked = runtime.expect_request("runAction").await;
        runtime.state(&asked, &format!("{n:032}")).await;
        runtime.chunk(&asked, json!(n)).await;
        runtime.chunk(&asked, json!("kept")).await;
        assert_eq!(next_chunk(&mut run).await, Some(json!(n)));
        runs.push(run);
    }
    assert_eq!(manager.runtimes.counts().pending, 100);
    let start = Instant::now();
    drop(runtime);
    for mut run in runs {
        assert_eq!(next_chunk(&mut run).await, Some(json!("kept")));
        assert_eq!(next_chunk(&mut run).await, None);
        assert_eq!(end(run).await.unwrap_err().0, 14);
    }
    assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
    manager.is_idle().await;
    let error = manager.runtimes.run(flow("f", json!(1)).on("a")).await.unwrap_err();
    assert_eq!(code_and_message(error).0, 5);
}

#[tokio::test]
async fn a_silent_runtime_is_shown_as_such_and_is_gone_after_missed_pings() {
    let mut options = options();
    options.probe_timeout = Duration::from_millis(100);
    options.ping_interval = Duration::from_millis(400);
    options.pong_timeout = Duration::from_millis(800);
    let manager = manager(options).await;
    let _frozen = manager.runtime("a").await;
    tokio::time::sleep(Duration::from_millis(150)).await;
    let run = manager.start(flow("f", json!(1))).await;
    let start = Instant::now();
    until(|| manager.runtimes.list()[0].is_silent).await;
    assert!(start.elapsed() < Duration::from_millis(390));
    assert_eq!(end(run).await.unwrap_err().0, 14);
    assert!(start.elapsed() < Duration::from_secs(3));
    assert!(manager.runtimes.list().is_empty());
    manager.is_idle().await;
}

#[tokio::test]
async fn a_run_on_a_silent_runtime_fails_within_a_second() {
    let mut options = options();
    options.silence_timeout = Duration::from_secs(1);
    let manager = manager(options).await;
    // It has registered, and reads nothing more: no request and no ping.
    let mut runtime = manager.runtime("a").await;
    // The first run is sent, because the silence is not known yet; the second is not.
    for is_known in [false, true] {
        assert_eq!(manager.runtimes.list()[0].is_silent, is_known);
        let start = Instant::now();
        let error = match manager.runtimes.run(flow("f", json!(1))).await {
            Ok(run) => end(run).await.unwrap_err(),
            Err(error) => code_and_message(error),
        };
        assert_eq!(error.0, 14, "{error:?}");
        assert!(error.1.contains("does not answer"), "{error:?}");
        assert!(start.elapsed() < Duration::from_millis(1900), "{:?}", start.elapsed());
    }
    assert_eq!(manager.runtimes.list().len(), 1, "it may wake up");
    // It reads again: the run that it was sent is cancelled, and the next one works.
    let late = runtime.expect_request("runAction").await;
    runtime.state(&late, TRACE).await;
    assert_eq!(runtime.expect_request("cancelAction").await.params, json!({"traceId": TRACE}));
    until(|| !manager.runtimes.list()[0].is_silent).await;
    let run = manager.start(flow("f", json!(2))).await;
    let asked = runtime.expect_request("runAction").await;
    assert_eq!(asked.params["input"], 2, "the second was never sent");
    runtime.answer(&asked, json!({"result": "awake"})).await;
    assert_eq!(end(run).await, Ok(Some(json!("awake"))));
    manager.is_idle().await;
}

/// A process of its own, for a scripted runtime to be taken for.
struct Program(std::process::Child);

impl Program {
    fn start(script: &str) -> Self {
        let mut command = std::process::Command::new("sh");
        Self(command.args(["-c", script]).spawn().unwrap())
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_runtime_that_is_at_work_has_its_time_and_a_stopped_one_has_not() {
    for (script, must_fail) in [("exec sleep 1000", true), ("while :; do :; done", false)] {
        let mut options = options();
        options.silence_timeout = Duration::from_secs(1);
        let manager = manager(options).await;
        let program = Program::start(script);
        let mut runtime = manager.connect().await;
        runtime.register("a", program.0.id()).await;
        let run = manager.start(flow("f", json!(1))).await;
        until(|| manager.runtimes.list()[0].is_silent).await;
        if must_fail {
            assert_eq!(end(run).await.unwrap_err().0, 14);
            continue;
        }
        // It is as if its only thread computed: it answers when it is done.
        tokio::time::sleep(Duration::from_millis(1500)).await;
        let asked = runtime.expect_request("runAction").await;
        runtime.answer(&asked, json!({"result": "done"})).await;
        assert_eq!(end(run).await, Ok(Some(json!("done"))));
    }
}

#[cfg(unix)]
#[tokio::test]
async fn runs_of_a_process_that_has_ended_fail_although_its_connection_is_open() {
    let manager = manager(options()).await;
    let mut program = Program::start("exec sleep 1000");
    let mut runtime = manager.connect().await;
    runtime.register("a", program.0.id()).await;
    let mut run = manager.start(flow("f", json!(1))).await;
    let asked = runtime.expect_request("runAction").await;
    runtime.state(&asked, TRACE).await;
    soon(run.trace_id()).await;
    program.0.kill().unwrap();
    program.0.wait().unwrap();
    let start = Instant::now();
    assert_eq!(end(run).await.unwrap_err().0, 14);
    assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
    manager.is_idle().await;
}

#[tokio::test]
async fn silence_is_noticed_unasked_and_then_a_cancel_does_not_wait() {
    let mut options = options();
    options.probe_timeout = Duration::from_millis(100);
    options.ping_interval = Duration::from_millis(200);
    options.cancel_timeout = Duration::from_secs(20);
    let manager = manager(options).await;
    let mut runtime = manager.runtime("a").await;
    let mut run = manager.start(flow("f", json!(1)).streaming()).await;
    let asked = runtime.expect_request("runAction").await;
    runtime.state(&asked, TRACE).await;
    soon(run.trace_id()).await;
    // From here on it reads nothing, and answers no ping.
    until(|| manager.runtimes.list()[0].is_silent).await;
    let start = Instant::now();
    assert_eq!(soon(manager.runtimes.cancel(TRACE, None)).await.unwrap(), "Action cancelled");
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    assert_eq!(end(run).await.unwrap_err().0, 1);
    // The cancellation was queued for it, and it responds again.
    let cancelled = runtime.expect_request("cancelAction").await;
    assert_eq!(cancelled.params, json!({"traceId": TRACE}));
    until(|| !manager.runtimes.list()[0].is_silent).await;
}

#[tokio::test]
async fn a_run_that_is_not_read_is_given_up_and_others_do_not_wait() {
    // Far longer than this test waits for anything.
    let mut options = options();
    options.reader_timeout = Duration::from_secs(600);
    let manager = manager(options).await;
    let mut runtime = manager.runtime("a").await;
    let mut unread = manager.start(flow("big", json!(1)).streaming()).await;
    let asked = runtime.expect_request("runAction").await;
    let mut other = manager.start(flow("other", json!(1)).streaming()).await;
    let other_asked = runtime.expect_request("runAction").await;
    runtime.state(&asked, TRACE).await;
    soon(unread.trace_id()).await;
    let script = tokio::spawn(async move {
        let big = "x".repeat(100_000);
        // It has 1 MiB of its own, and 8 MiB more.
        for number in 0..200 {
            runtime.chunk(&asked, json!(big)).await;
            runtime.chunk(&other_asked, json!(number)).await;
        }
        let cancelled = runtime.expect_request("cancelAction").await;
        assert_eq!(cancelled.params, json!({"traceId": TRACE}));
        runtime
    });
    for number in 0..200 {
        assert_eq!(next_chunk(&mut other).await, Some(json!(number)));
    }
    assert_eq!(end(unread).await.unwrap_err().0, 8);
    let runtime = soon(script).await.unwrap();
    assert_eq!(manager.runtimes.list().len(), 1);
    drop((runtime, other));
    manager.is_idle().await;
}

#[tokio::test]
async fn a_run_that_is_not_read_for_too_long_is_given_up_however_little_it_holds() {
    let mut options = options();
    options.reader_timeout = Duration::from_millis(300);
    let manager = manager(options).await;
    let mut runtime = manager.runtime("a").await;
    let unread = manager.start(flow("big", json!(1)).streaming()).await;
    let asked = runtime.expect_request("runAction").await;
    runtime.state(&asked, TRACE).await;
    for number in 0..300 {
        runtime.chunk(&asked, json!(number)).await;
    }
    // It is cancelled without another chunk.
    assert_eq!(runtime.expect_request("cancelAction").await.params, json!({"traceId": TRACE}));
    assert_eq!(end(unread).await.unwrap_err().0, 8);
}

#[tokio::test]
async fn many_runs_that_are_not_read_hold_little_and_one_that_is_read_gets_all() {
    let mut options = options();
    options.reader_timeout = Duration::from_secs(600);
    let manager = manager(options).await;
    let mut runtime = manager.runtime("a").await;
    let (mut unread, mut requests) = (Vec::new(), Vec::new());
    for number in 0..20 {
        unread.push(manager.start(flow("big", json!(number)).streaming()).await);
        requests.push(runtime.expect_request("runAction").await);
    }
    let mut read = manager.start(flow("read", json!(1)).streaming()).await;
    let read_asked = runtime.expect_request("runAction").await;
    let script = tokio::spawn(async move {
        let big = "x".repeat(500_000);
        for number in 0..25 {
            for asked in &requests {
                runtime.chunk(asked, json!(big)).await;
            }
            runtime.chunk(&read_asked, json!(number)).await;
        }
        runtime.answer(&read_asked, json!({"result": "done"})).await;
        runtime
    });
    for number in 0..25 {
        assert_eq!(next_chunk(&mut read).await, Some(json!(number)));
    }
    assert_eq!(end(read).await, Ok(Some(json!("done"))));
    for run in unread {
        assert_eq!(end(run).await.unwrap_err().0, 8);
    }
    drop(soon(script).await.unwrap());
}

#[tokio::test]
async fn a_slow_reader_gets_everything() {
    let manager = manager(options()).await;
    let mut runtime = manager.runtime("a").await;
    let mut run = manager.start(flow("f", json!(1)).streaming()).await;
    let asked = runtime.expect_request("runAction").await;
    let script = tokio::spawn(async move {
        for n in 0..2000 {
            runtime.chunk(&asked, json!([n, "x".repeat(3000)])).await;
        }
        runtime.answer(&asked, json!({"result": 1})).await;
        runtime
    });
    for n in 0..2000 {
        if n % 100 == 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(next_chunk(&mut run).await.unwrap()[0], n);
    }
    assert_eq!(end(run).await, Ok(Some(json!(1))));
    drop(soon(script).await.unwrap());
}

#[tokio::test]
async fn too_many_calls_at_once_are_refused() {
    let mut options = options();
    options.max_pending = 3;
    let manager = manager(options).await;
    let mut runtime = manager.runtime("a").await;
    let mut runs = Vec::new();
    for n in 0..3 {
        runs.push(manager.start(flow("f", json!(n))).await);
    }
    let error = manager.runtimes.run(flow("f", json!(4))).await.unwrap_err();
    assert_eq!(code_and_message(error).0, 8);
    let asked = runtime.expect_request("runAction").await;
    runtime.answer(&asked, json!({})).await;
    assert_eq!(end(runs.remove(0)).await, Ok(None));
    runs.push(manager.start(flow("f", json!(5))).await);
}

#[tokio::test]
async fn what_is_no_object_is_refused_before_anybody_is_asked() {
    let manager = manager(options()).await;
    let _runtime = manager.runtime("a").await;
    for params in ["", "1", "[]", "{", "{\"key\":}", "\"x\"", "{} {}"] {
        let error = manager.runtimes.run(RunSpec::new(params)).await.unwrap_err();
        assert_eq!(code_and_message(error).0, 3, "{params}");
    }
    manager.is_idle().await;
}

#[tokio::test]
async fn lists_are_read_in_both_forms_and_without_their_bad_entries() {
    let manager = manager(options()).await;
    let mut runtime = manager.runtime("a").await;
    let map = json!({
        "/flow/a": {"name": "a", "description": null, "metadata": {"x": null, "y": 1}, "odd": 1},
        "/flow/b": {"key": "/flow/other", "name": "b", "metadata": null},
        "/flow/c": {"description": "no name"},
        "/flow/d": 7,
        "/flow/e": {"name": "e", "metadata": []},
    });
    for result in [json!({"actions": map}), map] {
        let runtimes = manager.runtimes.clone();
        let list = tokio::spawn(async move { runtimes.list_actions(Some("a")).await });
        let asked = runtime.expect_request("listActions").await;
        assert_eq!(asked.params, Value::Null);
        runtime.answer(&asked, result).await;
        let list = soon(list).await.unwrap().unwrap();
        assert_eq!(list.actions.keys().collect::<Vec<_>>(), ["/flow/a", "/flow/b"]);
        assert_eq!(list.actions["/flow/b"].key, "/flow/b");
        let skipped: Vec<_> = list.skipped.iter().map(|skipped| skipped.key.as_str()).collect();
        assert_eq!(skipped, ["/flow/c", "/flow/d", "/flow/e"]);
    }
    for result in
        [json!({"values": {"shout": {"name": "shout"}}}), json!({"shout": {"name": "shout"}})]
    {
        let runtimes = manager.runtimes.clone();
        let values = tokio::spawn(async move { runtimes.list_values(None, "middleware").await });
        let asked = runtime.expect_request("listValues").await;
        assert_eq!(asked.params, json!({"type": "middleware"}));
        runtime.answer(&asked, result).await;
        let values = soon(values).await.unwrap().unwrap();
        assert_eq!(Value::Object(values), json!({"shout": {"name": "shout"}}));
    }
    manager.is_idle().await;
}

#[tokio::test]
async fn a_call_that_is_not_answered_fails_in_time() {
    let mut options = options();
    options.call_timeout = Duration::from_millis(100);
    let manager = manager(options).await;
    let mut runtime = manager.runtime("a").await;
    let error = soon(manager.runtimes.list_actions(None)).await.unwrap_err();
    assert_eq!(error.code, Some(4));
    manager.is_idle().await;
    // A late response has no effect.
    let asked = runtime.expect_request("listActions").await;
    runtime.answer(&asked, json!({})).await;
    let error = json!({"code": -32602, "message": "'type' prompt is not supported"});
    let runtimes = manager.runtimes.clone();
    let values = tokio::spawn(async move { runtimes.list_values(None, "prompt").await });
    let asked = runtime.expect_request("listValues").await;
    runtime.fail(&asked, error).await;
    let error = soon(values).await.unwrap().unwrap_err();
    assert_eq!(code_and_message(error), (3, "'type' prompt is not supported".to_owned()));
}
