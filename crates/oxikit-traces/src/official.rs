//! Handlers with the paths and responses of the official telemetry server. Reading needs the
//! token; posting is checked by [`Sender`].

use std::sync::Arc;

use crate::{LogQuery, TraceFilter, TraceQuery};
use axum::extract::{Path, State};
use axum::response::Response;
use serde::Deserialize;

use super::answer::{Refused, json_text};
use super::body::JsonPost;
use super::port::{PortState, Reader, Sender};
use super::query::UrlQuery;
use super::{follow, native, tools};

/// The parameters of a path.
#[derive(Debug, Deserialize)]
pub(super) struct Named {
    id: Option<String>,
    span: Option<String>,
}

/// `POST /api/traces`.
pub(super) async fn add_trace(
    State(state): State<Arc<PortState>>,
    sender: Sender,
    JsonPost(json): JsonPost,
) -> Result<&'static str, Refused> {
    native::store(&state, &sender, &json).await?;
    Ok("OK")
}

/// `GET /api/__health`.
pub(super) async fn health(_: Reader) -> &'static str {
    "OK"
}

/// `GET /api/traces`.
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

/// `GET /api/traces/{id}`: an empty body if there is no such trace, as the official server sends
/// it.
pub(super) async fn trace(
    State(state): State<Arc<PortState>>,
    _: Reader,
    Path(named): Path<Named>,
) -> Result<Response, Refused> {
    let id = named.trace_id()?;
    let trace = state.store.get(id).await?;
    Ok(json_text(trace.unwrap_or_default()))
}

/// `GET /api/traces/{id}/stream`: server-sent events.
pub(super) async fn stream(
    State(state): State<Arc<PortState>>,
    _: Reader,
    Path(named): Path<Named>,
) -> Result<Response, Refused> {
    Ok(follow::official_events(&state.store, named.trace_id()?))
}

/// `GET /api/logs`, and the log lines of a trace or a span.
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
    /// The id of the trace. Ids that look like a path are refused, as the official server does.
    fn trace_id(&self) -> Result<&str, Refused> {
        let id = self.id.as_deref().unwrap_or_default();
        if id.contains(['/', '\\']) || id.contains("..") {
            let message = format!("Invalid trace id: \"{id}\" has a slash or two dots in it");
            return Err(Refused::invalid(message));
        }
        Ok(id)
    }
}
