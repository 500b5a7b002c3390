//! The `tracing` layer that sends log lines to the developer tools.

use std::fmt;
use std::time::SystemTime;

use oxikit_core::Context as ActionContext;
use tracing::field::{Field as Name, Visit};
use tracing::level_filters::LevelFilter;
use tracing::{Event, Level, Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

use super::GenkitExporter;
use super::logs::{AnyValue, Field, LogLine};
use super::queue;

/// Maximum bytes of a text. The rest is cut.
const MAX_TEXT: usize = 8 * 1024;
/// Crates whose lines below `INFO` are not sent: they log every use of a connection, so that
/// sending their lines could cause further ones without end.
const CONNECTION_CRATES: [&str; 6] =
    ["h2", "hyper", "mio", "reqwest", "tokio_tungstenite", "tungstenite"];

/// The target of the access log of a server, which is not sent: each request has a trace.
const ACCESS: &str = "oxikit::access";

/// Sends log lines to the developer tools, each with the trace it belongs to.
///
/// Made by [`GenkitExporter::log_layer`]. Secrets are covered as in spans. Two kinds of lines are
/// not sent: the access log of a server, because each of its requests has a trace, and lines of
/// this crate itself, because the report of a failure to send could fail again.
///
/// ```no_run
/// use oxikit_telemetry::GenkitExporter;
/// use tracing_subscriber::layer::SubscriberExt as _;
/// use tracing_subscriber::util::SubscriberInitExt as _;
///
/// let exporter = GenkitExporter::new();
/// tracing_subscriber::registry()
///     .with(tracing_subscriber::fmt::layer())
///     .with(exporter.log_layer())
///     .init();
/// ```
#[derive(Debug, Clone)]
pub struct LogLayer {
    exporter: GenkitExporter,
    level: LevelFilter,
}

impl LogLayer {
    pub(super) fn new(exporter: GenkitExporter) -> Self {
        Self { exporter, level: LevelFilter::INFO }
    }

    /// Sends lines of this level and more severe ones; the default is `INFO`.
    ///
    /// ```
    /// use oxikit_telemetry::GenkitExporter;
    /// use tracing_subscriber::filter::LevelFilter;
    ///
    /// let layer = GenkitExporter::new().log_layer().with_level(LevelFilter::DEBUG);
    /// ```
    #[must_use]
    pub fn with_level(mut self, level: impl Into<LevelFilter>) -> Self {
        self.level = level.into();
        self
    }

    fn takes(&self, metadata: &Metadata<'_>) -> bool {
        let is_from =
            |name: &str| metadata.target().split("::").next().is_some_and(|first| first == name);
        *metadata.level() <= self.level
            && metadata.target() != ACCESS
            && !is_from("oxikit_telemetry")
            && (*metadata.level() <= Level::INFO || !CONNECTION_CRATES.into_iter().any(is_from))
    }
}

impl<S: Subscriber> Layer<S> for LogLayer {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if !self.takes(event.metadata()) {
            return;
        }
        let mut line = LogLine {
            time: SystemTime::now(),
            level: *event.metadata().level(),
            message: String::new(),
            fields: Vec::new(),
            span: ActionContext::current().map(|ctx| (ctx.trace_id(), ctx.span_id())),
        };
        event.record(&mut Fields(&mut line));
        self.exporter.push(queue::Event::Log(line));
    }
}

/// Copies the message and the fields of an event into a line.
struct Fields<'a>(&'a mut LogLine);

impl Fields<'_> {
    fn add(&mut self, name: &Name, value: AnyValue) {
        self.0.fields.push(Field { key: name.name(), value });
    }

    fn add_text(&mut self, name: &Name, text: String) {
        match name.name() {
            "message" => self.0.message = cut(text),
            _ => self.add(name, AnyValue::Text(cut(text))),
        }
    }
}

impl Visit for Fields<'_> {
    fn record_debug(&mut self, name: &Name, value: &dyn fmt::Debug) {
        self.add_text(name, format!("{value:?}"));
    }

    fn record_str(&mut self, name: &Name, value: &str) {
        self.add_text(name, value.to_owned());
    }

    fn record_bool(&mut self, name: &Name, value: bool) {
        self.add(name, AnyValue::Bool(value));
    }

    fn record_f64(&mut self, name: &Name, value: f64) {
        self.add(name, AnyValue::Float(value));
    }

    fn record_i64(&mut self, name: &Name, value: i64) {
        self.add(name, AnyValue::Integer(value.to_string()));
    }

    fn record_u64(&mut self, name: &Name, value: u64) {
        self.add(name, AnyValue::Integer(value.to_string()));
    }
}

fn cut(mut text: String) -> String {
    if text.len() > MAX_TEXT {
        let all = text.len();
        text.truncate(text.floor_char_boundary(MAX_TEXT));
        text.push_str(&format!("… [cut, {all} bytes in all]"));
    }
    text
}
