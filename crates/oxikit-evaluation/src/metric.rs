//! The verdict of one evaluator on one case, and the evaluator's description of itself. Both are
//! stored with an evaluation, in the form that the official tools have.

use oxikit_wire::{EvalStatus, ScoreValue};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The description of an evaluator.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MetricInfo {
    /// The name that people read.
    pub display_name: String,
    /// A description of the measured property.
    pub definition: String,
}

/// One score that an evaluator has given to a case, or why it has given none.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Metric {
    /// The key of the evaluator, such as `/evaluator/politeness`.
    pub evaluator: String,
    /// The id of the score, if the evaluator gives several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score_id: Option<String>,
    /// The score.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<ScoreValue>,
    /// Whether the case has passed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<EvalStatus>,
    /// The evaluator's reasons.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rationale: Option<String>,
    /// Why there is no score.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The trace of the evaluator's run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
    /// The span of this case in that trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub span_id: Option<String>,
}
