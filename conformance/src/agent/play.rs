//! One test: its steps in order, up to the first that is not as expected.

use std::collections::HashMap;
use std::time::Duration;

use oxikit::Status;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::agents::Script;
use super::door::Door;
use super::spec::{
    Abort, ExpectedError, ExpectedOutput, ExpectedSnapshot, GetSnapshot, Send, Step, Wait,
};

const POLL: Duration = Duration::from_millis(5);

type Verdict = Result<(), String>;

pub(super) struct Player {
    pub(super) door: Door,
    pub(super) script: Script,
    /// What earlier steps have captured.
    pub(super) known: HashMap<String, Value>,
}

impl Player {
    pub(super) async fn play(&mut self, steps: Vec<Value>) -> Verdict {
        for (number, mut step) in steps.into_iter().enumerate() {
            let place = |why| format!("step {}: {why}", number + 1);
            self.fill_in(&mut step).map_err(place)?;
            let step: Step =
                serde_json::from_value(step).map_err(|error| place(error.to_string()))?;
            match step {
                Step::Send(step) => self.send(*step).await,
                Step::GetSnapshotData(step) => self.get_snapshot(step).await,
                Step::Abort(step) => self.abort(step).await,
                Step::WaitUntilCompleted(step) => self.wait(step).await,
            }
            .map_err(place)?;
        }
        Ok(())
    }

