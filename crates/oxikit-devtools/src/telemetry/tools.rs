//! What the official tools' API says about traces and log lines.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use oxikit_sql::{LogQuery, TraceError, TraceFilter, TraceQuery, TraceStore};
use oxikit_wire::number::optional_integer;
use serde::Deserialize;
use serde_json::Value;

use super::answer::{json_text, page};
use super::follow;

/// `{"traces":[…],"continuationToken"?}`: traces with their roots only.
pub(super) async fn traces(store: &TraceStore, query: &TraceQuery) -> Result<String, TraceError> {
    let found = store.list(query).await?;
    let traces = found.traces.iter().map(|trace| trace.to_json());
    Ok(page("traces", traces, found.next.as_deref(), found.damage.as_ref()))
}

/// `{"logs":[…],"continuationToken"?}`.
pub(super) async fn logs(store: &TraceStore, query: &LogQuery) -> Result<String, TraceError> {
    let found = store.logs(query).await?;
    Ok(page("logs", found.logs.iter(), found.next.as_deref(), found.damage.as_ref()))
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ListInput {
    #[serde(deserialize_with = "optional_integer")]
    limit: Option<usize>,
    continuation_token: Option<String>,
    filter: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct LogFilter {
    trace_id: Option<String>,
    span_id: Option<String>,
    severity_text: Option<String>,
    #[serde(deserialize_with = "optional_integer")]
    severity_number: Option<i64>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct TraceInput {
    trace_id: String,
}

/// The data of the procedure `listTraces`, as JSON. The input may be empty.
///
/// # Errors
///
/// If the input makes no sense, or the store does not work.
pub async fn list_traces(store: &TraceStore, input: &str) -> Result<String, TraceError> {
    let input: ListInput = list_input(input)?;
    let mut query = TraceQuery::default();
    query.limit = input.limit.unwrap_or(query.limit);
    query.after = input.continuation_token;
    let filter = input.filter.map(|filter| TraceFilter::from_json(&filter.to_string()));
    query.filter = filter.transpose()?;
    traces(store, &query).await
}

/// The data of the procedure `getTrace`, as JSON: `""` if there is no such trace.
///
/// # Errors
///
/// As [`list_traces`].
pub async fn get_trace(store: &TraceStore, input: &str) -> Result<String, TraceError> {
    let input: TraceInput = read(input)?;
    Ok(store.get(&input.trace_id).await?.unwrap_or_else(|| "\"\"".to_owned()))
}

/// The data of the procedure `listLogs`, as JSON. The input may be empty.
///
/// # Errors
///
/// As [`list_traces`].
pub async fn list_logs(store: &TraceStore, input: &str) -> Result<String, TraceError> {
    let input: ListInput = list_input(input)?;
    let filter = input.filter.unwrap_or_else(|| Value::Object(Default::default()));
    let filter: LogFilter = read(&filter.to_string())?;
    let mut query = LogQuery::default();
    query.limit = input.limit.unwrap_or(query.limit);
    query.after = input.continuation_token;
    query.trace_id = filter.trace_id;
    query.span_id = filter.span_id;
    query.min_severity = filter.severity_number;
    query.severity_text = filter.severity_text;
    logs(store, &query).await
}

/// The answer to `POST /api/streamTrace` with the body `{"traceId"}`: the trace so far,
/// then its spans as they come, a line of JSON each. It ends when the root has ended.
pub fn stream_trace(store: &TraceStore, body: &[u8]) -> Response {
    match serde_json::from_slice::<TraceInput>(body) {
        Ok(input) => follow::official_lines(store, &input.trace_id),
        Err(_) => {
            let body = json_text(r#"{"error":"traceId is required"}"#.to_owned());
            (StatusCode::BAD_REQUEST, body).into_response()
        }
    }
}

fn list_input(input: &str) -> Result<ListInput, TraceError> {
    if matches!(input.trim(), "" | "null") { Ok(ListInput::default()) } else { read(input) }
}

fn read<'a, T: Deserialize<'a>>(input: &'a str) -> Result<T, TraceError> {
    let refuse = |error| TraceError::Query(format!("the input cannot be read: {error}"));
    serde_json::from_str(input).map_err(refuse)
}
