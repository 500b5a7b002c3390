//! Spans: the tree of actions and steps of a trace, their times and their results.
//!
//! Every action and step has its ids, made before its code starts. Attributes,
//! in Genkit's names, are collected only if an exporter is registered, and secrets are
//! covered before it sees them. Exporters themselves are in other crates.

mod trace_parent;

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use async_trait::async_trait;
use bytes::Bytes;
use oxikit_wire::{JsonObject, attribute};
use serde_json::Value;

use crate::{ActionContext, Status, StatusCode, redact};
pub use trace_parent::TraceParent;

/// Maximum bytes of an attribute. The rest is cut.
const MAX_ATTRIBUTE: usize = 256 * 1024;

/// The id of a trace: 128 random bits, printed as 32 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TraceId(u128);

/// The id of a span: 64 random bits, printed as 16 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SpanId(u64);

impl TraceId {
    fn random() -> Self {
        Self(fastrand::u128(1..))
    }

    /// The id with this number; `None` for 0, which no trace has.
    pub(crate) fn from_number(number: u128) -> Option<Self> {
        (number != 0).then_some(Self(number))
    }

    /// The id in network byte order, as binary protocols such as OTLP send it.
    pub fn to_bytes(self) -> [u8; 16] {
        self.0.to_be_bytes()
    }
}

impl SpanId {
    fn random() -> Self {
        Self(fastrand::u64(1..))
    }

    /// The id with this number; `None` for 0, which no span has.
    pub(crate) fn from_number(number: u64) -> Option<Self> {
        (number != 0).then_some(Self(number))
    }

    /// The id in network byte order, as binary protocols such as OTLP send it.
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

/// Receives the spans of an application, to store or send them.
///
/// `start` and `end` are called on the path of the application's work: they must
/// not block, wait or panic, and spans that cannot be kept are dropped. A span is
/// started once and ended once. An exporter never logs its own failures through
/// a logger that it exports.
///
/// ```
/// use std::sync::{Arc, Mutex};
///
/// use async_trait::async_trait;
/// use oxikit_core::{Action, ActionKind, Call, OpenSpan, Registry, SpanExporter, SpanRecord};
///
/// #[derive(Default)]
/// struct Names(Mutex<Vec<String>>);
///
/// #[async_trait]
/// impl SpanExporter for Names {
///     fn start(&self, _: &OpenSpan) {}
///
///     fn end(&self, span: SpanRecord) {
///         self.0.lock().unwrap().push(span.name);
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> oxikit_core::Result<()> {
/// let (registry, names) = (Registry::default(), Arc::new(Names::default()));
/// registry.add_exporter(names.clone());
/// let greet = Action::builder(ActionKind::Flow, "greet");
/// registry.register(greet.handler(|_: ()| async { Ok("hello") }));
/// registry.run("/flow/greet", Call::empty()).await?;
/// assert_eq!(*names.0.lock().unwrap(), ["greet"]);
/// # Ok(()) }
/// ```
#[async_trait]
pub trait SpanExporter: Send + Sync {
    /// Called when a span has begun. An exporter that shows running spans keeps the handle
    /// and reads it a little later: most spans have ended by then.
    fn start(&self, span: &OpenSpan);

    /// Called when a span has ended, with all its attributes.
    fn end(&self, span: SpanRecord);

    /// Waits until the spans that were passed so far have been sent, or given up. Applications
    /// call it before they exit.
    async fn flush(&self) {}
}

/// A span as it is exported.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SpanRecord {
    /// The trace that the span belongs to.
    pub trace_id: TraceId,
    /// The id of the span itself.
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
    /// The result; [`SpanStatus::Ok`] while the span runs.
    pub status: SpanStatus,
}

/// The result of a span.
#[derive(Debug, Clone, PartialEq)]
pub enum SpanStatus {
    /// The span has succeeded, or still runs.
    Ok,
    /// The span has failed.
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

/// The failure of a span. Secrets in its texts are covered.
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

/// The kind of a span: the attribute `genkit:type`.
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

/// The treatment of secrets in the attributes of a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Secrets {
    /// Secrets are replaced: the default.
    Covered,
    /// Secrets are recorded as they are, by [`Registry::record_secrets`](crate::Registry::record_secrets).
    Shown,
}

/// The arguments of a new span.
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

/// A running span. Without an exporter it only has its ids, so that it costs almost nothing.
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
    /// `None` once the span has ended: the record was moved to the exporter.
    record: Mutex<Option<SpanRecord>>,
}

impl Span {
    /// The same span, but only as the parent of others: attributes and the end of the original
    /// span are not affected.
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

    /// A span of another process. It is not recorded here.
    pub(crate) fn remote(trace_id: TraceId, span_id: SpanId) -> Self {
        Self { trace_id, span_id, recording: None }
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

    /// Ends the span. The output is serialised only if there is an exporter. Later calls do
    /// nothing.
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
                insert_text(attributes, attribute::OUTPUT, output(), recording.secrets);
                attributes.insert(attribute::STATE.into(), attribute::STATE_SUCCESS.into());
            }
            Err(status) => {
                attributes.insert(attribute::STATE.into(), attribute::STATE_ERROR.into());
                if status.attribute() {
                    attributes.insert(attribute::IS_FAILURE_SOURCE.into(), true.into());
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
    // The number of attributes that most spans have at their end.
    let mut attributes = JsonObject::with_capacity(12);
    for (key, value) in spec.labels.into_iter().flatten() {
        attributes.insert(key.clone(), spec.secrets.attribute(key, value.clone()));
    }
    let mut set = |key: &str, value: Value| attributes.insert(key.to_owned(), value);
    set(attribute::TYPE, spec.kind.as_str().into());
    if let Some((subtype, key)) = spec.action {
        set(attribute::SUBTYPE, subtype.into());
        set(attribute::KEY, key.into());
    }
    set(attribute::NAME, spec.name.into());
    if is_root {
        set(attribute::IS_ROOT, true.into());
    }
    set(attribute::PATH, path.into());
    if spec.action.is_some() && !spec.context.is_empty() {
        set(attribute::CONTEXT, spec.context.redacted().to_string().into());
    }
    insert_text(&mut attributes, attribute::INIT, spec.init.and_then(|init| init()), spec.secrets);
    insert_text(
        &mut attributes,
        attribute::INPUT,
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

    /// The text as an attribute: without secrets and cut to [`MAX_ATTRIBUTE`]. It is cut first, so
    /// that only the kept part is searched for secrets.
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
