//! Tools that list and show traces. Results are shortened; a single span is shown in full.

use std::sync::Arc;

use oxikit_core::{Status, StatusCode};
use oxikit_mcp::Effect;
use oxikit_wire::attribute;
use oxikit_wire::trace::SpanView;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::length::{RESULT_LENGTH, SPAN_LENGTH, cut};
use super::logs;
use super::state::McpState;
use super::tool_registry::{ToolRegistry, ToolResult};
use crate::client::{Client, encoded, query};
use crate::trace_tree::{self, parsed};

/// Default maximum number of spans in a result. The number of spans left out is reported.
const DEFAULT_MAX_SPANS: usize = 100;

pub(super) fn add(registry: ToolRegistry) -> ToolRegistry {
    let registry = registry
        .tool(
            Effect::Reads,
            "list_traces",
            "Lists traces of runs, newest first, filtered by name, type, status, text or session.",
            list_traces,
        )
        .tool(
            Effect::Reads,
            "get_trace",
            "Shows what happened in a run: each step, model call and tool call with its duration in milliseconds, input, output and error. Long values are cut; ask for one span by `spanId` to see all of it.",
            get_trace,
        );
    logs::add(registry)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ListTraces {
    /// Only traces of this name, such as the name of a flow.
    name: Option<String>,
    /// Only traces of this type of action, such as `flow` or `agent`.
    r#type: Option<String>,
    /// Only traces with this status: `running`, `success` or `error`.
    status: Option<String>,
    /// Only traces with these words in one of their spans.
    text: Option<String>,
    /// Only traces of this agent session.
    session_id: Option<String>,
    /// Maximum number of traces. Default: 20.
    #[serde(default, deserialize_with = "oxikit_wire::number::optional_integer")]
    limit: Option<u32>,
    /// Return the next page: the `continuationToken` of the previous result.
    continuation_token: Option<String>,
}

async fn list_traces(state: Arc<McpState>, args: ListTraces) -> ToolResult {
    let limit = args.limit.unwrap_or(20).to_string();
    let query = query(&[
        ("limit", Some(&limit)),
        ("name", args.name.as_ref()),
        ("type", args.r#type.as_ref()),
        ("status", args.status.as_ref()),
        ("text", args.text.as_ref()),
        ("session", args.session_id.as_ref()),
        ("continuationToken", args.continuation_token.as_ref()),
    ]);
    let mut page = state.client()?.get(&format!("/api/v1/traces?{query}")).await?;
    for trace in page["traces"].as_array_mut().into_iter().flatten() {
        *trace = summary(trace);
    }
    Ok(page)
}

/// The members of a trace that help to choose one from a list.
fn summary(trace: &Value) -> Value {
    let mut shown = Map::new();
    for member in ["traceId", "name", "type", "status", "startTime", "sessionId", "spans"] {
        if !trace[member].is_null() {
            shown.insert(member.to_owned(), trace[member].clone());
        }
    }
    if let Some(duration) = trace["duration"].as_f64() {
        shown.insert("durationMs".to_owned(), rounded(duration));
    }
    if trace["usage"]["totalTokens"].as_i64().is_some_and(|tokens| tokens > 0) {
        shown.insert("usage".to_owned(), trace["usage"].clone());
    }
    shown.into()
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct GetTrace {
    /// The id of the trace, as a run or list_traces returns it; `latest` for the newest.
    trace_id: String,
    /// Only this span, with all its attributes and events.
    span_id: Option<String>,
    /// Maximum number of characters of each input and output. Longer ones are cut.
    /// Default: 1000, or 20000 for one span.
    #[serde(default, deserialize_with = "oxikit_wire::number::optional_integer")]
    max_length: Option<usize>,
    /// Maximum number of spans. Default: 100.
    #[serde(default, deserialize_with = "oxikit_wire::number::optional_integer")]
    max_spans: Option<usize>,
}

async fn get_trace(state: Arc<McpState>, args: GetTrace) -> ToolResult {
    let client = state.client()?;
    let id = match args.trace_id.as_str() {
        "latest" => latest(&client).await?,
        id => id.to_owned(),
    };
    let whole = client.get(&format!("/api/v1/traces/{}", encoded(&id))).await;
    let whole = whole.map_err(|failure| with_trace_hint(failure.into()))?;
    let entries = whole["spans"].as_array().map(Vec::as_slice).unwrap_or_default();
    let spans: Vec<&Value> = entries.iter().map(|entry| &entry["span"]).collect();
    if let Some(id) = &args.span_id {
        let span = spans.into_iter().find(|span| SpanView(span).id() == Some(id));
        let span = span.ok_or_else(|| {
            Status::not_found(format!(
                "the trace has no span `{id}`: get_trace without `spanId` lists its spans"
            ))
        })?;
        return Ok(in_full(span.clone(), args.max_length.unwrap_or(RESULT_LENGTH)));
    }
    let (max, max_spans) =
        (args.max_length.unwrap_or(SPAN_LENGTH), args.max_spans.unwrap_or(DEFAULT_MAX_SPANS));
    let ordered = trace_tree::ordered(&spans);
    let left_out = ordered.len().saturating_sub(max_spans);
    let shown =
        ordered.into_iter().take(max_spans).map(|placed| brief(placed.depth, placed.span, max));
    let mut answer = json!({"trace": summary(&whole["trace"]), "spans": shown.collect::<Vec<_>>()});
    if left_out > 0 {
        answer["spansLeftOut"] =
            json!({"count": left_out, "next": "call again with a higher `maxSpans`"});
    }
    Ok(answer)
}

async fn latest(client: &Client) -> Result<String, Status> {
    let page = client.get("/api/v1/traces?limit=1").await?;
    let id = page["traces"][0]["traceId"].as_str().map(str::to_owned);
    id.ok_or_else(|| Status::not_found("there are no traces yet: run a flow first"))
}

fn with_trace_hint(status: Status) -> Status {
    match status.code() {
        StatusCode::NotFound => Status::not_found(format!(
            "{}; list_traces lists the traces, and a run that has just ended may take a moment to appear",
            status.message()
        )),
        _ => status,
    }
}

/// The members of a span that show what happened: its position, its name, its duration, its
/// values and its error.
fn brief(depth: usize, span: &Value, max: usize) -> Value {
    let mut shown = Map::new();
    let mut add = |member: &str, value: Value| {
        if !value.is_null() {
            shown.insert(member.to_owned(), value);
        }
    };
    let span = SpanView(span);
    add("depth", depth.into());
    add("spanId", span.id().into());
    add("name", span.name().into());
    add("type", span.kind().into());
    match (span.start(), span.end()) {
        (Some(start), Some(end)) => add("durationMs", rounded(end - start)),
        _ => add("status", "running".into()),
    }
    if let Some(error) = span.error() {
        add("status", "error".into());
        add("error", cut(error.into(), max));
    }
    add("input", cut(parsed(span.attribute(attribute::INPUT)), max));
    add("output", cut(parsed(span.attribute(attribute::OUTPUT)), max));
    shown.into()
}

/// The whole span. Each attribute is cut by itself.
fn in_full(mut span: Value, max: usize) -> Value {
    for (name, value) in span["attributes"].as_object_mut().into_iter().flatten() {
        let whole = match name.as_str() {
            attribute::INPUT | attribute::OUTPUT => parsed(value),
            _ => value.take(),
        };
        *value = cut(whole, max);
    }
    span
}

/// Rounds milliseconds to whole microseconds.
fn rounded(milliseconds: f64) -> Value {
    ((milliseconds * 1000.0).round() / 1000.0).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_shown_in_brief() {
        let span = json!({
            "spanId": "1", "displayName": "weather", "startTime": 1.0, "endTime": 3.5004,
            "status": {"code": 2, "message": "no luck"},
            "attributes": {
                "genkit:type": "action", "genkit:metadata:subtype": "tool",
                "genkit:input": "{\"city\":\"Rome\"}", "other": 7,
            },
        });
        let expected = json!({
            "depth": 2, "spanId": "1", "name": "weather", "type": "tool", "durationMs": 2.5,
            "status": "error", "error": "no luck", "input": {"city": "Rome"},
        });
        assert_eq!(brief(2, &span, 100), expected);
        let running = json!({"spanId": "1", "displayName": "x", "startTime": 1.0, "endTime": 0});
        assert_eq!(brief(0, &running, 100)["status"], "running");
    }

    #[test]
    fn a_whole_span_is_cut_by_its_attributes() {
        let span = json!({"attributes": {"genkit:output": "[1,2]", "note": "abcdef"}});
        let expected = json!({"attributes": {
            "genkit:output": [1, 2], "note": {"cut": true, "length": 6, "text": "abcde"},
        }});
        assert_eq!(in_full(span, 5), expected);
    }
}
