//! Starts the trials of the prompt manager, which are in `crash/src/prompts`: a real `oxikit prompts`
//! is killed while people edit through it, and other programs change its files.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use super::programs::Programs;
use crate::services;
use crate::tools;

const TRIALS: [&str; 3] = ["edits", "kills", "random"];
/// Trials that also run with the history in PostgreSQL.
const ON_POSTGRES: [&str; 2] = ["edits", "kills"];
/// Timeout of one trial with one store. In the short form the longest takes about a minute, in the
/// long form ten times as long.
const LIMIT: Duration = Duration::from_secs(1800);

/// The options of the command line.
#[derive(Debug, Default)]
struct Plan<'a> {
    is_long: bool,
    /// The only history of `random`.
    seed: Option<u64>,
    /// The selected store; `None` for both.
    only: Option<&'static str>,
    /// The selected trials; all if there are none.
    trials: Vec<&'a str>,
}

/// Runs the trials. Returns one line for each.
pub(super) fn run(options: &[String]) -> Result<Vec<String>> {
    let plan = Plan::of(options)?;
    let seed = match plan.seed {
        Some(seed) => seed,
        // Histories have the numbers that follow. They are easy to type.
        None => super::seed()? % 1_000_000_000,
    };
    let programs = Programs::build_with("prompts", &["oxikit-cli"])?;
    let mut lines = Vec::new();
    if plan.wants("sqlite") {
        for trial in &plan.trials {
            lines.push(plan.run_one(&programs, trial, "sqlite", None, seed)?);
        }
    }
    let trials = plan.on_postgres();
    if trials.is_empty() {
        return Ok(lines);
    }
    match services::postgres() {
        Ok(server) => {
            for trial in trials {
                lines.push(plan.run_one(&programs, trial, "postgres", Some(server.url()), seed)?);
            }
        }
        Err(why) if tools::is_ci() => return Err(why),
        Err(why) => lines.push(format!("postgres skipped: {why:#}")),
    }
    Ok(lines)
}

impl<'a> Plan<'a> {
    fn of(options: &'a [String]) -> Result<Self> {
        let mut plan = Self::default();
        let mut options = options.iter();
        while let Some(option) = options.next() {
            match option.as_str() {
                "--long" => plan.is_long = true,
                "--sqlite" => plan.only = Some("sqlite"),
                "--postgres" => plan.only = Some("postgres"),
                "--seed" => {
                    let seed = options.next().and_then(|seed| seed.parse().ok());
                    plan.seed = Some(seed.context("--seed takes the number of a history")?);
                }
                name if TRIALS.contains(&name) => plan.trials.push(name),
                other => bail!(
                    "there is no `{other}`; there are --long, --sqlite, --postgres, --seed N, {}",
                    TRIALS.join(", ")
                ),
            }
        }
        if plan.trials.is_empty() {
            plan.trials = if plan.seed.is_some() { vec!["random"] } else { TRIALS.to_vec() };
        }
        Ok(plan)
    }

    fn wants(&self, store: &str) -> bool {
        self.only.is_none_or(|only| only == store)
    }

    /// The trials with PostgreSQL: the short ones, or those that were asked for with `--postgres`.
    fn on_postgres(&self) -> Vec<&'a str> {
        let is_wanted = |trial: &&str| self.only.is_some() || ON_POSTGRES.contains(trial);
        let trials = self.trials.iter().copied().filter(is_wanted);
        if self.wants("postgres") { trials.collect() } else { Vec::new() }
    }

    fn run_one(
        &self,
        programs: &Programs,
        trial: &str,
        store: &str,
        database: Option<&str>,
        seed: u64,
    ) -> Result<String> {
        println!("--- prompts {store} {trial}");
        let began = Instant::now();
        let mut command = programs.command("try-prompts")?;
        command.arg("--oxikit").arg(programs.other("oxikit"));
        command.arg("--folder").arg(programs.path(store));
        command.args(["--trial", trial, "--seed", &seed.to_string()]);
        if let Some(database) = database {
            command.args(["--database", database]);
        }
        if self.is_long {
            command.arg("--long");
        }
        if self.seed.is_some() {
            command.arg("--single");
        }
        let (status, output) = tools::tee(&mut command, LIMIT)?;
        let took = began.elapsed().as_secs_f64();
        let line = format!("prompts {store} {trial}: {} ({took:.0} s)", output.trim());
        if !status.success() {
            bail!("{line}; `cargo xtask crash prompts --seed N` repeats the history of a seed");
        }
        Ok(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_selects_trials() {
        let options = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let all = options("--long");
        let plan = Plan::of(&all).unwrap();
        assert!(plan.is_long && plan.trials == TRIALS && plan.on_postgres() == ON_POSTGRES);
        let one = options("--sqlite edits");
        let plan = Plan::of(&one).unwrap();
        assert!(plan.trials == ["edits"] && plan.on_postgres().is_empty());
        let single = options("--seed 7");
        let plan = Plan::of(&single).unwrap();
        assert!(plan.seed == Some(7) && plan.trials == ["random"] && plan.on_postgres().is_empty());
        let shared = options("--postgres random");
        assert_eq!(Plan::of(&shared).unwrap().on_postgres(), ["random"]);
        assert!(Plan::of(&options("--all")).is_err() && Plan::of(&options("--seed")).is_err());
    }
}
