//! Replays recorded exchanges of official runtimes with the official server.

use serde_json::{Value, json};

use super::kit::{Answer, Server, plain, server};

const EXCHANGES: &str = "telemetry/exchanges.jsonl";

/// The official server answers 500 to whatever is wrong.
const BAD_REQUEST: &str = "what a peer sends wrongly is 400";

/// The exchanges to which our answer differs, and the reason.
const DIFFERENCES: &[(&str, &str)] = &[
    ("list-token", "positions are no offsets: a page goes on where the last one ended"),
    ("list-bad-filter", BAD_REQUEST),
    ("list-bad-filter2", BAD_REQUEST),
    ("get-traversal", BAD_REQUEST),
    ("post-no-attributes", BAD_REQUEST),
    ("post-parent-null", "null is absence: the span is taken"),
    ("post-no-instrumentationLibrary", BAD_REQUEST),
    ("get-manual-3", "unknown members are kept, and the span with a null parent"),
    ("post-bad-traceid", BAD_REQUEST),
    ("post-bad-json", BAD_REQUEST),
    ("post-not-json-type", "only JSON is taken: 415"),
    ("get-otlp", "name, times, events, lists and integers are kept"),
    ("get-manual-4", "as the two above"),
    ("otlp-missing-attributes", "attributes may be absent, as in the protocol"),
    ("cors", "pages are refused"),
    ("cors-evil", "pages and foreign host names are refused"),
    ("unknown", "an error is JSON"),
];

#[tokio::test]
async fn the_official_exchanges_are_answered_alike() {
    let server = replayed().await;
    let mut differing = Vec::new();
    for exchange in oxikit_recordings::lines(EXCHANGES) {
        let name = exchange["name"].as_str().unwrap();
        if !name.starts_with("stream") {
            let answer = ask(&server, &exchange["request"]).await;
            if !is_same(&answer, &exchange["response"]) {
                differing.push(name.to_owned());
            }
        }
    }
    let expected: Vec<_> = DIFFERENCES.iter().map(|(name, _)| *name).collect();
    assert_eq!(differing, expected);
}

/// A server to which official runtimes have sent what they did before the exchanges.
async fn replayed() -> Server {
    let posts = oxikit_recordings::lines("telemetry/runtime-posts-realtime.jsonl");
    let server = server().await;
    for post in posts {
        let (Some(path), body) = (post["path"].as_str(), &post["body"]) else { continue };
        let id = body["traceId"].as_str().unwrap_or_default();
        // One came later, and one the official server leaves out.
        let is_later = id == "44454422feea177654c43a23f759cbd8";
        let is_prompt = is_prompt(body);
        if !is_later && !is_prompt {
            let answer = server.post(path, body).await;
            assert_eq!(answer.status, 200, "{answer:?}");
        }
    }
    server
}

fn is_prompt(body: &Value) -> bool {
    body["traceId"].as_str().is_some_and(|id| id.starts_with("334280"))
}

async fn ask(server: &Server, request: &Value) -> Answer {
    let path = request["path"].as_str().unwrap();
    let mut builder = match request["method"].as_str().unwrap() {
        "GET" => server.client.get(server.url(path)),
        _ => server.client.post(server.url(path)),
    };
    let headers = request["headers"].as_object();
    for (name, value) in headers.into_iter().flatten() {
        builder = builder.header(name, value.as_str().unwrap());
    }
    if !request["body"].is_null() {
        if request["headers"]["content-type"].is_null() {
            builder = builder.header("content-type", "application/json");
        }
        let body =
            request["body"].as_str().map_or_else(|| request["body"].to_string(), str::to_owned);
        builder = builder.body(body);
    }
    super::kit::answer(builder).await
}

/// The words of an error are our own, and ids of log lines are random.
fn is_same(ours: &Answer, theirs: &Value) -> bool {
    if theirs["status"] != ours.status {
        return false;
    }
    let Some(text) = theirs["text"].as_str() else {
        let (mut ours, mut theirs) = (ours.json(), theirs["body"].clone());
        for answer in [&mut ours, &mut theirs] {
            if answer["code"].is_number() {
                assert!(answer["message"].is_string(), "{answer}");
                answer["message"] = Value::Null;
                answer["details"] = json!({});
            }
            for log in answer["logs"].as_array_mut().into_iter().flatten() {
                log["logId"] = Value::Null;
                let library = log["instrumentationLibrary"].as_object_mut().unwrap();
                library.retain(|_, value| value != "");
            }
            // They say by its presence alone that there is more.
            if answer["continuationToken"].is_string() {
                answer["continuationToken"] = true.into();
            }
        }
        return plain(ours) == plain(theirs);
    };
    text == ours.text
}

#[tokio::test]
async fn stored_traces_are_as_the_official_server_keeps_them() {
    let server = replayed().await;
    for name in ["bidiEcho", "boom-error", "customAgent", "evaluator", "genFlow-with-tool", "greet"]
    {
        let theirs = oxikit_recordings::json(&format!("telemetry/stored-trace.{name}.json"));
        let ours = server.trace(theirs["traceId"].as_str().unwrap()).await;
        assert_eq!(plain(ours), plain(theirs), "{name}");
    }
}

#[tokio::test]
async fn the_pages_of_a_list_are_all_traces_once() {
    let server = replayed().await;
    let all = server.get("/api/traces").await.json();
    let mut paged = Vec::new();
    let mut query = "?limit=2".to_owned();
    loop {
        let page = server.get(&format!("/api/traces{query}")).await.json();
        paged.extend(page["traces"].as_array().unwrap().clone());
        let Some(token) = page["continuationToken"].as_str() else { break };
        query = format!("?limit=2&continuationToken={token}");
    }
    assert_eq!(all["traces"].as_array().unwrap(), &paged);
    assert_eq!(paged.len(), 6);
}

#[tokio::test]
async fn runtimes_that_send_only_what_has_ended_are_shown_too() {
    let posts = oxikit_recordings::lines("telemetry/runtime-posts-not-realtime.jsonl");
    let server = server().await;
    for post in posts.iter().filter(|post| post["path"].is_string()) {
        let answer = server.post(post["path"].as_str().unwrap(), &post["body"]).await;
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    let traces = server.get("/api/traces").await.json();
    let names: Vec<_> =
        traces["traces"].as_array().unwrap().iter().map(|trace| &trace["displayName"]).collect();
    assert_eq!(names, ["countdown", "greet"]);
}
