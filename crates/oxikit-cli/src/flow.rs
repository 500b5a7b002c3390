//! `oxikit flow`: lists flows and runs them, with one input or with many.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::action::{self, call_action};
use super::args::{FlowArgs, FlowCommand, Target};
use super::client::Client;
use super::failure::{Exit, Failure};
use super::output::Output;
use super::run::{Call, Outcome, context_argument, key_of};
use super::schema_text;
use crate::terminal::{self, json_line};
use oxikit_local::untrusted_file::read_named;

pub(super) async fn run(
    args: FlowArgs,
    client: &Client,
    output: &mut Output,
) -> Result<(), Failure> {
    match args.command {
        FlowCommand::List { target } => list(client, &target, output).await,
        FlowCommand::Run { name, call } => {
            call_action(key_of("flow", &name), call, client, output).await
        }
        FlowCommand::Batch { name, file, label, output: to, context, timeout, target } => {
            let inputs = read_inputs(&file)?;
            let context = context_argument(context.as_deref())?;
            let labels = label.map(|label| BTreeMap::from([("batchRun".to_owned(), label)]));
            let mut rows = Vec::with_capacity(inputs.len());
            let count = inputs.len();
            for (index, input) in inputs.into_iter().enumerate() {
                progress(index, count);
                let call = Call {
                    input: Some(input.clone()),
                    context: context.clone(),
                    telemetry_labels: labels.clone(),
                    ..target.call(key_of("flow", &name))
                };
                let outcome = client.run(&call, timeout).await?;
                let row = BatchRow { index, input, outcome };
                show_row(&row, output)?;
                rows.push(row);
            }
            if let Some(to) = to {
                write_rows(&to, &rows)?;
            }
            let failed = rows.iter().filter(|row| !row.outcome.ok).count();
            if !output.is_json() {
                output.remark(format!("{} of {count} runs succeeded", count - failed));
            }
            if failed == 0 { Ok(()) } else { Err(Failure::AlreadyShown(Exit::Failed)) }
        }
    }
}

async fn list(client: &Client, target: &Target, output: &mut Output) -> Result<(), Failure> {
    let list = action::list(client, target, Some("flow")).await?;
    let flows = list["actions"].as_object().into_iter().flatten();
    let name = |key: &str| key.strip_prefix("/flow/").unwrap_or(key).to_owned();
    if output.is_json() {
        let flow = |(key, action): (&String, &Value)| {
            let mut flow = json!({"name": name(key), "key": key});
            for member in ["description", "inputSchema", "outputSchema"] {
                if !action[member].is_null() {
                    flow[member] = action[member].clone();
                }
            }
            flow
        };
        return output.value(&flows.map(flow).collect::<Vec<_>>());
    }
    let row = |(key, action): (&String, &Value)| {
        let schema = |member: &str| schema_text::brief(&action[member]);
        let description = action["description"].as_str().unwrap_or_default();
        let description = description.lines().next().unwrap_or_default().to_owned();
        vec![name(key), schema("inputSchema"), schema("outputSchema"), description]
    };
    let rows: Vec<_> = flows.map(row).collect();
    if rows.is_empty() {
        output.remark("no flows; `oxikit action list` lists the actions of all types");
        return Ok(());
    }
    let heading = ["FLOW", "INPUT", "OUTPUT", "DESCRIPTION"].map(str::to_owned).to_vec();
    output.table(&[vec![heading], rows].concat(), &[0])
}

/// One run of a batch.
#[derive(Debug, Serialize)]
struct BatchRow {
    index: usize,
    input: Box<RawValue>,
    #[serde(flatten)]
    outcome: Outcome,
}

/// Reads a file with a JSON array, or with one JSON value per line.
fn read_inputs(path: &Path) -> Result<Vec<Box<RawValue>>, Failure> {
    let refuse = |error: &dyn std::fmt::Display| {
        let path = path.display();
        Failure::usage(format!(
            "{path}: {error}; expected a JSON array, or one JSON value per line"
        ))
    };
    let text = read_named(path).map_err(|error| refuse(&error))?;
    if let Ok(inputs) = serde_json::from_str(&text) {
        return Ok(inputs);
    }
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines.map(|line| serde_json::from_str(line).map_err(|error| refuse(&error))).collect()
}

fn write_rows(path: &Path, rows: &[BatchRow]) -> Result<(), Failure> {
    let text = serde_json::to_vec_pretty(rows).map_err(io::Error::other)?;
    std::fs::write(path, text).map_err(|error| {
        Failure::internal(format!("{} cannot be written: {error}", path.display()))
    })
}

fn show_row(row: &BatchRow, output: &mut Output) -> Result<(), Failure> {
    if output.is_json() {
        return output.value(row);
    }
    match &row.outcome {
        Outcome { error: Some(error), .. } => {
            output.line(format!("{} {}", row.index, error.text()))
        }
        Outcome { result, .. } => {
            let result = result.as_deref().map(RawValue::get).unwrap_or_default();
            output.line(format!("{} {}", row.index, json_line(result)))
        }
    }
}

/// Shows the progress, unless the results themselves appear on the terminal.
fn progress(index: usize, count: usize) {
    if !terminal::is_out_terminal() {
        terminal::write_progress(&format!("{index} of {count} "));
    }
}
