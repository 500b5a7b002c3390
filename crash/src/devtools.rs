//! The trials of the developer tools: the real `oxikit start` is killed and starved, its
//! runtimes and its application are, and it is fed with what is torn, deep, large or
//! garbage. Each trial holds figures against goals.

mod callers;
mod dead_app;
mod deep;
mod figures;
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
use figures::Figures;

/// Where things are, and how much is tried.
pub(crate) struct Setting {
    /// The `oxikit` command.
    program: PathBuf,
    /// Below it each trial has a folder.
    folder: PathBuf,
    is_long: bool,
}

impl Setting {
    /// The same, in a folder of its own.
    fn once_more(&self) -> Self {
        let (program, folder) = (self.program.clone(), self.folder.join("once-more"));
        Self { program, folder, is_long: self.is_long }
    }
}

/// One thing that is done to the tools.
#[derive(Clone, Copy)]
struct Trial {
    /// The fault or the input by its number, and its name.
    id: &'static str,
    name: &'static str,
    run: fn(&Setting) -> Verdict<'_>,
}

impl Trial {
    fn is(&self, name: &str) -> bool {
        self.id == name || self.name == name
    }
}

type Verdict<'a> = Pin<Box<dyn Future<Output = Result<Figures>> + Send + 'a>>;

/// Those that wait, or measure no time, go on beside each other.
const WAITING: [&[Trial]; 2] = [
    &[
        trial("F12", "killed-tools", |setting| Box::pin(killed_tools::run(setting))),
        trial("W2", "read-prompts", |setting| Box::pin(read_prompts::run(setting))),
    ],
    &[
        trial("F10", "frozen-runtime", |setting| Box::pin(frozen_runtime::run(setting))),
        trial("F9", "left-callers", |setting| Box::pin(left_callers::run(setting))),
        trial("F11", "dead-app", |setting| Box::pin(dead_app::run(setting))),
        trial("F14", "torn", |setting| Box::pin(torn::run(setting))),
        trial("B2", "deep", |setting| Box::pin(deep::run(setting))),
        trial("W1", "watched-agent", |setting| Box::pin(watched_agent::run(setting))),
    ],
];

/// Those that work against the clock go on alone.
const WORKING: &[Trial] = &[
    trial("F9", "killed-runtime", |setting| Box::pin(killed_runtime::run(setting))),
    trial("B3", "large", |setting| Box::pin(large::run(setting))),
    trial("B9", "garbage", |setting| Box::pin(garbage::run(setting))),
];

const fn trial(id: &'static str, name: &'static str, run: fn(&Setting) -> Verdict<'_>) -> Trial {
    Trial { id, name, run }
}

/// Runs the trials that are named, or all; says one line each, and fails if one misses
/// its goals.
pub(crate) async fn run(args: &Args) -> Result<ExitCode> {
    let setting = Setting {
        program: args.get("--oxikit")?.into(),
        folder: args.get("--folder")?.into(),
        is_long: args.has("--long"),
    };
    let names: Vec<&str> =
        args.find("--trials").map(|names| names.split(',').collect()).unwrap_or_default();
    let [one, other] = WAITING;
    let is_known = |name: &&str| [one, other, WORKING].concat().iter().any(|trial| trial.is(name));
    if let Some(name) = names.iter().find(|name| !is_known(name)) {
        bail!("there is no trial `{name}`");
    }
    let lane = |trials: &'static [Trial]| -> Vec<&Trial> {
        let is_wanted =
            |trial: &&Trial| names.is_empty() || names.iter().any(|name| trial.is(name));
        trials.iter().filter(is_wanted).collect()
    };
    let (one, other, working) = (lane(one), lane(other), lane(WORKING));
    let (one, other) = join(try_all(&setting, one), try_all(&setting, other)).await;
    let is_good = one & other & try_all(&setting, working).await;
    Ok(if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A trial that misses only times or memory is run so often again, and then must hold.
const REPEATS: usize = 2;

/// Says whether all went well.
async fn try_all(setting: &Setting, trials: Vec<&Trial>) -> bool {
    let mut is_good = true;
    for trial in trials {
        let began = Instant::now();
        let mut figures = (trial.run)(setting).await;
        let mut again = setting.once_more();
        for _ in 0..REPEATS {
            if !figures.as_ref().is_ok_and(Figures::is_only_measured) {
                break;
            }
            let missed = figures.and_then(Figures::end).expect_err("it has missed a goal");
            println!("{} {}: missed, so once more: {missed:#}", trial.id, trial.name);
            figures = (trial.run)(&again).await;
            again = again.once_more();
        }
        let result = figures.and_then(Figures::end);
        is_good &= result.is_ok();
        let what = result.unwrap_or_else(|error| format!("FAILED: {error:#}"));
        let seconds = began.elapsed().as_secs_f64();
        println!("{} {}: {what} ({seconds:.0} s)", trial.id, trial.name);
    }
    is_good
}