    /// Puts what was captured where `{{name}}` stands.
    fn fill_in(&self, value: &mut Value) -> Verdict {
        match value {
            Value::Object(members) => members.values_mut().try_for_each(|it| self.fill_in(it)),
            Value::Array(items) => items.iter_mut().try_for_each(|it| self.fill_in(it)),
            Value::String(text) => {
                let name = text.strip_prefix("{{").and_then(|text| text.strip_suffix("}}"));
                let Some(name) = name else { return Ok(()) };
                let known = self.known.get(name);
                *value = known.cloned().ok_or_else(|| format!("`{name}` was not captured"))?;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    async fn send(&mut self, step: Send) -> Verdict {
        self.script.set(&step.stream_chunks, &step.model_responses).map_err(said)?;
        let init = step.init.unwrap_or_else(|| json!({}));
        let answer = self.door.send(init, step.inputs).await;
        if let Some(expected) = &step.expect_error {
            return match answer.output {
                Ok(output) => Err(format!("it should have failed, but answered {output}")),
                Err(status) => expected.check(status.code().name(), status.message()),
            };
        }
        let output = answer.output.map_err(said)?;
        if let Some(expected) = &step.expect_chunks {
            check_chunks(expected, &answer.chunks)?;
        }
        if let Some(expected) = &step.expect_output {
            expected.check(&output).map_err(|why| format!("{why}\nin the output {output}"))?;
        }
        let captured = [
            (step.capture_snapshot_id, "/snapshotId"),
            (step.capture_state, "/state"),
            (step.capture_session_id, "/state/sessionId"),
        ];
        for (name, place) in captured {
            let Some(name) = name else { continue };
            let value = output.pointer(place).ok_or_else(|| format!("no `{place}` in {output}"))?;
            self.known.insert(name, value.clone());
        }
        Ok(())
    }

    async fn get_snapshot(&self, step: GetSnapshot) -> Verdict {
        let request = match (step.snapshot_id, step.session_id) {
            (Some(id), _) => json!({ "snapshotId": id }),
            (None, id) => json!({ "sessionId": id }),
        };
        match (self.door.snapshot(request).await, step.expect_error) {
            (Ok(snapshot), None) => check_snapshot(step.expect_snapshot, &snapshot),
            (Ok(snapshot), Some(_)) => Err(format!("it should have failed, but gave {snapshot}")),
            (Err(status), None) => Err(said(status)),
            (Err(status), Some(part)) => has_part(status.message(), &part),
        }
    }

    async fn abort(&self, step: Abort) -> Verdict {
        let answer = self.door.abort(&step.snapshot_id).await.map_err(said)?;
        let status = answer.get("status").cloned();
        if status == step.expect_previous_status.clone().map(Value::from) {
            return Ok(());
        }
        Err(format!("the status before should be {:?}: {answer}", step.expect_previous_status))
    }

    async fn wait(&self, step: Wait) -> Verdict {
        let deadline = Instant::now() + Duration::from_millis(step.timeout_ms);
        loop {
            let request = json!({ "snapshotId": step.snapshot_id });
            let snapshot = self.door.snapshot(request).await.map_err(said)?;
            let status = snapshot["status"].as_str().unwrap_or_default();
            if matches!(status, "completed" | "failed" | "aborted") {
                return check_snapshot(step.expect_snapshot, &snapshot);
            }
            if Instant::now() > deadline {
                return Err(format!("it has not ended: {snapshot}"));
            }
            sleep(POLL).await;
        }
    }
}

fn check_chunks(expected: &[Value], actual: &[Value]) -> Verdict {
    let is_same = |expected: &Value, actual: &Value| match expected.get("turnEnd") {
        Some(end) => actual.get("turnEnd").is_some_and(|actual| {
            let reason = &end["finishReason"];
            reason.is_null() || *reason == actual["finishReason"]
        }),
        None => contains(expected, actual),
    };
    let are_same = expected.len() == actual.len()
        && expected.iter().zip(actual).all(|(expected, actual)| is_same(expected, actual));
    if are_same {
        return Ok(());
    }
    Err(format!("chunks\n- expected: {}\n+ actual:   {}", json!(expected), json!(actual)))
}

fn check_snapshot(expected: Option<ExpectedSnapshot>, snapshot: &Value) -> Verdict {
    let checked = expected.map_or(Ok(()), |expected| expected.check(snapshot));
    checked.map_err(|why| format!("{why}\nin the snapshot {snapshot}"))
}

impl ExpectedOutput {
    fn check(&self, output: &Value) -> Verdict {
        holds("message", self.message.as_ref(), output)?;
        is("finishReason", self.finish_reason.as_ref(), output)?;
        if self.has_snapshot_id && !output["snapshotId"].is_string() {
            return Err("there should be a snapshotId".to_owned());
        }
        if self.has_session_id && !output["state"]["sessionId"].is_string() {
            return Err("there should be a session id in the state".to_owned());
        }
        holds("state", self.state_contains.as_ref(), output)?;
        for expected in &self.artifacts_contain {
            let artifacts = output["artifacts"].as_array().into_iter().flatten();
            let named = artifacts.filter(|artifact| artifact["name"] == expected["name"]);
            let named: Vec<_> = named.collect();
            if named.len() != 1 || !contains(expected, named[0]) {
                return Err(format!("there should be one artifact {expected}"));
            }
        }
        self.error_contains.as_ref().map_or(Ok(()), |error| error.check_value(&output["error"]))
    }
}

impl ExpectedSnapshot {
    fn check(&self, snapshot: &Value) -> Verdict {
        is("parentId", self.parent_id.as_ref(), snapshot)?;
        is("status", self.status.as_ref(), snapshot)?;
        is("finishReason", self.finish_reason.as_ref(), snapshot)?;
        let session = &snapshot["sessionId"];
        if self.has_session_id
            && !(session.is_string() && *session == snapshot["state"]["sessionId"])
        {
            return Err("there should be a session id, also in the state".to_owned());
        }
        holds("state", self.state_contains.as_ref(), snapshot)?;
        self.error_contains.as_ref().map_or(Ok(()), |error| error.check_value(&snapshot["error"]))
    }
}

impl ExpectedError {
    fn check_value(&self, error: &Value) -> Verdict {
        let text = |member: &str| error[member].as_str().unwrap_or_default().to_owned();
        self.check(&text("status"), &text("message"))
    }

    fn check(&self, status: &str, message: &str) -> Verdict {
        if let Some(expected) = self.status.as_ref().filter(|expected| *expected != status) {
            return Err(format!("the error should be {expected}: {status} {message}"));
        }
        has_part(message, &self.message)
    }
}

fn has_part(message: &str, part: &str) -> Verdict {
    if message.contains(part) {
        return Ok(());
    }
    Err(format!("the message should contain {part:?}: {message:?}"))
}

/// The member must be the same, if one is expected.
fn is(member: &str, expected: Option<&Value>, whole: &Value) -> Verdict {
    match expected {
        Some(expected) if whole[member] != *expected => {
            Err(format!("`{member}` should be {expected}"))
        }
        _ => Ok(()),
    }
}

/// The member must contain what is expected.
fn holds(member: &str, expected: Option<&Value>, whole: &Value) -> Verdict {
    match expected {
        Some(expected) if !contains(expected, &whole[member]) => {
            Err(format!("`{member}` should contain {expected}"))
        }
        _ => Ok(()),
    }
}

/// Objects member by member, arrays as a part in the same order; expecting `null`
/// is expecting nothing.
fn contains(expected: &Value, actual: &Value) -> bool {
    match (expected, actual) {
        (Value::Null, _) => true,
        (Value::Object(expected), Value::Object(actual)) => expected
            .iter()
            .all(|(key, value)| contains(value, actual.get(key).unwrap_or(&Value::Null))),
        (Value::Array(expected), Value::Array(actual)) => {
            let mut rest = actual.iter();
            expected.iter().all(|expected| rest.any(|actual| contains(expected, actual)))
        }
        _ => expected == actual,
    }
}

fn said(status: Status) -> String {
    format!("{}: {}", status.code().name(), status.message())
}
