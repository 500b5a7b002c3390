//! Stores the results of evaluations.
//!
//! An evaluation is two documents: its key, which lists read, and the whole of it, which may be
//! large. Evaluations are people's work, so none is removed unless a user deletes it.

use std::collections::BTreeMap;
use std::sync::Arc;

use oxikit_core::ports::ProjectStore;
use oxikit_core::{Status, redact};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::case::Case;
use super::metric::MetricInfo;
use super::summary::MetricSummary;
use super::{Listed, reread, stored};

/// The kinds of documents of an evaluation: its key, which lists show, and the whole of it.
const KEY: &str = "evalRun";
const WHOLE: &str = "evalRun.whole";
/// Maximum number of evaluations of a project. More are refused until some are deleted.
const MAX_RUNS: usize = 10_000;

/// The key of an evaluation: what lists show of it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EvalRunKey {
    /// The action that was run; `None` if the cases had their outputs already.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action_ref: Option<String>,
    /// The data set of the cases; `None` if they were in the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dataset_id: Option<String>,
    /// The version of the data set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dataset_version: Option<u32>,
    /// The id of the evaluation.
    pub eval_run_id: String,
    /// When the evaluation began (RFC 3339).
    pub created_at: String,
    /// The configuration of the runs, without secrets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub action_config: Option<Box<RawValue>>,
    /// Summaries of the metrics, by evaluator and score.
    pub metric_summaries: Vec<MetricSummary>,
    /// The descriptions of the evaluators, by their names.
    pub metrics_metadata: BTreeMap<String, MetricInfo>,
}

/// An evaluation with its results.
#[derive(Debug, Serialize, JsonSchema)]
pub struct EvalRun {
    /// The part that lists show.
    pub key: EvalRunKey,
    /// The cases with their outputs and metrics, in the order of the data set.
    pub results: Vec<Case>,
}

/// A filter of evaluations. The default matches all.
#[derive(Debug, Default)]
pub struct RunFilter {
    /// Only evaluations of this action.
    pub action: Option<String>,
    /// Only evaluations of this data set.
    pub dataset: Option<String>,
}

/// The evaluations of a project.
///
/// ```
/// use std::sync::Arc;
///
/// use oxikit_evaluation::{EvalRuns, RunFilter};
/// use oxikit_core::ports::ProjectStore;
/// use oxikit_core::ports::memory::MemoryProject;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let store: Arc<dyn ProjectStore> = Arc::new(MemoryProject::default());
/// let runs = EvalRuns::new(&store);
/// let filter = RunFilter { action: Some("/flow/greet".to_owned()), dataset: None };
/// for key in runs.keys(&filter).await?.items {
///     println!("{key}");
/// }
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct EvalRuns(Arc<dyn ProjectStore>);

impl EvalRuns {
    /// The evaluations in this store.
    pub fn new(store: &Arc<dyn ProjectStore>) -> Self {
        Self(store.clone())
    }

    /// The keys of the evaluations that match the filter, oldest first, as stored JSON: each is
    /// an [`EvalRunKey`].
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    pub async fn keys(&self, filter: &RunFilter) -> Result<Listed<Box<RawValue>>, Status> {
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

    /// Refuses a new evaluation beyond [`MAX_RUNS`]. Old ones are never deleted automatically.
    pub(super) async fn check_room(&self) -> Result<(), Status> {
        if stored(self.0.documents(KEY).await)?.documents.len() < MAX_RUNS {
            return Ok(());
        }
        let message = format!("there are {MAX_RUNS} evaluations: delete some");
        Err(Status::resource_exhausted(message))
    }

    /// An evaluation as stored JSON: an [`EvalRun`]. `None` if there is none with this id.
    ///
    /// # Errors
    ///
    /// If the store cannot be read.
    ///
    /// The text is returned as it was stored, so that a large evaluation is not parsed to be
    /// shown.
    pub async fn get(&self, id: &str) -> Result<Option<String>, Status> {
        Ok(stored(self.0.document(WHOLE, id).await)?.map(|document| document.json))
    }

    /// Deletes an evaluation. Returns whether there was one. The key is deleted first, so that no
    /// list names an evaluation whose results are gone.
    ///
    /// # Errors
    ///
    /// If the store cannot be written.
    pub async fn delete(&self, id: &str) -> Result<bool, Status> {
        let was_there = stored(self.0.delete_document(KEY, id).await)?;
        Ok(stored(self.0.delete_document(WHOLE, id).await)? || was_there)
    }

    /// Stores an evaluation. Values that look like secrets are redacted before they are written.
    ///
    /// # Errors
    ///
    /// If the store cannot be written.
    pub async fn save(&self, run: &EvalRun) -> Result<(), Status> {
        let key = serde_json::to_string(&run.key).map_err(Status::from)?;
        let whole = serde_json::to_string(run).map_err(Status::from)?;
        self.write(&run.key.eval_run_id, &key, &whole).await
    }

    /// Stores an evaluation that was made elsewhere, such as by the official tools.
    pub(super) async fn write(&self, id: &str, key: &str, whole: &str) -> Result<(), Status> {
        // The whole is written before its key: every key in a list has its whole.
        let whole = redact::json_text(whole).into_owned();
        stored(self.0.put_document(WHOLE, id, whole, None).await)?;
        let key = redact::json_text(key).into_owned();
        stored(self.0.put_document(KEY, id, key, None).await)?;
        Ok(())
    }
}
