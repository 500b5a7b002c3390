//! Starts the trials of A2A tasks, which are in `crash/src/tasks`: a server is killed while it
//! works, readers lose their connections, and a webhook receiver is away.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use super::programs::Programs;
use crate::services;
use crate::tools;

const TRIALS: [&str; 3] = ["kill", "cuts", "webhooks"];
/// Timeout of one trial with one store. In the short form it takes about 10 s, in the long form up
/// to 3 min.
const LIMIT: Duration = Duration::from_secs(420);

/// The options of the command line.
struct Plan<'a> {
    is_long: bool,
    /// The selected trials; all if there are none.
    trials: Vec<&'a str>,
}

/// Runs the trials with SQLite and PostgreSQL. Returns one line for each.
pub(super) fn run(options: &[String]) -> Result<Vec<String>> {
    let plan = Plan::of(options)?;
    let seed = super::seed()?;
    let programs = Programs::build("a2a")?;
    let mut lines = Vec::new();
    for trial in &plan.trials {
        let file = programs.path(&format!("{trial}.db")).to_string_lossy().into_owned();
        lines.push(plan.run_one(&programs, trial, "sqlite", &file, seed)?);
    }
    match services::postgres() {
        Ok(server) => {
            for trial in &plan.trials {
                lines.push(plan.run_one(&programs, trial, "postgres", server.url(), seed)?);
            }
        }
        Err(why) if tools::is_ci() => return Err(why),
        Err(why) => lines.push(format!("postgres skipped: {why:#}")),
    }
    Ok(lines)
}

impl<'a> Plan<'a> {
    fn of(options: &'a [String]) -> Result<Self> {
        let mut plan = Self { is_long: false, trials: Vec::new() };
        for option in options {
            match option.as_str() {
                "--long" => plan.is_long = true,
                name if TRIALS.contains(&name) => plan.trials.push(name),
                other => bail!("there is no `{other}`; there are --long, {}", TRIALS.join(", ")),
            }
        }
        if plan.trials.is_empty() {
            plan.trials = TRIALS.to_vec();
        }
        Ok(plan)
    }

    fn run_one(
        &self,
        programs: &Programs,
        trial: &str,
        name: &str,
        store: &str,
        seed: u64,
    ) -> Result<String> {
        println!("--- a2a {name} {trial}");
        let began = Instant::now();
        let mut command = programs.command("try-tasks")?;
        command.args(["--store", store, "--trial", trial, "--seed", &seed.to_string()]);
        if self.is_long {
            command.arg("--long");
        }
        let (status, output) = tools::tee(&mut command, LIMIT)?;
        let took = began.elapsed().as_secs_f64();
        let line = format!("a2a {name} {trial}: {} ({took:.0} s)", output.trim());
        if !status.success() {
            bail!("{line}; the seed is {seed}");
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
        assert!(plan.is_long && plan.trials == TRIALS);
        let one = options("cuts");
        let plan = Plan::of(&one).unwrap();
        assert!(!plan.is_long && plan.trials == ["cuts"]);
        assert!(Plan::of(&options("--all")).is_err());
    }
}
