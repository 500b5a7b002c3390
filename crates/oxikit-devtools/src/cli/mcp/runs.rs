//! Flows and other actions: listed and run.

use std::sync::Arc;
use std::time::Duration;

use oxikit_core::{Status, StatusCode};
use oxikit_mcp::Effect;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::value::to_raw_value;
use serde_json::{Map, Value, json};

use super::desk::Desk;
use super::length::{RESULT_LENGTH, cut};
use super::toolbox::{Answer, Toolbox};
use crate::cli::action;
use crate::cli::args::Target;
use crate::cli::run::{Call, key_of};

pub(super) fn add(toolbox: Toolbox) -> Toolbox {
    toolbox
        .tool(
            Effect::Reads,
            "list_flows",
            "Lists the flows of the application with the schemas of their inputs. Look here before run_flow.",
            list_flows,
        )
        .tool(
            Effect::Acts,
            "run_flow",
            "Runs a flow to its end. Answers {\"result\",\"traceId\"}; get_trace shows what happened inside.",
            run_flow,
        )
        .tool(
            Effect::Reads,
            "list_actions",
            "Lists everything that can be run: flows, tools, models, prompts, agents, evaluators and others, by key.",
            list_actions,
        )
        .tool(
            Effect::Acts,
            "run_action",
            "Runs an action of any kind by its key, such as a tool with test input or a model. Answers as run_flow.",
            run_action,
        )
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ListFlows {
    /// The runtime to ask, by its id of list_runtimes; else the current one.
    runtime_id: Option<String>,
}

async fn list_flows(desk: Arc<Desk>, ListFlows { runtime_id }: ListFlows) -> Answer {
    let list = listed(&desk, runtime_id, Some("flow")).await?;
    let flow = |(key, action): (String, Value)| {
        json!({
            "name": key.strip_prefix("/flow/").unwrap_or(&key),
            "description": action["description"],
            "inputSchema": action["inputSchema"],
        })
    };
    Ok(json!({"flows": list.into_iter().map(flow).map(without_nulls).collect::<Vec<_>>()}))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ListActions {
    /// Only of this kind, such as `flow`, `tool`, `model`, `prompt`, `agent` or `evaluator`.
    r#type: Option<String>,
    /// Also the schemas of inputs and outputs, which may be long.
    #[serde(default)]
    with_schemas: bool,
    /// The runtime to ask, by its id of list_runtimes; else the current one.
    runtime_id: Option<String>,
}

async fn list_actions(desk: Arc<Desk>, args: ListActions) -> Answer {
    let list = listed(&desk, args.runtime_id, args.r#type.as_deref()).await?;
    let action = |(key, mut action): (String, Value)| {
        let mut shown = json!({"key": key, "description": action["description"]});
        if args.with_schemas {
            shown["inputSchema"] = action["inputSchema"].take();
            shown["outputSchema"] = action["outputSchema"].take();
        }
        shown
    };
    Ok(json!({"actions": list.into_iter().map(action).map(without_nulls).collect::<Vec<_>>()}))
}

/// The actions of a runtime, of one kind or all.
async fn listed(
    desk: &Desk,
    runtime: Option<String>,
    kind: Option<&str>,
) -> Result<Map<String, Value>, Status> {
    let mut list = action::list(&desk.client()?, &Target { runtime }, kind).await?;
    Ok(match list["actions"].take() {
        Value::Object(actions) => actions,
        _ => Map::new(),
    })
}

/// What is not there is not told.
fn without_nulls(mut value: Value) -> Value {
    if let Some(members) = value.as_object_mut() {
        members.retain(|_, member| !member.is_null());
    }
    value
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RunFlow {
    /// The name of the flow, as list_flows says it.
    flow_name: String,
    /// The input: any JSON, or a string that holds JSON. A string that holds none is the
    /// text itself; a text that looks like JSON needs its own quotes: "\"42\"".
    input: Option<Value>,
    /// The context of the run, such as {"auth":{"uid":"7"}}.
    context: Option<Map<String, Value>>,
    /// The runtime to run it on, by its id of list_runtimes; else the current one.
    runtime_id: Option<String>,
    /// Give up, and cancel the run, after so many seconds.
    timeout_seconds: Option<f64>,
    /// Cut a longer result behind so many characters; 20000 if nothing is said.
    #[serde(default, deserialize_with = "oxikit_wire::number::optional_integer")]
    max_length: Option<usize>,
}

async fn run_flow(desk: Arc<Desk>, args: RunFlow) -> Answer {
    let key = key_of("flow", &args.flow_name);
    let RunFlow { input, context, runtime_id, timeout_seconds, max_length, .. } = args;
    let args = RunAction { key, input, context, runtime_id, timeout_seconds, max_length };
    run_action(desk, args).await
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RunAction {
    /// The key of the action, as list_actions says it, such as `/tool/weather`.
    key: String,
    /// The input: any JSON, or a string that holds JSON. A string that holds none is the
    /// text itself; a text that looks like JSON needs its own quotes: "\"42\"".
    input: Option<Value>,
    /// The context of the run, such as {"auth":{"uid":"7"}}.
    context: Option<Map<String, Value>>,
    /// The runtime to run it on, by its id of list_runtimes; else the current one.
    runtime_id: Option<String>,
    /// Give up, and cancel the run, after so many seconds.
    timeout_seconds: Option<f64>,
    /// Cut a longer result behind so many characters; 20000 if nothing is said.
    #[serde(default, deserialize_with = "oxikit_wire::number::optional_integer")]
    max_length: Option<usize>,
}

async fn run_action(desk: Arc<Desk>, args: RunAction) -> Answer {
    let input = args.input.map(|input| to_raw_value(&meant(input))).transpose()?;
    let context = args.context.map(|context| to_raw_value(&context)).transpose()?;
    let target = Target { runtime: args.runtime_id };
    let call = Call { input, context, ..target.call(args.key) };
    let within = args.timeout_seconds.map(seconds).transpose()?;
    let outcome = desk.client()?.run(&call, within).await?;
    let max = args.max_length.unwrap_or(RESULT_LENGTH);
    let Some(error) = &outcome.error else {
        let result: Value = match &outcome.result {
            Some(result) => serde_json::from_str(result.get())?,
            None => Value::Null,
        };
        return Ok(json!({"result": cut(result, max), "traceId": outcome.trace_id}));
    };
    let code = error.status.parse().unwrap_or(StatusCode::Unknown);
    let said = serde_json::to_value(error)?["details"].take();
    let details = json!({
        "traceId": outcome.trace_id,
        "hint": error.hint,
        "next": outcome.trace_id.as_ref().map(|_| "get_trace shows where it failed"),
        "details": cut(said, max),
    });
    Err(Status::public(code, &error.message).with_details(without_nulls(details)))
}

/// Genkit's own server takes its inputs as JSON in a string.
fn meant(input: Value) -> Value {
    match input {
        Value::String(text) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
        input => input,
    }
}

/// A number of seconds that a timer can wait.
pub(super) fn seconds(number: f64) -> Result<Duration, Status> {
    Duration::try_from_secs_f64(number)
        .ok()
        .filter(|time| !time.is_zero())
        .ok_or_else(|| Status::invalid_argument("`timeoutSeconds` is a number above 0"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_taken_as_they_are_meant() {
        for (given, expected) in [
            (json!({"a": 1}), json!({"a": 1})),
            (json!("{\"a\": 1}"), json!({"a": 1})),
            (json!("Ada"), json!("Ada")),
            (json!("\"Ada\""), json!("Ada")),
            (json!("42"), json!(42)),
            (json!("\"42\""), json!("42")),
        ] {
            assert_eq!(meant(given), expected);
        }
    }
}
