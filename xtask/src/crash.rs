//! `cargo xtask crash`: the trials in which processes are killed.
//!
//! - `sessions`: servers are killed, frozen or compete for sessions. The turns that clients saw
//!   acknowledged are compared with the content of the store.
//! - `reflection`: the managers of applications are killed while the applications stream to them.
//! - `a2a`: a server of A2A agents is killed, its readers are cut off and its webhooks are away.
//! - `prompts`: the prompt manager is killed while people edit through it.
//! - `manager`: the developer tools are killed, and their runtimes and application.
//!
//! The programs that are started and killed are in `crash/`; this module controls them.

mod clock;
mod frozen;
mod kills;
mod manager;
mod outage;
mod planted;
mod programs;
mod prompts;
mod reflection;
mod tasks;
mod writers;

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::services::{self, Postgres};
use crate::tools;
pub(crate) use programs::Process;
use programs::Programs;

/// Environment variable with the seed of an earlier run, which is then repeated.
const SEED: &str = "OXIKIT_SEED";

/// A trial of sessions.
struct Trial {
    name: &'static str,
    /// Whether the trial runs only if selected by name or by `--long`.
    is_long: bool,
    /// The stores that the trial supports.
    stores: &'static [&'static str],
    /// Returns the figures of the trial as text.
    run: fn(&Setting, &mut fastrand::Rng) -> Result<String>,
}

const STORES: [&str; 3] = ["sqlite", "postgres", "files"];
/// The file store writes each snapshot completely, so it is too slow for sessions of thousands of
/// turns.
const SQL: &[&str] = &["sqlite", "postgres"];

const TRIALS: [Trial; 6] = [
    Trial { name: "kills", is_long: false, stores: &STORES, run: kills::run },
    Trial { name: "writers", is_long: false, stores: SQL, run: writers::run },
    Trial { name: "planted", is_long: false, stores: &["sqlite"], run: planted::run },
    Trial { name: "outage", is_long: false, stores: SQL, run: outage::run },
    Trial { name: "clock", is_long: false, stores: &STORES, run: clock::run },
    Trial { name: "frozen", is_long: true, stores: SQL, run: frozen::run },
];

/// A store, and the amount of work of its trials.
struct Setting {
    name: &'static str,
    programs: Programs,
    /// The value of `--store` of the programs.
    store: String,
    /// Number of turns that run when the server is killed.
    clients: usize,
    /// Number of times that the server is killed.
    cycles: u32,
    /// Whether trials run in their long form.
    is_long: bool,
}

/// The options of the command line.
struct Plan {
    is_long: bool,
    /// The selected store; `None` for all.
    only: Option<&'static str>,
    /// The selected trials; empty for all.
    trials: Vec<String>,
}

/// Runs the trials. Returns one line per trial.
pub(crate) fn run(args: &[String]) -> Result<Vec<String>> {
    match args.split_first() {
        Some((subject, options)) if subject == "sessions" => sessions(options),
        Some((subject, options)) if subject == "reflection" => reflection::run(options),
        Some((subject, options)) if subject == "manager" => manager::run(options),
        Some((subject, options)) if subject == "a2a" => tasks::run(options),
        Some((subject, options)) if subject == "prompts" => prompts::run(options),
        _ => bail!("`cargo xtask crash` needs one of: sessions, reflection, manager, a2a, prompts"),
    }
}

/// The seed of `OXIKIT_SEED`, or a new one.
fn seed() -> Result<u64> {
    let seed = match std::env::var(SEED) {
        Ok(seed) => seed.parse().with_context(|| format!("{SEED} takes a number"))?,
        Err(_) => fastrand::u64(..),
    };
    println!("the seed is {seed}; {SEED}={seed} kills at the same times again");
    Ok(seed)
}

fn sessions(options: &[String]) -> Result<Vec<String>> {
    let plan = Plan::of(options)?;
    let seed = seed()?;
    let (mut lines, mut is_good) = (Vec::new(), true);
    if plan.wants("sqlite") {
        let programs = Programs::build("sqlite")?;
        let store = programs.path("sessions.db").to_string_lossy().into_owned();
        let setting = plan.setting("sqlite", programs, store, 250);
        is_good &= plan.try_all(&setting, seed, &mut lines);
    }
    if plan.wants("files") {
        let programs = Programs::build("files")?;
        let store = format!("files:{}", programs.path("sessions").display());
        let setting = plan.setting("files", programs, store, 50);
        is_good &= plan.try_all(&setting, seed, &mut lines);
    }
    if plan.wants("postgres") {
        match services::postgres() {
            Ok(server) => {
                let setting = plan.on_postgres(&server)?;
                is_good &= plan.try_all(&setting, seed, &mut lines);
            }
            Err(why) => {
                is_good &= !tools::is_ci();
                lines.push(format!("postgres skipped: {why:#}"));
            }
        }
    }
    println!("\n{}", lines.join("\n"));
    if !is_good {
        bail!("{}; the seed is {seed}", lines.join(", "));
    }
    Ok(lines)
}

