//! Secrets that runtimes send are not stored.

use oxikit_traces::TelemetryOptions;
use serde_json::{Value, json};

use super::kit::{Server, server, server_with, trace};

const KEY: &str = "sk-proj-Zx81JqvN2LmT4bYcWd0RkUaEoHsGfPi7";
const WORD: &str = "correct-horse-battery-staple";

/// A trace in Genkit's own form with secrets in many places.
fn native() -> Value {
    let mut trace = trace("native");
    let span = &mut trace["spans"]["s1"];
    span["attributes"] = json!({
        "genkit:input": json!({"user": "ada", "password": WORD, "note": KEY}).to_string(),
        "genkit:output": json!({"headers": {"Authorization": format!("Bearer {WORD}")}}).to_string(),
        "genkit:init": json!({"api_key": WORD}).to_string(),
        "genkit:metadata:context": json!({"auth": {"token": WORD}}).to_string(),
        "password": WORD,
        "x-api-key": WORD,
        "plain": KEY,
        "list": [KEY, {"secret": WORD}],
        "tree": {"a": {"cookie": WORD}},
    });
    span["status"] = json!({"code": 2, "message": format!("refused: {KEY}")});
    span["timeEvents"] = json!({"timeEvent": [{"time": 1001, "annotation": {
        "description": "exception",
        "attributes": {"exception.message": format!("key {KEY} is wrong"), "access_token": WORD}}}]});
    span["links"] = json!([{"context": {}, "attributes": {"client_secret": WORD}}]);
    trace
}

/// The same by OTLP.
fn otlp() -> Value {
    let text = |key: &str, value: &str| json!({"key": key, "value": {"stringValue": value}});
    let list = |value: Value| json!({"key": "list", "value": {"arrayValue": {"values": [value]}}});
    let secret = text("password", WORD);
    let attributes = json!([secret, text("plain", KEY), list(json!({"stringValue": KEY})),
        {"key": "tree", "value": {"kvlistValue": {"values": [text("api_key", WORD)]}}},
        {"key": "token", "value": {"bytesValue": "Y29ycmVjdA=="}}]);
    json!({
        "resourceSpans": [{
            "resource": {"attributes": [text("db.password", WORD), text("key", KEY)]},
            "scopeSpans": [{
                "scope": {"name": "s", "attributes": [secret]},
                "spans": [{
                    "traceId": "0af7651916cd43dd8448eb211c80319c", "spanId": "b7ad6b7169203331",
                    "name": format!("call {KEY}"), "startTimeUnixNano": "1", "endTimeUnixNano": "2",
                    "attributes": attributes,
                    "events": [{"name": KEY, "attributes": attributes}],
                    "links": [{"attributes": attributes}],
                    "status": {"code": 2, "message": KEY},
                }],
            }],
        }],
        "resourceLogs": [{"scopeLogs": [{"logRecords": [
            {"timeUnixNano": "1", "body": {"stringValue": format!("GET /?access_token={WORD} by {KEY}")},
                "attributes": attributes},
            {"timeUnixNano": "1", "body": {"kvlistValue": {"values": [secret]}}},
        ]}]}],
    })
}

/// All that can be read.
async fn everything(server: &Server) -> String {
    let mut all = String::new();
    for path in [
        "/api/traces",
        "/api/traces/native",
        "/api/logs",
        "/api/traces/0af7651916cd43dd8448eb211c80319c",
    ] {
        all.push_str(&server.get(path).await.text);
    }
    all
}

async fn send(server: &Server) {
    assert_eq!(server.post("/api/traces", &native()).await.status, 200);
    let answer = server.post("/api/otlp", &otlp()).await;
    assert_eq!((answer.status, &*answer.text), (200, "{}"));
}

#[tokio::test]
async fn secrets_are_found_nowhere() {
    let server = server().await;
    let mut feed = server.store.subscribe();
    send(&server).await;
    let mut shown = everything(&server).await;
    for _ in 0..2 {
        shown.push_str(&format!("{:?}", feed.next().await));
    }
    assert!(shown.contains("ada") && shown.contains("<redacted>"), "{shown}");
    for secret in [KEY, WORD, "Y29ycmVjdA=="] {
        assert_eq!(shown.matches(secret).count(), 0, "{secret}: {shown}");
    }
}

#[tokio::test]
async fn raw_recording_is_a_choice() {
    let server = server_with(TelemetryOptions::default().raw()).await;
    send(&server).await;
    let shown = everything(&server).await;
    assert!(shown.matches(KEY).count() >= 10 && shown.matches(WORD).count() >= 10, "{shown}");
    let exported = server.store.export("native").await.unwrap().unwrap();
    assert!(!exported.contains(KEY) && !exported.contains(WORD), "{exported}");
}
