//! Log lines.

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub(in crate::cli) struct LogArgs {
    #[command(subcommand)]
    pub(in crate::cli) command: LogCommand,
}

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum LogCommand {
    /// List the lines that applications have logged, newest first.
    #[command(after_help = "\
Examples:
  oxikit log list --min-severity 17     errors only
  oxikit log list --trace 5d9d…         the lines of one run")]
    List(LogFilterArgs),
}

/// Which lines.
#[derive(Debug, Args)]
pub(in crate::cli) struct LogFilterArgs {
    /// Maximum number of lines.
    #[arg(long, default_value_t = 20, value_name = "NUMBER")]
    pub(in crate::cli) limit: u32,
    /// Only of this trace.
    #[arg(long, value_name = "ID")]
    pub(in crate::cli) trace: Option<String>,
    /// Only of this span.
    #[arg(long, value_name = "ID")]
    pub(in crate::cli) span: Option<String>,
    /// Only at least this severe: 5 is debug, 9 info, 13 a warning, 17 an error.
    #[arg(long, value_name = "NUMBER")]
    pub(in crate::cli) min_severity: Option<u8>,
    /// Go on behind the page that said this (`continuationToken` of --json).
    #[arg(long, value_name = "TOKEN")]
    pub(in crate::cli) after: Option<String>,
}
