//! The checks of senders and tokens, and of posts.

use std::collections::BTreeSet;

use oxikit_traces::TelemetryOptions;
use serde_json::{Value, json};

use super::kit::{Server, answer, server, server_with, span, trace};

/// Every route, with its method.
const ROUTES: &[(&str, &str)] = &[
    ("POST", "/api/traces"),
    ("POST", "/api/traces/"),
    ("POST", "/api/otlp"),
    ("POST", "/api/otlp/v1/traces"),
    ("POST", "/api/otlp/v1/logs"),
    ("POST", "/api/otlp/v1/metrics"),
    ("POST", "/api/otlp/aaaa/bbbb"),
    ("POST", "/api/otlp/aaaa/bbbb/v1/traces"),
    ("POST", "/api/otlp/aaaa/bbbb/v1/logs"),
    ("POST", "/api/otlp/aaaa/bbbb/v1/metrics"),
    ("GET", "/api/__health"),
    ("GET", "/api/traces"),
    ("GET", "/api/traces/t1"),
    ("GET", "/api/traces/t1/stream"),
    ("GET", "/api/traces/t1/logs"),
    ("GET", "/api/traces/t1/spans/s1/logs"),
    ("GET", "/api/logs"),
    ("GET", "/nothing"),
];

fn request(server: &Server, (method, path): (&str, &str), base: &str) -> reqwest::RequestBuilder {
    let url = format!("http://{}{base}{path}", server.address);
    let request = server.client.request(method.parse().unwrap(), url);
    match method {
        "POST" => request.header("content-type", "application/json").body(trace("t1").to_string()),
        _ => request,
    }
}

#[tokio::test]
async fn pages_and_foreign_hosts_reach_nothing() {
    let server = server().await;
    let token = format!("/t/{}", server.token.reveal());
    let headers = [
        ("origin", "http://evil.example"),
        ("origin", "http://localhost:4000"),
        ("origin", "null"),
        ("sec-fetch-site", "cross-site"),
        ("host", "evil.example"),
        ("host", "localhost.evil.example"),
        ("host", "127.0.0.1."),
    ];
    for route in ROUTES {
        for (name, value) in headers {
            for base in ["", &*token] {
                let answer = answer(request(&server, *route, base).header(name, value)).await;
                assert_eq!(answer.status, 403, "{route:?} {name}: {value}");
            }
        }
    }
    assert_eq!(server.get("/api/traces").await.json(), json!({"traces": []}));
}

#[tokio::test]
async fn nothing_is_read_without_the_token() {
    let server = server().await;
    server.add(&trace("t1")).await;
    let short = &server.token.reveal()[1..];
    for route in ROUTES.iter().filter(|(method, _)| *method == "GET") {
        let answer = answer(request(&server, *route, "")).await;
        assert!(matches!(answer.status, 404 | 405), "{route:?}: {answer:?}");
        assert!(!answer.text.contains("greet"));
    }
    for wrong in ["x", short, ""] {
        let base = format!("/t/{wrong}");
        let answer = answer(request(&server, ("GET", "/api/traces"), &base)).await;
        assert_eq!(answer.status, 401, "{wrong}");
    }
    for _ in 0..10 {
        answer(request(&server, ("GET", "/api/traces"), "/t/x")).await;
    }
    assert_eq!(answer(request(&server, ("POST", "/api/traces"), "/t/x")).await.status, 429);
    assert_eq!(server.get("/api/traces/t1").await.status, 200, "the right token is let in always");
}

