//! What came of evaluations, and where it is kept.

use std::collections::BTreeMap;

use oxikit_core::{Status, redact};
use oxikit_sql::ProjectStore;
use oxikit_wire::{EvalStatus, ScoreValue};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::case::Case;
use super::summary::MetricSummary;
use super::{Listed, reread, stored};

/// The kinds of documents: what lists show, and the whole.
const KEY: &str = "evalRun";
const WHOLE: &str = "evalRun.whole";
/// Evaluations of a project.
const MAX_RUNS: usize = 10_000;

/// An evaluation as lists show it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EvalRunKey {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) action_ref: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) dataset_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) dataset_version: Option<u32>,
    pub(crate) eval_run_id: String,
    pub(crate) created_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) action_config: Option<Box<RawValue>>,
    pub(crate) metric_summaries: Vec<MetricSummary>,
    /// By the names of the evaluators.
    pub(crate) metrics_metadata: BTreeMap<String, MetricInfo>,
}

/// What an evaluator says of itself.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct MetricInfo {
    pub(crate) display_name: String,
    pub(crate) definition: String,
}

/// What an evaluator says of a case.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Metric {
    /// Its key, such as `/evaluator/politeness`.
    pub(crate) evaluator: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) score_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) score: Option<ScoreValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<EvalStatus>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rationale: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) trace_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) span_id: Option<String>,
}

/// A whole evaluation.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct EvalRun {
    pub(crate) key: EvalRunKey,
    pub(crate) results: Vec<Case>,
}

/// Which evaluations.
#[derive(Debug, Default)]
pub(crate) struct RunFilter {
    /// Of this action.
    pub(crate) action: Option<String>,
    /// Of this data set.
    pub(crate) dataset: Option<String>,
}

/// The evaluations of a project.
#[derive(Debug, Clone)]
pub(crate) struct EvalRuns(ProjectStore);

impl EvalRuns {
    pub(crate) fn new(store: &ProjectStore) -> Self {
        Self(store.clone())
    }

    /// The keys of those that fit, oldest first, as the JSON they are stored as.
    pub(crate) async fn keys(&self, filter: &RunFilter) -> Result<Listed<Box<RawValue>>, Status> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase", default)]
        #[derive(Default)]
        struct Head {
            action_ref: Option<String>,
            dataset_id: Option<String>,
        }
        let fits =
            |wanted: &Option<String>, found: &Option<String>| wanted.is_none() || wanted == found;
        let list = stored(self.0.documents(KEY).await)?;
        let Listed { items, warning } = Listed::of(list, |document| {
            let head: Head = reread(&document.id, &document.json)?;
            let is_wanted =
                fits(&filter.action, &head.action_ref) && fits(&filter.dataset, &head.dataset_id);
            let key = RawValue::from_string(document.json).map_err(Status::from)?;
            Ok(is_wanted.then_some(key))
        });
        Ok(Listed { items: items.into_iter().flatten().collect(), warning })
    }

    /// Refuses when there are too many. None is ever removed unasked.
    pub(super) async fn check_room(&self) -> Result<(), Status> {
        if stored(self.0.documents(KEY).await)?.documents.len() < MAX_RUNS {
            return Ok(());
        }
        let message = format!("there are {MAX_RUNS} evaluations: delete some");
        Err(Status::resource_exhausted(message))
    }

    /// A whole evaluation, as the JSON it is stored as.
    pub(crate) async fn get(&self, id: &str) -> Result<Option<String>, Status> {
        Ok(stored(self.0.document(WHOLE, id).await)?.map(|document| document.json))
    }

    /// Whether there was one.
    pub(crate) async fn delete(&self, id: &str) -> Result<bool, Status> {
        let was_there = stored(self.0.delete_document(KEY, id).await)?;
        Ok(stored(self.0.delete_document(WHOLE, id).await)? || was_there)
    }

    /// Keeps an evaluation, without its secrets.
    pub(crate) async fn save(&self, run: &EvalRun) -> Result<(), Status> {
        let key = serde_json::to_string(&run.key).map_err(Status::from)?;
        let whole = serde_json::to_string(run).map_err(Status::from)?;
        self.write(&run.key.eval_run_id, &key, &whole).await
    }

    /// Keeps one that others have made.
    pub(super) async fn write(&self, id: &str, key: &str, whole: &str) -> Result<(), Status> {
        // What a list shows is there in whole, too.
        let whole = redact::json_text(whole).into_owned();
        stored(self.0.put_document(WHOLE, id, whole, None).await)?;
        let key = redact::json_text(key).into_owned();
        stored(self.0.put_document(KEY, id, key, None).await)?;
        Ok(())
    }
}
