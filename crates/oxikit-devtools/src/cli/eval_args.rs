//! The words of `oxikit eval` and `oxikit dataset`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

use super::args::{Target, seconds};

#[derive(Debug, Args)]
pub(super) struct DatasetArgs {
    #[command(subcommand)]
    pub(super) command: DatasetCommand,
}

#[derive(Debug, Subcommand)]
pub(super) enum DatasetCommand {
    /// List the data sets.
    List,
    /// Show the samples of a data set.
    Show {
        /// Its id.
        id: String,
    },
    /// Make a data set out of a file.
    #[command(after_help = "\
Example:
  oxikit dataset create questions questions.jsonl --target /flow/answer

The file holds a JSON array, or one JSON value a line. Each is a sample
{\"input\":…,\"reference\"?:…,\"testCaseId\"?:…}, or all are inputs.")]
    Create {
        /// Its id: 6 to 36 letters, digits, `-`, `_` and `.`.
        id: String,
        /// The file with the samples.
        file: PathBuf,
        /// The action it is for, such as `/flow/answer`.
        #[arg(long, value_name = "KEY")]
        target: Option<String>,
        /// The evaluators to ask if none are named.
        #[arg(long, value_name = "NAMES", value_delimiter = ',')]
        evaluators: Vec<String>,
    },
    /// Add the samples of a file. One with a known `testCaseId` takes the place of the old.
    Add {
        /// Its id.
        id: String,
        /// The file with the samples.
        file: PathBuf,
    },
    /// Remove a data set.
    Delete {
        /// Its id.
        id: String,
    },
}

#[derive(Debug, Args)]
pub(super) struct EvalArgs {
    #[command(subcommand)]
    pub(super) command: EvalCommand,
}

#[derive(Debug, Subcommand)]
pub(super) enum EvalCommand {
    /// Run an action on data and let evaluators judge what comes of it.
    #[command(after_help = "\
Examples:
  oxikit eval run hello '[\"Ada\",\"Bo\"]'
  oxikit eval run answer questions --evaluators exact,polite
  oxikit eval run answer questions.jsonl --fail-below 0.9        for CI
  oxikit eval run /model/googleai/gemini-2.5-flash cases.json --config '{\"temperature\":0}'

The exit code is 1 if a run failed or an evaluator could not judge; a verdict FAIL alone
is 0. With --fail-below only the pass rate counts, and whatever failed has not passed.")]
    Run {
        /// The name of a flow, or the key of a flow, a model or a prompt.
        action: String,
        /// The data: the id of a data set, a file, or a JSON array.
        #[arg(required_unless_present = "input")]
        data: Option<String>,
        /// The same, as Genkit spells it.
        #[arg(long, hide = true, conflicts_with = "data")]
        input: Option<String>,
        /// The context of the runs, JSON.
        #[arg(long, short, value_name = "JSON")]
        context: Option<String>,
        /// The configuration of a model or a prompt, JSON; of a prompt also its `model`.
        #[arg(long, value_name = "JSON")]
        config: Option<String>,
        /// A run that takes longer has failed.
        #[arg(long, value_name = "SECONDS", value_parser = seconds)]
        timeout: Option<Duration>,
        #[command(flatten)]
        judging: JudgingArgs,
    },
    /// Let evaluators judge outputs that are there already.
    #[command(after_help = "\
Example:
  oxikit eval judge answers.json --evaluators polite

The file holds cases {\"input\":…,\"output\":…,\"reference\"?:…,\"context\"?:[…]}: a JSON
array, or one a line. `oxikit eval extract` makes such a file out of traces.")]
    Judge {
        /// The file with the cases.
        file: PathBuf,
        #[command(flatten)]
        judging: JudgingArgs,
    },
    /// List evaluations, newest first.
    List {
        /// At most so many.
        #[arg(long, default_value_t = 20, value_name = "NUMBER")]
        limit: usize,
        /// Only of this action, such as `/flow/answer`.
        #[arg(long, value_name = "KEY")]
        action: Option<String>,
        /// Only of this data set.
        #[arg(long, value_name = "ID")]
        dataset: Option<String>,
    },
    /// Show an evaluation: input, output, scores and reasons of each case.
    Show {
        /// Its id; `latest` is the newest one.
        #[arg(default_value = "latest")]
        id: String,
        /// Show all of each value; else one line of it.
        #[arg(long)]
        full: bool,
    },
    /// Make cases out of the traces of a flow.
    #[command(after_help = "\
Examples:
  oxikit eval extract answer --output answers.json
  oxikit eval extract answer --limit 20 --label nightly")]
    Extract {
        /// The name of the flow.
        flow: String,
        /// Write the cases to this file, a JSON array.
        #[arg(long, value_name = "FILE")]
        output: Option<PathBuf>,
        /// At most so many.
        #[arg(long, alias = "maxRows", default_value_t = 100, value_name = "NUMBER")]
        limit: usize,
        /// Only of a batch that was run with this label.
        #[arg(long)]
        label: Option<String>,
    },
    /// Remove an evaluation.
    Delete {
        /// Its id.
        id: String,
    },
    /// Take over data sets and evaluations that Genkit's tools have left in `.genkit`.
    Import,
}

/// Who judges, and what is done with it.
#[derive(Debug, Args)]
pub(super) struct JudgingArgs {
    /// The evaluators to ask, by name; else those that the data set names, or all.
    #[arg(long, short, value_name = "NAMES", value_delimiter = ',')]
    pub(super) evaluators: Option<Vec<String>>,
    /// So many cases at once.
    #[arg(long, alias = "batchSize", value_name = "NUMBER")]
    pub(super) batch_size: Option<usize>,
    /// Write the evaluation to this file, JSON.
    #[arg(long, short, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
    /// Exit with 1 if less than this part of the verdicts is PASS, from 0 to 1.
    #[arg(long, value_name = "RATE", value_parser = rate)]
    pub(super) fail_below: Option<f64>,
    /// Do not ask before evaluators are run that cost money.
    #[arg(long, short)]
    pub(super) force: bool,
    #[command(flatten)]
    pub(super) target: Target,
}

/// A part of the whole.
fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse().ok().filter(|rate: &f64| (0.0..=1.0).contains(rate));
    rate.ok_or_else(|| "a number from 0 to 1 is needed".to_owned())
}