#[tokio::test]
async fn routes_take_their_methods_only_and_say_which() {
    let server = server().await;
    let token = format!("/t/{}", server.token.reveal());
    // Without a token a client can only post.
    let bases = [(&*token, ["GET", "POST"].as_slice()), ("", &["POST"])];
    let paths: BTreeSet<_> = ROUTES.iter().map(|(_, path)| *path).collect();
    for (base, served) in bases {
        for path in &paths {
            let has = |method: &str| served.contains(&method) && ROUTES.contains(&(method, path));
            let expected: BTreeSet<_> = ["GET", "HEAD", "POST"]
                .into_iter()
                .filter(|method| has(if *method == "HEAD" { "GET" } else { method }))
                .filter(|_| *path != "/nothing")
                .collect();
            for method in ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"] {
                if expected.contains(method) {
                    continue;
                }
                let asked = request(&server, (method, path), base).header("content-type", "text/x");
                let answer = asked.send().await.unwrap();
                let status = if expected.is_empty() { 404 } else { 405 };
                assert_eq!(answer.status(), status, "{method} {base}{path}");
                let listed = answer.headers().get("allow").map(|list| list.to_str().unwrap());
                let listed = listed.unwrap_or_default().split(',').map(str::trim);
                let listed: BTreeSet<_> = listed.filter(|method| !method.is_empty()).collect();
                assert_eq!(listed, expected, "{method} {base}{path}");
            }
        }
    }
}

#[tokio::test]
async fn posts_without_a_token_are_marked_and_replace_nothing() {
    let server = server().await;
    server.add(&trace("known")).await;
    for (id, name) in [("known", "forged"), ("new", "python"), ("new", "python again")] {
        let mut post = trace(id);
        post["spans"]["s1"]["displayName"] = name.into();
        let post = request(&server, ("POST", "/api/traces"), "").body(post.to_string());
        assert_eq!(answer(post).await.status, 200);
    }
    let known = server.trace("known").await;
    assert_eq!(known["spans"]["s1"]["displayName"], "greet");
    let new = server.trace("new").await;
    assert_eq!(new["spans"]["s1"]["displayName"], "python again");
    assert_eq!(new["spans"]["s1"]["attributes"]["oxikit:unverified"], true);
    assert_eq!(known["spans"]["s1"]["attributes"]["oxikit:unverified"], Value::Null);

    let logs = json!({"resourceLogs": [{"scopeLogs": [{"logRecords": [
        {"timeUnixNano": "1000000000", "body": {"stringValue": "hi"}}]}]}]});
    let post = request(&server, ("POST", "/api/otlp"), "").body(logs.to_string());
    assert_eq!(answer(post).await.status, 200);
    let logs = server.get("/api/logs").await.json();
    assert_eq!(logs["logs"][0]["attributes"]["oxikit:unverified"], true);
}

#[tokio::test]
async fn a_strict_server_takes_nothing_without_a_token() {
    let server = server_with(TelemetryOptions::default().strict()).await;
    for route in ROUTES.iter().filter(|(method, _)| *method == "POST") {
        assert_eq!(answer(request(&server, *route, "")).await.status, 401, "{route:?}");
    }
    server.add(&trace("t1")).await;
}

#[tokio::test]
async fn many_posts_without_a_token_are_too_many() {
    let mut options = TelemetryOptions::default();
    options.unverified_per_second = 2;
    let server = server_with(options).await;
    let mut refused = 0;
    for _ in 0..20 {
        let answer = answer(request(&server, ("POST", "/api/traces"), "")).await;
        refused += usize::from(answer.status == 429);
    }
    // Six at once, and two more for each second that this takes.
    assert!((5..=14).contains(&refused), "{refused}");
    server.add(&trace("t1")).await;
}

