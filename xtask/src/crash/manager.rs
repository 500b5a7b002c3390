//! Starts the trials of the developer tools, which are in `crash/src/devtools`. A real `oxikit start`
//! is killed, its runtimes and application are killed or frozen, and it receives damaged, deep,
//! large and invalid data. Each trial prints one line with its figures and goals.

use std::time::Duration;

use anyhow::{Result, bail};

use super::programs::Programs;
use crate::tools;

/// Timeout of all trials. They take about a minute, and longer with `--long`.
const LIMIT: Duration = Duration::from_secs(420);

/// Runs the selected trials, or all. Returns one line per trial.
pub(super) fn run(options: &[String]) -> Result<Vec<String>> {
    let (flags, names): (Vec<&String>, Vec<&String>) =
        options.iter().partition(|option| option.starts_with("--"));
    if flags.iter().any(|flag| *flag != "--long") {
        bail!("the options are --long and the names of trials");
    }
    let programs = Programs::build_with("tools", &["oxikit-cli"])?;
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
