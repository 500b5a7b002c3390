//! Every message, request, response and so on in the recordings is read and
//! written without loss.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use oxikit_wire::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Members that official runtimes write and that the type does not have. They are ignored.
const IGNORED_MEMBERS: [(&str, &str); 5] = [
    // The prompt action of JavaScript leaves these in the request it renders.
    ("GenerateRequest", "resources"),
    ("GenerateRequest", "defaultInstructions"),
    ("GenerateRequest", "jsonSchema"),
    // A rendered prompt inside the process looks like options of a generate call.
    ("GenerateActionOptions", "context"),
    ("GenerateActionOptions", "metadata"),
];

#[test]
fn what_was_recorded_is_read_and_written_without_loss() {
    let mut found = Found::default();
    for path in files(&oxikit_recordings::path("")) {
        let text = fs::read_to_string(&path).unwrap();
        found.path = path;
        match serde_json::from_str(&text) {
            Ok(value) => found.walk(&value),
            Err(_) => text
                .lines()
                .filter_map(|line| serde_json::from_str(line).ok())
                .for_each(|value: Value| found.walk(&value)),
        }
    }
    eprintln!("{:?}", found.counts);
    assert!(found.losses.is_empty(), "{} losses:\n{}", found.losses.len(), found.losses.join("\n"));
    for name in [
        "Message",
        "GenerateRequest",
        "GenerateResponse",
        "GenerateResponseChunk",
        "SessionSnapshot",
        "ActionDescriptor",
    ] {
        assert!(found.counts.get(name).is_some_and(|count| *count > 10), "hardly any {name} found");
    }
}

#[derive(Default)]
struct Found {
    path: PathBuf,
    counts: BTreeMap<&'static str, usize>,
    losses: Vec<String>,
}

impl Found {
    fn walk(&mut self, value: &Value) {
        self.look(value);
        match value {
            // The properties of a JSON Schema have the same names as the members of a value.
            Value::Object(members) => members
                .iter()
                .filter(|(name, _)| *name != "properties")
                .for_each(|(_, member)| self.walk(member)),
            Value::Array(items) => items.iter().for_each(|item| self.walk(item)),
            // Bodies and span attributes are JSON in a string.
            Value::String(text) if text.starts_with('{') => {
                if let Ok(value) = serde_json::from_str(text) {
                    self.walk(&value);
                }
            }
            _ => {}
        }
    }

    fn look(&mut self, value: &Value) {
        let Some(members) = value.as_object() else { return };
        let has = |name: &str| members.contains_key(name);
        let is_text = |name: &str| members.get(name).is_some_and(Value::is_string);
        if is_message(value) {
            if has("index") || has("aggregated") {
                self.check::<GenerateResponseChunk>("GenerateResponseChunk", value);
            } else {
                self.check::<Message>("Message", value);
            }
        }
        if is_text("snapshotId") && is_text("createdAt") {
            self.check::<SessionSnapshot>("SessionSnapshot", value);
        }
        let messages = members.get("messages").and_then(Value::as_array);
        if messages.is_some_and(|messages| messages.iter().all(is_message)) {
            let tools = members.get("tools").and_then(Value::as_array);
            if has("sessionId") || has("artifacts") || has("custom") {
                self.check::<SessionState>("SessionState", value);
            } else if tools.is_some_and(|tools| tools.iter().all(Value::is_object)) {
                // With a model as well it is a prompt that the tools API is to write.
                if !has("model") {
                    self.check::<GenerateRequest>("GenerateRequest", value);
                }
            } else {
                self.check::<GenerateActionOptions>("GenerateActionOptions", value);
            }
        }
        let is_agent_output = has("sessionId") || has("snapshotId");
        if members.get("message").is_some_and(is_message)
            && !is_agent_output
            && (has("usage") || has("latencyMs") || has("request"))
        {
            self.check::<GenerateResponse>("GenerateResponse", value);
        }
        if is_text("key") && is_text("name") && (has("inputSchema") || has("metadata")) {
            self.check::<ActionDescriptor>("ActionDescriptor", value);
        }
        if has("dataset") && has("evalRunId") {
            self.check::<EvalRequest>("EvalRequest", value);
        }
        if is_text("testCaseId") && has("evaluation") {
            self.check::<EvalFnResponse>("EvalFnResponse", value);
        }
        if has("embeddings") {
            self.check::<EmbedResponse>("EmbedResponse", value);
        }
        if has("toolRequest") || has("toolResponse") {
            self.check::<Part>("Part", value);
        }
    }

    fn check<T: Serialize + DeserializeOwned>(&mut self, name: &'static str, value: &Value) {
        *self.counts.entry(name).or_default() += 1;
        let read: Result<T, _> = serde_json::from_value(value.clone());
        let why = match read {
            Err(error) => error.to_string(),
            Ok(read) => match loss(name, value, &serde_json::to_value(read).unwrap()) {
                Some(why) => why,
                None => return,
            },
        };
        let loss = format!("{}: {name}: {why}", self.path.display());
        if !self.losses.contains(&loss) {
            self.losses.push(loss);
        }
    }
}

fn is_message(value: &Value) -> bool {
    let role = value.get("role").and_then(Value::as_str);
    matches!(role, Some("system" | "user" | "model" | "tool"))
        && value.get("content").is_some_and(Value::is_array)
}

/// Path of the first member of `sent` that `written` lacks or has with another value.
fn loss(name: &str, sent: &Value, written: &Value) -> Option<String> {
    match (sent, written) {
        (Value::Object(sent), Value::Object(written)) => sent.iter().find_map(|(member, value)| {
            if IGNORED_MEMBERS.contains(&(name, member.as_str())) {
                return None;
            }
            match written.get(member) {
                Some(other) => loss(name, value, other).map(|why| format!("{member}.{why}")),
                // Absent is absent.
                None if value.is_null() => None,
                None => Some(format!("{member} is lost")),
            }
        }),
        (Value::Array(sent), Value::Array(written)) if sent.len() == written.len() => {
            sent.iter().zip(written).find_map(|(sent, written)| loss(name, sent, written))
        }
        (Value::Number(sent), Value::Number(written)) if sent.as_f64() == written.as_f64() => None,
        _ if sent == written => None,
        _ => Some(format!("{sent} became {written}")),
    }
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|end| end == "json" || end == "jsonl") {
            found.push(path);
        }
    }
    found
}
