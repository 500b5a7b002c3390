//! Traces and spans that stay text: only the members that are looked at are read, all
//! others keep the bytes they came as.
//!
//! Each type here reads the JSON of a [`TraceData`](super::TraceData) or a
//! [`SpanData`](super::SpanData). Reading one costs no more than its own members.

use std::borrow::Cow;
use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::absent::null_is_default;

/// Number of members for which memory is reserved before an object is read. Larger objects
/// grow the list.
const USUAL_MEMBERS: usize = 8;

/// The members of an object in their order, each value as the text it came as.
#[derive(Debug, Default)]
pub struct RawMembers<'a>(pub Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> RawMembers<'a> {
    /// The value of a member, or of the first one if the name is repeated.
    ///
    /// The search is linear, which is faster than a map for objects of this size.
    #[inline]
    pub fn get(&self, name: &str) -> Option<&'a RawValue> {
        self.0.iter().find(|(other, _)| other == name).map(|(_, value)| *value)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for RawMembers<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(MembersVisitor)
    }
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = RawMembers<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::with_capacity(USUAL_MEMBERS);
        while let Some((Name(name), value)) = map.next_entry()? {
            members.push((name, value));
        }
        Ok(RawMembers(members))
    }
}

/// A string that borrows from the input unless it has escapes.
// `Cow` alone would always copy: serde borrows only through a field with `borrow`.
#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

/// A [`TraceData`](super::TraceData) whose spans stay text.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TraceText<'a> {
    /// 32 hexadecimal digits.
    pub trace_id: String,
    /// The name of the root span; only where that is among the spans.
    #[serde(default)]
    pub display_name: Option<String>,
    /// When the root began, in milliseconds since 1970.
    #[serde(default)]
    pub start_time: Option<f64>,
    /// When the root ended; 0 while it runs.
    #[serde(default)]
    pub end_time: Option<f64>,
    /// The spans by their ids; each can be read as a [`SpanText`].
    #[serde(borrow)]
    pub spans: RawMembers<'a>,
}

/// A [`SpanData`](super::SpanData) of which only what a store needs is read. Members that a
/// span must have are checked to be there.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SpanText<'a> {
    #[serde(borrow, rename = "spanId")]
    _span_id: Cow<'a, str>,
    #[serde(borrow, rename = "traceId")]
    _trace_id: Cow<'a, str>,
    /// The span above it; `Some(None)` if the text says `null`, which means absence.
    #[serde(borrow, default, deserialize_with = "nullable")]
    pub parent_span_id: Option<Option<Cow<'a, str>>>,
    /// When it began, in milliseconds since 1970.
    pub start_time: f64,
    /// When it ended; 0 while it runs.
    pub end_time: f64,
    /// Genkit's attributes and the labels of the run.
    #[serde(borrow)]
    pub attributes: RawMembers<'a>,
    /// The name shown to people.
    pub display_name: String,
    #[serde(borrow, rename = "instrumentationLibrary")]
    _library: LibraryText<'a>,
    #[serde(borrow, rename = "spanKind")]
    _span_kind: Cow<'a, str>,
    /// Success or failure; absent while the span runs.
    #[serde(borrow, default)]
    pub status: Option<StatusText<'a>>,
}

#[derive(Debug, Deserialize)]
struct LibraryText<'a> {
    #[serde(borrow, rename = "name")]
    _name: Cow<'a, str>,
}

/// A [`SpanStatusData`](super::SpanStatusData) whose message stays text.
#[derive(Debug, Deserialize)]
pub struct StatusText<'a> {
    /// 0 and 1 are good, [`STATUS_ERROR`](super::STATUS_ERROR) is an error.
    #[serde(deserialize_with = "crate::number::integer")]
    pub code: i64,
    /// Description of the failure.
    #[serde(borrow, default)]
    pub message: Option<&'a RawValue>,
}

// A store keeps the text of a span and has to remove a `null` from it, which readers such as the
// official server reject. So `null` and absence are different here.
fn nullable<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Option<Cow<'de, str>>>, D::Error> {
    let name = Option::<Name<'_>>::deserialize(deserializer)?;
    Ok(Some(name.map(|Name(name)| name)))
}

