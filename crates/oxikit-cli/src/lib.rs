//! The `oxikit` command line program.
//!
//! `oxikit start` runs the developer tools (the server of the crate `oxikit-devtools`) and an
//! application. The other commands are HTTP clients of those tools, so they work on
//! applications of every language. The library exists for the binary and the tests; it has no
//! public API.

#![cfg(unix)]

// Code that `#[tool]` writes names `::oxikit`, the facade. This crate needs only what the
// facade re-exports from here.
extern crate oxikit_ai as oxikit;

mod a2a;
mod a2a_card;
mod a2a_signature;
mod action;
mod advice;
mod agent;
mod agent_chat;
mod app;
mod app_command;
mod approval;
mod args;
mod chat_transport;
mod client;
mod config;
mod console;
mod demo;
mod demo_prompts;
mod doctor;
mod environment;
mod eval;
mod eval_data;
mod eval_dataset;
mod eval_report;
mod events;
mod failure;
mod flow;
mod forest;
mod genkit_names;
mod keyboard;
mod limits;
mod log;
mod mcp;
mod open;
mod output;
mod project;
mod prompt;
mod prompt_client;
mod prompt_diff;
mod prompt_export;
mod prompt_folder;
mod prompt_lint;
mod prompt_server;
mod run;
mod runtimes;
mod schema_text;
mod session;
mod session_text;
mod settings;
mod start;
mod table;
mod terminal;
mod trace;
mod trace_tree;
mod usage;
mod value_text;

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use crate::app::run_guard;
use crate::demo::run_demo;
use crate::terminal::Text;
use args::{Cli, Command};
use client::Client;
use failure::{Exit, Failure};
use output::Output;

/// Parses the arguments of the process, runs the command and returns its exit code.
pub fn main() -> ExitCode {
    let arguments = genkit_names::translate(std::env::args_os().collect());
    let cli = match Cli::try_parse_from(&arguments) {
        Ok(cli) => cli,
        Err(error) => return usage::report(error, &arguments).into(),
    };
    let mut output = Output::new(cli.json);
    match run(cli, &mut output) {
        Ok(()) => Exit::Success.into(),
        Err(failure) => output.report(&failure).into(),
    }
}

/// The arguments that select each command, such as `["flow", "run"]`. Tests use it to visit
/// all commands.
#[doc(hidden)]
pub fn command_table() -> Vec<Vec<String>> {
    let mut table = Vec::new();
    let mut pending: Vec<(Vec<String>, clap::Command)> = vec![(Vec::new(), Cli::command())];
    while let Some((arguments, command)) = pending.pop() {
        if !command.has_subcommands() {
            table.push(arguments);
            continue;
        }
        for below in command.get_subcommands() {
            let name = below.get_name().to_owned();
            pending.push((arguments.iter().cloned().chain([name]).collect(), below.clone()));
        }
    }
    table.sort();
    table
}

fn run(cli: Cli, output: &mut Output) -> Result<(), Failure> {
    if matches!(cli.command, Command::Guard) {
        return Ok(run_guard()?);
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let done = runtime.block_on(dispatch(cli, output));
    // A thread that reads the standard input cannot be interrupted, so a normal shutdown
    // would wait for the next key.
    runtime.shutdown_background();
    done
}

async fn dispatch(cli: Cli, output: &mut Output) -> Result<(), Failure> {
    let project_dir = ProjectDir::new(cli.project)?;
    match cli.command {
        Command::Start(args) if args.openapi => output.document(&oxikit_devtools::openapi()),
        Command::Start(args) => start::start(args, &project_dir, output.is_json()).await,
        Command::Open(args) => open::run(args, &project_dir.client()?, output).await,
        Command::App(args) => app_command::run(args, &project_dir.client()?, output).await,
        Command::Runtimes => runtimes::list(&project_dir.client()?, output).await,
        Command::Action(args) => action::run(args, &project_dir.client()?, output).await,
        Command::Flow(args) => flow::run(args, &project_dir.client()?, output).await,
        Command::Agent(args) => agent::run(args, project_dir.client()?, output).await,
        Command::A2a(args) => a2a::run(args, output).await,
        Command::Session(args) => session::run(args, &project_dir.client()?, output).await,
        Command::Trace(args) => trace::run(args, &project_dir.client()?, output).await,
        Command::Prompt(args) => prompt::run(args, || project_dir.client(), output).await,
        Command::Prompts(args) => prompt_server::run(args, &project_dir, output).await,
        Command::Log(args) => log::run(args, &project_dir.client()?, output).await,
        Command::Dataset(args) => eval_dataset::run(args, &project_dir.client()?, output).await,
        Command::Eval(args) => eval::run(args, &project_dir.client()?, output).await,
        Command::Env => environment::show(&project_dir, output).await,
        Command::Doctor { repair: true } => doctor::repair(&project_dir, output).await,
        Command::Doctor { repair: false } => doctor::run(&project_dir, output).await,
        Command::Mcp => mcp::run(&project_dir).await,
        Command::Config(args) => config::run(args, &project_dir, output),
        Command::Completions { shell } => completions(shell, output),
        Command::Guard => Ok(()),
        Command::Demo => Ok(run_demo().await?),
    }
}

/// The folder of `--project`, else the working directory. The project may be a folder above
/// it.
#[derive(Debug, Clone)]
struct ProjectDir(PathBuf);

impl ProjectDir {
    fn new(project: Option<PathBuf>) -> io::Result<Self> {
        let here = std::env::current_dir()?;
        Ok(Self(project.map_or_else(|| here.clone(), |project| here.join(project))))
    }

    /// The root of the project that the folder belongs to.
    fn root(&self) -> PathBuf {
        crate::project::root_of(&self.0)
    }

    /// A client of the developer tools that run for the project.
    fn client(&self) -> Result<Client, Failure> {
        Client::find(&self.0)
    }
}

fn completions(shell: clap_complete::Shell, output: &mut Output) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "oxikit", &mut script);
    output.text(Text::new().lines(String::from_utf8_lossy(&script)))
}
