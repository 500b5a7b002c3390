//! The programs of the crash tests, as subcommands of one executable. `cargo xtask crash` builds,
//! starts and kills them; they are not meant to be started by hand.
//!
//! - Sessions: a server that is killed, its clients, and a checker that compares the turns that
//!   clients saw acknowledged with the content of the store.
//! - Reflection: an application whose manager is killed, and a checker of the messages that
//!   the managers received.
//! - Tasks: a server of A2A agents that is killed, readers of its tasks, and a receiver of its
//!   notifications.
//! - Prompts: the trials against a real `oxikit prompts`, and its clients.
//! - Developer tools: the trials against a real `oxikit start`, and a runtime for them.

#![expect(clippy::print_stdout, reason = "`cargo xtask crash` reads the output")]

mod check;
mod clients;
mod counter;
mod devtools;
mod figures;
mod lock;
mod prompts;
mod runs;
mod seen;
mod server;
mod store;
mod tasks;

use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};

const HELP: &str = "\
oxikit-crash server --store STORE --port PORT [--pace MILLIS] [--planted-fault]
oxikit-crash clients --urls URL[,URL] --name NAME --sessions NAME --clients N --log FILE
                     [--turns N] [--attempts N] [--by-session] [--one-session]
oxikit-crash lock --store FILE
oxikit-crash clock
oxikit-crash check --store STORE --log FILE[,FILE]
oxikit-crash runtime --log FILE [--resting]
oxikit-crash manager --port PORT --process N --runs N --log FILE [--counts-anew]
oxikit-crash check-runs --log FILE --runtime-log FILE [--planted-fault lost|doubled|mixed|gap]
oxikit-crash try-tools --oxikit PROGRAM --folder FOLDER [--trials NAME[,NAME]] [--long]
oxikit-crash tasks-server --store STORE --port PORT
oxikit-crash try-tasks --store STORE --trial kill|cuts|webhooks [--seed N] [--long]
oxikit-crash try-prompts --oxikit PROGRAM --folder FOLDER --trial edits|kills|random
                         [--database URL] [--seed N [--single]] [--long]
oxikit-crash streamer --id ID [--log FILE]
oxikit-crash guide
oxikit-crash prompts

STORE is a SQLite file, a postgres:// URL, or files:DIRECTORY.";

fn main() -> Result<ExitCode> {
    let args = Args(std::env::args().skip(1).collect());
    let runtime = tokio::runtime::Runtime::new()?;
    let ended = runtime.block_on(dispatch(&args));
    // A read of standard input may still wait.
    runtime.shutdown_background();
    ended
}

async fn dispatch(args: &Args) -> Result<ExitCode> {
    match args.0.first().map(String::as_str) {
        Some("server") => server::run(args).await?,
        Some("clients") => clients::run(args).await?,
        Some("lock") => lock::run(args)?,
        Some("clock") => println!("{}", SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs()),
        Some("check") => return check::run(args).await,
        Some("runtime") => runs::runtime::run(args).await?,
        Some("manager") => runs::manager::run(args).await?,
        Some("tasks-server") => tasks::serve(args).await?,
        Some("try-tasks") => return tasks::run(args).await,
        Some("try-prompts") => return prompts::run(args).await,
        Some("streamer") => devtools::streamer::run(args).await?,
        Some("guide") => devtools::watched_agent::guide().await?,
        Some("prompts") => devtools::read_prompts::prompts().await?,
        Some("try-tools") => return devtools::run(args).await,
        Some("check-runs") => return runs::check::run(args),
        _ => bail!("{HELP}"),
    }
    Ok(ExitCode::SUCCESS)
}

/// The arguments of the command line, without the name of the program.
struct Args(Vec<String>);

impl Args {
    fn has(&self, flag: &str) -> bool {
        self.0.iter().any(|arg| arg == flag)
    }

    /// The value of an option; `None` if the option is missing.
    fn find(&self, option: &str) -> Option<&str> {
        let place = self.0.iter().position(|arg| arg == option)?;
        self.0.get(place + 1).map(String::as_str)
    }

    fn get(&self, option: &str) -> Result<&str> {
        self.find(option).with_context(|| format!("{option} is missing\n\n{HELP}"))
    }

    fn number(&self, option: &str) -> Result<Option<usize>> {
        let number = self.find(option).map(str::parse).transpose();
        number.with_context(|| format!("{option} takes a number"))
    }

    /// The value of an option, split at its commas.
    fn list(&self, option: &str) -> Result<Vec<String>> {
        Ok(self.get(option)?.split(',').map(str::to_owned).collect())
    }
}
