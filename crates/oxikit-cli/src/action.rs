//! `oxikit action`: lists, shows and runs actions of any type.

use std::io;

use oxikit_core::check_exact;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use super::args::{ActionArgs, ActionCommand, CallArgs, Target};
use super::client::{Client, encoded};
use super::failure::{Exit, Failure};
use super::output::Output;
use super::run::{Call, Outcome, context_argument, not_json};
use super::schema_text;
use super::value_text::{Detail, labelled, labelled_text};
use crate::terminal::{Text, json_line, json_lines};
use oxikit_local::untrusted_file::read_stdin;

pub(super) async fn run(
    args: ActionArgs,
    client: &Client,
    output: &mut Output,
) -> Result<(), Failure> {
    match args.command {
        ActionCommand::List { kind, target } => {
            let list = list(client, &target, kind.as_deref()).await?;
            show_list(&list, output)
        }
        ActionCommand::Show { key, target } => {
            let action = client.action(&key, target.runtime.as_deref()).await?;
            show_action(&action, output)
        }
        ActionCommand::Run { key, call } => call_action(key, call, client, output).await,
    }
}

/// The actions of a runtime, as `GET /api/v1/actions` returns them; with `kind` only those of
/// one type.
pub(super) async fn list(
    client: &Client,
    target: &Target,
    kind: Option<&str>,
) -> Result<Value, Failure> {
    let query = target.runtime.as_deref().map(|id| format!("?runtime={}", encoded(id)));
    let path = format!("/api/v1/actions{}", query.unwrap_or_default());
    let mut list = match client.get(&path).await {
        Ok(list) => list,
        Err(failure) => return Err(client.explain(failure, target.runtime.as_deref()).await),
    };
    if let (Some(kind), Some(actions)) = (kind, list["actions"].as_object_mut()) {
        let prefix = format!("/{kind}/");
        actions.retain(|key, _| key.starts_with(&prefix));
    }
    Ok(list)
}

fn show_list(list: &Value, output: &mut Output) -> Result<(), Failure> {
    if output.is_json() {
        return output.value(list);
    }
    let actions = list["actions"].as_object().into_iter().flatten();
    let row = |(key, action): (&String, &Value)| {
        let description = action["description"].as_str().unwrap_or_default();
        vec![key.clone(), description.lines().next().unwrap_or_default().to_owned()]
    };
    output.table(&actions.map(row).collect::<Vec<_>>(), &[0])?;
    for skipped in list["skipped"].as_array().into_iter().flatten() {
        output.remark(format!("not listed: {} ({})", skipped["key"], skipped["reason"]));
    }
    Ok(())
}

/// Shows the description and the schemas of an action.
fn show_action(action: &Value, output: &mut Output) -> Result<(), Failure> {
    if output.is_json() {
        return output.value(action);
    }
    output.line(Text::new().bold(action["key"].as_str().unwrap_or("?")))?;
    if let Some(description) = action["description"].as_str() {
        output.line(Text::from("  ").paragraph(description))?;
    }
    for (label, member) in [
        ("init", "initSchema"),
        ("input", "inputSchema"),
        ("output", "outputSchema"),
        ("chunks", "streamSchema"),
        ("metadata", "metadata"),
    ] {
        let value = &action[member];
        if value.as_object().is_some_and(|members| !members.is_empty()) {
            labelled(2, label, value, Detail::Full).map_or(Ok(()), |text| output.line(text))?;
        } else if matches!(member, "inputSchema" | "outputSchema") {
            output.line(labelled_text(2, label, "not described", Detail::Full))?;
        }
    }
    Ok(())
}

/// Parses the input argument: JSON, or plain text if the action takes text.
async fn read_input(text: String, call: &Call, client: &Client) -> Result<Box<RawValue>, Failure> {
    let error = match serde_json::from_str(&text) {
        Ok(input) => return Ok(input),
        Err(error) => error,
    };
    let action = client.action(&call.key, call.runtime_id.as_deref()).await?;
    let schema = &action["inputSchema"];
    // Text that begins like JSON is most likely JSON with a mistake, so it is not passed as
    // text.
    let is_json = text.trim_start().starts_with(['{', '[', '"']);
    if schema_text::is_text(schema) && !is_json && !text.trim().is_empty() {
        return Ok(to_raw_value(text.trim_end_matches(['\n', '\r'])).map_err(io::Error::other)?);
    }
    let failure = not_json("input", &text, &error);
    Err(match schema.is_object() {
        true => failure.with_advice(format!("`{}` takes {}", call.key, schema_text::brief(schema))),
        false => failure,
    })
}

/// Runs an action and shows its chunks and its result.
pub(super) async fn call_action(
    key: String,
    args: CallArgs,
    client: &Client,
    output: &mut Output,
) -> Result<(), Failure> {
    let input = match args.input.as_deref() {
        Some("-") => Some(read_stdin()?),
        input => input.map(str::to_owned),
    };
    let context = context_argument(args.context.as_deref())?;
    let mut call = Call { context, ..args.target.call(key) };
    if let Some(text) = input {
        call.input = Some(read_input(text, &call, client).await?);
    }
    let outcome = if args.stream {
        client.stream(&call, args.timeout, |chunk| show_chunk(chunk, output)).await?
    } else {
        client.run(&call, args.timeout).await?
    };
    show_outcome(&outcome, args.stream, output)
}

fn show_chunk(chunk: &RawValue, output: &mut Output) -> Result<(), Failure> {
    /// The documented form of a chunk with `--json`.
    #[derive(serde::Serialize)]
    struct Chunk<'a> {
        chunk: &'a RawValue,
    }
    if output.is_json() {
        return output.value(&Chunk { chunk });
    }
    match serde_json::from_str::<String>(chunk.get()) {
        Ok(text) => output.text(Text::new().lines(text)),
        Err(_) => output.line(&*json_line(chunk.get())),
    }
}

fn show_outcome(outcome: &Outcome, is_streamed: bool, output: &mut Output) -> Result<(), Failure> {
    if output.is_json() {
        output.value(outcome)?;
    } else {
        if is_streamed {
            output.line("")?;
        }
        if let Some(result) = &outcome.result {
            show_result(result, output)?;
        }
        if let Some(error) = &outcome.error {
            output.error(&error.text());
            if let Some(hint) = &error.hint {
                output.remark(hint);
            }
        }
        if let Some(trace_id) = &outcome.trace_id {
            output.remark(format!("oxikit trace show {trace_id}"));
        }
    }
    if outcome.ok { Ok(()) } else { Err(Failure::AlreadyShown(Exit::Failed)) }
}

/// Shows a string without quotes, and other values as indented JSON.
fn show_result(result: &RawValue, output: &mut Output) -> Result<(), Failure> {
    match serde_json::from_str::<Value>(result.get()) {
        Ok(Value::String(text)) => output.line(Text::new().lines(text)),
        Ok(value) if check_exact(result.get().as_bytes()).is_ok() => output.pretty(&value),
        // Parsing would change large numbers and duplicate members, so such JSON is shown
        // unchanged.
        _ => output.line(Text::new().lines(json_lines(result.get()))),
    }
}
