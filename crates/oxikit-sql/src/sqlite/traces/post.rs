//! Posts of runtimes: what is looked at, and what is only stored.

use std::borrow::Cow;

use oxikit_wire::JsonObject;
use oxikit_wire::trace::SpanData;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::ids::stored_id;
use super::members::{Cut, Members, Name, cut, shown, text_of};
use super::usage::{TokenUsage, usage_of};
use super::{TraceError, TraceOptions, tokens};

/// A label of more bytes cannot be searched for.
const MAX_LABEL_BYTES: usize = 256;
/// So many labels of a span can be searched for.
const MAX_LABELS: usize = 64;
/// Ids are short; whoever sends another one is mistaken.
const MAX_ID_BYTES: usize = 256;
/// The label that sessions are found by.
pub(super) const SESSION: &str = "genkit:metadata:agent:sessionId";
const SNAPSHOT: &str = "genkit:metadata:agent:snapshotId";

/// A trace, or a part of one, on its way into the tables.
#[derive(Debug)]
pub(super) struct Post {
    pub(super) trace: String,
    /// These three only with the root.
    pub(super) name: Option<String>,
    pub(super) start: Option<f64>,
    pub(super) end: Option<f64>,
    pub(super) spans: Vec<NewSpan>,
}

/// A span on its way into the tables.
#[derive(Debug)]
pub(super) struct NewSpan {
    pub(super) id: String,
    pub(super) is_root: bool,
    pub(super) name: String,
    /// The type of the action, or else of the span.
    pub(super) kind: Option<String>,
    pub(super) start: f64,
    /// 0 while it runs.
    pub(super) end: f64,
    pub(super) code: Option<i64>,
    pub(super) is_error: bool,
    pub(super) session: Option<String>,
    pub(super) labels: Vec<(String, String)>,
    pub(super) usage: Option<TokenUsage>,
    /// The span as it came.
    pub(super) json: String,
    /// What it can be searched for by, once it has ended.
    pub(super) words: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PostText<'a> {
    trace_id: String,
    #[serde(default)]
    display_name: Option<String>,
    #[serde(default)]
    start_time: Option<f64>,
    #[serde(default)]
    end_time: Option<f64>,
    #[serde(borrow)]
    spans: Members<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SpanText<'a> {
    #[serde(borrow, rename = "spanId")]
    _span_id: Cow<'a, str>,
    #[serde(borrow, rename = "traceId")]
    _trace_id: Cow<'a, str>,
    /// `Some(None)` if it is `null`, which is as good as absent.
    #[serde(borrow, default, deserialize_with = "present")]
    parent_span_id: Option<Option<Cow<'a, str>>>,
    start_time: f64,
    end_time: f64,
    #[serde(borrow)]
    attributes: Members<'a>,
    display_name: String,
    #[serde(borrow, rename = "instrumentationLibrary")]
    _library: LibraryText<'a>,
    #[serde(borrow, rename = "spanKind")]
    _span_kind: Cow<'a, str>,
    #[serde(borrow, default)]
    status: Option<StatusText<'a>>,
}

#[derive(Deserialize)]
struct LibraryText<'a> {
    #[serde(borrow, rename = "name")]
    _name: Cow<'a, str>,
}

#[derive(Deserialize)]
struct StatusText<'a> {
    #[serde(deserialize_with = "oxikit_wire::number::integer")]
    code: i64,
    #[serde(borrow, default)]
    message: Option<&'a RawValue>,
}

fn present<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Option<Cow<'de, str>>>, D::Error> {
    let name = Option::<Name<'_>>::deserialize(deserializer)?;
    Ok(Some(name.map(|Name(name)| name)))
}

/// The same span without the members that are `null`: nobody is sent one.
fn without_nulls(json: &str) -> serde_json::Result<String> {
    let mut members: JsonObject = serde_json::from_str(json)?;
    members.retain(|_, value| !value.is_null());
    serde_json::to_string(&members)
}

