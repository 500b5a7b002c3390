//! The trials of the developer tools. Each starts a real `oxikit start`, kills or freezes a part of
//! it or sends it damaged, deep or large data, and compares the measured figures with goals.

mod callers;
mod dead_app;
mod deep;
mod frozen_runtime;
mod garbage;
mod killed_runtime;
mod killed_tools;
mod large;
mod left_callers;
mod pinger;
mod raw_socket;
pub(crate) mod read_prompts;
pub(crate) mod streamer;
mod tools;
mod torn;
pub(crate) mod watched_agent;

use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Result, bail};
use futures_util::future::join;

use crate::Args;
use crate::figures::Figures;

/// The paths and the length of the trials.
pub(crate) struct Setting {
    /// The `oxikit` command.
    program: PathBuf,
    /// The parent of the folders of the trials.
    folder: PathBuf,
    is_long: bool,
}

impl Setting {
    /// The setting of a repetition, which has its own folder.
    fn repeated(&self) -> Self {
        let (program, folder) = (self.program.clone(), self.folder.join("repeated"));
        Self { program, folder, is_long: self.is_long }
    }
}

/// A trial.
#[derive(Clone, Copy)]
struct Trial {
    name: &'static str,
    run: fn(&Setting) -> Verdict<'_>,
}

type Verdict<'a> = Pin<Box<dyn Future<Output = Result<Figures>> + Send + 'a>>;

/// Trials that mostly wait, or do not measure time. The two lists run at the same time.
const WAITING: [&[Trial]; 2] = [
    &[
        trial("killed-tools", |setting| Box::pin(killed_tools::run(setting))),
        trial("read-prompts", |setting| Box::pin(read_prompts::run(setting))),
    ],
    &[
        trial("frozen-runtime", |setting| Box::pin(frozen_runtime::run(setting))),
        trial("left-callers", |setting| Box::pin(left_callers::run(setting))),
        trial("dead-app", |setting| Box::pin(dead_app::run(setting))),
        trial("torn", |setting| Box::pin(torn::run(setting))),
        trial("deep", |setting| Box::pin(deep::run(setting))),
        trial("watched-agent", |setting| Box::pin(watched_agent::run(setting))),
    ],
];

/// Trials that measure time under load. They run alone.
const WORKING: &[Trial] = &[
    trial("killed-runtime", |setting| Box::pin(killed_runtime::run(setting))),
    trial("large", |setting| Box::pin(large::run(setting))),
    trial("garbage", |setting| Box::pin(garbage::run(setting))),
];

const fn trial(name: &'static str, run: fn(&Setting) -> Verdict<'_>) -> Trial {
    Trial { name, run }
}

/// Runs the selected trials, or all. Prints one line per trial, and fails if one misses its goals.
pub(crate) async fn run(args: &Args) -> Result<ExitCode> {
    let setting = Setting {
        program: args.get("--oxikit")?.into(),
        folder: args.get("--folder")?.into(),
        is_long: args.has("--long"),
    };
    let names: Vec<&str> =
        args.find("--trials").map(|names| names.split(',').collect()).unwrap_or_default();
    let [one, other] = WAITING;
    let is_known =
        |name: &&str| [one, other, WORKING].concat().iter().any(|trial| trial.name == *name);
    if let Some(name) = names.iter().find(|name| !is_known(name)) {
        bail!("there is no trial `{name}`");
    }
    let lane = |trials: &'static [Trial]| -> Vec<&Trial> {
        let is_wanted = |trial: &&Trial| names.is_empty() || names.contains(&trial.name);
        trials.iter().filter(is_wanted).collect()
    };
    let (one, other, working) = (lane(one), lane(other), lane(WORKING));
    let (one, other) = join(try_all(&setting, one), try_all(&setting, other)).await;
    let is_good = one & other & try_all(&setting, working).await;
    Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Maximum number of repetitions of a trial that misses only goals of time or memory. The last
/// one must reach all goals.
const REPEATS: usize = 2;

/// Runs trials one after the other. Returns whether all reached their goals.
async fn try_all(setting: &Setting, trials: Vec<&Trial>) -> bool {
    let mut is_good = true;
    for trial in trials {
        let began = Instant::now();
        let mut figures = (trial.run)(setting).await;
        let mut again = setting.repeated();
        for _ in 0..REPEATS {
            if !figures.as_ref().is_ok_and(Figures::is_only_measured) {
                break;
            }
            let missed = figures.and_then(Figures::end).expect_err("it has missed a goal");
            println!("{}: missed, repeated: {missed:#}", trial.name);
            figures = (trial.run)(&again).await;
            again = again.repeated();
        }
        let result = figures.and_then(Figures::end);
        is_good &= result.is_ok();
        let what = result.unwrap_or_else(|error| format!("FAILED: {error:#}"));
        let seconds = began.elapsed().as_secs_f64();
        println!("{}: {what} ({seconds:.0} s)", trial.name);
    }
    is_good
}
