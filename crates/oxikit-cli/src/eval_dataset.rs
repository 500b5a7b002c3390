//! `oxikit dataset`: manages datasets, the inputs of evaluations.

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::args::{DatasetArgs, DatasetCommand};
use super::client::{Client, encoded, read};
use super::eval::done;
use super::eval_data::read_cases;
use super::failure::Failure;
use super::output::Output;
use super::run::key_of;

const PATH: &str = "/api/v1/datasets";

pub(super) async fn run(
    args: DatasetArgs,
    client: &Client,
    output: &mut Output,
) -> Result<(), Failure> {
    match args.command {
        DatasetCommand::List => show_list(&client.get(PATH).await?, output),
        DatasetCommand::Show { id } => {
            let dataset = client.get(&format!("{PATH}/{}", encoded(&id))).await?;
            if output.is_json() {
                return output.value(&dataset);
            }
            dataset["samples"].as_array().into_iter().flatten().try_for_each(|sample| {
                let name = sample["testCaseId"].as_str().unwrap_or("?");
                match sample.get("reference") {
                    Some(expected) => {
                        output.line(format!("{name} {} → {expected}", sample["input"]))
                    }
                    None => output.line(format!("{name} {}", sample["input"])),
                }
            })
        }
        DatasetCommand::Create { id, file, target, evaluators } => {
            let kind = target.as_deref().map_or("UNKNOWN", kind_of);
            let refs: Vec<String> =
                evaluators.iter().map(|name| key_of("evaluator", name)).collect();
            let new = NewDataset {
                dataset_id: &id,
                data: read_cases(&file)?,
                dataset_type: kind,
                target_action: target.as_deref(),
                metric_refs: refs,
            };
            let info: Value = read(client.start(PATH, &new).await?).await?;
            done(format!("{id}: {} samples", info["size"]), info, output)
        }
        DatasetCommand::Add { id, file } => {
            let change = Added { data: read_cases(&file)? };
            let info = client.patch(&format!("{PATH}/{}", encoded(&id)), &change).await?;
            done(format!("{id}: {} samples", info["size"]), info, output)
        }
        DatasetCommand::Delete { id } => {
            client.delete(&format!("{PATH}/{}", encoded(&id))).await?;
            done(format!("deleted the dataset {id}"), json!({"ok": true}), output)
        }
    }
}

/// The body of the request that creates a dataset.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct NewDataset<'a> {
    dataset_id: &'a str,
    data: Vec<Box<RawValue>>,
    dataset_type: &'a str,
    target_action: Option<&'a str>,
    metric_refs: Vec<String>,
}

/// The body of the request that adds samples.
#[derive(Debug, Serialize)]
struct Added {
    data: Vec<Box<RawValue>>,
}

/// The type of the dataset for the key of its action.
fn kind_of(key: &str) -> &'static str {
    match key.trim_start_matches('/').split('/').next() {
        Some("flow") => "FLOW",
        Some("model") => "MODEL",
        Some("executable-prompt") => "EXECUTABLE_PROMPT",
        _ => "UNKNOWN",
    }
}

fn show_list(list: &Value, output: &mut Output) -> Result<(), Failure> {
    if output.is_json() {
        return output.value(list);
    }
    let datasets = list["datasets"].as_array().map(Vec::as_slice).unwrap_or_default();
    if datasets.is_empty() {
        output.remark("no datasets: `oxikit dataset create <id> <file>` creates one");
        return Ok(());
    }
    let row = |info: &Value| {
        let text = |member: &str| info[member].as_str().unwrap_or("-").to_owned();
        let (size, version) = (info["size"].to_string(), info["version"].to_string());
        vec![text("datasetId"), size, version, text("targetAction"), text("updateTime")]
    };
    let heading = ["DATASET", "SAMPLES", "VERSION", "TARGET", "CHANGED"];
    let mut rows = vec![heading.map(str::to_owned).to_vec()];
    rows.extend(datasets.iter().map(row));
    output.table(&rows, &[0])
}
