//! Runs of actions.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

use super::{Target, seconds};

#[derive(Debug, Args)]
pub(in crate::cli) struct ActionArgs {
    #[command(subcommand)]
    pub(in crate::cli) command: ActionCommand,
}

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum ActionCommand {
    /// List the actions of a runtime.
    List {
        /// Only of this kind, such as `flow`, `tool`, `model` or `agent`.
        #[arg(long = "type", value_name = "KIND")]
        kind: Option<String>,
        #[command(flatten)]
        target: Target,
    },
    /// Show an action: its description and the schemas of its input and output.
    #[command(after_help = "Example:\n  oxikit action show /flow/hello")]
    Show {
        /// Its key, such as `/flow/hello`.
        key: String,
        #[command(flatten)]
        target: Target,
    },
    /// Run an action.
    #[command(after_help = "Example:\n  oxikit action run /tool/weather '{\"city\":\"Lisbon\"}'")]
    Run {
        /// Its key, such as `/flow/hello`.
        key: String,
        #[command(flatten)]
        call: CallArgs,
    },
}

#[derive(Debug, Args)]
pub(in crate::cli) struct FlowArgs {
    #[command(subcommand)]
    pub(in crate::cli) command: FlowCommand,
}

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum FlowCommand {
    /// List the flows of a runtime with what they take.
    List {
        #[command(flatten)]
        target: Target,
    },
    /// Run a flow and print its output.
    #[command(after_help = "\
Examples:
  oxikit flow run hello Ada                         a text, for a flow that takes one
  oxikit flow run hello '\"Ada\"' -s                  print chunks as they come
  echo '{\"city\":\"Lisbon\"}' | oxikit flow run trip -
  oxikit flow run orders '{}' --context '{\"auth\":{\"uid\":\"7\"}}' --timeout 30

With --json: with -s a line {\"chunk\":…} for each chunk, then
{\"ok\":true,\"result\":…,\"traceId\":…} or {\"ok\":false,\"error\":{\"status\":…,\"message\":…},\"traceId\":…}.")]
    Run {
        /// Its name.
        name: String,
        #[command(flatten)]
        call: CallArgs,
    },
    /// Run a flow on each input of a file, one after the other.
    #[command(after_help = "\
Example:
  oxikit flow batch hello inputs.json --output results.json

The file holds a JSON array of inputs, or one JSON value a line. All are run; the exit
code is 1 if one failed.")]
    Batch {
        /// Its name.
        name: String,
        /// The file with the inputs.
        file: PathBuf,
        /// A label that the traces get.
        #[arg(long)]
        label: Option<String>,
        /// Write the results to this file, a JSON array.
        #[arg(long, value_name = "FILE")]
        output: Option<PathBuf>,
        /// The context of the runs, JSON.
        #[arg(long, short, value_name = "JSON")]
        context: Option<String>,
        /// Give up a run after so many seconds.
        #[arg(long, value_name = "SECONDS", value_parser = seconds)]
        timeout: Option<Duration>,
        #[command(flatten)]
        target: Target,
    },
}

/// How an action is called.
#[derive(Debug, Args)]
pub(in crate::cli) struct CallArgs {
    /// The input, JSON, or a text for an action that takes one; `-` reads it from the
    /// standard input.
    pub(in crate::cli) input: Option<String>,
    /// Print chunks as they come.
    #[arg(long, short)]
    pub(in crate::cli) stream: bool,
    /// The context of the run, JSON, such as `{"auth":{"uid":"7"}}`.
    #[arg(long, short, value_name = "JSON")]
    pub(in crate::cli) context: Option<String>,
    /// Give up after so many seconds; the run is cancelled.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(in crate::cli) timeout: Option<Duration>,
    #[command(flatten)]
    pub(in crate::cli) target: Target,
}
