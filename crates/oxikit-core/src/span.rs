//! Spans: what ran below what, for how long, and how it ended.
//!
//! Every action and step has its ids, made before its code starts. Attributes,
//! in Genkit's names, are collected only while an exporter listens, and secrets are
//! covered before it sees them.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use async_trait::async_trait;
use bytes::Bytes;
use oxikit_wire::JsonObject;
use serde_json::Value;

use crate::{ActionContext, Status, StatusCode, redact};

/// An attribute is cut after so many bytes.
const MAX_ATTRIBUTE: usize = 256 * 1024;

/// Names a trace: 128 random bits, 32 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TraceId(u128);

/// Names a span: 64 random bits, 16 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SpanId(u64);

impl TraceId {
    fn random() -> Self {
        Self(fastrand::u128(1..))
    }

    /// As protocols in binary carry it.
    pub fn to_bytes(self) -> [u8; 16] {
        self.0.to_be_bytes()
    }
}

impl SpanId {
    fn random() -> Self {
        Self(fastrand::u64(1..))
    }

    /// As protocols in binary carry it.
    pub fn to_bytes(self) -> [u8; 8] {
        self.0.to_be_bytes()
    }
}

impl fmt::Display for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for TraceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::Debug for SpanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Where finished and started spans go.
///
/// `start` and `end` are called on the path of the application's work: they must
/// not block, wait or panic, and what cannot be kept is dropped. A span is
/// started once and ended once. An exporter never logs its own failures through
/// a logger that it exports.
#[async_trait]
pub trait SpanExporter: Send + Sync {
    /// A span has begun. Whoever wants to show it while it runs keeps the handle
    /// and looks a little later: most spans have ended by then.
    fn start(&self, span: &OpenSpan);

    /// A span has ended.
    fn end(&self, span: SpanRecord);

    /// Waits until what was handed over so far has been sent, or given up.
    async fn flush(&self) {}
}

/// A span as it is exported.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SpanRecord {
    /// The trace it belongs to.
    pub trace_id: TraceId,
    /// Its own id.
    pub span_id: SpanId,
    /// The span above it; `None` for the root of a trace.
    pub parent_span_id: Option<SpanId>,
    /// The name shown to people.
    pub name: String,
    /// When it began.
    pub start: SystemTime,
    /// When it ended; `None` while it runs.
    pub end: Option<SystemTime>,
    /// Genkit's attributes, `genkit:…`, and the labels of the call.
    pub attributes: JsonObject,
    /// How it ended.
    pub status: SpanStatus,
}

/// How a span ended.
#[derive(Debug, Clone, PartialEq)]
pub enum SpanStatus {
    /// Well, or it still runs.
    Ok,
    /// With a failure.
    Error(SpanError),
}

impl SpanStatus {
    /// The failure, if it is one.
    pub fn error(&self) -> Option<&SpanError> {
        match self {
            Self::Ok => None,
            Self::Error(error) => Some(error),
        }
    }
}

/// The failure of a span.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct SpanError {
    /// The code.
    pub code: StatusCode,
    /// The message.
    pub message: String,
    /// The message with its causes, a line each.
    pub report: String,
}

/// What a span stands for: the attribute `genkit:type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum StepKind {
    /// An action.
    Action,
    /// A step of a flow, or a turn of an agent.
    FlowStep,
    /// A part of the library, such as one turn of the generate loop.
    Util,
    /// The rendering of a prompt.
    PromptTemplate,
    /// The calling of a prompt.
    Dotprompt,
}

impl StepKind {
    fn as_str(self) -> &'static str {
        match self {
            Self::Action => "action",
            Self::FlowStep => "flowStep",
            Self::Util => "util",
            Self::PromptTemplate => "promptTemplate",
            Self::Dotprompt => "dotprompt",
        }
    }
}

/// What becomes of secrets in what a span shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Secrets {
    Covered,
    Shown,
}

/// What a new span needs to know.
pub(crate) struct SpanSpec<'a> {
    pub(crate) kind: StepKind,
    pub(crate) name: &'a str,
    /// Action type and key.
    pub(crate) action: Option<(&'static str, &'a str)>,
    pub(crate) labels: Option<&'a JsonObject>,
    pub(crate) context: &'a ActionContext,
    pub(crate) input: Option<&'a dyn Fn() -> Option<Bytes>>,
    pub(crate) init: Option<&'a dyn Fn() -> Option<Bytes>>,
    pub(crate) secrets: Secrets,
}

/// A span that has begun, for an exporter. Cheap to clone.
#[derive(Clone)]
pub struct OpenSpan(Arc<Recording>);

impl OpenSpan {
    /// The span as it is now; `None` once it has ended.
    pub fn record(&self) -> Option<SpanRecord> {
        self.0.record().clone()
    }
}

impl fmt::Debug for OpenSpan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenSpan").field("path", &self.0.path).finish_non_exhaustive()
    }
}

/// A running span. Without an exporter it is three numbers.
pub(crate) struct Span {
    pub(crate) trace_id: TraceId,
    pub(crate) span_id: SpanId,
    recording: Option<Arc<Recording>>,
}

struct Recording {
    exporter: Arc<dyn SpanExporter>,
    /// Path that a child's path begins with.
    path: String,
    secrets: Secrets,
    record: Mutex<Option<SpanRecord>>,
}

impl Span {
    /// The same span for those below it only: attributes and the end are the
    /// first one's.
    pub(crate) fn as_parent(&self) -> Self {
        let recording = self.recording.as_deref().map(|recording| {
            Arc::new(Recording {
                exporter: recording.exporter.clone(),
                path: recording.path.clone(),
                secrets: recording.secrets,
                record: Mutex::new(None),
            })
        });
        Self { trace_id: self.trace_id, span_id: self.span_id, recording }
    }