/// Starts a manager without runs. It prints `registered` when an application registers.
pub(crate) fn idle_manager(port: u16, limit: Duration) -> Result<Process> {
    let programs = Programs::build("manager")?;
    let mut command = programs.command("manager")?;
    command.args(["--process", "1", "--runs", "0", "--port", &port.to_string()]);
    let manager = Process::start(command.arg("--log").arg(programs.path("manager.notes")))?;
    manager.line(limit).context("the manager does not listen")?;
    Ok(manager)
}

/// Whether a store was skipped because it is missing on this machine.
pub(crate) fn is_incomplete(lines: &[String]) -> bool {
    lines.iter().any(|line| line.starts_with("postgres skipped"))
}

impl Plan {
    fn of(options: &[String]) -> Result<Self> {
        let mut plan = Self { is_long: false, only: None, trials: Vec::new() };
        for option in options {
            match option.as_str() {
                "--long" => plan.is_long = true,
                "--sqlite" => plan.only = Some("sqlite"),
                "--postgres" => plan.only = Some("postgres"),
                "--files" => plan.only = Some("files"),
                name if TRIALS.iter().any(|trial| trial.name == name) => {
                    plan.trials.push(name.to_owned());
                }
                other => {
                    let names = TRIALS.map(|trial| trial.name).join(", ");
                    bail!(
                        "there is no `{other}`; there are --long, --sqlite, --postgres, --files, \
                         {names}"
                    );
                }
            }
        }
        Ok(plan)
    }

    fn wants(&self, store: &str) -> bool {
        self.only.is_none_or(|only| only == store)
    }

    fn wants_trial(&self, trial: &Trial, store: &str) -> bool {
        let is_named = self.trials.iter().any(|name| name == trial.name);
        let is_usual = self.trials.is_empty() && (self.is_long || !trial.is_long);
        (is_named || is_usual) && trial.stores.contains(&store)
    }

    fn setting(
        &self,
        name: &'static str,
        programs: Programs,
        store: String,
        clients: usize,
    ) -> Setting {
        let cycles = if self.is_long { 50 } else { 5 };
        Setting { name, programs, store, clients, cycles, is_long: self.is_long }
    }

    fn on_postgres(&self, server: &Postgres) -> Result<Setting> {
        let programs = Programs::build("postgres")?;
        Ok(self.setting("postgres", programs, server.url().to_owned(), 1000))
    }

    /// Runs the selected trials of a store. Returns whether all passed.
    fn try_all(&self, setting: &Setting, seed: u64, lines: &mut Vec<String>) -> bool {
        let mut is_good = true;
        for trial in TRIALS.iter().filter(|trial| self.wants_trial(trial, setting.name)) {
            let name = format!("{} {}", setting.name, trial.name);
            println!("--- {name}");
            let began = Instant::now();
            // A new generator per trial, so that a trial alone behaves as it did among the others.
            let result = (trial.run)(setting, &mut fastrand::Rng::with_seed(seed));
            is_good &= result.is_ok();
            let what = result.unwrap_or_else(|error| format!("FAILED: {error:#}"));
            lines.push(format!("{name}: {what} ({:.0} s)", began.elapsed().as_secs_f64()));
        }
        is_good
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_says_what_and_where() {
        let plan =
            |line: &str| Plan::of(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        let both = plan("").unwrap();
        assert!(both.wants("sqlite") && both.wants("postgres") && !both.is_long);
        let one = plan("--long --postgres").unwrap();
        assert!(!one.wants("sqlite") && one.wants("postgres") && one.is_long);
        let trials = |plan: &Plan, store| {
            let wanted = TRIALS.iter().filter(|trial| plan.wants_trial(trial, store));
            wanted.map(|trial| trial.name).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(trials(&both, "sqlite"), "kills writers planted outage clock");
        assert_eq!(trials(&one, "postgres"), "kills writers outage clock frozen");
        assert_eq!(trials(&both, "files"), "kills clock");
        assert_eq!(trials(&plan("frozen").unwrap(), "sqlite"), "frozen");
        assert!(plan("streams").is_err() && plan("--all").is_err());
        assert!(run(&[]).is_err() && run(&["streams".to_owned()]).is_err());
    }
}
