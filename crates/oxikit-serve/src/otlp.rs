//! Exports spans to an OpenTelemetry collector, if the environment names one. The exporter
//! itself is in `oxikit-telemetry`; this module only ties it to the start and the end of a
//! server.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use oxikit_core::Registry;
use oxikit_telemetry::{OtlpConfig, OtlpExporter};

/// Timeout for sending the last spans when the process ends. The rest is dropped.
const LAST_SPANS: Duration = Duration::from_secs(3);

/// Whether an application has its exporter. An application that is served twice must not send
/// every span twice.
#[derive(Default)]
struct Exports(AtomicBool);

/// Sends the spans of an application to the collector that OpenTelemetry's standard variables
/// describe, such as `OTEL_EXPORTER_OTLP_ENDPOINT`; does nothing if they name none.
///
/// [`Server::serve`](crate::Server::serve) and `reflect` do this themselves. It is for programs
/// that bind their servers or use a [router](crate::Server::router):
///
/// ```
/// # fn example(ai: oxikit::Oxikit) -> std::io::Result<()> {
/// oxikit_serve::export_spans(&ai)?;
/// let routes = oxikit_serve::Server::new(&ai).router();
/// # Ok(()) }
/// ```
///
/// # Errors
///
/// If a variable has a value that cannot be understood, such as an unknown protocol.
pub fn export_spans(app: &impl AsRef<Registry>) -> io::Result<()> {
    export(app.as_ref())
}

pub(crate) fn export(registry: &Registry) -> io::Result<()> {
    let invalid = |error| io::Error::new(io::ErrorKind::InvalidInput, error);
    let Some(config) = OtlpConfig::from_env().map_err(invalid)? else { return Ok(()) };
    let exporter = OtlpExporter::new(config).map_err(invalid)?;
    if !registry.state::<Exports>().0.swap(true, Ordering::Relaxed) {
        registry.add_exporter(Arc::new(exporter));
    }
    Ok(())
}

/// Sends the spans that are still buffered, before the process ends.
pub(crate) async fn flush(registry: &Registry) {
    if let Some(exporter) = registry.exporter() {
        _ = tokio::time::timeout(LAST_SPANS, exporter.flush()).await;
    }
}
