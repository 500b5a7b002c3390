//! The queries of traces and log lines. Unknown parameters are refused: a misspelled filter would
//! return too much without an error.

use crate::{LogQuery, TraceQuery, TraceStatus};
use oxikit_core::Status;
use schemars::JsonSchema;
use serde::Deserialize;

use oxikit_http::api::non_empty;

/// Default number of traces of a page.
const PAGE: usize = 20;

/// A filter of traces.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct TracesQuery {
    /// The name of the root span.
    name: Option<String>,
    /// The type of the root span, such as `flow`.
    #[serde(rename = "type")]
    kind: Option<String>,
    #[schemars(with = "Option<super::shapes::Status>")]
    status: Option<TraceStatus>,
    /// Traces that began at this time or later, in milliseconds since 1970.
    from: Option<f64>,
    /// Traces that began before this time, in milliseconds since 1970.
    to: Option<f64>,
    /// In milliseconds.
    min_duration: Option<f64>,
    /// In milliseconds.
    max_duration: Option<f64>,
    /// Words that occur in one span; `word*` matches the beginning of a word.
    text: Option<String>,
    /// An attribute as `name=value`. It may be repeated; a trace must have all of them.
    #[serde(default)]
    attribute: Vec<String>,
    /// Traces of this session.
    session: Option<String>,
    /// Traces of this runtime: its id, or the name of its application.
    runtime: Option<String>,
    /// Maximum number of traces, up to 1000. The default is 20.
    limit: Option<u32>,
    /// The `continuationToken` of the previous page.
    continuation_token: Option<String>,
}

impl TracesQuery {
    /// The query of the store. An empty parameter counts as missing.
    pub(super) fn read(self) -> Result<TraceQuery, Status> {
        Ok(TraceQuery {
            limit: self.limit.map_or(PAGE, |limit| limit as usize),
            after: non_empty(self.continuation_token),
            name: non_empty(self.name),
            kind: non_empty(self.kind),
            status: self.status,
            started_from: self.from,
            started_before: self.to,
            min_duration: self.min_duration,
            max_duration: self.max_duration,
            text: non_empty(self.text),
            labels: self.attribute.iter().map(|it| attribute(it)).collect::<Result<_, _>>()?,
            session_id: non_empty(self.session),
            runtime: non_empty(self.runtime),
            ..TraceQuery::default()
        })
    }
}

/// Splits `name=value`, or `name:value` at the last colon: names such as `genkitx:env` contain
/// colons.
fn attribute(pair: &str) -> Result<(String, String), Status> {
    let split = pair.split_once('=').or_else(|| pair.rsplit_once(':'));
    let (name, value) =
        split.ok_or_else(|| Status::invalid_argument("`attribute` is a name, `=` and a value"))?;
    Ok((name.to_owned(), value.to_owned()))
}

/// The session to export.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SessionQuery {
    /// The id of the session.
    pub(super) session: String,
}

/// A filter of log lines.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct LogsQuery {
    /// Lines of this trace.
    trace_id: Option<String>,
    /// Lines of this span.
    span_id: Option<String>,
    /// The lowest severity number: 9 is info, 13 a warning, 17 an error.
    min_severity: Option<i64>,
    /// The severity as text, such as `INFO`.
    severity: Option<String>,
    /// Maximum number of lines, up to 1000. The default is 100.
    limit: Option<u32>,
    /// The `continuationToken` of the previous page.
    continuation_token: Option<String>,
}

impl LogsQuery {
    /// The query of the store. An empty parameter counts as missing.
    pub(super) fn read(self) -> LogQuery {
        let mut query = LogQuery::default();
        query.limit = self.limit.map_or(query.limit, |limit| limit as usize);
        query.after = non_empty(self.continuation_token);
        query.trace_id = non_empty(self.trace_id);
        query.span_id = non_empty(self.span_id);
        query.min_severity = self.min_severity;
        query.severity_text = non_empty(self.severity);
        query
    }
}
