//! The requests to evaluate and to validate, as the developer tools' API and the command line
//! send them.

use oxikit_core::Status;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::case::{Case, assign_ids};
use super::datasets::{DatasetInfo, Datasets};
use oxikit_http::api::{object_member as object, some_objects};

/// A request to make an evaluation.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "EvaluationRequest")]
pub struct RunRequest {
    /// Where the cases come from.
    #[serde(deserialize_with = "object")]
    pub data_source: DataSource,
    /// The action to run on each case. Without it the cases have their outputs already.
    #[serde(default)]
    pub action_ref: Option<String>,
    /// The evaluators to call, by key or name. Without it those that the data set names, else
    /// all of the runtime.
    #[serde(default)]
    pub evaluators: Option<Vec<String>>,
    /// Options of the runs.
    #[serde(default, deserialize_with = "object")]
    pub options: RunOptions,
    /// The id of the runtime. The default is the current one.
    #[serde(default)]
    pub runtime_id: Option<String>,
}

/// Where the cases come from: a data set, or the request itself.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct DataSource {
    dataset_id: Option<String>,
    #[serde(deserialize_with = "some_objects")]
    data: Option<Vec<Case>>,
}

/// Options of the runs of an evaluation.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct RunOptions {
    /// The context of the runs: an object, or its JSON in a text.
    pub context: Option<Box<RawValue>>,
    /// The configuration of the model. For a prompt it may name another `model`.
    pub action_config: Option<Box<RawValue>>,
    /// Number of cases that are run at the same time.
    #[serde(deserialize_with = "oxikit_wire::number::optional_integer")]
    pub batch_size: Option<usize>,
    /// Maximum time of a run in seconds. A longer run is cancelled, and its case has an error.
    pub timeout: Option<f64>,
}

/// A request to validate inputs against the schema of an action.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ValidateRequest {
    /// Where the cases come from.
    #[serde(deserialize_with = "object")]
    pub data_source: DataSource,
    /// The action, such as `/flow/greet`.
    pub action_ref: String,
    /// The id of the runtime that has the action. The default is the current one.
    #[serde(default)]
    pub runtime_id: Option<String>,
}

impl DataSource {
    /// The cases, each with an id, and their data set if they have one.
    ///
    /// # Errors
    ///
    /// `INVALID_ARGUMENT` if the request names neither a data set nor cases, or two cases have
    /// the same id; `NOT_FOUND` if the data set does not exist.
    pub(super) async fn read(
        self,
        datasets: &Datasets,
    ) -> Result<(Option<DatasetInfo>, Vec<Case>), Status> {
        match (self.dataset_id, self.data) {
            (Some(id), _) => {
                let (info, samples) = datasets.samples(&id).await?;
                Ok((Some(info), samples.into_iter().map(Case::from).collect()))
            }
            (None, Some(mut cases)) => {
                assign_ids(&mut cases)?;
                Ok((None, cases))
            }
            (None, None) => {
                let message = "`dataSource` needs a `datasetId`, or `data` with the cases";
                Err(Status::invalid_argument(message))
            }
        }
    }

    /// Whether the cases are in the request itself.
    pub(super) fn is_inline(&self) -> bool {
        self.dataset_id.is_none()
    }
}

impl RunOptions {
    /// The context as an object; `None` if it is missing or an empty text. It is taken out of the
    /// options.
    pub(super) fn read_context(&mut self) -> Result<Option<Box<RawValue>>, Status> {
        let Some(context) = self.context.take() else { return Ok(None) };
        let refuse = || Status::invalid_argument("`options.context` has to be a JSON object");
        let context = match serde_json::from_str::<String>(context.get()) {
            Ok(text) if text.trim().is_empty() => return Ok(None),
            Ok(text) => RawValue::from_string(text).map_err(|_| refuse())?,
            Err(_) => context,
        };
        if context.get().trim_start().starts_with('{') { Ok(Some(context)) } else { Err(refuse()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_context_is_an_object_or_its_text() {
        let read = |json: &str| {
            let mut options: RunOptions = serde_json::from_str(json).unwrap();
            let context = options.read_context();
            context.map(|context| context.map(|context| context.get().to_owned())).ok()
        };
        let object = Some(Some(r#"{"a":1}"#.to_owned()));
        assert_eq!(read(r#"{"context":{"a":1}}"#), object);
        assert_eq!(read(r#"{"context":"{\"a\":1}"}"#), object);
        assert_eq!(read("{}"), Some(None));
        assert_eq!(read(r#"{"context":""}"#), Some(None));
        assert_eq!(read(r#"{"context":"[]"}"#), None);
        assert_eq!(read(r#"{"context":7}"#), None);
    }
}
