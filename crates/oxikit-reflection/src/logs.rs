//! A `tracing` layer that shows the log of the process in the developer tools.

use oxikit_telemetry::LogLayer;

use super::DevConfig;

/// Shows the log in the developer tools, for an application that sets up
/// [`tracing`] itself. `oxikit_serve::init_log` is for one that does not.
///
/// `None`, which is a layer that does nothing, unless `GENKIT_ENV` is `dev`. May
/// be called before [`DevConfig::start`].
///
/// ```
/// use tracing_subscriber::prelude::*;
///
/// tracing_subscriber::registry()
///     .with(tracing_subscriber::fmt::layer())
///     .with(oxikit_reflection::dev_log_layer())
///     .init();
/// ```
pub fn dev_log_layer() -> Option<LogLayer> {
    // An invalid environment is reported when the tools are started.
    let config = DevConfig::from_env().ok()??;
    config.exporter.map(|exporter| exporter.log_layer())
}
