//! The tool `list_logs`.

use std::sync::Arc;

use oxikit_mcp::Effect;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::length::{SPAN_LENGTH, cut};
use super::state::McpState;
use super::tool_registry::{ToolRegistry, ToolResult};
use crate::client::query;

pub(super) fn add(registry: ToolRegistry) -> ToolRegistry {
    registry.tool(
        Effect::Reads,
        "list_logs",
        "Lists the log lines of the application, newest first; with `traceId` only those of one run.",
        list_logs,
    )
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ListLogs {
    /// Only lines of this trace.
    trace_id: Option<String>,
    /// Only lines of this span.
    span_id: Option<String>,
    /// Minimum severity: 5 is debug, 9 info, 13 warning, 17 error.
    #[serde(default, deserialize_with = "oxikit_wire::number::optional_integer")]
    min_severity: Option<u8>,
    /// Maximum number of lines. Default: 50.
    #[serde(default, deserialize_with = "oxikit_wire::number::optional_integer")]
    limit: Option<u32>,
    /// Return the next page: the `continuationToken` of the previous result.
    continuation_token: Option<String>,
    /// Maximum number of characters of each member of a line. Longer ones are cut.
    /// Default: 1000.
    #[serde(default, deserialize_with = "oxikit_wire::number::optional_integer")]
    max_length: Option<usize>,
}

async fn list_logs(state: Arc<McpState>, args: ListLogs) -> ToolResult {
    let limit = args.limit.unwrap_or(50).to_string();
    let severity = args.min_severity.map(|number| number.to_string());
    let query = query(&[
        ("limit", Some(&limit)),
        ("traceId", args.trace_id.as_ref()),
        ("spanId", args.span_id.as_ref()),
        ("minSeverity", severity.as_ref()),
        ("continuationToken", args.continuation_token.as_ref()),
    ]);
    let mut page = state.client()?.get(&format!("/api/v1/logs?{query}")).await?;
    let max = args.max_length.unwrap_or(SPAN_LENGTH);
    let lines = page["logs"].as_array_mut().into_iter().flatten();
    for (_, member) in lines.filter_map(Value::as_object_mut).flatten() {
        *member = cut(member.take(), max);
    }
    Ok(page)
}
