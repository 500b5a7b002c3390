//! The words of the command line.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;

use super::settings::SettingArgs;

const EXAMPLES: &str = "\
Examples:
  oxikit start --demo                       see everything at once, without a key
  oxikit start                              start the project of this folder
  oxikit start --watch -- npm run dev       start this, again after each change
  oxikit doctor                             why is my runtime not visible?

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
    /// Print the variables for a runtime that is started by hand.
    #[command(after_help = "Example:\n  env $(oxikit env) node app.js")]
    Env,
    /// Say why a runtime is not visible.
    Doctor,
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
