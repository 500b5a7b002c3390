//! Spans to an OpenTelemetry collector, if the environment names one.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use oxikit_core::Registry;
use oxikit_telemetry::{OtlpConfig, OtlpExporter};

/// The last spans of a process may take this long.
const LAST_SPANS: Duration = Duration::from_secs(3);

/// Whether an application has its exporter, however often it is served.
#[derive(Default)]
struct Exports(AtomicBool);

/// Sends all spans as OpenTelemetry's standard variables say.
pub(crate) fn export(registry: &Registry) -> io::Result<()> {
    let invalid = |error| io::Error::new(io::ErrorKind::InvalidInput, error);
    let Some(config) = OtlpConfig::from_env().map_err(invalid)? else { return Ok(()) };
    let exporter = OtlpExporter::new(config).map_err(invalid)?;
    if !registry.state::<Exports>().0.swap(true, Ordering::Relaxed) {
        registry.add_exporter(Arc::new(exporter));
    }
    Ok(())
}

/// Sends what is left, before the process ends.
pub(crate) async fn flush(registry: &Registry) {
    if let Some(exporter) = registry.exporter() {
        _ = tokio::time::timeout(LAST_SPANS, exporter.flush()).await;
    }
}
