//! What an evaluation is asked to do.

use oxikit_core::Status;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::case::{Case, name_all};
use super::datasets::{DatasetInfo, Datasets};
use crate::server::objects::{object, some_objects};

/// An evaluation to be made.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(rename = "EvaluationRequest")]
pub(crate) struct RunRequest {
    #[serde(deserialize_with = "object")]
    pub(crate) data_source: DataSource,
    /// What to run on each case. Without it the cases have their outputs already.
    #[serde(default)]
    pub(crate) action_ref: Option<String>,
    /// Whom to ask, by key or name. Without it those that the data set names, else all.
    #[serde(default)]
    pub(crate) evaluators: Option<Vec<String>>,
    #[serde(default, deserialize_with = "object")]
    pub(crate) options: RunOptions,
    /// Where; else on the default runtime.
    #[serde(default)]
    pub(crate) runtime_id: Option<String>,
}

/// Where the cases come from: a data set, or the request itself.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct DataSource {
    dataset_id: Option<String>,
    #[serde(deserialize_with = "some_objects")]
    data: Option<Vec<Case>>,
}

/// How an evaluation is made.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct RunOptions {
    /// The context of the runs: an object, or its JSON as a text.
    pub(crate) context: Option<Box<RawValue>>,
    /// The configuration of a model; of a prompt also its `model`.
    pub(crate) action_config: Option<Box<RawValue>>,
    /// So many cases at once.
    #[serde(deserialize_with = "oxikit_wire::number::optional_integer")]
    pub(crate) batch_size: Option<usize>,
    /// A run that takes longer has failed, in seconds.
    pub(crate) timeout: Option<f64>,
}

/// Data to be held against the schema of an action.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ValidateRequest {
    #[serde(deserialize_with = "object")]
    pub(crate) data_source: DataSource,
    pub(crate) action_ref: String,
    #[serde(default)]
    pub(crate) runtime_id: Option<String>,
}

impl DataSource {
    /// The cases, each with its name, and the data set if they are from one.
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
                name_all(&mut cases)?;
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
    /// The context as an object.
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