    pub(crate) fn start(
        spec: SpanSpec<'_>,
        parent: Option<&Self>,
        exporter: Option<Arc<dyn SpanExporter>>,
    ) -> Self {
        let trace_id = parent.map_or_else(TraceId::random, |parent| parent.trace_id);
        let span_id = SpanId::random();
        let recording =
            exporter.map(|exporter| Recording::start(spec, trace_id, span_id, parent, exporter));
        Self { trace_id, span_id, recording }
    }

    pub(crate) fn set_attribute(&self, key: &str, value: Value) {
        let Some(recording) = &self.recording else {
            return;
        };
        if let Some(record) = &mut *recording.record() {
            let value = recording.secrets.attribute(key, value);
            record.attributes.insert(key.to_owned(), value);
        }
    }

    /// Ends the span; `output` is only asked for while an exporter listens.
    pub(crate) fn end(&self, result: Result<&dyn Fn() -> Option<Bytes>, &mut Status>) {
        let Some(recording) = &self.recording else {
            return;
        };
        let Some(mut record) = recording.record().take() else {
            return;
        };
        record.end = Some(SystemTime::now());
        let attributes = &mut record.attributes;
        match result {
            Ok(output) => {
                insert_text(attributes, "genkit:output", output(), recording.secrets);
                attributes.insert("genkit:state".into(), "success".into());
            }
            Err(status) => {
                attributes.insert("genkit:state".into(), "error".into());
                if status.attribute() {
                    attributes.insert("genkit:isFailureSource".into(), true.into());
                }
                record.status = SpanStatus::Error(SpanError {
                    code: status.code(),
                    message: recording.secrets.text(status.message().as_bytes()),
                    report: recording.secrets.text(status.report().as_bytes()),
                });
            }
        }
        recording.exporter.end(record);
    }
}

impl Recording {
    fn start(
        spec: SpanSpec<'_>,
        trace_id: TraceId,
        span_id: SpanId,
        parent: Option<&Span>,
        exporter: Arc<dyn SpanExporter>,
    ) -> Arc<Self> {
        let secrets = spec.secrets;
        let subtype = spec.action.map(|(kind, _)| kind);
        let step = if subtype == Some("flow") { "flow" } else { spec.kind.as_str() };
        let above =
            parent.and_then(|parent| parent.recording.as_deref()).map_or("", |above| &above.path);
        let path = format!("{above}/{{{},t:{step}}}", spec.name);
        let own_path = match subtype {
            Some(subtype) if parent.is_some() => {
                format!("{above}/{{{},t:{step},s:{subtype}}}", spec.name)
            }
            _ => path.clone(),
        };
        let record = SpanRecord {
            trace_id,
            span_id,
            parent_span_id: parent.map(|parent| parent.span_id),
            name: spec.name.to_owned(),
            start: SystemTime::now(),
            end: None,
            attributes: attributes(&spec, own_path, parent.is_none()),
            status: SpanStatus::Ok,
        };
        let open =
            OpenSpan(Arc::new(Self { exporter, path, secrets, record: Mutex::new(Some(record)) }));
        open.0.exporter.start(&open);
        open.0
    }

    fn record(&self) -> std::sync::MutexGuard<'_, Option<SpanRecord>> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn attributes(spec: &SpanSpec<'_>, path: String, is_root: bool) -> JsonObject {
    // As many as most spans have at their end.
    let mut attributes = JsonObject::with_capacity(12);
    for (key, value) in spec.labels.into_iter().flatten() {
        attributes.insert(key.clone(), spec.secrets.attribute(key, value.clone()));
    }
    let mut set = |key: &str, value: Value| attributes.insert(key.to_owned(), value);
    set("genkit:type", spec.kind.as_str().into());
    if let Some((subtype, key)) = spec.action {
        set("genkit:metadata:subtype", subtype.into());
        set("genkit:key", key.into());
    }
    set("genkit:name", spec.name.into());
    if is_root {
        set("genkit:isRoot", true.into());
    }
    set("genkit:path", path.into());
    if spec.action.is_some() && !spec.context.is_empty() {
        set("genkit:metadata:context", spec.context.redacted().to_string().into());
    }
    insert_text(&mut attributes, "genkit:init", spec.init.and_then(|init| init()), spec.secrets);
    insert_text(
        &mut attributes,
        "genkit:input",
        spec.input.and_then(|input| input()),
        spec.secrets,
    );
    attributes
}

fn insert_text(attributes: &mut JsonObject, key: &str, json: Option<Bytes>, secrets: Secrets) {
    if let Some(json) = json {
        attributes.insert(key.to_owned(), secrets.text(&json).into());
    }
}

impl Secrets {
    fn attribute(self, key: &str, value: Value) -> Value {
        match value {
            Value::String(text) if self == Self::Shown || !redact::is_secret_name(key) => {
                self.text(text.as_bytes()).into()
            }
            value if self == Self::Shown => value,
            value => redact::attribute(key, value),
        }
    }

    /// Cut first: what is not kept need not be looked through.
    fn text(self, text: &[u8]) -> String {
        let kept = &text[..text.len().min(MAX_ATTRIBUTE)];
        let kept = match self {
            Self::Covered => redact::json_text(kept),
            Self::Shown => String::from_utf8_lossy(kept),
        };
        if text.len() > MAX_ATTRIBUTE {
            format!("{kept}… [cut, {} bytes in all]", text.len())
        } else {
            kept.into_owned()
        }
    }
}
