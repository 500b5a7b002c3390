//! The programs of the crash tests. Of sessions: a server that is killed, its clients,
//! and the checker that compares what clients saw with what the store holds. Of
//! reflection: an application under a manager that is killed, and the checker of what
//! managers were told. Of the developer tools: the trials themselves, and a runtime for
//! them. `cargo xtask crash` starts and kills them.

#![expect(clippy::print_stdout, reason = "whoever started it reads what it says")]

mod check;
mod clients;
mod counter;
mod devtools;
mod lock;
mod runs;
mod seen;
mod server;
mod store;

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
oxikit-crash streamer --id ID [--log FILE]
oxikit-crash guide
oxikit-crash prompts

STORE is a file of SQLite, a postgres:// address, or files:DIRECTORY.";

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
        Some("streamer") => devtools::streamer::run(args).await?,
        Some("guide") => devtools::watched_agent::guide().await?,
        Some("prompts") => devtools::read_prompts::prompts().await?,
        Some("try-tools") => return devtools::run(args).await,
        Some("check-runs") => return runs::check::run(args),
        _ => bail!("{HELP}"),
    }
    Ok(ExitCode::SUCCESS)
}

/// What was typed behind the program's name.
struct Args(Vec<String>);

impl Args {
    fn has(&self, flag: &str) -> bool {
        self.0.iter().any(|arg| arg == flag)
    }

    /// What follows this option.
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

    /// What follows this option, apart at its commas.
    fn list(&self, option: &str) -> Result<Vec<String>> {
        Ok(self.get(option)?.split(',').map(str::to_owned).collect())
    }
}