#[tokio::test]
async fn bad_posts_are_refused_and_store_nothing() {
    let server = server().await;
    let with = |change: fn(&mut Value)| {
        let mut trace = trace("t1");
        change(&mut trace);
        trace.to_string().into_bytes()
    };
    let deep = [b"{\"traceId\":".to_vec(), b"[".repeat(2_000_000)].concat();
    let cases: Vec<(&str, Vec<u8>, u16)> = vec![
        ("nothing", Vec::new(), 400),
        ("half", b"{".to_vec(), 400),
        ("a text", b"\"x\"".to_vec(), 400),
        ("a list of numbers", b"[1]".to_vec(), 400),
        ("a list that is too long", format!("[{}0]", "0,".repeat(10_000)).into_bytes(), 400),
        ("not UTF-8", b"{\"traceId\":\"\xff\"}".to_vec(), 400),
        ("deep", deep, 400),
        ("no spans", with(|t| t["spans"] = Value::Null), 400),
        ("spans as a list", with(|t| t["spans"] = json!([])), 400),
        ("a span as a list", with(|t| t["spans"]["s1"] = json!([])), 400),
        ("an id that is a path", with(|t| t["traceId"] = "../x".into()), 400),
        ("an empty id", with(|t| t["traceId"] = "".into()), 400),
        ("a number as id", with(|t| t["traceId"] = 1.into()), 400),
        ("a number as parent", with(|t| t["spans"]["s1"]["parentSpanId"] = 1.into()), 400),
        ("a fraction as code", with(|t| t["spans"]["s1"]["status"]["code"] = 0.5.into()), 400),
        ("a text as time", with(|t| t["spans"]["s1"]["startTime"] = "1".into()), 400),
        ("attributes as a list", with(|t| t["spans"]["s1"]["attributes"] = json!([])), 400),
        ("no kind", with(|t| t["spans"]["s1"]["spanKind"] = Value::Null), 400),
        ("no library", with(|t| t["spans"]["s1"]["instrumentationLibrary"] = json!({})), 400),
    ];
    for (name, body, expected) in cases {
        assert!(expected < 500, "an invalid post is not an error of the server");
        let verified = server.post_text("/api/traces", "application/json", body.clone()).await;
        let unverified = request(&server, ("POST", "/api/traces"), "").body(body);
        for answer in [verified, answer(unverified).await] {
            assert_eq!(answer.status, expected, "{name}: {answer:?}");
            assert!(answer.json()["message"].is_string() && answer.json()["code"].is_number());
            assert!(!answer.text.contains("<html") && !answer.text.contains("stack"), "{name}");
        }
    }
    assert_eq!(server.get("/api/traces").await.json(), json!({"traces": []}));
}

#[tokio::test]
async fn bodies_of_other_kinds_are_not_read() {
    let mut options = TelemetryOptions::default();
    options.max_body = 1000;
    let server = server_with(options).await;
    let body = trace("t1").to_string();
    for content_type in ["", "text/plain", "application/x-www-form-urlencoded", "application/jsonx"]
    {
        let answer = server.post_text("/api/traces", content_type, body.clone()).await;
        assert_eq!(answer.status, 415, "{content_type}");
    }
    let compressed =
        request(&server, ("POST", "/api/traces"), &format!("/t/{}", server.token.reveal()));
    assert_eq!(answer(compressed.header("content-encoding", "gzip")).await.status, 415);
    let large = json!({"traceId": "t1", "x": "y".repeat(1000)}).to_string();
    let answer = server.post_text("/api/traces", "application/json", large.clone()).await;
    assert_eq!(answer.status, 413);
    // Without a length, it is found while reading.
    let parts = futures_util::stream::iter(vec![Ok::<_, std::convert::Infallible>(large); 3]);
    let body = reqwest::Body::wrap_stream(parts);
    assert_eq!(server.post_text("/api/otlp", "application/json", body).await.status, 413);
}

#[tokio::test]
async fn many_traces_can_come_in_one_post() {
    let server = server().await;
    let mut started = trace("t0");
    started["spans"]["s1"]["endTime"] = 0.into();
    let mut posts = vec![trace("t0"), started];
    posts.extend((1..200).map(|number| trace(&format!("t{number}"))));
    server.add(&Value::Array(posts)).await;
    let all = server.get("/api/traces?limit=1000").await.json();
    assert_eq!(all["traces"].as_array().unwrap().len(), 200);
    assert_eq!(server.trace("t0").await["spans"]["s1"]["endTime"], span("t0")["endTime"]);
}
