//! What is asked of traces and log lines. Who misspells a name would get too much, so
//! names that there are not are refused.

use oxikit_core::Status;
use oxikit_sql::{LogQuery, TraceQuery, TraceStatus};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::server::query::given;

/// A page of a list, if nothing else is said.
const PAGE: usize = 20;

/// Which traces.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct TracesQuery {
    /// The name of the root.
    name: Option<String>,
    /// The type of the root, such as `flow`.
    #[serde(rename = "type")]
    kind: Option<String>,
    #[schemars(with = "Option<super::shapes::Status>")]
    status: Option<TraceStatus>,
    /// Begun at this time or later, in milliseconds since 1970.
    from: Option<f64>,
    /// Begun before this time.
    to: Option<f64>,
    /// In milliseconds.
    min_duration: Option<f64>,
    /// In milliseconds.
    max_duration: Option<f64>,
    /// Words that stand in one span; `word*` for a beginning.
    text: Option<String>,
    /// A name, `=` and a value; all that are given must be true.
    #[serde(default)]
    attribute: Vec<String>,
    /// Of this session.
    session: Option<String>,
    /// At most so many, and never more than 1000; 20 if nothing is said.
    limit: Option<u32>,
    /// Where the page before has ended.
    continuation_token: Option<String>,
}

impl TracesQuery {
    pub(super) fn read(self) -> Result<TraceQuery, Status> {
        let mut query = TraceQuery::default();
        query.limit = self.limit.map_or(PAGE, |limit| limit as usize);
        query.after = given(self.continuation_token);
        query.name = given(self.name);
        query.kind = given(self.kind);
        query.status = self.status;
        query.started_from = self.from;
        query.started_before = self.to;
        query.min_duration = self.min_duration;
        query.max_duration = self.max_duration;
        query.text = given(self.text);
        query.labels = self.attribute.iter().map(|it| attribute(it)).collect::<Result<_, _>>()?;
        query.session_id = given(self.session);
        Ok(query)
    }
}

/// Names such as `genkitx:env` have colons, too.
fn attribute(pair: &str) -> Result<(String, String), Status> {
    let split = pair.split_once('=').or_else(|| pair.rsplit_once(':'));
    let (name, value) =
        split.ok_or_else(|| Status::invalid_argument("`attribute` is a name, `=` and a value"))?;
    Ok((name.to_owned(), value.to_owned()))
}

/// Which session.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct SessionQuery {
    /// Its id.
    pub(super) session: String,
}

/// Which log lines.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct LogsQuery {
    /// Written in this trace.
    trace_id: Option<String>,
    /// Written in this span.
    span_id: Option<String>,
    /// Not below this number: 9 is info, 13 a warning, 17 an error.
    min_severity: Option<i64>,
    /// Such as `INFO`.
    severity: Option<String>,
    /// At most so many, and never more than 1000; 100 if nothing is said.
    limit: Option<u32>,
    /// Where the page before has ended.
    continuation_token: Option<String>,
}

impl LogsQuery {
    pub(super) fn read(self) -> LogQuery {
        let mut query = LogQuery::default();
        query.limit = self.limit.map_or(query.limit, |limit| limit as usize);
        query.after = given(self.continuation_token);
        query.trace_id = given(self.trace_id);
        query.span_id = given(self.span_id);
        query.min_severity = self.min_severity;
        query.severity_text = given(self.severity);
        query
    }
}
