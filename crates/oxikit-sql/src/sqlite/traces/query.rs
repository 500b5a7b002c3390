//! What can be asked for, and what is answered.

use super::super::damage::Damage;
use super::TokenUsage;
use super::filter::TraceFilter;

/// Which traces, newest first. All that is given must be true of a trace.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct TraceQuery {
    /// So many at most; never more than 1,000.
    pub limit: usize,
    /// Goes on after a page: the [`next`](TracePage::next) of that.
    pub after: Option<String>,
    /// The name of the root, the whole of it.
    pub name: Option<String>,
    /// Such as `flow`, `model` or `agent`.
    pub kind: Option<String>,
    /// How it goes.
    pub status: Option<TraceStatus>,
    /// Started at this moment or later, in milliseconds since 1970.
    pub started_from: Option<f64>,
    /// Started before this moment.
    pub started_before: Option<f64>,
    /// Took so many milliseconds or more. One that runs has no duration.
    pub min_duration: Option<f64>,
    /// Took so many milliseconds or less.
    pub max_duration: Option<f64>,
    /// Words that all stand in one ended span: in its name, its values or its error.
    /// A word that ends with `*` stands for all that begin so. In a text without any
    /// letters and digits there is no word, and nothing is found.
    pub text: Option<String>,
    /// Attributes of the root and their values, such as `genkitx:env` and `dev`.
    pub labels: Vec<(String, String)>,
    /// An agent worked for this session.
    pub session_id: Option<String>,
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
            filter: None,
        }
    }
}

/// How a trace goes, by its root.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TraceStatus {
    /// It has no end yet.
    Running,
    /// It has ended well.
    Success,
    /// It has failed.
    Error,
}

/// A part of a list.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TracePage {
    /// Newest first.
    pub traces: Vec<TraceSummary>,
    /// Where the next page goes on, whatever is written meanwhile; `None` if there are
    /// no more.
    pub next: Option<String>,
    /// What cannot be read of this part of the list, because the file is damaged.
    pub damage: Option<Damage>,
}

/// What a list shows of a trace.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct TraceSummary {
    /// Its id.
    pub trace_id: String,
    /// The name of the root.
    pub name: String,
    /// Such as `flow`, `model` or `agent`.
    pub kind: Option<String>,
    /// When it began, in milliseconds since 1970.
    pub start: f64,
    /// When it ended; `None` while it runs.
    pub end: Option<f64>,
    /// How it goes.
    pub status: TraceStatus,
    /// The session that an agent worked for.
    pub session_id: Option<String>,
    /// How many spans are stored.
    pub spans: u32,
    /// How many came when there were too many.
    pub dropped_spans: u32,
    /// Sums over the calls of models.
    pub usage: TokenUsage,
    /// The id of the root; of the first span, while no root is known.
    pub root_id: String,
    /// The JSON of that span, its attributes cut after 1,000 characters.
    pub root: String,
}

impl TraceSummary {
    /// The trace with its root only, as the official tools list it.
    pub fn to_json(&self) -> String {
        let mut json = super::read::opening(&self.trace_id, &self.name, self.start, self.end);
        super::read::push_span(&mut json, &self.root_id, &self.root);
        json.push_str("}}");
        json
    }
}

/// A stored span.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredSpan {
    /// Its id.
    pub span_id: String,
    /// The JSON of the span, as it came.
    pub json: String,
    /// What it has used, if it is a call of a model.
    pub usage: Option<TokenUsage>,
}
