//! The log of the process, as the developer tools show it.

use oxikit_telemetry::LogLayer;

use super::DevConfig;

/// Shows the log in the developer tools, for an application that sets up
/// [`tracing`] itself. [`init_log`](crate::init_log) is for one that does not.
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