fn name_or_none<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Cow<'de, str>, D::Error> {
    let name = Option::<Name<'_>>::deserialize(deserializer)?;
    Ok(name.map(|Name(name)| name).unwrap_or_default())
}

/// The ids of a [`SpanData`](super::SpanData).
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SpanIds {
    /// The trace it belongs to.
    pub trace_id: String,
    /// Its own id.
    pub span_id: String,
}

/// The searchable texts of a [`SpanData`](super::SpanData). Any member may be missing.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SpanSearchText<'a> {
    /// The name shown to people.
    #[serde(borrow, default, deserialize_with = "name_or_none")]
    pub display_name: Cow<'a, str>,
    /// Genkit's attributes and the labels of the run.
    #[serde(borrow, default, deserialize_with = "null_is_default")]
    pub attributes: RawMembers<'a>,
    /// Success or failure; absent while the span runs.
    #[serde(borrow, default, deserialize_with = "null_is_default")]
    pub status: StatusSearchText<'a>,
}

/// The searchable text of a [`SpanStatusData`](super::SpanStatusData).
#[derive(Debug, Default, Deserialize)]
pub struct StatusSearchText<'a> {
    /// Description of the failure.
    #[serde(borrow, default)]
    pub message: Option<Cow<'a, str>>,
}

/// The attributes of a [`SpanData`](super::SpanData), if it has any.
#[derive(Debug, Default, Deserialize)]
pub struct SpanAttributes<'a> {
    /// Genkit's attributes and the labels of the run.
    #[serde(borrow, default, deserialize_with = "null_is_default")]
    pub attributes: RawMembers<'a>,
}

/// The members of a [`SpanData`](super::SpanData) that show whether its trace has ended.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SpanEnd<'a> {
    /// The span above it.
    #[serde(borrow, default)]
    pub parent_span_id: Option<Cow<'a, str>>,
    /// When it ended; 0 while it runs.
    pub end_time: f64,
}

impl SpanEnd<'_> {
    /// Whether this is a root that has ended.
    pub fn is_ended_root(&self) -> bool {
        self.parent_span_id.is_none() && self.end_time > 0.0
    }
}

/// Puts the JSON of a [`TraceData`](super::TraceData) together from the texts of its spans.
///
/// ```
/// use oxikit_wire::trace::TraceWriter;
///
/// let mut trace = TraceWriter::new("t1", "greet", 1000.0, None);
/// trace.add_span("s1", r#"{"spanId":"s1"}"#);
/// assert_eq!(
///     trace.finish(),
///     r#"{"traceId":"t1","displayName":"greet","startTime":1000,"endTime":0,"spans":{"s1":{"spanId":"s1"}}}"#,
/// );
/// ```
#[derive(Debug)]
pub struct TraceWriter(String);

impl TraceWriter {
    /// A trace without spans. Times are in milliseconds since 1970; without an end it runs.
    pub fn new(id: &str, name: &str, start: f64, end: Option<f64>) -> Self {
        Self(format!(
            r#"{{"traceId":{},"displayName":{},"startTime":{},"endTime":{},"spans":{{"#,
            Value::from(id),
            Value::from(name),
            time(start),
            time(end.unwrap_or_default()),
        ))
    }

    /// Adds a span. `span` is JSON text, which is copied without a check.
    pub fn add_span(&mut self, id: &str, span: &str) {
        let Self(json) = self;
        if !json.ends_with('{') {
            json.push(',');
        }
        json.push_str(&Value::from(id).to_string());
        json.push(':');
        json.push_str(span);
    }

    /// Ends the object and returns the JSON of the trace.
    pub fn finish(mut self) -> String {
        self.0.push_str("}}");
        self.0
    }
}

/// Writes whole milliseconds without a fraction, as runtimes do.
// Below 1e15 every whole `f64` is exact as an `i64`; larger ones keep the form of a float.
fn time(milliseconds: f64) -> Value {
    if milliseconds.fract() == 0.0 && milliseconds.abs() < 1e15 {
        #[expect(clippy::cast_possible_truncation, reason = "it is whole and small")]
        Value::from(milliseconds as i64)
    } else {
        Value::from(milliseconds)
    }
}
