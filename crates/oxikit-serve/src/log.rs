//! The log of the process, for applications that do not set up `tracing` themselves.

use std::io::{IsTerminal, stderr};

use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::{EnvFilter, fmt, registry};

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
    let dev_layer = oxikit_reflection::dev_log_layer();
    #[cfg(not(feature = "dev-tools"))]
    let dev_layer = None::<tracing_subscriber::layer::Identity>;
    let chosen = EnvFilter::try_from_default_env().ok();
    // The default needs no `EnvFilter`, which takes a megabyte of memory.
    let default = chosen.is_none().then(|| default_filter(dev_layer.is_some()));
    let lines = fmt::layer().with_writer(stderr).with_ansi(stderr().is_terminal());
    let subscriber = registry().with(chosen).with(default).with(lines).with(dev_layer);
    // A subscriber that was set meanwhile stays.
    _ = tracing::subscriber::set_global_default(subscriber);
}

/// The filter where `RUST_LOG` is not set. A line for every request is for developers
/// and for those who ask for it.
fn default_filter(is_dev: bool) -> Targets {
    let access = if is_dev { LevelFilter::INFO } else { LevelFilter::OFF };
    Targets::new().with_default(LevelFilter::INFO).with_target("oxikit::access", access)
}
