//! Tasks of A2A agents: a real server, whose process, readers and webhooks fail.
//!
//! - `kill`: the server is killed while it works on many tasks.
//! - `cuts`: readers lose their connection at random events.
//! - `webhooks`: the receiver of notifications is away, and the server is killed meanwhile.
//!
//! Each trial prints one line with its figures, and fails if one of them is not as promised.

mod cuts;
mod kill;
mod process;
mod reader;
mod receiver;
mod server;
#[cfg(test)]
mod tests;
mod webhooks;

use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::Args;
pub(crate) use process::free_port;
pub(crate) use server::run as serve;

/// The length of the trials and their store.
struct Setting {
    /// The value of `--store` of the server.
    store: String,
    is_long: bool,
    rng: fastrand::Rng,
}

/// The figures of a trial as text, and whether they are good.
struct Verdict {
    figures: String,
    is_good: bool,
}

/// Runs the trial of this name, and prints one line with its figures.
pub(crate) async fn run(args: &Args) -> Result<ExitCode> {
    let seed = args.number("--seed")?.unwrap_or_default();
    let mut setting = Setting {
        store: args.get("--store")?.to_owned(),
        is_long: args.has("--long"),
        rng: fastrand::Rng::with_seed(u64::try_from(seed)?),
    };
    let Verdict { figures, is_good } = match args.get("--trial")? {
        "kill" => kill::run(&mut setting).await?,
        "cuts" => cuts::run(&mut setting).await?,
        "webhooks" => webhooks::run(&mut setting).await?,
        other => bail!("there is no trial `{other}`; there are: kill, cuts, webhooks"),
    };
    println!("{figures}");
    Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
