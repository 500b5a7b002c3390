//! The real `oxikit start` is killed and starved, with its runtimes and its application,
//! and is fed with what is torn, deep, large or garbage. The trials are in `crash/`; each
//! says a line, with its figures beside their goals.

use std::time::Duration;

use anyhow::{Result, bail};

use super::programs::Programs;
use crate::tools;

/// All of them take about a minute; with the usual times of runtimes, some more.
const LIMIT: Duration = Duration::from_secs(420);

/// Runs the trials that are named, or all; answers one line each.
pub(super) fn run(options: &[String]) -> Result<Vec<String>> {
    let (flags, names): (Vec<&String>, Vec<&String>) =
        options.iter().partition(|option| option.starts_with("--"));
    if flags.iter().any(|flag| *flag != "--long") {
        bail!("there are --long and the names of trials");
    }
    let programs = Programs::build_with("tools", &["oxikit-devtools"])?;
    let mut command = programs.command("try-tools")?;
    command.arg("--oxikit").arg(programs.other("oxikit"));
    command.arg("--folder").arg(programs.path("projects")).args(flags);
    if !names.is_empty() {
        let names: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
        command.args(["--trials", &names.join(",")]);
    }
    let (status, output) = tools::tee(&mut command, LIMIT)?;
    let lines: Vec<String> = output.lines().map(|line| format!("manager {line}")).collect();
    if !status.success() {
        let log = std::fs::read_to_string(programs.path("try-tools.log")).unwrap_or_default();
        bail!("{} {log}", lines.join(", "));
    }
    Ok(lines)
}
