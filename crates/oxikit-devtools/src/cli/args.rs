//! The words of the command line.

mod actions;
mod agents;
mod logs;
mod traces;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;

use super::eval_args::{DatasetArgs, EvalArgs};
use super::settings::SettingArgs;
pub(super) use actions::{ActionArgs, ActionCommand, CallArgs, FlowArgs, FlowCommand};
pub(super) use agents::{
    AgentArgs, AgentCommand, ChatArgs, SessionArgs, SessionCommand, SessionListArgs, SessionName,
};
pub(super) use logs::{LogArgs, LogCommand, LogFilterArgs};
pub(super) use traces::{TraceArgs, TraceCommand, TraceFilterArgs};

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
    #[arg(long, global = true, value_name = "DIR", env = "OXIKIT_PROJECT", hide_env_values = true)]
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
    /// Look at the lines that applications have logged.
    Log(LogArgs),
    /// Keep inputs to try actions on.
    Dataset(DatasetArgs),
    /// Let evaluators judge what actions answer.
    Eval(EvalArgs),
    /// Print the variables for a runtime that is started by hand.
    #[command(after_help = "Example:\n  export $(oxikit env) && node app.js")]
    Env,
    /// Say why a runtime is not visible, and whether the data of the project is whole.
    Doctor {
        /// Make new files out of what can be read of damaged ones, and keep those.
        #[arg(long)]
        repair: bool,
    },
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
    /// The spelling of Genkit for what is the default here: the application dials (V2).
    #[arg(long, hide = true, conflicts_with = "reflection_v1")]
    pub(super) experimental_reflection_v2: bool,
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
