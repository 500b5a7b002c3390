//! Reports mistakes in the application itself to its developer: a prompt file that
//! does not parse, two flows of one name. Failures of calls are reported by
//! [`Registry::report_failure`](crate::Registry::report_failure) instead.
//!
//! Such mistakes appear while the application is put together. That is often before it
//! sets up its log, and many small applications set up none. So while no `tracing` subscriber is
//! installed, notices are lines on the standard error.

use std::fmt::Display;
use std::io::{self, Write};

use tracing::dispatcher;

/// Logs a warning at `WARN`; without a log it is a line on the standard error.
///
/// ```
/// oxikit_core::notice::warning("the plugin `acme` was added twice");
/// ```
pub fn warning(message: impl Display) {
    if dispatcher::has_been_set() {
        tracing::warn!("{message}");
    } else {
        write_line("warning", &message);
    }
}

/// Logs a mistake that makes a part of the application unusable at `ERROR`; without a
/// log it is a line on the standard error.
///
/// ```
/// oxikit_core::notice::error("the prompt directory `prompts` cannot be read");
/// ```
pub fn error(message: impl Display) {
    if dispatcher::has_been_set() {
        tracing::error!("{message}");
    } else {
        write_line("error", &message);
    }
}

fn write_line(level: &str, message: &dyn Display) {
    // A process whose standard error is closed must not fail for that reason.
    _ = writeln!(io::stderr(), "oxikit: {level}: {message}");
}