impl Post {
    /// Reads the JSON of a trace.
    pub(super) fn read(json: &[u8], options: &TraceOptions) -> Result<Self, TraceError> {
        let post: PostText<'_> = serde_json::from_slice(json)
            .map_err(|error| TraceError::Post(format!("it is not a trace: {error}")))?;
        check_trace_id(&post.trace_id)?;
        let span = |(id, json): (Cow<'_, str>, &RawValue)| NewSpan::read(&id, json.get(), options);
        Ok(Self {
            spans: post.spans.0.into_iter().map(span).collect::<Result<_, _>>()?,
            trace: stored_id(&post.trace_id),
            name: post.display_name,
            start: post.start_time,
            end: post.end_time,
        })
    }

    /// Spans of any traces, as a post for each trace.
    pub(super) fn of_spans(
        spans: Vec<SpanData>,
        options: &TraceOptions,
    ) -> Result<Vec<Self>, TraceError> {
        let mut posts: Vec<Self> = Vec::new();
        for span in spans {
            check_trace_id(&span.trace_id)?;
            let json = serde_json::to_string(&span)
                .map_err(|error| TraceError::Post(format!("span `{}`: {error}", span.span_id)))?;
            let new = NewSpan::read(&span.span_id, &json, options)?;
            let trace = stored_id(&span.trace_id);
            match posts.iter_mut().rev().find(|post| post.trace == trace) {
                Some(post) => post.spans.push(new),
                None => {
                    posts.push(Self { trace, name: None, start: None, end: None, spans: vec![new] })
                }
            }
        }
        Ok(posts)
    }
}

impl NewSpan {
    pub(super) fn read(id: &str, json: &str, options: &TraceOptions) -> Result<Self, TraceError> {
        check_id(id, "span")?;
        // A list would do for serde, too.
        if !json.starts_with('{') {
            return Err(TraceError::Post(format!("span `{id}`: it is no object")));
        }
        let span: SpanText<'_> = serde_json::from_str(json)
            .map_err(|error| TraceError::Post(format!("span `{id}`: {error}")))?;
        if span.parent_span_id == Some(None) {
            let json = without_nulls(json)
                .map_err(|error| TraceError::Post(format!("span `{id}`: {error}")))?;
            return Self::read(id, &json, options);
        }
        let attributes = &span.attributes;
        let (labels, session) = labels(attributes, span.parent_span_id.is_none());
        let text = |name| attributes.get(name).and_then(text_of);
        let subtype = text("genkit:metadata:subtype");
        let usage = usage_of(attributes, subtype.as_deref(), &options.prices);
        let code = span.status.as_ref().map(|status| status.code);
        let message = span.status.as_ref().and_then(|status| text_of(status.message?));
        let cut = cut(json, attributes, Cut::Bytes(options.max_attribute_bytes));
        let words = match &cut {
            _ if span.end_time <= 0.0 => String::new(),
            Some(cut) => tokens::words_of(cut),
            None => tokens::collect(&span.display_name, message.as_deref(), attributes),
        };
        let is_error = code == Some(2) || text("genkit:state").as_deref() == Some("error");
        Ok(Self {
            kind: subtype.or_else(|| text("genkit:type")).map(Cow::into_owned),
            json: cut.unwrap_or_else(|| json.to_owned()),
            id: id.to_owned(),
            is_root: span.parent_span_id.is_none(),
            name: span.display_name,
            start: span.start_time,
            end: span.end_time,
            code,
            is_error,
            session,
            labels,
            usage,
            words,
        })
    }
}

/// What the trace of the span can be found by, and the session among it. Only the
/// labels of a root are the labels of a trace; sessions are taken from everywhere.
fn labels(attributes: &Members<'_>, is_root: bool) -> (Vec<(String, String)>, Option<String>) {
    let mut labels = Vec::new();
    let mut session = None;
    for (name, value) in &attributes.0 {
        let is_session = matches!(&**name, SESSION | SNAPSHOT);
        let is_label = is_session || (is_root && !name.starts_with("genkit:"));
        if !is_label || value.get().len() > MAX_LABEL_BYTES || labels.len() == MAX_LABELS {
            continue;
        }
        let value = shown(value).into_owned();
        if name == SESSION {
            session = Some(value.clone());
        }
        labels.push((name.to_string(), value));
    }
    (labels, session)
}

/// Trace ids stand in paths of URLs, and elsewhere in names of files.
fn check_trace_id(id: &str) -> Result<(), TraceError> {
    if id.contains(['/', '\\']) || id.contains("..") {
        return Err(TraceError::Post(format!("the trace id `{id}` cannot be used")));
    }
    check_id(id, "trace")
}

fn check_id(id: &str, of: &str) -> Result<(), TraceError> {
    match id.len() {
        0 => Err(TraceError::Post(format!("the id of a {of} is empty"))),
        1..=MAX_ID_BYTES => Ok(()),
        _ => Err(TraceError::Post(format!("the id of a {of} has more than {MAX_ID_BYTES} bytes"))),
    }
}
