//! Traces.

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub(in crate::cli) struct TraceArgs {
    #[command(subcommand)]
    pub(in crate::cli) command: TraceCommand,
}

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum TraceCommand {
    /// List traces, newest first.
    #[command(after_help = "\
Examples:
  oxikit trace list --status error
  oxikit trace list --type flow --name hello --limit 5
  oxikit trace list --text lisbon")]
    List(TraceFilterArgs),
    /// Show a trace as a tree of its spans: durations, inputs, outputs, errors and tokens.
    #[command(after_help = "\
Examples:
  oxikit trace show latest              each value on one line
  oxikit trace show latest --full")]
    Show {
        /// Its id; `latest` is the newest one.
        id: String,
        /// Show all of each value; else one line of it.
        #[arg(long)]
        full: bool,
    },
    /// Show traces as they end, until Ctrl-C.
    Tail,
}

/// Which traces.
#[derive(Debug, Args)]
pub(in crate::cli) struct TraceFilterArgs {
    /// At most so many.
    #[arg(long, default_value_t = 20, value_name = "NUMBER")]
    pub(in crate::cli) limit: u32,
    /// Only of this name.
    #[arg(long)]
    pub(in crate::cli) name: Option<String>,
    /// Only of this kind of action, such as `flow`.
    #[arg(long = "type", value_name = "KIND")]
    pub(in crate::cli) kind: Option<String>,
    /// Only those that ended so, or have not ended.
    #[arg(long, value_parser = ["running", "success", "error"])]
    pub(in crate::cli) status: Option<String>,
    /// Only with these words in one of their spans.
    #[arg(long, value_name = "WORDS")]
    pub(in crate::cli) text: Option<String>,
    /// Only of this session.
    #[arg(long, value_name = "ID")]
    pub(in crate::cli) session: Option<String>,
    /// Go on behind the page that said this (`continuationToken` of --json).
    #[arg(long, value_name = "TOKEN")]
    pub(in crate::cli) after: Option<String>,
}
