//! Log lines of runtimes.

use std::sync::Arc;

use oxikit_mcp::Effect;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::desk::Desk;
use super::length::{SPAN_LENGTH, cut};
use super::toolbox::{Answer, Toolbox};
use crate::cli::client::query;

pub(super) fn add(toolbox: Toolbox) -> Toolbox {
    toolbox.tool(
        Effect::Reads,
        "list_logs",
        "Lists the log lines that the application has sent, newest first; those of one run by its trace.",
        list_logs,
    )
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ListLogs {
    /// Only of this trace.
    trace_id: Option<String>,
    /// Only of this span.
    span_id: Option<String>,
    /// Only at least so severe: 5 is debug, 9 info, 13 a warning, 17 an error.
    #[serde(default, deserialize_with = "oxikit_wire::number::optional_integer")]
    min_severity: Option<u8>,
    /// At most so many; 50 if nothing is said.
    #[serde(default, deserialize_with = "oxikit_wire::number::optional_integer")]
    limit: Option<u32>,
    /// Go on behind the answer that said this.
    continuation_token: Option<String>,
    /// Cut each member of a line behind so many characters; 1000 if nothing is said.
    #[serde(default, deserialize_with = "oxikit_wire::number::optional_integer")]
    max_length: Option<usize>,
}

async fn list_logs(desk: Arc<Desk>, args: ListLogs) -> Answer {
    let limit = args.limit.unwrap_or(50).to_string();
    let severity = args.min_severity.map(|number| number.to_string());
    let query = query(&[
        ("limit", Some(&limit)),
        ("traceId", args.trace_id.as_ref()),
        ("spanId", args.span_id.as_ref()),
        ("minSeverity", severity.as_ref()),
        ("continuationToken", args.continuation_token.as_ref()),
    ]);
    let mut page = desk.client()?.get(&format!("/api/v1/logs?{query}")).await?;
    let max = args.max_length.unwrap_or(SPAN_LENGTH);
    let lines = page["logs"].as_array_mut().into_iter().flatten();
    for (_, member) in lines.filter_map(Value::as_object_mut).flatten() {
        *member = cut(member.take(), max);
    }
    Ok(page)
}
