//! Arguments of `oxikit trace`.

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub(crate) struct TraceArgs {
    #[command(subcommand)]
    pub(crate) command: TraceCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TraceCommand {
    /// List traces, newest first.
    #[command(after_help = "\
Examples:
  oxikit trace list --status error
  oxikit trace list --type flow --name hello --limit 5
  oxikit trace list --text lisbon")]
    List(TraceFilterArgs),
    /// Show a trace as a tree of its spans (steps), with durations, inputs, outputs, errors and
    /// token counts.
    #[command(after_help = "\
Examples:
  oxikit trace show latest              each value on one line
  oxikit trace show latest --full")]
    Show {
        /// The id of the trace; `latest` for the newest one.
        id: String,
        /// Show values in full. Default: one line of each.
        #[arg(long)]
        full: bool,
    },
    /// Show each trace when it ends, until Ctrl-C.
    Tail,
}

/// Selects traces.
#[derive(Debug, Args)]
pub(crate) struct TraceFilterArgs {
    /// Maximum number of traces.
    #[arg(long, default_value_t = 20, value_name = "NUMBER")]
    pub(crate) limit: u32,
    /// Only traces of this name, such as the name of a flow.
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// Only traces of this type of action, such as `flow`.
    #[arg(long = "type", value_name = "KIND")]
    pub(crate) kind: Option<String>,
    /// Only traces with this status.
    #[arg(long, value_parser = ["running", "success", "error"])]
    pub(crate) status: Option<String>,
    /// Only traces with these words in one of their spans.
    #[arg(long, value_name = "WORDS")]
    pub(crate) text: Option<String>,
    /// Only traces of this agent session.
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// Only traces of this runtime: its id, or the name of its application.
    #[arg(long, value_name = "RUNTIME")]
    pub(crate) runtime: Option<String>,
    /// Show the next page: the `continuationToken` that the previous page printed with --json.
    #[arg(long, value_name = "TOKEN")]
    pub(crate) after: Option<String>,
}
