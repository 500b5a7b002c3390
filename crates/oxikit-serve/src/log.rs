//! The log of the process, for applications that do not set up `tracing` themselves.

use std::io::{self, IsTerminal};

use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::{EnvFilter, fmt, registry};

/// The filter where `RUST_LOG` is not set: everything of interest, but not a line for
/// every request.
const DEFAULT_FILTER: &str = "info,oxikit::access=off";

/// The same under the developer tools.
const DEV_FILTER: &str = "info";

/// Sends the log of the process to the standard error, unless the application has set
/// up [`tracing`] already. [`Server::serve`](crate::Server::serve) and
/// [`reflect`](crate::reflect) call this themselves; call it first in `main` to see
/// what is logged before, or if the server is run in another way.
///
/// `RUST_LOG` says what is logged, such as `RUST_LOG=debug` or
/// `RUST_LOG=info,my_app=debug`; without it, `info` is logged, except for the access log
/// (`oxikit::access`), which only the developer tools have then. Under the developer
/// tools the log is shown there too.
///
/// ```
/// oxikit_serve::init_log();
/// tracing::info!("the application starts");
/// ```
pub fn init_log() {
    if tracing::dispatcher::has_been_set() {
        return;
    }
    #[cfg(feature = "dev-tools")]
    let dev_layer = crate::reflection::dev_log_layer();
    #[cfg(not(feature = "dev-tools"))]
    let dev_layer = None::<tracing_subscriber::layer::Identity>;
    let default = if dev_layer.is_some() { DEV_FILTER } else { DEFAULT_FILTER };
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new(default));
    let lines = fmt::layer().with_writer(io::stderr).with_ansi(io::stderr().is_terminal());
    let subscriber = registry().with(filter).with(lines).with(dev_layer);
    // A subscriber that was set meanwhile stays.
    _ = tracing::subscriber::set_global_default(subscriber);
}
