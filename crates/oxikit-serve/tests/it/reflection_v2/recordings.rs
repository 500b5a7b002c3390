//! What the official JavaScript runtime and manager said to each other, said again
//! here.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use oxikit::prelude::*;
use oxikit_serve::DevConfig;
use tokio::sync::mpsc;

use super::manager::{Manager, Socket};
use crate::reflection_v1::app::define;

/// The recordings that need nothing but the flows and the model of the
/// application.
const REPLAYED: [&str; 29] = [
    "bidi",
    "bidi-bad-chunk",
    "bidi-bad-init",
    "bidi-unary-call",
    "cancel",
    "cancel-unary",
    "cancel-unknown",
    "list-values-bad-type",
    "list-values-defaultModel",
    "run-bad-input",
    "run-bad-input-streaming",
    "run-bad-key",
    "run-bad-labels",
    "run-bad-output",
    "run-error",
    "run-error-streaming",
    "run-error-userfacing",
    "run-missing-key",
    "run-model",
    "run-model-streaming",
    "run-no-input",
    "run-nonstreaming-flow-streamed",
    "run-streaming",
    "run-streaming-flow-unary",
    "run-unary",
    "run-unary-context-labels",
    "run-unknown-action",
    "run-unknown-action-streaming",
    "run-void-result",
];

/// Failures that are worded differently: the parameters were read by another
/// reader.
const OTHER_WORDS: [&str; 2] = ["run-bad-labels", "run-missing-key"];

fn recording(name: &str) -> Option<Vec<Value>> {
    let beside_workspace = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let spec = std::env::var_os("OXIKIT_SPEC").map_or_else(beside_workspace, PathBuf::from);
    let path = spec.join(format!("wire/reflection-v2/{name}.jsonl"));
    let Ok(text) = std::fs::read_to_string(&path) else {
        eprintln!(
            "skipped: no specification in {}; set OXIKIT_SPEC to its directory",
            path.display()
        );
        return None;
    };
    Some(text.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

#[tokio::test]
async fn frames_are_those_of_the_official_runtime() {
    let (manager, url) = Manager::listen().await;
    let ai = define(mpsc::unbounded_channel().0);
    let mut config = DevConfig::default();
    config.manager = Some(url);
    let tools = config.start(&ai).await.unwrap();
    let mut socket = manager.accept().await;
    socket.recv().await;
    for name in REPLAYED {
        let Some(recording) = recording(name) else { return };
        replay(&mut socket, name, recording).await;
    }
    tools.close().await;
}

async fn replay(socket: &mut Socket, name: &str, recording: Vec<Value>) {
    let mut traces = HashMap::new();
    for mut line in recording {
        let frame = line["frame"].take();
        if line["dir"] == "manager->runtime" {
            socket.send(with_our_traces(frame, &traces)).await;
            continue;
        }
        let ours = socket.recv().await;
        if let Some(theirs) = frame["params"]["state"]["traceId"].as_str() {
            let ours = ours["params"]["state"]["traceId"].as_str().unwrap();
            traces.insert(theirs.to_owned(), ours.to_owned());
        }
        let theirs = with_our_traces(frame, &traces);
        compare(name, ours, theirs);
    }
}

/// The frame with the traces of our runs in place of the recorded ones.
fn with_our_traces(frame: Value, traces: &HashMap<String, String>) -> Value {
    let mut text = frame.to_string();
    for (theirs, ours) in traces {
        text = text.replace(theirs, ours);
    }
    serde_json::from_str(&text).unwrap()
}

#[track_caller]
fn compare(name: &str, mut ours: Value, mut theirs: Value) {
    if theirs.get("error").is_some() {
        let data = ours["error"]["data"].take();
        assert!(data["code"].is_u64(), "{name}: {ours}");
        assert_eq!(data["message"], ours["error"]["message"], "{name}");
        assert!(data["details"]["stack"].is_string(), "{name}");
        // Theirs are not always complete; what there is must be the same.
        let their_data = theirs["error"]["data"].take();
        if let Some(code) = their_data.get("code") {
            assert_eq!(&data["code"], code, "{name}");
            let trace_of = |data: &Value| data["details"].get("traceId").cloned();
            assert_eq!(trace_of(&data), trace_of(&their_data), "{name}");
        }
        // Schemas are written differently.
        for frame in [&mut ours, &mut theirs] {
            let message = frame["error"]["message"].as_str().unwrap();
            let head = message.split("\n\nProvided data").next().unwrap().to_owned();
            frame["error"] = json!({"code": frame["error"]["code"], "message": head});
        }
        if OTHER_WORDS.contains(&name) {
            theirs["error"]["message"] = ours["error"]["message"].clone();
        }
    }
    for frame in [&mut ours, &mut theirs] {
        if let Some(Value::Object(result)) = frame.pointer_mut("/result/result") {
            result.remove("latencyMs");
        }
    }
    assert_eq!(ours, theirs, "{name}");
}
