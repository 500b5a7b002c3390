//! The procedures of the official tools' API about traces and log lines.
//!
//! Each takes the input of a procedure as JSON text, and returns its data as JSON text: the
//! stored spans are passed on without being parsed. The developer tools put them into the
//! envelope of that API.

use crate::{LogQuery, TraceError, TraceFilter, TraceQuery, TraceStore};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use oxikit_wire::number::optional_integer;
use serde::Deserialize;
use serde_json::Value;

use super::answer::{json_text, page};
use super::follow;

/// `{"traces":[…],"continuationToken"?}`: traces with their root spans only.
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

/// The input of `listTraces` and `listLogs`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ListInput {
    #[serde(deserialize_with = "optional_integer")]
    limit: Option<usize>,
    continuation_token: Option<String>,
    filter: Option<Value>,
}

/// The filter of `listLogs`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct LogFilter {
    trace_id: Option<String>,
    span_id: Option<String>,
    severity_text: Option<String>,
    #[serde(deserialize_with = "optional_integer")]
    severity_number: Option<i64>,
}

/// The input of `getTrace` and `streamTrace`.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct TraceInput {
    trace_id: String,
}

/// The data of the procedure `listTraces`, as JSON. The input may be empty.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_time().build()?.block_on(async {
/// # let folder = std::env::temp_dir().join(format!("oxikit-traces-tools-{}", std::process::id()));
/// # let store = oxikit_traces::TraceStore::open(folder.join("traces.db"))?;
/// use oxikit_traces::tools::list_traces;
///
/// let input = r#"{"limit": 5, "filter": {"eq": {"type": "flow"}}}"#;
/// assert_eq!(list_traces(&store, input).await?, r#"{"traces":[]}"#);
/// # drop(store);
/// # std::fs::remove_dir_all(folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If the input is not valid, or the store cannot be read.
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
/// Those of [`list_traces`].
pub async fn get_trace(store: &TraceStore, input: &str) -> Result<String, TraceError> {
    let input: TraceInput = read(input)?;
    Ok(store.get(&input.trace_id).await?.unwrap_or_else(|| "\"\"".to_owned()))
}

/// The data of the procedure `listLogs`, as JSON. The input may be empty.
///
/// # Errors
///
/// Those of [`list_traces`].
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

/// The response to `POST /api/streamTrace` with the body `{"traceId"}`: the stored trace, then
/// its spans as they arrive, one line of JSON each. It ends when the root span has ended.
pub fn stream_trace(store: &TraceStore, body: &[u8]) -> Response {
    match serde_json::from_slice::<TraceInput>(body) {
        Ok(input) => follow::official_lines(store, &input.trace_id),
        Err(_) => {
            let body = json_text(r#"{"error":"traceId is required"}"#.to_owned());
            (StatusCode::BAD_REQUEST, body).into_response()
        }
    }
}

/// Reads the input of a list; an empty one means the first page of all.
fn list_input(input: &str) -> Result<ListInput, TraceError> {
    if matches!(input.trim(), "" | "null") { Ok(ListInput::default()) } else { read(input) }
}

/// Reads an input. The error says what is wrong with it.
fn read<'a, T: Deserialize<'a>>(input: &'a str) -> Result<T, TraceError> {
    let refuse = |error| TraceError::Query(format!("the input cannot be read: {error}"));
    serde_json::from_str(input).map_err(refuse)
}
