//! The prompt manager: a real `oxikit prompts` that is killed while people edit.
//!
//! - `edits`: killed as soon as the last of 300 edits is acknowledged.
//! - `kills`: killed in the middle of a flow of edits, several times.
//! - `random`: clients of all kinds, other programs that change the files, and kills, mixed.
//!
//! Each trial prints one line with its figures, and fails if one of them is not as promised.

mod check;
mod client;
mod edits;
mod file_editor;
mod kills;
mod manager;
mod random;
mod rest_caller;
mod socket;
#[cfg(test)]
mod tests;
mod typist;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Result, bail};

use crate::Args;

/// Timeout of everything that a trial waits for. Then the trial fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// The paths and the length of the trials.
struct Setting {
    /// The `oxikit` command.
    program: PathBuf,
    /// The parent of the folders of the trials.
    folder: PathBuf,
    /// The PostgreSQL database of the history; `None` for SQLite.
    database: Option<String>,
    is_long: bool,
    seed: u64,
    /// Whether only the history of this seed is run, by the trial `random`.
    is_single: bool,
    rng: fastrand::Rng,
}

/// Runs the trial of this name, and prints one line with its figures.
pub(crate) async fn run(args: &Args) -> Result<ExitCode> {
    let seed = u64::try_from(args.number("--seed")?.unwrap_or_default())?;
    let mut setting = Setting {
        program: args.get("--oxikit")?.into(),
        folder: args.get("--folder")?.into(),
        database: args.find("--database").map(str::to_owned),
        is_long: args.has("--long"),
        seed,
        is_single: args.has("--single"),
        rng: fastrand::Rng::with_seed(seed),
    };
    let figures = match args.get("--trial")? {
        "edits" => edits::run(&mut setting).await,
        "kills" => kills::run(&mut setting).await,
        "random" => random::run(&mut setting).await,
        other => bail!("there is no trial `{other}`; there are: edits, kills, random"),
    };
    let result = figures.and_then(crate::figures::Figures::end);
    let is_good = result.is_ok();
    println!("{}", result.unwrap_or_else(|error| format!("FAILED: {error:#}")));
    Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
