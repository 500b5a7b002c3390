//! The shape of `agent.yaml`.

use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
pub(super) struct Spec {
    pub(super) tests: Vec<Test>,
}

#[derive(Deserialize)]
pub(super) struct Test {
    pub(super) name: String,
    pub(super) agent: String,
    /// Read when it is its turn, as what it names is known then.
    pub(super) steps: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "camelCase")]
pub(super) enum Step {
    Send(Box<Send>),
    GetSnapshotData(GetSnapshot),
    Abort(Abort),
    WaitUntilCompleted(Wait),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Send {
    pub(super) init: Option<Value>,
    pub(super) inputs: Vec<Value>,
    #[serde(default)]
    pub(super) model_responses: Vec<Value>,
    #[serde(default)]
    pub(super) stream_chunks: Vec<Vec<Value>>,
    pub(super) expect_chunks: Option<Vec<Value>>,
    pub(super) expect_output: Option<ExpectedOutput>,
    pub(super) expect_error: Option<ExpectedError>,
    pub(super) capture_snapshot_id: Option<String>,
    pub(super) capture_state: Option<String>,
    pub(super) capture_session_id: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ExpectedOutput {
    pub(super) message: Option<Value>,
    pub(super) finish_reason: Option<Value>,
    #[serde(default)]
    pub(super) has_snapshot_id: bool,
    #[serde(default)]
    pub(super) has_session_id: bool,
    pub(super) state_contains: Option<Value>,
    #[serde(default)]
    pub(super) artifacts_contain: Vec<Value>,
    pub(super) error_contains: Option<ExpectedError>,
}

/// A status that must be the same, and a part of the message.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ExpectedError {
    pub(super) status: Option<String>,
    #[serde(default)]
    pub(super) message: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct GetSnapshot {
    pub(super) snapshot_id: Option<String>,
    pub(super) session_id: Option<String>,
    pub(super) expect_snapshot: Option<ExpectedSnapshot>,
    /// A part of the message.
    pub(super) expect_error: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ExpectedSnapshot {
    pub(super) parent_id: Option<Value>,
    pub(super) status: Option<Value>,
    pub(super) finish_reason: Option<Value>,
    #[serde(default)]
    pub(super) has_session_id: bool,
    pub(super) state_contains: Option<Value>,
    pub(super) error_contains: Option<ExpectedError>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Abort {
    pub(super) snapshot_id: String,
    /// Nothing means that there is no such snapshot.
    pub(super) expect_previous_status: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Wait {
    pub(super) snapshot_id: String,
    #[serde(default = "five_seconds")]
    pub(super) timeout_ms: u64,
    pub(super) expect_snapshot: Option<ExpectedSnapshot>,
}

fn five_seconds() -> u64 {
    5000
}
