//! What has run: traces and log lines, as short as they are useful.

use std::sync::Arc;

use oxikit_core::{Status, StatusCode};
use oxikit_mcp::Effect;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::desk::Desk;
use super::length::{RESULT_LENGTH, SPAN_LENGTH, cut};
use super::logs;
use super::toolbox::{Answer, Toolbox};
use crate::cli::client::{Client, encoded, query};
use crate::cli::trace_tree::{self, parsed};

/// So many spans of a trace are told, unless more are asked for.
const SPANS: usize = 100;
/// The members of a span's attributes that stand beside them.
const INPUT: &str = "genkit:input";
const OUTPUT: &str = "genkit:output";

pub(super) fn add(toolbox: Toolbox) -> Toolbox {
    let toolbox = toolbox
        .tool(
            Effect::Reads,
            "list_traces",
            "Lists what has run, newest first, by name, kind, status, words or session.",
            list_traces,
        )
        .tool(
            Effect::Reads,
            "get_trace",
            "Shows what happened in a run: each step, model call and tool call with its duration in milliseconds, input, output and error. Long values are cut; ask for one span by `spanId` to see all of it.",
            get_trace,
        );
    logs::add(toolbox)
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ListTraces {
    /// Only of this name, such as that of a flow.
    name: Option<String>,
    /// Only of this kind of action, such as `flow` or `agent`.
    r#type: Option<String>,
    /// Only those that ended so, or have not ended: `running`, `success` or `error`.
    status: Option<String>,
    /// Only with these words in one of their spans.
    text: Option<String>,
    /// Only of this session of an agent.
    session_id: Option<String>,
    /// At most so many; 20 if nothing is said.
    #[serde(default, deserialize_with = "oxikit_wire::number::optional_integer")]
    limit: Option<u32>,
    /// Go on behind the answer that said this.
    continuation_token: Option<String>,
}

async fn list_traces(desk: Arc<Desk>, args: ListTraces) -> Answer {
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
    let mut page = desk.client()?.get(&format!("/api/v1/traces?{query}")).await?;
    for trace in page["traces"].as_array_mut().into_iter().flatten() {
        *trace = summary(trace);
    }
    Ok(page)
}

/// What a trace is, in a few words.
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
    /// The id of the trace, as a run or list_traces says it; `latest` is the newest.
    trace_id: String,
    /// Only this span, with all its attributes and events.
    span_id: Option<String>,
    /// Cut each input and output behind so many characters; 1000 if nothing is said,
    /// 20000 for one span.
    #[serde(default, deserialize_with = "oxikit_wire::number::optional_integer")]
    max_length: Option<usize>,
    /// At most so many spans; 100 if nothing is said.
    #[serde(default, deserialize_with = "oxikit_wire::number::optional_integer")]
    max_spans: Option<usize>,
}

async fn get_trace(desk: Arc<Desk>, args: GetTrace) -> Answer {
    let client = desk.client()?;
    let id = match args.trace_id.as_str() {
        "latest" => latest(&client).await?,
        id => id.to_owned(),
    };
    let whole = client.get(&format!("/api/v1/traces/{}", encoded(&id))).await;
    let whole = whole.map_err(|failure| unknown(failure.into()))?;
    let entries = whole["spans"].as_array().map(Vec::as_slice).unwrap_or_default();
    let spans: Vec<&Value> = entries.iter().map(|entry| &entry["span"]).collect();
    if let Some(id) = &args.span_id {
        let span = spans.into_iter().find(|span| span["spanId"] == id.as_str());
        let span = span.ok_or_else(|| {
            Status::not_found(format!(
                "the trace has no span `{id}`; get_trace without it lists them"
            ))
        })?;
        return Ok(in_full(span.clone(), args.max_length.unwrap_or(RESULT_LENGTH)));
    }
    let (max, most) = (args.max_length.unwrap_or(SPAN_LENGTH), args.max_spans.unwrap_or(SPANS));
    let ordered = trace_tree::ordered(&spans);
    let left_out = ordered.len().saturating_sub(most);
    let shown = ordered.into_iter().take(most).map(|placed| brief(placed.depth, placed.span, max));
    let mut answer = json!({"trace": summary(&whole["trace"]), "spans": shown.collect::<Vec<_>>()});
    if left_out > 0 {
        answer["spansLeftOut"] = json!({"count": left_out, "next": "ask with a higher `maxSpans`"});
    }
    Ok(answer)
}

async fn latest(client: &Client) -> Result<String, Status> {
    let page = client.get("/api/v1/traces?limit=1").await?;
    let id = page["traces"][0]["traceId"].as_str().map(str::to_owned);
    id.ok_or_else(|| Status::not_found("there are no traces yet: run something"))
}

fn unknown(status: Status) -> Status {
    match status.code() {
        StatusCode::NotFound => Status::not_found(format!(
            "{}; list_traces lists them, and one that has just run may need a moment",
            status.message()
        )),
        _ => status,
    }
}

/// What helps: where it stands, what it was, and what came of it.
fn brief(depth: usize, span: &Value, max: usize) -> Value {
    let mut shown = Map::new();
    let mut add = |member: &str, value: Value| {
        if !value.is_null() {
            shown.insert(member.to_owned(), value);
        }
    };
    let attributes = &span["attributes"];
    add("depth", depth.into());
    add("spanId", span["spanId"].clone());
    add("name", span["displayName"].clone());
    add("type", trace_tree::kind(span).into());
    let (start, end) = (span["startTime"].as_f64(), span["endTime"].as_f64());
    match (start, end.filter(|end| *end > 0.0)) {
        (Some(start), Some(end)) => add("durationMs", rounded(end - start)),
        _ => add("status", "running".into()),
    }
    if let Some(error) = trace_tree::error(span) {
        add("status", "error".into());
        add("error", cut(error.into(), max));
    }
    add("input", cut(parsed(&attributes[INPUT]), max));
    add("output", cut(parsed(&attributes[OUTPUT]), max));
    shown.into()
}

/// All of a span, its attributes cut one by one.
fn in_full(mut span: Value, max: usize) -> Value {
    for (name, attribute) in span["attributes"].as_object_mut().into_iter().flatten() {
        let value = match name.as_str() {
            INPUT | OUTPUT => parsed(attribute),
            _ => attribute.take(),
        };
        *attribute = cut(value, max);
    }
    span
}

/// To the microsecond.
fn rounded(milliseconds: f64) -> Value {
    ((milliseconds * 1000.0).round() / 1000.0).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_told_in_brief() {
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
