//! Recorded frames, read and written by our types.

use std::collections::{BTreeMap, BTreeSet};

use oxikit_wire::rpc::{
    CancelActionParams, CancelActionResult, ChunkParams, ConfigureParams, EndInputParams,
    ListActionsResult, ListValuesParams, ListValuesResult, RegisterParams, RpcError, RpcMessage,
    RunActionParams, RunActionResult, RunActionStateParams,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::transcript::{Line, Transcript};
use crate::suite::{Report, expect_same};

/// Parameters that were made wrong on purpose.
const REFUSED: [&str; 4] = [
    r#"{"input":1}"#,
    r#"{"input":1,"stream":false,"streamInput":false}"#,
    r#"{"key":"/flow/greet","input":{"name":"x"},"telemetryLabels":{"n":1},"stream":false,"streamInput":false}"#,
    // Of `cancelAction`; as those of `configure` they can be read.
    r"{}",
];

/// What stands in one recording for the rest of a list.
const OMISSION: &str = r#","...":"see list-actions.jsonl""#;

type Methods = BTreeMap<(bool, String), String>;

pub(super) fn run(transcripts: &[Transcript]) -> Report {
    let mut report = Report::default();
    let (mut frames, mut refused) = (0, BTreeSet::new());
    for transcript in transcripts {
        let methods = transcript.methods();
        let mut result = Ok(());
        for line in &transcript.lines {
            let (is_manager, text) = match line {
                Line::Manager(text) => (true, text.clone()),
                Line::Runtime(frame) => (false, frame.to_string()),
                _ => continue,
            };
            frames += 1;
            result = result.and_then(|()| check(&text, is_manager, &methods, &mut refused));
        }
        report.case(transcript.name.as_str(), result);
    }
    for params in REFUSED.iter().filter(|params| !refused.contains(*params)) {
        report.fail(*params, "it stands among those that are refused, but can be read");
    }
    report.note = format!("{frames} frames");
    report
}

fn check(
    text: &str,
    is_manager: bool,
    methods: &Methods,
    refused: &mut BTreeSet<&'static str>,
) -> Result<(), String> {
    let message: RpcMessage<'_> = match serde_json::from_str(text) {
        Ok(message) => message,
        // What is no frame at all is refused as a whole.
        Err(_) if !text.starts_with('{') => return Ok(()),
        Err(error) => return Err(format!("{error}: {text}")),
    };
    let RpcMessage { id, method, params, result, error, .. } = message;
    if let Some(method) = method {
        let Some(params) = params else { return Ok(()) };
        let known = REFUSED.into_iter().find(|refused| *refused == params.get());
        return match (rewrite_params(&method, params.get()), known) {
            (Ok(written), _) => same(params.get(), &written),
            (Err(_), Some(known)) => {
                refused.insert(known);
                Ok(())
            }
            (Err(error), None) => Err(format!("{error}: {params}")),
        };
    }
    if let Some(error) = error {
        return same(error.get(), &rewrite::<RpcError>(error.get())?);
    }
    let Some(result) = result else { return Ok(()) };
    let id = id.ok_or("an answer has an id")?.get().to_owned();
    // The request of a response was sent by the other side.
    match methods.get(&(!is_manager, id)) {
        Some(method) => {
            let result = result.get().replace(OMISSION, "");
            same(&result, &rewrite_result(method, &result)?)
        }
        None => Ok(()),
    }
}

fn rewrite_params(method: &str, text: &str) -> Result<Value, String> {
    match method {
        "register" => rewrite::<RegisterParams>(text),
        "configure" => rewrite::<ConfigureParams>(text),
        "listValues" => rewrite::<ListValuesParams>(text),
        "runAction" => rewrite::<RunActionParams<'_>>(text),
        "runActionState" => rewrite::<RunActionStateParams<'_>>(text),
        "streamChunk" | "sendInputStreamChunk" => rewrite::<ChunkParams<'_>>(text),
        "endInputStream" => rewrite::<EndInputParams<'_>>(text),
        "cancelAction" => rewrite::<CancelActionParams>(text),
        // These are not parsed any further.
        _ => serde_json::from_str(text).map_err(|error| error.to_string()),
    }
}

fn rewrite_result(method: &str, text: &str) -> Result<Value, String> {
    match method {
        "register" => rewrite::<ConfigureParams>(text),
        "listActions" => rewrite::<ListActionsResult>(text),
        "listValues" => rewrite::<ListValuesResult>(text),
        "runAction" => rewrite::<RunActionResult<'_>>(text),
        "cancelAction" => rewrite::<CancelActionResult>(text),
        other => Err(format!("`{other}` has no answer")),
    }
}

fn rewrite<'a, T: Deserialize<'a> + Serialize>(text: &'a str) -> Result<Value, String> {
    let value: T = serde_json::from_str(text).map_err(|error| error.to_string())?;
    serde_json::to_value(value).map_err(|error| error.to_string())
}

fn same(recorded: &str, written: &Value) -> Result<(), String> {
    let recorded: Value = serde_json::from_str(recorded).map_err(|error| error.to_string())?;
    expect_same("read and written again", &plain(&recorded), &plain(written))
}

/// Without what means the same as nothing: a `null`, and a `false` of the two flags
/// that the official manager always sends.
fn plain(value: &Value) -> Value {
    let Value::Object(members) = value else { return value.clone() };
    let is_nothing = |key: &str, value: &Value| match key {
        "stream" | "streamInput" => *value == json!(false) || value.is_null(),
        "context" | "init" | "telemetryLabels" => value.is_null(),
        _ => false,
    };
    let kept = members.iter().filter(|(key, value)| !is_nothing(key, value));
    kept.map(|(key, value)| (key.clone(), value.clone())).collect()
}
