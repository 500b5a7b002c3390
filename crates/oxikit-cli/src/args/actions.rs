//! Arguments of `oxikit action` and `oxikit flow`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

use super::{Target, seconds};

#[derive(Debug, Args)]
pub(crate) struct ActionArgs {
    #[command(subcommand)]
    pub(crate) command: ActionCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ActionCommand {
    /// List the actions of a runtime.
    List {
        /// Only actions of this type, such as `flow`, `tool`, `model` or `agent`.
        #[arg(long = "type", value_name = "KIND")]
        kind: Option<String>,
        #[command(flatten)]
        target: Target,
    },
    /// Show the description of an action and the schemas of its input and output.
    #[command(after_help = "Example:\n  oxikit action show /flow/hello")]
    Show {
        /// The key of the action, such as `/flow/hello`. `oxikit action list` lists the keys.
        key: String,
        #[command(flatten)]
        target: Target,
    },
    /// Run an action and print its output.
    #[command(after_help = "Example:\n  oxikit action run /tool/weather '{\"city\":\"Lisbon\"}'")]
    Run {
        /// The key of the action, such as `/flow/hello`. `oxikit action list` lists the keys.
        key: String,
        #[command(flatten)]
        call: CallArgs,
    },
}

#[derive(Debug, Args)]
pub(crate) struct FlowArgs {
    #[command(subcommand)]
    pub(crate) command: FlowCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum FlowCommand {
    /// List the flows of a runtime with the types of their inputs and outputs.
    List {
        #[command(flatten)]
        target: Target,
    },
    /// Run a flow and print its output.
    #[command(after_help = "\
Examples:
  oxikit flow run hello Ada                         text input needs no JSON quotes
  oxikit flow run hello '\"Ada\"' -s                  print chunks as they arrive
  echo '{\"city\":\"Lisbon\"}' | oxikit flow run trip -
  oxikit flow run orders '{}' --context '{\"auth\":{\"uid\":\"7\"}}' --timeout 30

With --json the last line is
{\"ok\":true,\"result\":…,\"traceId\":…} or {\"ok\":false,\"error\":{\"status\":…,\"message\":…},\"traceId\":…}.
With -s a line {\"chunk\":…} for each chunk comes before it.")]
    Run {
        /// The name of the flow.
        name: String,
        #[command(flatten)]
        call: CallArgs,
    },
    /// Run a flow with each input of a file, one after the other.
    #[command(after_help = "\
Example:
  oxikit flow batch hello inputs.json --output results.json

The file contains a JSON array of inputs, or one JSON value per line. A failed run does not
stop the batch; the exit code is 1 if any run failed.")]
    Batch {
        /// The name of the flow.
        name: String,
        /// The file with the inputs.
        file: PathBuf,
        /// A label for the traces of this batch. `oxikit eval extract --label` selects by it.
        #[arg(long)]
        label: Option<String>,
        /// Write the results to this file, as a JSON array.
        #[arg(long, value_name = "FILE")]
        output: Option<PathBuf>,
        /// The context of the runs as a JSON object, such as `{"auth":{"uid":"7"}}`.
        #[arg(long, short, value_name = "JSON")]
        context: Option<String>,
        /// Cancel a run after this number of seconds. It counts as failed.
        #[arg(long, value_name = "SECONDS", value_parser = seconds)]
        timeout: Option<Duration>,
        #[command(flatten)]
        target: Target,
    },
}

/// Options of a run.
#[derive(Debug, Args)]
pub(crate) struct CallArgs {
    /// The input as JSON. For an action that takes text, plain text works too. `-` reads the
    /// input from the standard input.
    pub(crate) input: Option<String>,
    /// Print chunks of the output as they arrive.
    #[arg(long, short)]
    pub(crate) stream: bool,
    /// The context of the run as a JSON object, such as `{"auth":{"uid":"7"}}`.
    #[arg(long, short, value_name = "JSON")]
    pub(crate) context: Option<String>,
    /// Cancel the run after this number of seconds.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) timeout: Option<Duration>,
    #[command(flatten)]
    pub(crate) target: Target,
}
