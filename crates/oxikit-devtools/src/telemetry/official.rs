//! The official telemetry server's own routes.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::Response;
use oxikit_sql::{LogQuery, TraceFilter, TraceQuery};
use serde::Deserialize;

use super::answer::{Refused, json_text};
use super::body::JsonPost;
use super::port::{PortState, Reader, Sender};
use super::query::UrlQuery;
use super::{follow, native, tools};

/// What a path names, besides the token.
#[derive(Debug, Deserialize)]
pub(super) struct Named {
    id: Option<String>,
    span: Option<String>,
}

pub(super) async fn add_trace(
    State(state): State<Arc<PortState>>,
    sender: Sender,
    JsonPost(json): JsonPost,
) -> Result<&'static str, Refused> {
    native::store(&state, sender, &json).await?;
    Ok("OK")
}

pub(super) async fn health(_: Reader) -> &'static str {
    "OK"
}

pub(super) async fn list(
    State(state): State<Arc<PortState>>,
    _: Reader,
    url: UrlQuery,
) -> Result<Response, Refused> {
    let mut query = TraceQuery::default();
    query.limit = url.lenient("limit").unwrap_or(query.limit);
    query.after = url.owned("continuationToken");
    query.filter = url.text("filter").map(TraceFilter::from_json).transpose()?;
    Ok(json_text(tools::traces(&state.store, &query).await?))
}

pub(super) async fn trace(
    State(state): State<Arc<PortState>>,
    _: Reader,
    Path(named): Path<Named>,
) -> Result<Response, Refused> {
    let id = named.trace_id()?;
    let trace = state.store.get(id).await?;
    Ok(json_text(trace.unwrap_or_default()))
}

pub(super) async fn stream(
    State(state): State<Arc<PortState>>,
    _: Reader,
    Path(named): Path<Named>,
) -> Result<Response, Refused> {
    Ok(follow::official_events(&state.store, named.trace_id()?))
}

pub(super) async fn logs(
    State(state): State<Arc<PortState>>,
    _: Reader,
    Path(named): Path<Named>,
    url: UrlQuery,
) -> Result<Response, Refused> {
    let mut query = LogQuery::default();
    query.limit = url.lenient("limit").unwrap_or(query.limit);
    query.after = url.owned("continuationToken");
    if named.id.is_some() {
        named.trace_id()?;
    }
    query.trace_id = named.id.or_else(|| url.owned("traceId"));
    query.span_id = named.span.or_else(|| url.owned("spanId"));
    query.min_severity = url.lenient("severityNumber");
    query.severity_text = url.owned("severityText");
    Ok(json_text(tools::logs(&state.store, &query).await?))
}

impl Named {
    /// Nobody has stored a trace under an id that looks like a path.
    fn trace_id(&self) -> Result<&str, Refused> {
        let id = self.id.as_deref().unwrap_or_default();
        if id.contains(['/', '\\']) || id.contains("..") {
            let message = format!("Invalid trace id: \"{id}\" has a slash or two dots in it");
            return Err(Refused::invalid(message));
        }
        Ok(id)
    }
}
