//! Recorded exchanges, and the comparison of what was read and written again.

use serde_json::Value;

pub(super) const JSON_RPC_V0_3: [&str; 10] = [
    "a2a-0.3/jsonrpc--js0.3.14-client--js0.3.14-server.jsonl",
    "a2a-0.3/jsonrpc--js0.3.14-client--py0.3.26-server.jsonl",
    "a2a-0.3/jsonrpc--py0.3.26-client--js0.3.14-server.jsonl",
    "a2a-0.3/jsonrpc--py0.3.26-client--py0.3.26-server.jsonl",
    "a2a-1.0/compat/jsonrpc--js0.3.14-client--js1.3.0-compat-server.jsonl",
    "a2a-1.0/compat/jsonrpc--js0.3.14-client--py1.3.0-compat-server.jsonl",
    "a2a-1.0/compat/jsonrpc--js1.3.0-client-legacy--js0.3.14-server.jsonl",
    "a2a-1.0/compat/jsonrpc--js1.3.0-client-legacy--py0.3.26-server.jsonl",
    "a2a-1.0/compat/jsonrpc--py0.3.26-client--js1.3.0-compat-server.jsonl",
    "a2a-1.0/compat/jsonrpc--py0.3.26-client--py1.3.0-compat-server.jsonl",
];

pub(super) const JSON_RPC_V1_0: [&str; 2] = [
    "a2a-1.0/jsonrpc--js1.3.0-client--js1.3.0-server.jsonl",
    "a2a-1.0/jsonrpc--js1.3.0-client--py1.3.0-server.jsonl",
];

pub(super) const REST_V0_3: [&str; 2] = [
    "a2a-0.3/rest--js0.3.14-client--js0.3.14-server.jsonl",
    "a2a-0.3/rest--js0.3.14-client--py0.3.26-server.jsonl",
];

pub(super) const REST_V1_0: [&str; 2] = [
    "a2a-1.0/rest--js1.3.0-client--js1.3.0-server.jsonl",
    "a2a-1.0/rest--js1.3.0-client--py1.3.0-server.jsonl",
];

/// A request with its response.
pub(super) struct Exchange {
    /// File and case, for messages of tests.
    pub(super) case: String,
    /// Method of HTTP and path.
    pub(super) route: String,
    /// The body of the request, null if it has none.
    pub(super) request: Value,
    pub(super) status: u64,
    /// The body of the response, or its events.
    pub(super) responses: Vec<Value>,
}

pub(super) fn read(file: &str) -> Vec<Exchange> {
    oxikit_recordings::lines(file).iter().map(|line| exchange(file, line)).collect()
}

fn exchange(file: &str, line: &Value) -> Exchange {
    let (request, response) = (&line["request"], &line["response"]);
    let responses = match response["sse_raw"].as_str() {
        Some(text) => events(text),
        None => vec![response["body"].clone()],
    };
    let path = request["path"].as_str().unwrap_or_default();
    let path = path.split('?').next().unwrap_or_default();
    Exchange {
        case: format!("{file}: {}", line["case"]),
        route: format!("{} {path}", request["method"].as_str().unwrap()),
        request: request["body"].clone(),
        status: response["status"].as_u64().unwrap(),
        responses,
    }
}

/// The data of server-sent events; several lines of one event are one document.
fn events(text: &str) -> Vec<Value> {
    let text = text.replace("\r\n", "\n");
    let data = text.split("\n\n").filter_map(|event| {
        let lines: Vec<&str> =
            event.lines().filter_map(|line| line.strip_prefix("data:")).collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    });
    data.map(|data| serde_json::from_str(&data).unwrap()).collect()
}

/// The value without members that proto JSON may leave out: null, `false`, empty texts and lists.
/// What an application put under `metadata` and `params` stays as it is.
pub(super) fn without_defaults(value: &Value) -> Value {
    match value {
        Value::Object(members) => members
            .iter()
            .map(|(name, member)| match name.as_str() {
                "metadata" | "params" => (name.clone(), member.clone()),
                _ => (name.clone(), without_defaults(member)),
            })
            .filter(|(name, member)| !is_default(member) && !is_empty_map(name, member))
            .collect(),
        Value::Array(items) => items.iter().map(without_defaults).collect(),
        _ => value.clone(),
    }
}

/// Proto JSON may write a map without entries; only cards have one.
fn is_empty_map(name: &str, value: &Value) -> bool {
    name == "securitySchemes" && value.as_object().is_some_and(serde_json::Map::is_empty)
}

fn is_default(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Number(_) | Value::Bool(true) | Value::Object(_) => false,
    }
}

/// Fails if what was written differs from what was recorded.
#[track_caller]
pub(super) fn check_same(case: &str, recorded: &Value, written: &Value) {
    let (recorded, written) = (without_defaults(recorded), without_defaults(written));
    assert!(recorded == written, "{case}\nrecorded {recorded}\n written {written}");
}
