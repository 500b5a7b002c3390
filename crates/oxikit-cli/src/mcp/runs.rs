//! Tools that list and run flows and other actions.

use std::sync::Arc;
use std::time::Duration;

use oxikit_core::{Status, StatusCode};
use oxikit_mcp::Effect;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::value::to_raw_value;
use serde_json::{Map, Value, json};

use super::length::{RESULT_LENGTH, cut};
use super::state::McpState;
use super::tool_registry::{ToolRegistry, ToolResult};
use crate::action;
use crate::args::Target;
use crate::run::{Call, key_of};

pub(super) fn add(registry: ToolRegistry) -> ToolRegistry {
    registry
        .tool(
            Effect::Reads,
            "list_flows",
            "Lists the flows of the application with the schemas of their inputs. Look here before run_flow.",
            list_flows,
        )
        .tool(
            Effect::Acts,
            "run_flow",
            "Runs a flow to its end. Returns {\"result\",\"traceId\"}; get_trace shows what happened inside.",
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
            "Runs an action of any kind by its key, such as a tool with test input or a model. Returns the same as run_flow.",
            run_action,
        )
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ListFlows {
    /// The id of the runtime, as list_runtimes returns it. Default: the current runtime.
    runtime_id: Option<String>,
}

async fn list_flows(state: Arc<McpState>, ListFlows { runtime_id }: ListFlows) -> ToolResult {
    let list = listed(&state, runtime_id, Some("flow")).await?;
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
    /// Only actions of this type, such as `flow`, `tool`, `model`, `prompt`, `agent` or `evaluator`.
    r#type: Option<String>,
    /// Also return the schemas of inputs and outputs, which may be long.
    #[serde(default)]
    with_schemas: bool,
    /// The id of the runtime, as list_runtimes returns it. Default: the current runtime.
    runtime_id: Option<String>,
}

async fn list_actions(state: Arc<McpState>, args: ListActions) -> ToolResult {
    let list = listed(&state, args.runtime_id, args.r#type.as_deref()).await?;
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
    state: &McpState,
    runtime: Option<String>,
    kind: Option<&str>,
) -> Result<Map<String, Value>, Status> {
    let mut list = action::list(&state.client()?, &Target { runtime }, kind).await?;
    Ok(match list["actions"].take() {
        Value::Object(actions) => actions,
        _ => Map::new(),
    })
}

/// Removes the members that are null.
fn without_nulls(mut value: Value) -> Value {
    if let Some(members) = value.as_object_mut() {
        members.retain(|_, member| !member.is_null());
    }
    value
}

// The members after the first one are those of `RunAction`. They are repeated, because serde cannot
// combine `deny_unknown_fields` with `flatten`, and a misspelled argument must be an error.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RunFlow {
    /// The name of the flow, as list_flows returns it.
    flow_name: String,
    /// The input: any JSON value, or a string with JSON. A string that is not JSON is passed
    /// as text; text that looks like JSON needs quotes of its own: "\"42\"".
    input: Option<Value>,
    /// The context of the run, such as {"auth":{"uid":"7"}}.
    context: Option<Map<String, Value>>,
    /// The id of the runtime, as list_runtimes returns it. Default: the current runtime.
    runtime_id: Option<String>,
    /// Cancel the run after this number of seconds.
    timeout_seconds: Option<f64>,
    /// Maximum number of characters of the result. A longer one is cut. Default: 20000.
    #[serde(default, deserialize_with = "oxikit_wire::number::optional_integer")]
    max_length: Option<usize>,
}

async fn run_flow(state: Arc<McpState>, args: RunFlow) -> ToolResult {
    let key = key_of("flow", &args.flow_name);
    let RunFlow { input, context, runtime_id, timeout_seconds, max_length, .. } = args;
    let args = RunAction { key, input, context, runtime_id, timeout_seconds, max_length };
    run_action(state, args).await
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RunAction {
    /// The key of the action, as list_actions returns it, such as `/tool/weather`.
    key: String,
    /// The input: any JSON value, or a string with JSON. A string that is not JSON is passed
    /// as text; text that looks like JSON needs quotes of its own: "\"42\"".
    input: Option<Value>,
    /// The context of the run, such as {"auth":{"uid":"7"}}.
    context: Option<Map<String, Value>>,
    /// The id of the runtime, as list_runtimes returns it. Default: the current runtime.
    runtime_id: Option<String>,
    /// Cancel the run after this number of seconds.
    timeout_seconds: Option<f64>,
    /// Maximum number of characters of the result. A longer one is cut. Default: 20000.
    #[serde(default, deserialize_with = "oxikit_wire::number::optional_integer")]
    max_length: Option<usize>,
}

async fn run_action(state: Arc<McpState>, args: RunAction) -> ToolResult {
    let input = args.input.map(|input| to_raw_value(&parse_input(input))).transpose()?;
    let context = args.context.map(|context| to_raw_value(&context)).transpose()?;
    let target = Target { runtime: args.runtime_id };
    let call = Call { input, context, ..target.call(args.key) };
    let within = args.timeout_seconds.map(seconds).transpose()?;
    let outcome = state.client()?.run(&call, within).await?;
    let max = args.max_length.unwrap_or(RESULT_LENGTH);
    let Some(error) = &outcome.error else {
        let result: Value = match &outcome.result {
            Some(result) => serde_json::from_str(result.get())?,
            None => Value::Null,
        };
        return Ok(json!({"result": cut(result, max), "traceId": outcome.trace_id}));
    };
    let code = error.status.parse().unwrap_or(StatusCode::Unknown);
    let more = serde_json::to_value(error)?["details"].take();
    let details = json!({
        "traceId": outcome.trace_id,
        "hint": error.hint,
        "next": outcome.trace_id.as_ref().map(|_| "get_trace shows where it failed"),
        "details": cut(more, max),
    });
    Err(Status::public(code, &error.message).with_details(without_nulls(details)))
}

/// Parses a string as JSON if it is JSON: Genkit's own MCP server takes inputs in that form,
/// and models are used to it.
fn parse_input(input: Value) -> Value {
    match input {
        Value::String(text) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
        input => input,
    }
}

/// A timeout from a number of seconds.
pub(super) fn seconds(number: f64) -> Result<Duration, Status> {
    Duration::try_from_secs_f64(number)
        .ok()
        .filter(|time| !time.is_zero())
        .ok_or_else(|| Status::invalid_argument("`timeoutSeconds` must be a number above 0"))
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
            assert_eq!(parse_input(given), expected);
        }
    }
}
