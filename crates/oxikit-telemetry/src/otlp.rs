//! The exporter to OTLP collectors, for production.
//!
//! Only ended spans are sent, over HTTP with protobuf or JSON. gRPC, metrics and logs are not
//! supported.

mod config;
mod convert;
mod delivery;
mod queue;
mod variables;

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use oxikit_core::{OpenSpan, SpanExporter, SpanRecord};

pub use config::{OtlpConfig, OtlpConfigError, OtlpProtocol};
use delivery::Delivery;

/// Sends finished spans to a collector, in batches. Cheap to clone.
///
/// The application never waits for it: spans are in a bounded queue until a task
/// has sent them, and a span that does not fit into the queue is dropped and counted.
/// Secrets are covered before a span reaches an exporter.
///
/// The task runs on the tokio runtime in which spans end, and only while there are spans to send.
/// Call [`flush`](SpanExporter::flush) before the process ends.
///
/// ```no_run
/// # fn main() -> Result<(), oxikit_telemetry::OtlpConfigError> {
/// # let registry = oxikit_core::Registry::default();
/// use oxikit_telemetry::{OtlpConfig, OtlpExporter};
///
/// if let Some(config) = OtlpConfig::from_env()? {
///     registry.add_exporter(std::sync::Arc::new(OtlpExporter::new(config)?));
/// }
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct OtlpExporter(Arc<Delivery>);

impl OtlpExporter {
    /// Makes the exporter. Nothing is sent before the first span has ended.
    ///
    /// # Errors
    ///
    /// [`OtlpConfigError::Client`] if the HTTP client cannot be made.
    pub fn new(config: OtlpConfig) -> Result<Self, OtlpConfigError> {
        Delivery::new(config).map(|delivery| Self(Arc::new(delivery)))
    }

    /// The number of spans that were lost so far: the queue was full, the collector did not
    /// accept them in time, or refused them. Spans that the sampler left out do not count.
    pub fn dropped(&self) -> u64 {
        self.0.dropped()
    }
}

#[async_trait]
impl SpanExporter for OtlpExporter {
    fn start(&self, _: &OpenSpan) {}

    fn end(&self, span: SpanRecord) {
        self.0.accept(span);
    }

    /// Sends the queued spans. Takes no longer than the timeout of a batch.
    async fn flush(&self) {
        self.0.flush().await;
    }
}

impl fmt::Debug for OtlpExporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OtlpExporter").field("dropped", &self.dropped()).finish_non_exhaustive()
    }
}
