//! Repeats recorded requests to the official JavaScript runtime, and compares the answers.

use oxikit::prelude::*;

use super::app::{Runtime, runtime};
use crate::kit::Answer;

/// Recordings that are answered in another way, and why.
const DIFFERENT: [(&str, &str); 8] = [
    ("actions", "the recording names another file; see the test below"),
    ("cancel", "needs a run; see `runs`"),
    ("run-slow-cancelled", "the same"),
    ("cancel-streaming", "the same"),
    ("run-slow-streaming-cancelled", "the same"),
    ("run-text-plain", "a page can send it: 415"),
    ("options", "no CORS: 403"),
    ("evil-host", "another host: 403"),
];

/// Recordings with an error that has another code: a request that cannot be read
/// is not our fault.
const OTHER_CODES: [(&str, u8); 4] =
    [("run-missing-key", 3), ("run-bad-json", 3), ("run-no-body", 3), ("run-bad-input", 3)];

#[tokio::test]
async fn requests_are_answered_as_the_official_runtime_does() {
    let recordings = oxikit_recordings::lines("reflection-v1/exchanges.jsonl");
    let runtime = runtime().await;
    let mut checked = 0;
    for recording in &recordings {
        let name = recording["name"].as_str().unwrap();
        if DIFFERENT.iter().any(|(different, _)| *different == name) {
            continue;
        }
        check(&runtime, name, &recording["request"], &recording["response"]).await;
        checked += 1;
    }
    assert_eq!(checked, recordings.len() - DIFFERENT.len());
}

async fn check(runtime: &Runtime, name: &str, request: &Value, expected: &Value) {
    let method = request["method"].as_str().unwrap();
    let path = request["path"].as_str().unwrap().replace("4242-3100", runtime.tools.id());
    let body = match &request["body"] {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        body => body.to_string(),
    };
    let answer = runtime.ask(method, &path, "", &body).await;
    if name.starts_with("agents") {
        // Their own API, which the official runtime does not have.
        assert!(answer.json()["agents"]["customAgent"].is_object(), "{answer:?}");
        return;
    }
    assert_eq!(answer.status, expected["status"], "{name} {answer:?}");
    assert!(answer.header("x-genkit-version").is_some(), "{name}");
    for header in ["x-genkit-trace-id", "x-genkit-span-id"] {
        let is_named = expected["headers"][header].is_string();
        assert_eq!(answer.header(header).is_some(), is_named, "{name} {header}");
    }
    if name == "unknown-path" {
        return answer.assert_error(404, "NOT_FOUND");
    }
    if let Some(text) = expected["text"].as_str().or(expected["lines"].as_str()) {
        assert_eq!(answer.text(), text, "{name}");
        return;
    }
    let (ours, theirs) = match expected["lines"].as_array() {
        Some(lines) => (lines_of(&answer), lines.clone()),
        None => (vec![answer.json()], vec![expected["body"].clone()]),
    };
    let (ours, mut theirs) = (Value::from(ours), Value::from(theirs));
    if let Some((_, code)) = OTHER_CODES.iter().find(|(other, _)| *other == name) {
        theirs[0]["error"]["code"] = json!(code);
        theirs[0]["error"]["message"] = ours[0]["error"]["message"].clone();
    }
    if name == "values-middleware" {
        // Ours has middleware of its own.
        assert!(ours[0]["retry"]["name"].is_string(), "{ours}");
        return;
    }
    assert_eq!(normal(ours), normal(theirs), "{name}");
}

/// The lines of a stream; the last has no end.
fn lines_of(answer: &Answer) -> Vec<Value> {
    answer.text().split('\n').map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Without what differs from run to run.
fn normal(mut value: Value) -> Value {
    match &mut value {
        Value::Array(items) => {
            items.iter_mut().for_each(|item| *item = normal(item.take()));
        }
        Value::Object(members) => {
            // An action without an output: `null` and absent are the same to tools.
            if members.contains_key("telemetry")
                && members.get("result").is_some_and(Value::is_null)
            {
                members.remove("result");
            }
            for (name, member) in members.iter_mut() {
                *member = match name.as_str() {
                    "traceId" | "stack" | "snapshotId" | "sessionId" | "latencyMs" => {
                        assert!(!member.is_null());
                        format!("<{name}>").into()
                    }
                    "message" if member.is_string() => {
                        // Schemas are written differently.
                        let text = member.as_str().unwrap();
                        text.split("\n\nProvided data").next().unwrap().into()
                    }
                    _ => normal(member.take()),
                };
            }
        }
        _ => {}
    }
    value
}

#[tokio::test]
async fn all_actions_are_listed_by_key() {
    let runtime = runtime().await;
    let answer = runtime.get("/api/actions").await;
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json")));
    let actions = answer.json();
    for key in ["/flow/greet", "/model/echo/model", "/agent/customAgent", "/util/generate"] {
        assert_eq!(actions[key]["key"], key, "{actions}");
        assert!(actions[key]["name"].is_string(), "{key}");
    }
    assert_eq!(actions["/flow/greet"]["inputSchema"]["type"], "object");
    assert_eq!(actions["/flow/bidiEcho"]["metadata"]["bidi"], true);
}
