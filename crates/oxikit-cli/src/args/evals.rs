//! Arguments of `oxikit eval` and `oxikit dataset`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

use super::{Target, seconds};

#[derive(Debug, Args)]
pub(crate) struct DatasetArgs {
    #[command(subcommand)]
    pub(crate) command: DatasetCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DatasetCommand {
    /// List the datasets.
    List,
    /// Show the samples of a dataset.
    Show {
        /// The id of the dataset.
        id: String,
    },
    /// Create a dataset from a file.
    #[command(after_help = "\
Example:
  oxikit dataset create questions questions.jsonl --target /flow/answer

The file contains a JSON array, or one JSON value per line. Each value is a sample
{\"input\":…,\"reference\"?:…,\"testCaseId\"?:…}; or each value is an input.")]
    Create {
        /// The id of the dataset: 6 to 36 letters, digits, `-`, `_` and `.`.
        id: String,
        /// The file with the samples.
        file: PathBuf,
        /// The action to evaluate with the dataset, such as `/flow/answer`.
        #[arg(long, value_name = "KEY")]
        target: Option<String>,
        /// The evaluators to use when `eval run` names none.
        #[arg(long, value_name = "NAMES", value_delimiter = ',')]
        evaluators: Vec<String>,
    },
    /// Add the samples of a file to a dataset. A sample replaces the one with the same
    /// `testCaseId`.
    Add {
        /// The id of the dataset.
        id: String,
        /// The file with the samples.
        file: PathBuf,
    },
    /// Delete a dataset.
    Delete {
        /// The id of the dataset.
        id: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct EvalArgs {
    #[command(subcommand)]
    pub(crate) command: EvalCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum EvalCommand {
    /// Run an action with each input and let evaluators score the outputs.
    #[command(after_help = "\
Examples:
  oxikit eval run hello '[\"Ada\",\"Bo\"]'
  oxikit eval run answer questions --evaluators exact,polite
  oxikit eval run answer questions.jsonl --fail-below 0.9        for CI
  oxikit eval run /model/googleai/gemini-2.5-flash cases.json --config '{\"temperature\":0}'

The exit code is 1 if a run or an evaluator failed. The verdict FAIL alone does not change
it. With --fail-below only the pass rate decides, and failed runs count as not passed.")]
    Run {
        /// The name of a flow, or the key of a flow, a model or a prompt.
        action: String,
        /// The data: the id of a dataset, a file, or a JSON array.
        #[arg(required_unless_present = "input")]
        data: Option<String>,
        /// The same as `data`, under the name of the Genkit CLI.
        #[arg(long, hide = true, conflicts_with = "data")]
        input: Option<String>,
        /// The context of the runs as a JSON object, such as `{"auth":{"uid":"7"}}`.
        #[arg(long, short, value_name = "JSON")]
        context: Option<String>,
        /// The configuration of the model or prompt, as a JSON object. For a prompt it may contain
        /// `model`.
        #[arg(long, value_name = "JSON")]
        config: Option<String>,
        /// Cancel a run after this number of seconds. It counts as failed.
        #[arg(long, value_name = "SECONDS", value_parser = seconds)]
        timeout: Option<Duration>,
        #[command(flatten)]
        judging: JudgingArgs,
    },
    /// Let evaluators score existing outputs, without running an action.
    #[command(after_help = "\
Example:
  oxikit eval judge answers.json --evaluators polite

The file contains cases {\"input\":…,\"output\":…,\"reference\"?:…,\"context\"?:[…]}: a JSON
array, or one per line. `oxikit eval extract` creates such a file from traces.")]
    Judge {
        /// The file with the cases.
        file: PathBuf,
        #[command(flatten)]
        judging: JudgingArgs,
    },
    /// List evaluations, newest first.
    List {
        /// Maximum number of evaluations.
        #[arg(long, default_value_t = 20, value_name = "NUMBER")]
        limit: usize,
        /// Only evaluations of this action, such as `/flow/answer`.
        #[arg(long, value_name = "KEY")]
        action: Option<String>,
        /// Only evaluations of this dataset.
        #[arg(long, value_name = "ID")]
        dataset: Option<String>,
    },
    /// Show an evaluation: the input, output, scores and reasons of each case.
    Show {
        /// The id of the evaluation; `latest` for the newest one.
        #[arg(default_value = "latest")]
        id: String,
        /// Show values in full. Default: one line of each.
        #[arg(long)]
        full: bool,
    },
    /// Create evaluation cases from the traces of a flow.
    #[command(after_help = "\
Examples:
  oxikit eval extract answer --output answers.json
  oxikit eval extract answer --limit 20 --label nightly")]
    Extract {
        /// The name of the flow.
        flow: String,
        /// Write the cases to this file, as a JSON array. Default: the standard output.
        #[arg(long, value_name = "FILE")]
        output: Option<PathBuf>,
        /// Maximum number of cases.
        #[arg(long, alias = "maxRows", default_value_t = 100, value_name = "NUMBER")]
        limit: usize,
        /// Only traces of a `flow batch` with this label.
        #[arg(long)]
        label: Option<String>,
    },
    /// Delete an evaluation.
    Delete {
        /// The id of the evaluation.
        id: String,
    },
    /// Import the datasets and evaluations that the Genkit CLI stored in `.genkit`.
    Import,
}

/// Options of the evaluators and of the result.
#[derive(Debug, Args)]
pub(crate) struct JudgingArgs {
    /// The names of the evaluators, separated by commas. Default: those of the dataset, else
    /// all.
    #[arg(long, short, value_name = "NAMES", value_delimiter = ',')]
    pub(crate) evaluators: Option<Vec<String>>,
    /// Number of cases to process at the same time.
    #[arg(long, alias = "batchSize", value_name = "NUMBER")]
    pub(crate) batch_size: Option<usize>,
    /// Write the evaluation to this file, as JSON.
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Exit with 1 if the pass rate is below this number from 0 to 1.
    #[arg(long, value_name = "RATE", value_parser = rate)]
    pub(crate) fail_below: Option<f64>,
    /// Do not ask for confirmation before running evaluators that cost money.
    #[arg(long, short)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) target: Target,
}

/// Parses a rate from 0 to 1.
fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse().ok().filter(|rate: &f64| (0.0..=1.0).contains(rate));
    rate.ok_or_else(|| "expected a number from 0 to 1".to_owned())
}
