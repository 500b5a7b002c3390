//! The words of the command line.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;

use super::eval_args::{DatasetArgs, EvalArgs};
use super::settings::SettingArgs;

const EXAMPLES: &str = "\
Examples:
  oxikit start --demo                       see everything at once, without a key
  oxikit start                              start the project of this folder
  oxikit start --watch -- npm run dev       start this, again after each change
  oxikit flow run hello '\"Ada\"' -s          run a flow and show what it streams
  oxikit trace show latest                  where did the time go?

Genkit's spellings work too: `oxikit flow:run hello '\"Ada\"'`.

Exit codes:
  0  good            1  the flow, or what was asked for, failed
  2  wrong usage     3  no tools or no runtime are there     4  a fault of oxikit";

/// Developer tools for Genkit applications of every language.
#[derive(Debug, Parser)]
#[command(name = "oxikit", version, after_help = EXAMPLES, disable_help_subcommand = true)]
pub(super) struct Cli {
    /// The folder of the project; else the nearest one from here upwards.
    #[arg(long, global = true, value_name = "DIR", env = "OXIKIT_PROJECT")]
    pub(super) project: Option<PathBuf>,
    /// Write JSON, one value a line, in a form that stays as it is.
    #[arg(long, global = true)]
    pub(super) json: bool,
    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Run the tools, and an application with them.
    Start(StartArgs),
    /// Look at the application that `start` runs, start it again, stop it.
    App(AppArgs),
    /// List the runtimes that are connected.
    Runtimes,
    /// List and run actions of any kind.
    Action(ActionArgs),
    /// Run flows.
    Flow(FlowArgs),
    /// List agents and talk to them.
    Agent(AgentArgs),
    /// List, show, fork and delete the sessions of agents.
    Session(SessionArgs),
    /// Look at traces.
    Trace(TraceArgs),
    /// Keep inputs to try actions on.
    Dataset(DatasetArgs),
    /// Let evaluators judge what actions answer.
    Eval(EvalArgs),
    /// Print the variables for a runtime that is started by hand.
    #[command(after_help = "Example:\n  export $(oxikit env) && node app.js")]
    Env,
    /// Say why a runtime is not visible.
    Doctor,
    /// Serve the tools to a coding agent, over MCP on the standard input and output.
    #[command(after_help = "\
In the configuration of the coding agent:
  {\"mcpServers\":{\"oxikit\":{\"command\":\"oxikit\",\"args\":[\"mcp\"]}}}

It works on the tools that `oxikit start` runs for the project. If there are none, its
tool `start_runtime` starts them, until the agent leaves.")]
    Mcp,
    /// Show the settings.
    Config(ConfigArgs),
    /// Print the completions for a shell.
    #[command(
        after_help = "Example:\n  oxikit completions bash > ~/.local/share/bash-completion/completions/oxikit"
    )]
    Completions {
        /// Which one.
        shell: Shell,
    },
    /// Ends the application when the tools are killed.
    #[command(name = crate::app::GUARD_COMMAND, hide = true)]
    Guard,
    /// The application of `start --demo`.
    #[command(name = crate::demo::DEMO_COMMAND, hide = true)]
    Demo,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  oxikit start                        by Cargo.toml, package.json, go.mod or pyproject.toml
  oxikit start -- cargo run --bin app
  oxikit start --watch -- tsx src/index.ts
  oxikit start --demo

The application may die: the tools stay, show how it ended, and start it again when
asked (`r` and Enter, or `oxikit app restart`). Ctrl-C ends both, with exit code 0.")]
pub(super) struct StartArgs {
    /// Run the built-in application, offline and without a key.
    #[arg(long, conflicts_with = "command")]
    pub(super) demo: bool,
    /// Let the application wait for the tools (V1) instead of dialling them (V2): for
    /// versions of Genkit that cannot dial.
    #[arg(long)]
    pub(super) reflection_v1: bool,
    #[command(flatten)]
    pub(super) settings: SettingArgs,
    /// What to start; else what the files of the project say.
    #[arg(last = true, value_name = "COMMAND")]
    pub(super) command: Vec<OsString>,
}

#[derive(Debug, Args)]
pub(super) struct AppArgs {
    #[command(subcommand)]
    pub(super) command: AppCommand,
}

#[derive(Debug, Clone, Copy, Subcommand)]
pub(super) enum AppCommand {
    /// How it is, and its last lines.
    Status,
    /// End it if it runs, and start it again.
    Restart,
    /// End it; the tools stay.
    Stop,
}

