//! Queries for traces, and their results.

use oxikit_wire::trace::TraceWriter;

use super::TokenUsage;
use super::filter::TraceFilter;
use oxikit_sqlite::damage::Damage;

/// A query for traces, newest first. A trace must match all given conditions.
///
/// ```
/// use oxikit_traces::TraceQuery;
///
/// // Slow runs of a flow in which a span mentions a word that begins with "refund".
/// let mut query = TraceQuery::default();
/// query.name = Some("support".to_owned());
/// query.min_duration = Some(2_000.0);
/// query.text = Some("refund*".to_owned());
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct TraceQuery {
    /// Maximum number of traces; at most 1,000. The default is 10.
    pub limit: usize,
    /// Continues after a page: its [`next`](TracePage::next).
    pub after: Option<String>,
    /// The exact name of the root.
    pub name: Option<String>,
    /// The type of the root's action, such as `flow`, `model` or `agent`.
    pub kind: Option<String>,
    /// The status of the root.
    pub status: Option<TraceStatus>,
    /// Started at this moment or later, in milliseconds since 1970.
    pub started_from: Option<f64>,
    /// Started before this moment.
    pub started_before: Option<f64>,
    /// Minimum duration in milliseconds. A running trace has no duration.
    pub min_duration: Option<f64>,
    /// Maximum duration in milliseconds.
    pub max_duration: Option<f64>,
    /// Words that one ended span must all contain: in its name, its values or its error. A
    /// word that ends with `*` matches every word with that prefix. A text without letters
    /// and digits matches nothing.
    pub text: Option<String>,
    /// Attributes of the root and their values, such as `genkitx:env` and `dev`.
    pub labels: Vec<(String, String)>,
    /// The session that an agent worked for.
    pub session_id: Option<String>,
    /// The runtime that has sent a span of it: its id, or the name of its application.
    pub runtime: Option<String>,
    /// The filter of the official tools.
    pub filter: Option<TraceFilter>,
}

impl Default for TraceQuery {
    fn default() -> Self {
        Self {
            limit: 10,
            after: None,
            name: None,
            kind: None,
            status: None,
            started_from: None,
            started_before: None,
            min_duration: None,
            max_duration: None,
            text: None,
            labels: Vec::new(),
            session_id: None,
            runtime: None,
            filter: None,
        }
    }
}

/// The status of a trace, which is that of its root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TraceStatus {
    /// The root has not ended.
    Running,
    /// The root has ended without an error.
    Success,
    /// The root has failed.
    Error,
}

/// A page of a list of traces.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TracePage {
    /// The traces, newest first.
    pub traces: Vec<TraceSummary>,
    /// The token for the next page; `None` if there are no more. Traces that are written
    /// meanwhile do not move the others to other pages.
    pub next: Option<String>,
    /// The traces of this page that cannot be read because the file is damaged.
    pub damage: Option<Damage>,
}

/// A trace as an entry of a list.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct TraceSummary {
    /// The id of the trace.
    pub trace_id: String,
    /// The name of the root.
    pub name: String,
    /// Such as `flow`, `model` or `agent`.
    pub kind: Option<String>,
    /// When it began, in milliseconds since 1970.
    pub start: f64,
    /// When it ended; `None` while it runs.
    pub end: Option<f64>,
    /// The status of the root.
    pub status: TraceStatus,
    /// The session that an agent worked for.
    pub session_id: Option<String>,
    /// Number of stored spans.
    pub spans: u32,
    /// Number of spans beyond the limit, which are not stored.
    pub dropped_spans: u32,
    /// Sums over the calls of models.
    pub usage: TokenUsage,
    /// The id of the root; of the first span, while no root is known.
    pub root_id: String,
    /// The JSON of that span, its attributes cut after 1,000 characters.
    pub root: String,
}

impl TraceSummary {
    /// The trace with its root only, as the official tools list it: the JSON of a
    /// [`TraceData`](oxikit_wire::trace::TraceData).
    pub fn to_json(&self) -> String {
        let mut trace = TraceWriter::new(&self.trace_id, &self.name, self.start, self.end);
        trace.add_span(&self.root_id, &self.root);
        trace.finish()
    }
}

/// A stored span.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredSpan {
    /// The id of the span.
    pub span_id: String,
    /// The JSON of the span as it was posted, its long attributes cut.
    pub json: String,
    /// The tokens that it has used; `None` if it is not the call of a model.
    pub usage: Option<TokenUsage>,
}
