//! One case: an input, the expected output, and the results of a run on it.
//!
//! A data set stores [`Sample`]s. An evaluation turns each into a [`Case`], which evaluators
//! receive and which is stored with their metrics. Values are JSON texts that are never parsed,
//! so that numbers keep their digits.

use std::collections::HashSet;

use oxikit_core::Status;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::metric::Metric;
use oxikit_http::api::{some_object, some_objects};

/// Maximum number of cases of one data set, or of one evaluation. More are refused.
pub(super) const MAX_CASES: usize = 10_000;
/// Maximum number of bytes of the id of a case. Longer ids are refused.
const MAX_ID_BYTES: usize = 256;

/// A case of a data set.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Sample {
    /// The id of the case. Without one a random id is assigned.
    #[serde(default)]
    pub test_case_id: String,
    /// The input of the action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<Box<RawValue>>,
    /// The expected output, for evaluators that compare with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<Box<RawValue>>,
}

/// A case as evaluators receive it, and with their metrics as it is stored.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Case {
    /// The id of the case in its data set or request.
    pub test_case_id: String,
    /// The input of the action.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input: Option<Box<RawValue>>,
    /// The output of the action.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Box<RawValue>>,
    /// Why the run has no output. Evaluators do not judge such a case.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The texts that retrievers returned during the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context: Option<Vec<Box<RawValue>>>,
    /// The expected output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference: Option<Box<RawValue>>,
    /// Further results of the run, such as the rendered prompt.
    #[serde(deserialize_with = "some_object", skip_serializing_if = "Option::is_none")]
    pub custom: Option<Custom>,
    /// The traces of the runs.
    pub trace_ids: Vec<String>,
    /// The metrics of the evaluators; `None` before they were called.
    #[serde(deserialize_with = "some_objects", skip_serializing_if = "Option::is_none")]
    pub metrics: Option<Vec<Metric>>,
}

/// Further results of the run on a case.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Custom {
    /// The request to the model that the prompt was rendered to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rendered_prompt: Option<Box<RawValue>>,
}

impl From<Sample> for Case {
    fn from(sample: Sample) -> Self {
        let Sample { test_case_id, input, reference } = sample;
        Self { test_case_id, input, reference, ..Self::default() }
    }
}

/// A value with the id of a case.
pub(super) trait HasCaseId {
    /// The id; empty if none is assigned yet.
    fn case_id(&self) -> &str;
    /// Assigns an id.
    fn set_case_id(&mut self, id: String);
}

impl HasCaseId for Sample {
    fn case_id(&self) -> &str {
        &self.test_case_id
    }

    fn set_case_id(&mut self, id: String) {
        self.test_case_id = id;
    }
}

impl HasCaseId for Case {
    fn case_id(&self) -> &str {
        &self.test_case_id
    }

    fn set_case_id(&mut self, id: String) {
        self.test_case_id = id;
    }
}

/// Assigns a random id to every case without one. Two cases with the same id are refused,
/// because evaluators return their metrics by id.
///
/// # Errors
///
/// `RESOURCE_EXHAUSTED` for more than [`MAX_CASES`], `INVALID_ARGUMENT` for an id that is too
/// long or occurs twice.
pub(super) fn assign_ids(cases: &mut [impl HasCaseId]) -> Result<(), Status> {
    if cases.len() > MAX_CASES {
        let message = format!("{} cases are too many: at most {MAX_CASES}", cases.len());
        return Err(Status::resource_exhausted(message));
    }
    for case in &mut *cases {
        if case.case_id().is_empty() {
            case.set_case_id(uuid::Uuid::new_v4().to_string());
        }
        if case.case_id().len() > MAX_ID_BYTES {
            let message = format!("a `testCaseId` has at most {MAX_ID_BYTES} bytes");
            return Err(Status::invalid_argument(message));
        }
    }
    // After the assignment: only ids that the caller has chosen can be the same.
    let mut seen = HashSet::with_capacity(cases.len());
    match cases.iter().find(|case| !seen.insert(case.case_id())) {
        None => Ok(()),
        Some(twice) => Err(Status::invalid_argument(format!(
            "two cases have the `testCaseId` `{}`: give each its own, or none",
            twice.case_id()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(id: &str) -> Sample {
        Sample { test_case_id: id.to_owned(), input: None, reference: None }
    }

    #[test]
    fn missing_ids_are_assigned_and_duplicates_are_refused() {
        let mut samples = vec![sample(""), sample("a"), sample("")];
        assign_ids(&mut samples).unwrap();
        assert_eq!(samples[1].test_case_id, "a");
        assert_eq!(samples[0].test_case_id.len(), 36);
        assert_ne!(samples[0].test_case_id, samples[2].test_case_id);
        let twice = assign_ids(&mut [sample("a"), sample("a")]).unwrap_err();
        assert!(twice.message().contains("`a`"), "{twice}");
        assert!(assign_ids(&mut [sample(&"x".repeat(257))]).is_err());
        assert!(assign_ids(&mut vec![sample(""); MAX_CASES + 1]).is_err());
    }
}
