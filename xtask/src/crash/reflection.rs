//! Managers are killed and started again while applications stream to them. Every run must be
//! answered once, unless its manager does not return. The applications' own callers, their number of
//! tasks and their memory must not be affected.

mod pair;

use std::process::Stdio;
use std::time::Instant;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::programs::Programs;
use pair::{Kind, Pair, Seen};

/// The pairs of an application and its manager. They run at the same time: an application
/// reconnects at once only after a connection of at least a second, so one pair after the other would
/// take minutes.
const PAIRS: [Kind; 4] = [Kind::KeepsIds, Kind::CountsAnew, Kind::KeepsIds, Kind::CountsAnew];
const KILLS: u32 = 25;
/// Faults that are added to correct notes, and the finding that the checker must report.
const PLANTED: [(&str, &str); 4] =
    [("lost", "lost"), ("gap", "lost"), ("doubled", "doubled"), ("mixed", "mixed")];

/// Runs the trials. Returns one line per trial.
pub(super) fn run(options: &[String]) -> Result<Vec<String>> {
    let kills = match options {
        [] => KILLS,
        [option] if option == "--long" => KILLS * 4,
        _ => bail!("the only option is --long"),
    };
    let seed = super::seed()?;
    let programs = Programs::build("reflection")?;
    let (mut lines, mut is_good) = (Vec::new(), true);
    let trials: [(&str, &dyn Fn() -> Result<String>); 2] = [
        ("kills", &|| kill_managers(&programs, kills, seed)),
        ("planted", &|| find_planted(&programs)),
    ];
    for (name, trial) in trials {
        println!("--- reflection {name}");
        let began = Instant::now();
        let result = trial();
        is_good &= result.is_ok();
        let what = result.unwrap_or_else(|error| format!("FAILED: {error:#}"));
        let seconds = began.elapsed().as_secs_f64();
        lines.push(format!("reflection {name}: {what} ({seconds:.0} s)"));
    }
    println!("\n{}", lines.join("\n"));
    if !is_good {
        bail!("{}; the seed is {seed}", lines.join(", "));
    }
    Ok(lines)
}

fn kill_managers(programs: &Programs, kills: u32, seed: u64) -> Result<String> {
    let pair = |number: usize| {
        let pair = Pair { programs, number, kind: PAIRS[number] };
        pair.run(kills, &mut fastrand::Rng::with_seed(seed.wrapping_add(number as u64)))
    };
    let seen = std::thread::scope(|scope| {
        let start = |number| scope.spawn(move || pair(number));
        let pairs: Vec<_> = (0..PAIRS.len()).map(start).collect();
        let ended = pairs.into_iter().map(|pair| pair.join().expect("it does not panic"));
        ended.collect::<Result<Vec<_>>>()
    })?;
    let mut total = Totals::default();
    for (number, kind) in PAIRS.iter().enumerate() {
        let found = check(programs, number, None)?;
        println!("manager {number}, which {}: {}", kind.describe(), found.value);
        found.good()?;
        total.add(&found);
    }
    Ok(format!("{}, {}", total.describe(), Seen::describe(&seen)))
}

fn find_planted(programs: &Programs) -> Result<String> {
    for number in 0..PAIRS.len() {
        for (fault, expected) in PLANTED {
            let found = check(programs, number, Some(fault))?;
            if found.count(expected) == 0 {
                bail!("`{fault}` was not found: {}", found.value);
            }
        }
    }
    let faults = PLANTED.map(|(fault, _)| fault).join(", ");
    Ok(format!("found in the notes of each of {} managers: {faults}", PAIRS.len()))
}

/// The findings of the checker about the managers of a pair.
struct Found {
    value: Value,
    is_good: bool,
}

impl Found {
    fn count(&self, what: &str) -> u64 {
        self.value[what].as_u64().unwrap_or_default()
    }

    fn good(&self) -> Result<()> {
        if !self.is_good {
            bail!("{}", self.value);
        }
        Ok(())
    }
}

fn check(programs: &Programs, number: usize, planted: Option<&str>) -> Result<Found> {
    let mut command = programs.command("check-runs")?;
    command.arg("--log").arg(pair::notes(programs, number));
    command.arg("--runtime-log").arg(pair::runtime_notes(programs, number));
    if let Some(fault) = planted {
        command.args(["--planted-fault", fault]);
    } else {
        command.stderr(Stdio::inherit());
    }
    let output = command.stdin(Stdio::null()).output()?;
    let line = String::from_utf8_lossy(&output.stdout);
    let line = line.lines().last().context("the checker printed nothing")?;
    Ok(Found { value: serde_json::from_str(line)?, is_good: output.status.success() })
}

/// The findings of all pairs.
#[derive(Default)]
struct Totals([u64; COUNTED.len()]);

const COUNTED: [(&str, &str); 10] = [
    ("kills", "kills"),
    ("runs", "runs"),
    ("answered", "answered"),
    ("failed", "failures received"),
    ("orphaned", "of a manager that did not return"),
    ("undelivered", "not delivered before a kill"),
    ("repeated", "answers repeated"),
    ("lost", "lost"),
    ("doubled", "doubled"),
    ("mixed", "mixed"),
];

impl Totals {
    fn add(&mut self, found: &Found) {
        for (total, (what, _)) in self.0.iter_mut().zip(COUNTED) {
            *total += found.count(what);
        }
    }

    fn describe(&self) -> String {
        let parts =
            self.0.iter().zip(COUNTED).map(|(count, (_, label))| format!("{count} {label}"));
        parts.collect::<Vec<_>>().join(", ")
    }
}
