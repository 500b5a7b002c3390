//! The arguments of the command line, as clap parses them. The doc comments are the texts of
//! `--help`.

mod a2a;
mod actions;
mod agents;
mod evals;
mod logs;
mod prompt;
mod prompt_server;
mod traces;

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;

use super::settings::SettingArgs;
pub(super) use a2a::{A2aArgs, A2aCommand, A2aMessage, A2aTarget};
pub(super) use actions::{ActionArgs, ActionCommand, CallArgs, FlowArgs, FlowCommand};
pub(super) use agents::{
    AgentArgs, AgentCommand, ChatArgs, SessionArgs, SessionCommand, SessionListArgs, SessionName,
};
pub(super) use evals::{DatasetArgs, DatasetCommand, EvalArgs, EvalCommand, JudgingArgs};
pub(super) use logs::{LogArgs, LogCommand, LogFilterArgs};
pub(super) use prompt::{PromptArgs, PromptCommand, PromptTarget, RevisionArgs};
pub(super) use prompt_server::PromptServerArgs;
pub(super) use traces::{TraceArgs, TraceCommand, TraceFilterArgs};

const EXAMPLES: &str = "\
Examples:
  oxikit start --demo                       try everything with a built-in demo, without an API key
  oxikit start                              start the developer tools and the project in this folder
  oxikit start --watch -- npm run dev       start this command; restart it when a file changes
  oxikit flow run hello '\"Ada\"' -s          run a flow and print its output as it streams
  oxikit trace show latest                  show the steps of the last run, with durations

The command names of the Genkit CLI work too: `oxikit flow:run hello '\"Ada\"'`.

Exit codes:
  0  success
  1  the run, or whatever else was requested, failed
  2  the command line is not valid
  3  the developer tools do not run, no runtime is connected, or an A2A agent cannot be reached
  4  internal error";

/// Developer tools for Genkit applications of every language.
///
/// `oxikit start` runs the developer tools (a local server that records traces and talks to
/// your application) together with your application, which connects to them as a runtime. The
/// other commands call that server: keep `oxikit start` running and use a second terminal.
#[derive(Debug, Parser)]
#[command(name = "oxikit", version, after_help = EXAMPLES, disable_help_subcommand = true)]
pub(super) struct Cli {
    /// The folder of the project. Default: the nearest folder, from the working directory
    /// upwards, that contains a project.
    #[arg(long, global = true, value_name = "DIR", env = "OXIKIT_PROJECT", hide_env_values = true)]
    pub(super) project: Option<PathBuf>,
    /// Write JSON, one value per line. This format is stable, for use in scripts.
    #[arg(long, global = true)]
    pub(super) json: bool,
    #[command(subcommand)]
    pub(super) command: Command,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Start the developer tools and your application.
    Start(StartArgs),
    /// Open the web page of the developer tools in a browser.
    Open(OpenArgs),
    /// Show, restart or stop the application that `start` runs.
    App(AppArgs),
    /// List the connected runtimes (running applications).
    Runtimes,
    /// List and run actions of any type: flows, tools, models, prompts and others.
    Action(ActionArgs),
    /// List and run flows.
    Flow(FlowArgs),
    /// List agents and chat with them.
    Agent(AgentArgs),
    /// Call agents of any program over Agent2Agent (A2A), and check their cards.
    A2a(A2aArgs),
    /// List, show, fork and delete the sessions of agents.
    Session(SessionArgs),
    /// List and show traces (records of runs).
    Trace(TraceArgs),
    /// List the log lines of applications.
    Log(LogArgs),
    /// List, show, render, compare, check and label prompts.
    Prompt(PromptArgs),
    /// Serve a folder of prompts: a page to edit them together, a REST API and WebSockets.
    Prompts(PromptServerArgs),
    /// Manage datasets: inputs to evaluate actions with.
    Dataset(DatasetArgs),
    /// Run evaluations: evaluators score the outputs of actions.
    Eval(EvalArgs),
    /// Print the environment variables that connect an application started by hand.
    #[command(
        after_help = "Example:\n  export $(oxikit env) && node app.js\n\nThe values contain tokens of the developer tools: do not share them."
    )]
    Env,
    /// Find out why a runtime is not visible, and check the databases of the project.
    Doctor {
        /// Repair damaged databases: copy all readable data to new files. The damaged files are
        /// kept as copies. The developer tools must not be running.
        #[arg(long)]
        repair: bool,
    },
    /// Run an MCP server for a coding agent, on the standard input and output.
    #[command(after_help = "\
