//! The frames of one request, as recorded and as they came.

use serde_json::{Map, Value, json};

use super::listing;
use super::names::{Names, is_id};

/// One place where ours is not as recorded; `None` is what is not there.
#[derive(Debug)]
pub(super) struct Difference {
    /// A JSON pointer into the frame; `frames` if there are others than recorded.
    pub(super) at: String,
    pub(super) recorded: Option<Value>,
    pub(super) ours: Option<Value>,
}

impl Difference {
    pub(super) fn new(at: &str, recorded: Option<&Value>, ours: Option<&Value>) -> Self {
        Self { at: at.to_owned(), recorded: recorded.cloned(), ours: ours.cloned() }
    }
}

/// Where the frames of one request differ.
pub(super) fn frames(names: &Names, recorded: &[Value], ours: &[Value]) -> Vec<Difference> {
    if !recorded.iter().map(kind).eq(ours.iter().map(kind)) {
        let [recorded, ours] = [recorded, ours].map(|frames| frames.iter().map(brief).collect());
        return vec![Difference::new("frames", Some(&recorded), Some(&ours))];
    }
    let mut found = Vec::new();
    for (recorded, ours) in recorded.iter().zip(ours) {
        let list = |frame: &Value, of| frame.pointer(of).cloned();
        let lists = |of| Some((list(recorded, of)?, list(ours, of)?));
        if let Some((recorded, ours)) = lists("/result/actions") {
            found.extend(listing::differences(&recorded, &ours));
        } else if let Some((recorded, ours)) = lists("/result/values") {
            let [recorded, ours] = [recorded, ours].map(|values| listing::with_shapes(&values));
            values(names, "", &recorded, &ours, &mut found);
        } else {
            values(names, "", recorded, ours, &mut found);
        }
    }
    found
}

/// Where two values differ.
pub(super) fn values(
    names: &Names,
    at: &str,
    recorded: &Value,
    ours: &Value,
    found: &mut Vec<Difference>,
) {
    match (recorded, ours) {
        // What the recorded runtime tells so little of is compared as a whole.
        _ if at == "/error/data" && recorded.get("code").is_none() => {
            found.push(Difference::new(at, Some(recorded), Some(ours)));
        }
        (Value::Object(recorded), Value::Object(ours)) => {
            members(names, at, recorded, ours, found);
        }
        (Value::Array(recorded), Value::Array(ours)) if recorded.len() == ours.len() => {
            for (index, (recorded, ours)) in recorded.iter().zip(ours).enumerate() {
                values(names, &format!("{at}/{index}"), recorded, ours, found);
            }
        }
        _ if names.same(at, recorded, ours) => {}
        _ => found.push(Difference::new(at, Some(recorded), Some(ours))),
    }
}

fn members(
    names: &Names,
    at: &str,
    recorded: &Map<String, Value>,
    ours: &Map<String, Value>,
    found: &mut Vec<Difference>,
) {
    for (key, recorded) in recorded {
        let at = format!("{at}/{key}");
        match ours.get(key) {
            Some(ours) => values(names, &at, recorded, ours, found),
            None => found.push(Difference::new(&at, Some(recorded), None)),
        }
    }
    for (key, ours) in ours.iter().filter(|(key, _)| !recorded.contains_key(*key)) {
        found.push(Difference::new(&format!("{at}/{key}"), None, Some(ours)));
    }
}

/// What a frame is.
fn kind(frame: &Value) -> &str {
    match frame["method"].as_str() {
        Some(method) => method,
        None if frame.get("error").is_some() => "error",
        None => "result",
    }
}

/// What a frame says, without what is different at every run.
pub(super) fn brief(frame: &Value) -> Value {
    match kind(frame) {
        "runActionState" => json!("state"),
        "streamChunk" => json!({ "chunk": masked(&frame["params"]["chunk"]) }),
        "result" => json!({ "result": masked(&frame["result"]["result"]) }),
        "error" => json!({ "error": frame["error"]["message"] }),
        method => json!(method),
    }
}

/// A value whose ids are not told.
pub(super) fn masked(value: &Value) -> Value {
    match value {
        Value::String(text) if is_id(text) => json!("<id>"),
        Value::Array(items) => items.iter().map(masked).collect(),
        Value::Object(members) => {
            members.iter().map(|(key, value)| (key.clone(), masked(value))).collect()
        }
        other => other.clone(),
    }
}
