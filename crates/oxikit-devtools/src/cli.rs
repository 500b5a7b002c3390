//! The command line: `oxikit start`, which runs the tools, and the commands that
//! call them.

mod action;
mod advice;
mod agent;
mod agent_chat;
mod agent_door;
mod app;
mod approval;
mod args;
mod client;
mod config;
mod doctor;
mod environment;
mod eval;
mod eval_args;
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
mod output;
mod run;
mod runtimes;
mod schema_text;
mod session;
mod session_text;
mod settings;
mod start;
mod table;
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

/// Runs the command that the arguments of the process name.
pub fn main() -> ExitCode {
    let words = genkit_names::translate(std::env::args_os().collect());
    let cli = match Cli::try_parse_from(&words) {
        Ok(cli) => cli,
        Err(error) => return usage::refused(error, &words).into(),
    };
    let mut output = Output::new(cli.json);
    match run(cli, &mut output) {
        Ok(()) => Exit::Good.into(),
        Err(failure) => failure.report(&mut output).into(),
    }
}

/// All commands, each with the words that name it: for tests that go through them.
#[doc(hidden)]
pub fn command_table() -> Vec<Vec<String>> {
    let mut table = Vec::new();
    let mut waiting: Vec<(Vec<String>, clap::Command)> = vec![(Vec::new(), Cli::command())];
    while let Some((words, command)) = waiting.pop() {
        if !command.has_subcommands() {
            table.push(words);
            continue;
        }
        for below in command.get_subcommands() {
            let name = below.get_name().to_owned();
            waiting.push((words.iter().cloned().chain([name]).collect(), below.clone()));
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
    // A thread that reads the keyboard cannot be waited for.
    runtime.shutdown_background();
    done
}

async fn dispatch(cli: Cli, output: &mut Output) -> Result<(), Failure> {
    let place = Place::new(cli.project)?;
    match cli.command {
        Command::Start(args) => start::start(args, &place, output.is_json()).await,
        Command::App(args) => app::run(args, &place.client()?, output).await,
        Command::Runtimes => runtimes::list(&place.client()?, output).await,
        Command::Action(args) => action::run(args, &place.client()?, output).await,
        Command::Flow(args) => flow::run(args, &place.client()?, output).await,
        Command::Agent(args) => agent::run(args, place.client()?, output).await,
        Command::Session(args) => session::run(args, &place.client()?, output).await,
        Command::Trace(args) => trace::run(args, &place.client()?, output).await,
        Command::Log(args) => log::run(args, &place.client()?, output).await,
        Command::Dataset(args) => eval_dataset::run(args, &place.client()?, output).await,
        Command::Eval(args) => eval::run(args, &place.client()?, output).await,
        Command::Env => environment::show(&place, output).await,
        Command::Doctor { repair: true } => doctor::repair(&place, output).await,
        Command::Doctor { repair: false } => doctor::run(&place, output).await,
        Command::Mcp => mcp::run(&place).await,
        Command::Config(args) => config::run(args, &place, output),
        Command::Completions { shell } => completions(shell, output),
        Command::Guard => Ok(()),
        Command::Demo => Ok(run_demo().await?),
    }
}

/// The folder that the command was called for.
#[derive(Debug, Clone)]
struct Place(PathBuf);

impl Place {
    fn new(project: Option<PathBuf>) -> io::Result<Self> {
        let here = std::env::current_dir()?;
        Ok(Self(project.map_or_else(|| here.clone(), |project| here.join(project))))
    }

    /// The root of the project.
    fn root(&self) -> PathBuf {
        crate::project::root_of(&self.0)
    }

    /// A client of the tools that run for the project.
    fn client(&self) -> Result<Client, Failure> {
        Client::find(&self.0)
    }
}

fn completions(shell: clap_complete::Shell, output: &mut Output) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "oxikit", &mut script);
    output.text(Text::new().lines(String::from_utf8_lossy(&script)))
}