Add this to the configuration of the coding agent:
  {\"mcpServers\":{\"oxikit\":{\"command\":\"oxikit\",\"args\":[\"mcp\"]}}}

The server uses the developer tools that `oxikit start` runs for the project. If none
run, its tool `start_runtime` starts them; they end with the MCP connection.")]
    Mcp,
    /// Show the settings of the developer tools.
    Config(ConfigArgs),
    /// Print a completion script for a shell.
    #[command(
        after_help = "Example:\n  oxikit completions bash > ~/.local/share/bash-completion/completions/oxikit"
    )]
    Completions {
        /// The shell.
        shell: Shell,
    },
    /// Ends the application when the developer tools are killed.
    #[command(name = crate::app::GUARD_COMMAND, hide = true)]
    Guard,
    /// The application of `start --demo`.
    #[command(name = crate::demo::DEMO_COMMAND, hide = true)]
    Demo,
}

#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  oxikit start                        detect the command from the files of the project
  oxikit start -- cargo run --bin app
  oxikit start --watch -- tsx src/index.ts
  oxikit start --demo

The command is detected from Cargo.toml, package.json, go.mod, pyproject.toml or
requirements.txt, unless .oxikit/config.toml sets it.

If the application exits, the developer tools keep running and show its last lines. Press
`r` and Enter, or run `oxikit app restart`, to start it again. Ctrl-C ends both, with exit
code 0.")]
pub(super) struct StartArgs {
    /// Run the built-in demo application, which needs no network and no API key.
    #[arg(long, conflicts_with = "command")]
    pub(super) demo: bool,
    /// Use version 1 of the reflection protocol, where the developer tools connect to the
    /// application. Default: version 2, where the application connects to the tools. For
    /// versions of Genkit without V2.
    #[arg(long)]
    pub(super) reflection_v1: bool,
    /// The flag of the Genkit CLI for V2, which is the default here.
    #[arg(long, hide = true, conflicts_with = "reflection_v1")]
    pub(super) experimental_reflection_v2: bool,
    /// Print the OpenAPI document of the API of the developer tools, and exit.
    #[arg(long)]
    pub(super) openapi: bool,
    #[command(flatten)]
    pub(super) settings: SettingArgs,
    /// The command that starts the application. Default: detected from the files of the
    /// project.
    #[arg(last = true, value_name = "COMMAND")]
    pub(super) command: Vec<OsString>,
}

#[derive(Debug, Args)]
#[command(after_help = "\
The URL contains a code that signs the browser in. It works once, within ten minutes. The browser
stays signed in for 30 days, also when the developer tools are restarted.")]
pub(super) struct OpenArgs {
    /// Only print the URL, to open it yourself.
    #[arg(long)]
    pub(super) print: bool,
}

#[derive(Debug, Args)]
pub(super) struct AppArgs {
    #[command(subcommand)]
    pub(super) command: AppCommand,
}

#[derive(Debug, Clone, Copy, Subcommand)]
pub(super) enum AppCommand {
    /// Show whether the application runs, and its last lines.
    Status,
    /// Stop the application if it runs, and start it again.
    Restart,
    /// Stop the application. The developer tools keep running.
    Stop,
}

/// The runtime that a command uses.
#[derive(Debug, Clone, Args)]
pub(super) struct Target {
    /// The id of the runtime to use, see `oxikit runtimes`. Default: the application that
    /// `start` runs, else the runtime that connected last.
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
    /// Show the settings that `start` would use with these flags.
    Show {
        /// Also show the origin of each value: a flag, a variable, the file or the default.
        #[arg(long)]
        origin: bool,
        #[command(flatten)]
        settings: SettingArgs,
    },
}

/// Parses a number of seconds, which may have a fraction.
pub(super) fn seconds(text: &str) -> Result<Duration, String> {
    let number: f64 =
        text.parse().map_err(|_| "expected a number of seconds, such as 30 or 1.5".to_owned())?;
    Duration::try_from_secs_f64(number)
        .ok()
        .filter(|time| !time.is_zero())
        .ok_or_else(|| "expected a number of seconds above 0".to_owned())
}
