//! One case: what is asked, what should come of it, and what did.

use std::collections::HashSet;

use oxikit_core::Status;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::eval_runs::Metric;
use crate::server::objects::{some_object, some_objects};

/// Cases of one data set, or of one evaluation.
pub(super) const MAX_CASES: usize = 10_000;
/// Bytes of the id of a case.
const MAX_ID_BYTES: usize = 256;

/// A case of a data set.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Sample {
    /// Its name among the others; made up if it has none.
    #[serde(default)]
    pub(crate) test_case_id: String,
    /// What is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) input: Option<Box<RawValue>>,
    /// What should be answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) reference: Option<Box<RawValue>>,
}

/// A case as evaluators get it, and with their metrics as it is kept.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Case {
    pub(crate) test_case_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) input: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) output: Option<Box<RawValue>>,
    /// Why there is no output. Such a case is not judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
    /// What retrievers found while it ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) context: Option<Vec<Box<RawValue>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) reference: Option<Box<RawValue>>,
    /// What else is known, such as the prompt that was rendered.
    #[serde(deserialize_with = "some_object", skip_serializing_if = "Option::is_none")]
    pub(crate) custom: Option<Custom>,
    pub(crate) trace_ids: Vec<String>,
    #[serde(deserialize_with = "some_objects", skip_serializing_if = "Option::is_none")]
    pub(crate) metrics: Option<Vec<Metric>>,
}

/// What is known of a case besides.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Custom {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) rendered_prompt: Option<Box<RawValue>>,
}

impl From<Sample> for Case {
    fn from(sample: Sample) -> Self {
        let Sample { test_case_id, input, reference } = sample;
        Self { test_case_id, input, reference, ..Self::default() }
    }
}

/// What has the name of a case.
pub(super) trait Named {
    fn name(&self) -> &str;
    fn set_name(&mut self, name: String);
}

impl Named for Sample {
    fn name(&self) -> &str {
        &self.test_case_id
    }

    fn set_name(&mut self, name: String) {
        self.test_case_id = name;
    }
}

impl Named for Case {
    fn name(&self) -> &str {
        &self.test_case_id
    }

    fn set_name(&mut self, name: String) {
        self.test_case_id = name;
    }
}

/// Gives a name to every case that has none. Two with one name are refused: nobody
/// could tell whose metrics they are.
pub(super) fn name_all(cases: &mut [impl Named]) -> Result<(), Status> {
    if cases.len() > MAX_CASES {
        let message = format!("{} cases are too many: at most {MAX_CASES}", cases.len());
        return Err(Status::resource_exhausted(message));
    }
    for case in &mut *cases {
        if case.name().is_empty() {
            case.set_name(uuid::Uuid::new_v4().to_string());
        }
        if case.name().len() > MAX_ID_BYTES {
            let message = format!("a `testCaseId` has at most {MAX_ID_BYTES} bytes");
            return Err(Status::invalid_argument(message));
        }
    }
    let mut seen = HashSet::with_capacity(cases.len());
    match cases.iter().find(|case| !seen.insert(case.name())) {
        None => Ok(()),
        Some(twice) => Err(Status::invalid_argument(format!(
            "two cases have the `testCaseId` `{}`: give each its own, or none",
            twice.name()
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
    fn names_are_made_up_and_never_given_twice() {
        let mut samples = vec![sample(""), sample("a"), sample("")];
        name_all(&mut samples).unwrap();
        assert_eq!(samples[1].test_case_id, "a");
        assert_eq!(samples[0].test_case_id.len(), 36);
        assert_ne!(samples[0].test_case_id, samples[2].test_case_id);
        let twice = name_all(&mut [sample("a"), sample("a")]).unwrap_err();
        assert!(twice.message().contains("`a`"), "{twice}");
        assert!(name_all(&mut [sample(&"x".repeat(257))]).is_err());
        assert!(name_all(&mut vec![sample(""); MAX_CASES + 1]).is_err());
    }
}
