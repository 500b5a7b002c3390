//! `cargo xtask build-time`: the processor time of a clean build of the library crates.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

use crate::{metadata, tools};

/// Goal for the processor time of a clean build. Twice as much is an error.
const AIM: Duration = Duration::from_secs(240);

/// Builds the library crates into an empty folder and prints the CPU it took.
pub(crate) fn run() -> Result<()> {
    let target = metadata::target_dir()?.join("build-time");
    _ = std::fs::remove_dir_all(&target);
    let mut command = tools::cargo(["build", "--locked"]);
    for package in metadata::members()? {
        if package.is_library() {
            command.args(["--package", &package.name]);
        }
    }
    // Sources are fetched first, so that the network is not part of the figure.
    tools::run(&mut tools::cargo(["fetch", "--locked"]))?;
    let (began, before) = (Instant::now(), cpu_of_children()?);
    tools::run(command.env("CARGO_TARGET_DIR", &target))?;
    let (wall, cpu) = (began.elapsed(), cpu_of_children()? - before);
    std::fs::remove_dir_all(&target)?;

    let verdict = if cpu <= AIM { "ok" } else { "missed" };
    println!(
        "build-time/libraries {:.0} s of CPU, {:.0} s of wall time (aim {} s of CPU) {verdict}",
        cpu.as_secs_f64(),
        wall.as_secs_f64(),
        AIM.as_secs(),
    );
    if cpu > 2 * AIM {
        bail!("a clean build takes more than twice its aim");
    }
    Ok(())
}

/// Processor time of all child processes that have ended.
fn cpu_of_children() -> Result<Duration> {
    let stat = std::fs::read_to_string("/proc/self/stat")?;
    // The second field is the program's name and may hold anything but `)`.
    let (_, fields) = stat.rsplit_once(')').context("a name in parentheses")?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    // cutime and cstime, fields 16 and 17 of proc_pid_stat(5).
    let ticks = |field: usize| -> Result<u64> { Ok(fields[field - 3].parse()?) };
    let per_second: u64 =
        tools::read(std::process::Command::new("getconf").arg("CLK_TCK"))?.trim().parse()?;
    Ok(Duration::from_millis((ticks(16)? + ticks(17)?) * 1000 / per_second))
}
