//! Parses the posts of runtimes. Only the members that are stored in columns are parsed; the
//! rest of a span stays the text that was posted.

use std::borrow::Cow;

use oxikit_wire::trace::{RawMembers, STATUS_ERROR, SpanData, SpanText, TraceText};
use oxikit_wire::{JsonObject, attribute};
use serde_json::value::RawValue;

use super::ids::stored_id;
use super::members::{Cut, cut, shown, text_of};
use super::usage::{TokenUsage, usage_of};
use super::{TraceError, TraceOptions, tokens};
use crate::peer_process::RuntimeNames;

/// Maximum length of a label in bytes. Traces cannot be filtered by longer ones.
const MAX_LABEL_BYTES: usize = 256;
/// Maximum number of labels per span. Traces cannot be filtered by further ones.
const MAX_LABELS: usize = 64;
/// Maximum length of an id in bytes. A post with a longer one is rejected.
const MAX_ID_BYTES: usize = 256;

/// A parsed post: a trace, or a part of one.
#[derive(Debug)]
pub(super) struct Post {
    /// The id of the trace, as it is [stored](stored_id).
    pub(super) trace: String,
    /// This and the next two are set only if the post contains the root.
    pub(super) name: Option<String>,
    pub(super) start: Option<f64>,
    pub(super) end: Option<f64>,
    /// The spans, in the order of the post.
    pub(super) spans: Vec<NewSpan>,
    /// The names of the runtime that has sent it; empty if that is not known.
    pub(super) runtime: RuntimeNames,
}

/// A parsed span.
#[derive(Debug)]
pub(super) struct NewSpan {
    pub(super) id: String,
    /// Whether it has no parent.
    pub(super) is_root: bool,
    pub(super) name: String,
    /// The type of the action, or else of the span.
    pub(super) kind: Option<String>,
    pub(super) start: f64,
    /// 0 while it runs.
    pub(super) end: f64,
    /// The code of the span's status; `None` if it has no status.
    pub(super) code: Option<i64>,
    /// Whether the status or Genkit's own state says that it has failed.
    pub(super) is_error: bool,
    /// The session that an agent worked for.
    pub(super) session: Option<String>,
    /// Attributes by which the trace can be found.
    pub(super) labels: Vec<(String, String)>,
    /// The tokens that it has used; `None` if it is not the call of a model.
    pub(super) usage: Option<TokenUsage>,
    /// The span as it was posted, its long attributes cut.
    pub(super) json: String,
    /// The words for the index, if the span has ended.
    pub(super) words: String,
}

/// The span without its `null` members: clients never receive a `null`.
fn without_nulls(json: &str) -> serde_json::Result<String> {
    let mut members: JsonObject = serde_json::from_str(json)?;
    members.retain(|_, value| !value.is_null());
    serde_json::to_string(&members)
}

impl Post {
    /// Reads the JSON of a trace. One invalid span refuses the whole post, so that the sender
    /// notices it.
    pub(super) fn read(json: &[u8], options: &TraceOptions) -> Result<Self, TraceError> {
        let post: TraceText<'_> = serde_json::from_slice(json)
            .map_err(|error| TraceError::Post(format!("it is not a trace: {error}")))?;
        check_trace_id(&post.trace_id)?;
        let span = |(id, json): (Cow<'_, str>, &RawValue)| NewSpan::read(&id, json.get(), options);
        Ok(Self {
            spans: post.spans.0.into_iter().map(span).collect::<Result<_, _>>()?,
            trace: stored_id(&post.trace_id),
            name: post.display_name,
            start: post.start_time,
            end: post.end_time,
            runtime: RuntimeNames::default(),
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
                None => posts.push(Self {
                    trace,
                    name: None,
                    start: None,
                    end: None,
                    spans: vec![new],
                    runtime: RuntimeNames::default(),
                }),
            }
        }
        Ok(posts)
    }
}

impl NewSpan {
    /// Reads the JSON of a span. `id` is the name of its member in the post, which is its id.
    pub(super) fn read(id: &str, json: &str, options: &TraceOptions) -> Result<Self, TraceError> {
        check_id(id, "span")?;
        // Derived `Deserialize` would accept a JSON array, too.
        if !json.starts_with('{') {
            return Err(TraceError::Post(format!("span `{id}`: it is not an object")));
        }
        let span: SpanText<'_> = serde_json::from_str(json)
            .map_err(|error| TraceError::Post(format!("span `{id}`: {error}")))?;
        // Some runtimes write `null` for the parent of a root.
        if span.parent_span_id == Some(None) {
            let json = without_nulls(json)
                .map_err(|error| TraceError::Post(format!("span `{id}`: {error}")))?;
            return Self::read(id, &json, options);
        }
        let attributes = &span.attributes;
        let (labels, session) = labels(attributes, span.parent_span_id.is_none());
        let text = |name| attributes.get(name).and_then(text_of);
        let subtype = text(attribute::SUBTYPE);
        let usage = usage_of(attributes, subtype.as_deref(), &options.prices);
        let code = span.status.as_ref().map(|status| status.code);
        let message = span.status.as_ref().and_then(|status| text_of(status.message?));
        let cut = cut(json, attributes, Cut::Bytes(options.max_attribute_bytes));
        // A running span is not indexed: its words would be replaced at its end. Cut attributes
        // are searched as they are stored.
        let words = match &cut {
            _ if span.end_time <= 0.0 => String::new(),
            Some(cut) => tokens::words_of(cut),
            None => tokens::collect(&span.display_name, message.as_deref(), attributes),
        };
        let is_error = code == Some(STATUS_ERROR.into())
            || text(attribute::STATE).as_deref() == Some(attribute::STATE_ERROR);
        Ok(Self {
            kind: subtype.or_else(|| text(attribute::TYPE)).map(Cow::into_owned),
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

/// The labels that a span gives its trace, and the session id. Only a root gives labels; any
/// span can give the session id.
fn labels(attributes: &RawMembers<'_>, is_root: bool) -> (Vec<(String, String)>, Option<String>) {
    let mut labels = Vec::new();
    let mut session = None;
    for (name, value) in &attributes.0 {
        let is_session = matches!(&**name, attribute::SESSION_ID | attribute::SNAPSHOT_ID);
        let is_label = is_session
            || (is_root && !name.starts_with(attribute::NAMESPACE) && name != attribute::RUNTIME);
        if !is_label || value.get().len() > MAX_LABEL_BYTES || labels.len() == MAX_LABELS {
            continue;
        }
        let value = shown(value).into_owned();
        if name == attribute::SESSION_ID {
            session = Some(value.clone());
        }
        labels.push((name.to_string(), value));
    }
    (labels, session)
}

/// Rejects ids that are unsafe in the path of a URL or as the name of a file.
fn check_trace_id(id: &str) -> Result<(), TraceError> {
    if id.contains(['/', '\\']) || id.contains("..") {
        return Err(TraceError::Post(format!("the trace id `{id}` cannot be used")));
    }
    check_id(id, "trace")
}

/// Rejects empty and very long ids. `of` says whose id it is.
fn check_id(id: &str, of: &str) -> Result<(), TraceError> {
    match id.len() {
        0 => Err(TraceError::Post(format!("the id of a {of} is empty"))),
        1..=MAX_ID_BYTES => Ok(()),
        _ => Err(TraceError::Post(format!("the id of a {of} has more than {MAX_ID_BYTES} bytes"))),
    }
}