/// On which runtime.
#[derive(Debug, Clone, Args)]
pub(super) struct Target {
    /// Ask this runtime, by its id; else the application that `start` runs, or the
    /// runtime that came last.
    #[arg(long, value_name = "ID")]
    pub(super) runtime: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct ActionArgs {
    #[command(subcommand)]
    pub(super) command: ActionCommand,
}

#[derive(Debug, Subcommand)]
pub(super) enum ActionCommand {
    /// List the actions of a runtime.
    List {
        /// Only of this kind, such as `flow`, `tool`, `model` or `agent`.
        #[arg(long = "type", value_name = "KIND")]
        kind: Option<String>,
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
pub(super) struct FlowArgs {
    #[command(subcommand)]
    pub(super) command: FlowCommand,
}

#[derive(Debug, Subcommand)]
pub(super) enum FlowCommand {
    /// Run a flow and print its output.
    #[command(after_help = "\
Examples:
  oxikit flow run hello '\"Ada\"'
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
pub(super) struct CallArgs {
    /// The input, JSON; `-` reads it from the standard input.
    pub(super) input: Option<String>,
    /// Print chunks as they come.
    #[arg(long, short)]
    pub(super) stream: bool,
    /// The context of the run, JSON, such as `{"auth":{"uid":"7"}}`.
    #[arg(long, short, value_name = "JSON")]
    pub(super) context: Option<String>,
    /// Give up after so many seconds; the run is cancelled.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(super) timeout: Option<Duration>,
    #[command(flatten)]
    pub(super) target: Target,
}

#[derive(Debug, Args)]
pub(super) struct AgentArgs {
    #[command(subcommand)]
    pub(super) command: AgentCommand,
}

#[derive(Debug, Subcommand)]
pub(super) enum AgentCommand {
    /// List the agents of a runtime.
    List {
        #[command(flatten)]
        target: Target,
    },
    /// Talk to an agent: one message, or line by line.
    #[command(after_help = "\
Examples:
  oxikit agent chat teashop 'Please order \"green tea\".'
  oxikit agent chat teashop --session table-7
  oxikit agent chat teashop --snapshot 5d9d…     go on from an earlier turn: a branch")]
    Chat {
        /// Its name.
        name: String,
        /// What to say; without it each line of the standard input is a message.
        message: Option<String>,
        /// The session to go on with, or to begin; else a new one. Only for agents that
        /// keep their sessions.
        #[arg(long, value_name = "ID")]
        session: Option<String>,
        /// The snapshot to go on from; if it is not the latest, its session branches.
        #[arg(long, value_name = "ID", conflicts_with = "session")]
        snapshot: Option<String>,
        #[command(flatten)]
        caller: Caller,
        /// Give up a turn after so many seconds.
        #[arg(long, value_name = "SECONDS", value_parser = seconds)]
        timeout: Option<Duration>,
        #[command(flatten)]
        target: Target,
    },
}

#[derive(Debug, Args)]
pub(super) struct SessionArgs {
    #[command(subcommand)]
    pub(super) command: SessionCommand,
}

#[derive(Debug, Subcommand)]
pub(super) enum SessionCommand {
    /// List the sessions of an agent, those written last first.
    #[command(after_help = "\
Examples:
  oxikit session list teashop
  oxikit session list teashop --status active     those that wait for something

Applications of oxikit list what they keep. Of others those sessions are shown that the
traces tell of.")]
    List(SessionListArgs),
    /// Show the conversation of a session, and its state.
    #[command(after_help = "Example:\n  oxikit session show teashop table-7 --tree")]
    Show {
        #[command(flatten)]
        session: SessionName,
        /// Also show its snapshots; without it they are shown if there are branches.
        #[arg(long)]
        tree: bool,
    },
    /// Make a new session that begins where this one is, or was.
    #[command(after_help = "\
Examples:
  oxikit session fork teashop table-7
  oxikit session fork teashop table-7 --at 5d9d…  `session show --tree` has the ids

Prints the id of the new session. The other one stays as it is.")]
    Fork {
        #[command(flatten)]
        session: SessionName,
        /// The snapshot to begin at; else where the next turn would go on.
        #[arg(long, value_name = "SNAPSHOT")]
        at: Option<String>,
    },
    /// Remove a session for good; its work is stopped first.
    Delete {
        #[command(flatten)]
        session: SessionName,
        /// Do not ask.
        #[arg(long, short)]
        yes: bool,
    },
    /// Write a session and its traces as one JSON file, without what looks like a secret.
    #[command(after_help = "Example:\n  oxikit session export teashop table-7 --output t7.json")]
    Export {
        #[command(flatten)]
        session: SessionName,
        /// Write to this file; else to the standard output.
        #[arg(long, value_name = "FILE")]
        output: Option<PathBuf>,
    },
}

/// Which session.
#[derive(Debug, Clone, Args)]
pub(super) struct SessionName {
    /// The name of the agent.
    pub(super) agent: String,
    /// The id of the session.
    pub(super) session: String,
    #[command(flatten)]
    pub(super) caller: Caller,
    #[command(flatten)]
    pub(super) target: Target,
}

/// Whose sessions.
#[derive(Debug, Clone, Args)]
pub(super) struct Caller {
    /// The context of the caller whose sessions they are, JSON, such as
    /// `{"auth":{"uid":"7"}}`; else those of callers without a login.
    #[arg(long, short, value_name = "JSON")]
    pub(super) context: Option<String>,
}

/// Which sessions.
#[derive(Debug, Args)]
pub(super) struct SessionListArgs {
    /// The name of the agent.
    pub(super) agent: String,
    /// At most so many, 200 at most.
    #[arg(long, default_value_t = 20, value_name = "NUMBER")]
    pub(super) limit: u32,
    /// Only those that wait for something, or only the others.
    #[arg(long, value_parser = ["active", "completed"])]
    pub(super) status: Option<String>,
    /// Go on behind the page that said this (`continuationToken` of --json).
    #[arg(long, value_name = "TOKEN")]
    pub(super) after: Option<String>,
    #[command(flatten)]
    pub(super) caller: Caller,
    #[command(flatten)]
    pub(super) target: Target,
}

#[derive(Debug, Args)]
pub(super) struct TraceArgs {
    #[command(subcommand)]
    pub(super) command: TraceCommand,
}

#[derive(Debug, Subcommand)]
pub(super) enum TraceCommand {
    /// List traces, newest first.
    #[command(after_help = "\
Examples:
  oxikit trace list --status error
  oxikit trace list --type flow --name hello --limit 5
  oxikit trace list --text lisbon")]
    List(TraceFilterArgs),
    /// Show a trace as a tree of its spans, with their durations.
    Show {
        /// Its id; `latest` is the newest one.
        id: String,
    },
    /// Show traces as they end, until Ctrl-C.
    Tail,
}

/// Which traces.
#[derive(Debug, Args)]
pub(super) struct TraceFilterArgs {
    /// At most so many.
    #[arg(long, default_value_t = 20, value_name = "NUMBER")]
    pub(super) limit: u32,
    /// Only of this name.
    #[arg(long)]
    pub(super) name: Option<String>,
    /// Only of this kind of action, such as `flow`.
    #[arg(long = "type", value_name = "KIND")]
    pub(super) kind: Option<String>,
    /// Only those that ended so, or have not ended.
    #[arg(long, value_parser = ["running", "success", "error"])]
    pub(super) status: Option<String>,
    /// Only with these words in one of their spans.
    #[arg(long, value_name = "WORDS")]
    pub(super) text: Option<String>,
    /// Only of this session.
    #[arg(long, value_name = "ID")]
    pub(super) session: Option<String>,
    /// Go on behind the page that said this (`continuationToken` of --json).
    #[arg(long, value_name = "TOKEN")]
    pub(super) after: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct ConfigArgs {
    #[command(subcommand)]
    pub(super) command: ConfigCommand,
}

#[derive(Debug, Subcommand)]
pub(super) enum ConfigCommand {
    /// Show the settings that `start` would use.
    Show {
        /// Also say where each comes from: a flag, a variable, the file or the default.
        #[arg(long)]
        origin: bool,
        #[command(flatten)]
        settings: SettingArgs,
    },
}

/// A number of seconds, also with a fraction.
pub(super) fn seconds(text: &str) -> Result<Duration, String> {
    let number: f64 = text.parse().map_err(|_| "a number of seconds is needed".to_owned())?;
    Duration::try_from_secs_f64(number)
        .ok()
        .filter(|time| !time.is_zero())
        .ok_or_else(|| "a number of seconds above 0 is needed".to_owned())
}
