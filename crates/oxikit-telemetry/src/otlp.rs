//! To OTLP collectors, for production.

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
/// Nothing waits for it: spans stand in a bounded queue until a task of its own
/// has sent them, and a span that finds the queue full is dropped and counted.
/// Secrets were covered before a span gets here.
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
    /// Nothing is sent before the first span has ended.
    pub fn new(config: OtlpConfig) -> Result<Self, OtlpConfigError> {
        Delivery::new(config).map(|delivery| Self(Arc::new(delivery)))
    }

    /// How many spans were lost so far: the queue was full, the collector did not
    /// take them in time, or refused them. What the sampler left out is not lost.
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

    /// Sends what is queued now. Takes no longer than the time limit of a batch.
    async fn flush(&self) {
        self.0.flush().await;
    }
}

impl fmt::Debug for OtlpExporter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OtlpExporter").field("dropped", &self.dropped()).finish_non_exhaustive()
    }
}
