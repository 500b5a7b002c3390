//! Every failure of the application is one line of the log, wherever it leaves; the
//! mistakes of callers are none.

mod stores;

use std::net::SocketAddr;
use std::sync::Arc;

use oxikit::prelude::*;
use oxikit::{Agent, MemorySessions, Turn};
use oxikit_core::{Action, ActionKind, Payload, Registry};
use oxikit_providers::OpenAi;
use oxikit_serve::{Expose, Server, context_from};
use serde::Serializer;
use serde::ser::Error;
use tracing::Level;

use crate::kit::{Answer, Client, SECRETS, post};
use crate::log::{Line, Log};
use stores::{BrokenStreams, Cannot, NoSessions};

/// The message of a failure, its cause, and the text that must not leave the process.
const REASON: &str = "cannot save the order";
const DEEP: &str = "disk 7 is full";
const SECRET: &str = "postgres://admin:hunter2@db-7.internal/main";

const STREAM: &str = "accept: text/event-stream\r\n";

fn failure() -> Status {
    Status::internal(REASON).caused_by(std::io::Error::other(format!("{DEEP}: {SECRET}")))
}

/// An output that cannot be written as JSON.
struct Unwritable {
    panics: bool,
}

impl Serialize for Unwritable {
    fn serialize<S: Serializer>(&self, _: S) -> std::result::Result<S::Ok, S::Error> {
        assert!(!self.panics, "{DEEP}");
        Err(S::Error::custom(DEEP))
    }
}

/// Flows and agents that fail in the way that their input names.
fn application() -> Oxikit {
    let ai = Oxikit::builder().build().unwrap();
    ai.define_flow("breaks", |way: String, _: Context, out: Emitter<u8>| async move {
        out.send(1).await?;
        match way.as_str() {
            "panic" => panic!("{DEEP}: {SECRET}"),
            "masked" => Err(Status::new(StatusCode::NotFound, REASON).caused_by(failure())),
            "away" => Err(Status::new(StatusCode::Unavailable, REASON).caused_by(failure())),
            "public" => Err(Status::public(StatusCode::Unavailable, DEEP)),
            "fine" => Ok("fine"),
            "refused" => Err(Status::not_found("there is no such order")),
            _ => Err(failure()),
        }
    });
    ai.define_flow(
        "unwritable",
        |panics: bool| async move { Ok(Payload::of(Unwritable { panics })) },
    );
    let turn = |turn: Turn| async move {
        match turn.text().as_str() {
            "panic" => panic!("{DEEP}"),
            "refused" => Err(Status::not_found("there is no such order")),
            "fine" => Ok(turn.answer("yes")),
            _ => Err(failure()),
        }
    };
    ai.define_agent(Agent::builder("helper").store(MemorySessions::default()).turn(turn)).unwrap();
    ai.define_agent(Agent::builder("plain").turn(turn)).unwrap();
    ai.define_agent(Agent::builder("away").store(NoSessions).turn(turn)).unwrap();
    let odd = Action::builder(ActionKind::Agent, "odd");
    let registry: &Registry = ai.as_ref();
    registry.register(odd.handler(|_: Value| async move { Ok(json!({ "message": DEEP })) }));
    ai
}

async fn serve(ai: &Oxikit, set: impl FnOnce(Server) -> Server) -> SocketAddr {
    let server = set(Server::new(ai).agents_api()).port(0).bind().await.unwrap();
    let address = server.local_addr().unwrap();
    tokio::spawn(server.run(std::future::pending()));
    address
}

async fn ask(address: SocketAddr, method: &str, path: &str, headers: &str, body: &str) -> Answer {
    let mut client = Client::connect(address).await;
    let request = String::from_utf8(post(path, headers, body)).unwrap();
    client.send(request.replacen("POST", method, 1)).await;
    client.answer_to(method).await.unwrap()
}

/// Exactly one error, of this action, with its cause and the trace of the answer.
#[track_caller]
fn assert_reported(lines: &[Line], action: &str, answer: Option<&Answer>, what: &str) {
    let [line] = lines else { panic!("{what}: not one line but {lines:#?} for {answer:#?}") };
    assert_eq!(line.target, "oxikit::failure", "{what}: {line:?}");
    assert!(line.text.contains(&format!("action={action:?}")), "{what}: {line:?}");
    assert!(line.text.contains(DEEP), "{what}: {line:?}");
    for secret in ["hunter2"].into_iter().chain(SECRETS) {
        assert!(!line.text.contains(secret), "{what}: {line:?}");
    }
    if let Some(trace_id) = answer.and_then(|answer| answer.header("x-genkit-trace-id")) {
        assert!(line.text.contains(&format!("trace_id={trace_id:?}")), "{what}: {line:?}");
    }
    if let Some(answer) = answer {
        assert!(!answer.text().contains(REASON), "{what}: {answer:?}");
        answer.assert_says_nothing();
    }
}

