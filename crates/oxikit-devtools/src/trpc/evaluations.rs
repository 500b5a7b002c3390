//! The procedures about data sets, evaluations and prompt files. They use the same stores as
//! `/api/v1`, in the forms of the official tools.

use oxikit_wire::{JsonObject, Message};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::failure::{Failure, Kind};
use super::input::Members;
use super::{Outcome, Verb, data};
use crate::shared::Shared;
use oxikit_evaluation::{
    self, DatasetChange, Datasets, EvalRuns, Evaluations, NewDataset, RunFilter, RunRequest,
    ValidateRequest, is_dataset_id,
};

/// The names of the procedures of this module, and how they are called.
pub(super) const PROCEDURES: [(&str, Verb); 11] = [
    ("listDatasets", Verb::Query),
    ("getDataset", Verb::Query),
    ("listEvalRunKeys", Verb::Query),
    ("getEvalRun", Verb::Query),
    ("createDataset", Verb::Mutation),
    ("updateDataset", Verb::Mutation),
    ("deleteDataset", Verb::Mutation),
    ("deleteEvalRun", Verb::Mutation),
    ("runNewEvaluation", Verb::Mutation),
    ("validateDatasetSchema", Verb::Mutation),
    ("createPrompt", Verb::Mutation),
];

/// Executes a procedure of [`PROCEDURES`].
pub(super) async fn answer(shared: &Shared, name: &str, input: Option<&str>) -> Outcome {
    let datasets = Datasets::new(&shared.project);
    let eval_runs = EvalRuns::new(&shared.project);
    match name {
        "listDatasets" => data(&datasets.list().await?.items),
        "getDataset" => data(&datasets.get(&dataset_id(input)?).await?.1),
        "createDataset" => data(&datasets.create(read::<NewDataset>(input)?).await?),
        "updateDataset" => {
            let named: Named = read(input)?;
            data(&datasets.update(&named.dataset_id, read::<DatasetChange>(input)?).await?)
        }
        "deleteDataset" => {
            datasets.delete(&dataset_id(input)?).await?;
            Ok(None)
        }
        "listEvalRunKeys" => {
            let wanted: ListKeys = read(input)?;
            let filter = RunFilter { action: wanted.filter.action_ref, dataset: None };
            data(&Keys { eval_run_keys: eval_runs.keys(&filter).await?.items })
        }
        "getEvalRun" => {
            let name = Members::required(input)?.text("name")?;
            let missing = || Failure::new(Kind::NotFound, format!("there is no `{name}`"));
            eval_runs.get(eval_run_id(&name)).await?.ok_or_else(missing).map(Some)
        }
        "deleteEvalRun" => {
            // Deleting a missing evaluation is not an error.
            let name = Members::required(input)?.text("name")?;
            eval_runs.delete(eval_run_id(&name)).await?;
            Ok(None)
        }
        "runNewEvaluation" => {
            let request: RunRequest = read(input)?;
            if request.action_ref.is_none() {
                return Err(Failure::issue("string", "undefined", &["actionRef"]));
            }
            let evaluations = Evaluations::new(&shared.traces, &shared.project, &shared.runtimes);
            data(&evaluations.run(request, None).await?)
        }
        "validateDatasetSchema" => {
            let request: ValidateRequest = read(input)?;
            data(&oxikit_evaluation::validate(&shared.project, &shared.runtimes, request).await?)
        }
        _ => data(&prompt_file(read(input)?)),
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Named {
    dataset_id: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ListKeys {
    filter: KeyFilter,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct KeyFilter {
    action_ref: Option<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Keys<T> {
    eval_run_keys: T,
}

/// Parses an input that must be an object.
fn read<T: DeserializeOwned>(input: Option<&str>) -> Result<T, Failure> {
    let Some(text) = input.filter(|input| input.trim_start().starts_with('{')) else {
        // This returns the error for a missing input or one of another type.
        Members::required(input)?;
        return Err(Failure::issue("object", "undefined", &[]));
    };
    let read = serde_json::from_str(text).map_err(|error| {
        Failure::new(Kind::BadRequest, format!("the input cannot be read: {error}"))
    })?;
    Failure::check_exact(text)?;
    Ok(read)
}

/// An input that is the id of a data set.
fn dataset_id(input: Option<&str>) -> Result<String, Failure> {
    let value = input.map(serde_json::from_str::<Value>).transpose();
    match value.map_err(|error| Failure::unreadable(&error))? {
        Some(Value::String(id)) if is_dataset_id(&id) => Ok(id),
        Some(Value::String(_)) => {
            let issues = json!([{
                "validation": "regex",
                "code": "invalid_string",
                "message": "this cannot be the id of a data set",
                "path": [],
            }]);
            let message = serde_json::to_string_pretty(&issues).unwrap_or_default();
            Err(Failure::new(Kind::BadRequest, message))
        }
        Some(_) => Err(Failure::issue("string", "object", &[])),
        None => Err(Failure::issue("string", "undefined", &[])),
    }
}

/// The id in a name such as `evalRuns/1234`.
fn eval_run_id(name: &str) -> &str {
    name.split('/').nth(1).unwrap_or_default()
}

#[derive(Deserialize)]
struct PromptInput {
    model: String,
    messages: Vec<Message>,
    #[serde(default)]
    config: JsonObject,
    #[serde(default)]
    tools: Vec<PromptTool>,
    /// Middleware.
    #[serde(default, rename = "use")]
    uses: Vec<Value>,
    #[serde(default)]
    input: PromptShape,
    #[serde(default)]
    output: PromptShape,
}

#[derive(Deserialize)]
struct PromptTool {
    name: String,
}

/// The input or the output of a prompt.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct PromptShape {
    format: Option<String>,
    schema: Option<JsonObject>,
    json_schema: Option<JsonObject>,
    #[serde(rename = "default")]
    defaults: Option<JsonObject>,
}

impl PromptShape {
    /// The form in front matter, whose formats are `json`, `text` and `media`.
    fn into_front_matter(self) -> JsonObject {
        let format = self.format.map(|format| match format.as_str() {
            "text" | "media" => format,
            _ => "json".to_owned(),
        });
        let schema = self.json_schema.or(self.schema).map(Value::from);
        let members = [
            ("format", format.map(Value::from)),
            ("schema", schema),
            ("default", self.defaults.map(Value::from)),
        ];
        members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
    }
}

/// The prompt file for a request. Empty members are left out.
fn prompt_file(prompt: PromptInput) -> String {
    let model = prompt.model.strip_prefix("/model/").unwrap_or(&prompt.model);
    let tools: Vec<String> = prompt.tools.into_iter().map(|tool| tool.name).collect();
    let front_matter = [
        ("model", json!(model)),
        ("config", Value::from(prompt.config)),
        ("tools", json!(tools)),
        ("use", Value::from(prompt.uses)),
        ("input", Value::from(prompt.input.into_front_matter())),
        ("output", Value::from(prompt.output.into_front_matter())),
    ];
    let is_empty = |value: &Value| {
        value.as_array().is_some_and(Vec::is_empty)
            || value.as_object().is_some_and(JsonObject::is_empty)
    };
    let members = front_matter.into_iter().filter(|(_, value)| !is_empty(value));
    let front_matter = members.map(|(name, value)| (name.to_owned(), value)).collect();
    oxikit_dotprompt::write_prompt(&front_matter, &prompt.messages)
}
