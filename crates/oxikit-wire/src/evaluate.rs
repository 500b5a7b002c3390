//! Input and output of evaluators: a data set, and scores for each of its cases.
//!
//! A data point goes in with the output of the system under test, and an
//! [`EvalFnResponse`] with one or more scores comes out.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::part::present;

/// A data set to be judged.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EvalRequest {
    /// The cases to judge.
    pub dataset: Vec<EvalDataPoint>,
    /// Id of the evaluation run, which the spans of the evaluator carry.
    pub eval_run_id: String,
    /// The evaluator's own options.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options: Option<Value>,
    /// Number of cases that the evaluator judges concurrently; one after the other if absent.
    #[serde(
        default,
        deserialize_with = "crate::count::lenient",
        skip_serializing_if = "Option::is_none"
    )]
    pub batch_size: Option<u64>,
}

/// One case of a data set.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EvalDataPoint {
    /// The input of the system under test.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub input: Option<Value>,
    /// The output of the system under test.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub output: Option<Value>,
    /// Why the system under test failed; there is no output then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Documents or facts from which the output was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Vec<Value>>,
    /// The expected output.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "Option::is_none")]
    pub reference: Option<Value>,
    /// Id of the case; the response repeats it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test_case_id: Option<String>,
    /// The traces of the runs that made the output.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_ids: Option<Vec<String>>,
}

impl EvalDataPoint {
    /// A case with this input. An evaluator usually needs an output too.
    ///
    /// ```
    /// use oxikit_wire::EvalDataPoint;
    ///
    /// let case = EvalDataPoint::new("2 + 2")
    ///     .with_output("5")
    ///     .with_reference("4")
    ///     .with_id("sum-1");
    /// assert_eq!(case.reference, Some("4".into()));
    /// ```
    pub fn new(input: impl Into<Value>) -> Self {
        Self { input: Some(input.into()), ..Self::default() }
    }

    /// Sets the output of the system under test.
    #[must_use]
    pub fn with_output(mut self, output: impl Into<Value>) -> Self {
        self.output = Some(output.into());
        self
    }

    /// Sets the expected output.
    #[must_use]
    pub fn with_reference(mut self, reference: impl Into<Value>) -> Self {
        self.reference = Some(reference.into());
        self
    }

    /// Sets the documents or facts from which the output was made.
    #[must_use]
    pub fn with_context(mut self, context: Vec<Value>) -> Self {
        self.context = Some(context);
        self
    }

    /// Sets the id of the case.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.test_case_id = Some(id.into());
        self
    }
}

/// The output of an evaluator for one case.
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
    /// Id of the case that was judged.
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
    /// Several scores, distinguished by [`Score::id`].
    Many(Vec<Score>),
    /// One score.
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

/// A score of one case, or the reason why there is none.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Score {
    /// Distinguishes several scores of one case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The score itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<ScoreValue>,
    /// Verdict on the case; absent if the evaluator only scores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<EvalStatus>,
    /// Why there is no score.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Reasoning and other details of the score.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<ScoreDetails>,
}

impl Score {
    /// A score of this value: a number, a text or a boolean.
    pub fn of(score: impl Into<ScoreValue>) -> Self {
        Self { score: Some(score.into()), ..Self::default() }
    }

    /// A boolean score with the status [`Pass`](EvalStatus::Pass) or [`Fail`](EvalStatus::Fail).
    ///
    /// ```
    /// use oxikit_wire::{EvalStatus, Score};
    ///
    /// let score = Score::passed_if(1 + 1 == 2).with_reasoning("arithmetic");
    /// assert_eq!(score.status, Some(EvalStatus::Pass));
    /// ```
    pub fn passed_if(passed: bool) -> Self {
        Self::of(passed).with_status(if passed { EvalStatus::Pass } else { EvalStatus::Fail })
    }

    /// Sets the id that distinguishes this score from others of the same case.
    #[must_use]
    pub fn with_id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Sets whether the case has passed or failed.
    #[must_use]
    pub fn with_status(mut self, status: EvalStatus) -> Self {
        self.status = Some(status);
        self
    }

    /// Sets the explanation of the score.
    #[must_use]
    pub fn with_reasoning(mut self, reasoning: impl Into<String>) -> Self {
        self.details.get_or_insert_default().reasoning = Some(reasoning.into());
        self
    }
}

/// The value of a score: a number, a text or a boolean.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ScoreValue {
    /// A boolean.
    Bool(bool),
    /// A number.
    Number(serde_json::Number),
    /// A text, such as a label or a grade.
    Text(String),
}

impl From<f64> for ScoreValue {
    fn from(score: f64) -> Self {
        // JSON has no form for NaN and the infinities.
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

/// Reasoning and other details of a score.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScoreDetails {
    /// Explanation of the score, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<String>,
    /// Further members that the evaluator adds.
    #[serde(flatten)]
    pub other: crate::JsonObject,
}

/// The verdict of an evaluator on one case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum EvalStatus {
    /// The evaluator could not decide.
    Unknown,
    /// The output is good enough.
    Pass,
    /// The output is not good enough.
    Fail,
}
