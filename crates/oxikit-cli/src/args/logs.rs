//! Arguments of `oxikit log`.

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub(crate) struct LogArgs {
    #[command(subcommand)]
    pub(crate) command: LogCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LogCommand {
    /// List the log lines of applications, newest first.
    #[command(after_help = "\
Examples:
  oxikit log list --min-severity 17     errors only
  oxikit log list --trace 5d9d…         the lines of one run")]
    List(LogFilterArgs),
}

/// Selects log lines.
#[derive(Debug, Args)]
pub(crate) struct LogFilterArgs {
    /// Maximum number of lines.
    #[arg(long, default_value_t = 20, value_name = "NUMBER")]
    pub(crate) limit: u32,
    /// Only lines of this trace.
    #[arg(long, value_name = "ID")]
    pub(crate) trace: Option<String>,
    /// Only lines of this span.
    #[arg(long, value_name = "ID")]
    pub(crate) span: Option<String>,
    /// Minimum severity, as a number of OpenTelemetry: 5 is debug, 9 info, 13 warning, 17
    /// error.
    #[arg(long, value_name = "NUMBER")]
    pub(crate) min_severity: Option<u8>,
    /// Show the next page: the `continuationToken` that the previous page printed with --json.
    #[arg(long, value_name = "TOKEN")]
    pub(crate) after: Option<String>,
}
