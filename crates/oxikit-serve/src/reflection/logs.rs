//! The log of the process, as the developer tools show it.

use std::io::{self, IsTerminal};

use oxikit_telemetry::{GenkitExporter, LogLayer};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::{EnvFilter, fmt, registry};

use super::DevConfig;

/// Shows the log in the developer tools, for an application that sets up
/// [`tracing`] itself. Of an application that does not, it is shown anyway.
///
/// `None`, which is a layer that does nothing, unless `GENKIT_ENV` is `dev`. May
/// be called before [`DevTools::start`](crate::DevTools::start).
///
/// ```
/// use tracing_subscriber::prelude::*;
///
/// tracing_subscriber::registry()
///     .with(tracing_subscriber::fmt::layer())
///     .with(oxikit_serve::dev_log_layer())
///     .init();
/// ```
pub fn dev_log_layer() -> Option<LogLayer> {
    // What is wrong with the environment is told when the tools are started.
    let config = DevConfig::from_env().ok()??;
    config.exporter.map(|exporter| exporter.log_layer())
}

/// Logs to the standard error and to the tools, if nobody else takes the log.
/// `RUST_LOG` says how much.
pub(super) fn set_up(exporter: &GenkitExporter) {
    if tracing::dispatcher::has_been_set() {
        return;
    }
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("info"));
    let lines = fmt::layer().with_writer(io::stderr).with_ansi(io::stderr().is_terminal());
    let subscriber = registry().with(filter).with(lines).with(exporter.log_layer());
    // Who has been faster meanwhile keeps it.
    _ = tracing::subscriber::set_global_default(subscriber);
}
