//! What evaluators are asked and what they answer.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::part::present;

/// A data set to be judged.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EvalRequest {
    /// The cases.
    pub dataset: Vec<EvalDataPoint>,
    /// Names the run, for traces.
    pub eval_run_id: String,
    /// The evaluator's own options.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options: Option<Value>,
    /// How many cases to judge at once.
    #[serde(
        default,
        deserialize_with = "crate::count::lenient",
        skip_serializing_if = "Option::is_none"
    )]
    pub batch_size: Option<u64>,
}

/// One case.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EvalDataPoint {
    /// What was asked.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    /// What was answered.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// Why there was no answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What the answer was made from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Vec<Value>>,
    /// What should have been answered.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub reference: Option<Value>,
    /// Names the case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test_case_id: Option<String>,
    /// The traces of the runs that made the output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_ids: Option<Vec<String>>,
}

impl EvalDataPoint {
    /// A case that asks this.
    pub fn new(input: impl Into<Value>) -> Self {
        Self { input: Some(input.into()), ..Self::default() }
    }

    /// What was answered.
    #[must_use]
    pub fn with_output(mut self, output: impl Into<Value>) -> Self {
        self.output = Some(output.into());
        self
    }

    /// What should have been answered.
    #[must_use]
    pub fn with_reference(mut self, reference: impl Into<Value>) -> Self {
        self.reference = Some(reference.into());
        self
    }

    /// What the answer was made from.
    #[must_use]
    pub fn with_context(mut self, context: Vec<Value>) -> Self {
        self.context = Some(context);
        self
    }

    /// Names the case.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.test_case_id = Some(id.into());
        self
    }
}

/// The judgement of one case.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EvalFnResponse {
    /// Position of the case in the data set.
    #[serde(
        default,
        deserialize_with = "crate::count::lenient",
        skip_serializing_if = "Option::is_none"
    )]
    pub sample_index: Option<u64>,
    /// Names the case.
    pub test_case_id: String,
    /// The trace of the judging.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
    /// The span of the judging.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span_id: Option<String>,
    /// One score or several.
    pub evaluation: Scores,
}

/// One score or several.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Scores {
    /// Several, told apart by [`Score::id`].
    Many(Vec<Score>),
    /// One.
    One(Score),
}

impl From<Score> for Scores {
    fn from(score: Score) -> Self {
        Self::One(score)
    }
}

impl From<Vec<Score>> for Scores {
    fn from(scores: Vec<Score>) -> Self {
        Self::Many(scores)
    }
}

/// A score.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Score {
    /// Tells apart several scores of one case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The score itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<ScoreValue>,
    /// Passed or failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<EvalStatus>,
    /// Why there is no score.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// How the score came about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<ScoreDetails>,
}

impl Score {
    /// A score of this value: a number, a word, or a yes or no.
    pub fn of(score: impl Into<ScoreValue>) -> Self {
        Self { score: Some(score.into()), ..Self::default() }
    }

    /// A yes or no that is also the verdict.
    pub fn passed_if(passed: bool) -> Self {
        Self::of(passed).with_status(if passed { EvalStatus::Pass } else { EvalStatus::Fail })
    }

    /// Tells it apart from the other scores of the case.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Passed or failed.
    #[must_use]
    pub fn with_status(mut self, status: EvalStatus) -> Self {
        self.status = Some(status);
        self
    }

    /// The reasons in words.
    #[must_use]
    pub fn with_reasoning(mut self, reasoning: impl Into<String>) -> Self {
        self.details.get_or_insert_default().reasoning = Some(reasoning.into());
        self
    }
}

/// A score is a number, a word or a yes or no.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ScoreValue {
    /// Yes or no.
    Bool(bool),
    /// A number.
    Number(serde_json::Number),
    /// A word.
    Text(String),
}

impl From<f64> for ScoreValue {
    fn from(score: f64) -> Self {
        // JSON has no word for a number that is none.
        serde_json::Number::from_f64(score)
            .map_or_else(|| Self::Text(score.to_string()), Self::Number)
    }
}

impl From<bool> for ScoreValue {
    fn from(score: bool) -> Self {
        Self::Bool(score)
    }
}

impl From<i32> for ScoreValue {
    fn from(score: i32) -> Self {
        Self::Number(score.into())
    }
}

impl From<usize> for ScoreValue {
    fn from(score: usize) -> Self {
        Self::Number(score.into())
    }
}

impl From<&str> for ScoreValue {
    fn from(score: &str) -> Self {
        Self::Text(score.to_owned())
    }
}

impl From<String> for ScoreValue {
    fn from(score: String) -> Self {
        Self::Text(score)
    }
}

/// How a score came about.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScoreDetails {
    /// The reasons in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    /// Anything else the evaluator has to say.
    #[serde(flatten)]
    pub other: crate::JsonObject,
}

/// Passed or failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum EvalStatus {
    /// Cannot be told.
    Unknown,
    /// Good enough.
    Pass,
    /// Not good enough.
    Fail,
}