/// Asks, and finds one error of this action.
async fn check(address: SocketAddr, action: &str, request: (&str, &str, &str, &str)) {
    let log = Log::listen();
    log.clear();
    let (method, path, headers, body) = request;
    let answer = ask(address, method, path, headers, body).await;
    assert_reported(&log.own_errors().await, action, Some(&answer), &format!("{request:?}"));
}

#[tokio::test]
async fn a_flow_that_fails_is_one_error_however_it_is_called() {
    let ai = application();
    let streams = Arc::new(BrokenStreams::new(Cannot::Nothing));
    let servers = [serve(&ai, |it| it).await, serve(&ai, |it| it.durable_streams(streams)).await];
    for address in servers {
        for headers in ["", STREAM] {
            for way in ["internal", "masked", "away", "panic"] {
                let body = format!(r#"{{"data":"{way}"}}"#);
                check(address, "/flow/breaks", ("POST", "/breaks", headers, &body)).await;
            }
            for panics in [false, true] {
                let body = format!(r#"{{"data":{panics}}}"#);
                check(address, "/flow/unwritable", ("POST", "/unwritable", headers, &body)).await;
            }
        }
    }
    let log = Log::listen();
    log.clear();
    let answer = ask(servers[0], "POST", "/breaks", "", r#"{"data":"public"}"#).await;
    assert_eq!((answer.status, &answer.json()["message"]), (503, &json!(DEEP)));
    assert_eq!(log.own_errors().await.len(), 1);
}

#[tokio::test]
async fn a_recorded_run_that_fails_is_an_error_when_its_reader_has_gone() {
    let ai = Oxikit::builder().build().unwrap();
    let go_on = Arc::new(tokio::sync::Notify::new());
    let signal = go_on.clone();
    ai.define_flow("late", move |_: Value, _: Context, out: Emitter<u8>| {
        let signal = signal.clone();
        async move {
            out.send(1).await?;
            signal.notified().await;
            Err::<(), _>(failure())
        }
    });
    let streams = Arc::new(BrokenStreams::new(Cannot::Nothing));
    let address = serve(&ai, |it| it.durable_streams(streams)).await;
    let log = Log::listen();
    log.clear();
    let mut client = Client::connect(address).await;
    client.send(post("/late", STREAM, r#"{"data":1}"#)).await;
    let head = client.head().await.unwrap();
    client.piece().await.unwrap();
    client.reset();
    go_on.notify_one();
    assert_reported(&log.own_errors().await, "/flow/late", Some(&head), "late");
}

#[tokio::test]
async fn a_store_of_streams_that_fails_is_one_error() {
    let ai = application();
    let started = [Cannot::Open, Cannot::Append, Cannot::Finish, Cannot::AppendOrFinish];
    for cannot in started.into_iter().chain([Cannot::Read]) {
        let streams = Arc::new(BrokenStreams::new(cannot));
        let address = serve(&ai, |it| it.durable_streams(streams)).await;
        let log = Log::listen();
        let body = json!({ "input": "fine" }).to_string();
        for (path, action, body) in [
            ("/breaks", "/flow/breaks", r#"{"data":"fine"}"#),
            ("/api/agents/helper/execute", "/agent/helper", &body),
        ] {
            // The answer is not read to its end: without an end in the store it has none.
            log.clear();
            let mut client = Client::connect(address).await;
            client.send(post(path, STREAM, body)).await;
            let what = format!("{cannot:?} {path}");
            assert_reported(&log.own_errors().await, action, None, &what);
        }
        let id = format!("{STREAM}x-genkit-stream-id: unknown\r\n");
        if cannot == Cannot::Read {
            check(address, "/flow/breaks", ("POST", "/breaks", &id, r#"{"data":"fine"}"#)).await;
            let path = "/api/agents/helper/streams/unknown";
            check(address, "/agent/helper", ("GET", path, "", "")).await;
        }
    }
}

#[tokio::test]
async fn a_turn_that_fails_is_one_error_although_it_is_answered_with_200() {
    let ai = application();
    let streams = Arc::new(BrokenStreams::new(Cannot::Nothing));
    let servers = [serve(&ai, |it| it).await, serve(&ai, |it| it.durable_streams(streams)).await];
    for address in servers {
        for agent in ["helper", "plain"] {
            let action = format!("/agent/{agent}");
            for (headers, way) in [("", "x"), (STREAM, "x"), ("", "panic"), (STREAM, "panic")] {
                let message = json!({ "role": "user", "content": [{ "text": way }] });
                let body = json!({ "data": { "message": message } }).to_string();
                check(address, &action, ("POST", &format!("/{agent}"), headers, &body)).await;
                let body = json!({ "input": message }).to_string();
                let path = format!("/api/agents/{agent}/execute");
                check(address, &action, ("POST", &path, headers, &body)).await;
            }
        }
        let message = json!({ "role": "user", "content": [{ "text": "x" }] });
        let body = json!({ "data": { "message": message, "detach": true } }).to_string();
        check(address, "/agent/helper", ("POST", "/helper", "", &body)).await;
        for headers in ["", STREAM] {
            let path = "/api/agents/odd/execute";
            let body = json!({ "input": "x" }).to_string();
            let log = Log::listen();
            log.clear();
            let answer = ask(address, "POST", path, headers, &body).await;
            let errors = log.own_errors().await;
            assert_eq!(errors.len(), 1, "{errors:?} for {answer:?}");
            assert!(errors[0].text.contains("action=\"/agent/odd\""), "{errors:?}");
        }
    }
}

#[tokio::test]
async fn a_store_of_sessions_that_fails_is_one_error_on_every_route() {
    let ai = application();
    let address = serve(&ai, |it| it).await;
    let session = "/api/agents/away/sessions/s";
    let turn = json!({ "input": "fine", "init": { "sessionId": "s" } }).to_string();
    let requests = [
        ("POST", "/api/agents/away/execute".to_owned(), turn.as_str()),
        ("GET", "/api/agents/away/sessions".to_owned(), ""),
        ("GET", session.to_owned(), ""),
        ("DELETE", session.to_owned(), ""),
        ("POST", format!("{session}/abort"), "{}"),
        ("POST", format!("{session}/fork"), "{}"),
        ("GET", format!("{session}/tree"), ""),
        ("GET", format!("{session}/snapshots/p"), ""),
        ("GET", format!("{session}/snapshots/p/diff"), ""),
    ];
    let paths = Server::new(&ai).agents_api().paths();
    let routes = paths.iter().filter(|path| path.starts_with("/api/agents/{agent}/")).count();
    // Two methods on the session itself; recorded turns are another test.
    assert_eq!(requests.len(), routes, "a new route needs a request here: {paths:#?}");
    for (method, path, body) in &requests {
        check(address, "/agent/away", (method, path, "", body)).await;
    }
    let (_, path, body) = &requests[0];
    check(address, "/agent/away", ("POST", path, STREAM, body)).await;
    let data =
        json!({ "data": { "message": { "role": "user", "content": [{ "text": "fine" }] } } });
    for headers in ["", STREAM] {
        check(address, "/agent/away", ("POST", "/away", headers, &data.to_string())).await;
    }
    let body = r#"{"data":{"snapshotId":"p"}}"#;
    check(address, "/agent-snapshot/away", ("POST", "/away/getSnapshot", "", body)).await;
    check(address, "/agent-abort/away", ("POST", "/away/abort", "", body)).await;
}

#[tokio::test]
async fn what_stands_before_an_action_is_one_error_when_it_fails() {
    let fail = |panics: bool| match panics {
        true => panic!("{DEEP}: {SECRET}"),
        false => Err(failure()),
    };
    let ai = application();
    let echo = ai.define_flow("echo", |input: Value| async move { Ok(input) });
    let agent: Action = AsRef::<Registry>::as_ref(&ai).get("/agent/helper").unwrap();
    for panics in [false, true] {
        let provider = context_from(move |_| fail(panics));
        let address = serve(&ai, |it| it.auth(provider)).await;
        for headers in ["", STREAM] {
            check(address, "/flow/breaks", ("POST", "/breaks", headers, "{}")).await;
        }
        check(address, "/agent/helper", ("GET", "/api/agents/helper", "", "")).await;
        check(address, "/api/agents", ("GET", "/api/agents", "", "")).await;
        check(address, "/metrics", ("GET", "/metrics", "", "")).await;

        let policy = move |_: &ActionContext| fail(panics).map(|_: ActionContext| ());
        let [echo, agent] =
            [Action::from(&echo), agent.clone()].map(|action| Expose::new(action).policy(policy));
        let address = serve(&ai, |it| it.expose(echo).expose(agent)).await;
        check(address, "/flow/echo", ("POST", "/echo", "", "{}")).await;
        check(address, "/agent/helper", ("GET", "/api/agents/helper/sessions", "", "")).await;
        let all = if panics { "/api/agents" } else { "/agent/helper" };
        check(address, all, ("GET", "/api/agents", "", "")).await;
    }
}

#[tokio::test]
async fn mistakes_of_callers_are_no_errors_and_their_hint_is_for_the_developer() {
    let ai = application();
    let streams = Arc::new(BrokenStreams::new(Cannot::Nothing));
    let key = oxikit_serve::ApiKey::new("right");
    let open = serve(&ai, |it| it.durable_streams(streams)).await;
    let guarded = serve(&ai, |it| it.auth(key)).await;
    let log = Log::listen();
    log.clear();
    let long = "x".repeat(20 << 20);
    let refused = json!({ "input": "refused" }).to_string();
    for (address, method, path, headers, body) in [
        (open, "POST", "/breaks", "", r#"{"data":"refused"}"#),
        (open, "POST", "/breaks", STREAM, r#"{"data":"refused"}"#),
        (open, "POST", "/breaks", "", r#"{"data":7}"#),
        (open, "POST", "/breaks", STREAM, r#"{"data":7}"#),
        (open, "POST", "/breaks", "", "no JSON"),
        (open, "POST", "/breaks", "content-type: text/plain\r\n", "{}"),
        (open, "POST", "/breaks", "origin: http://evil.example\r\n", "{}"),
        (open, "GET", "/breaks", "", ""),
        (open, "POST", "/nowhere", "", "{}"),
        (open, "POST", "/api/agents/helper/execute", "", "no JSON"),
        (open, "POST", "/api/agents/helper/execute", "", &refused),
        (open, "POST", "/api/agents/helper/execute", STREAM, &refused),
        (open, "GET", "/api/agents/nobody", "", ""),
        (open, "GET", "/api/agents/helper/sessions/unknown", "", ""),
        (guarded, "POST", "/breaks", "", "{}"),
        (guarded, "POST", "/breaks", "authorization: wrong\r\n", "{}"),
        (guarded, "GET", "/metrics", "", ""),
        (guarded, "GET", "/api/agents", "", ""),
    ] {
        ask(address, method, path, headers, body).await;
    }
    let mut client = Client::connect(open).await;
    client.try_send(post("/breaks", "", long)).await;
    assert_eq!(client.answer().await.unwrap().status, 413);
    let lines = log.own();
    let loud: Vec<_> = lines.iter().filter(|line| line.level <= Level::WARN).collect();
    assert!(loud.is_empty(), "{loud:#?}");
    let hint = "name it by `Server::allow_origin`";
    assert!(lines.iter().any(|line| line.level == Level::DEBUG && line.text.contains(hint)));
}

#[tokio::test]
async fn the_developer_reads_the_whole_failure_with_its_trace() {
    let ai = application();
    AsRef::<Registry>::as_ref(&ai).show_failures();
    let address = serve(&ai, |it| it).await;
    let unary = ask(address, "POST", "/breaks", "", r#"{"data":"internal"}"#).await;
    let stream = ask(address, "POST", "/breaks", STREAM, r#"{"data":"internal"}"#).await;
    let block = stream.text().rsplit("error: ").next().unwrap();
    let streamed: Value = serde_json::from_str(block.trim()).unwrap();
    let data = json!({ "message": { "role": "user", "content": [{ "text": "x" }] } });
    let turn = ask(address, "POST", "/plain", "", &json!({ "data": data }).to_string()).await;
    for (error, answer) in [
        (unary.json(), &unary),
        (streamed["error"].clone(), &stream),
        (turn.json()["result"]["error"].clone(), &turn),
    ] {
        assert_eq!(error["message"], REASON, "{error}");
        let report = error["details"]["stack"].as_str().unwrap();
        assert!(report.contains(DEEP) && !report.contains("hunter2"), "{error}");
        assert_eq!(error["details"]["traceId"].as_str(), answer.header("x-genkit-trace-id"));
    }
}

#[tokio::test]
async fn a_missing_key_of_a_provider_is_masked_and_named_in_the_log() {
    const VARIABLE: &str = "OXIKIT_SERVE_TEST_NO_SUCH_KEY";
    let provider = OpenAi::compatible("acme", "http://127.0.0.1:9/v1").api_key_env(VARIABLE);
    let ai = Oxikit::builder().plugin(provider).default_model("acme/large").build().unwrap();
    let app = ai.clone();
    ai.define_flow("ask", move |question: String| {
        let app = app.clone();
        async move { Ok(app.generate().prompt(question).await?.text()) }
    });
    let address = serve(&ai, |it| it).await;
    let log = Log::listen();
    for headers in ["", STREAM] {
        log.clear();
        let answer = ask(address, "POST", "/ask", headers, r#"{"data":"hello"}"#).await;
        assert!(answer.status >= 500 || !headers.is_empty(), "{answer:?}");
        assert!(answer.text().contains("INTERNAL") && !answer.text().contains("KEY"), "{answer:?}");
        let errors = log.own_errors().await;
        let [line] = errors.as_slice() else { panic!("{errors:?}") };
        assert!(line.text.contains(VARIABLE) && line.text.contains("/flow/ask"), "{line:?}");
    }
}
