//! `cargo xtask conformance`: runs the published conformance data against this code.

use std::process::Command;

use anyhow::{Result, bail};

use crate::{metadata, services, spec, tools};

/// Suites that run on every store.
const ON_STORES: [&str; 2] = ["agent", "contract"];

/// Runs the suites with these names, or all. Returns one line per suite and store.
pub(crate) fn run(suites: &[String]) -> Result<Vec<String>> {
    tools::build(&["oxikit-conformance"])?;
    let mut command = Command::new(metadata::target_dir()?.join("debug/oxikit-conformance"));
    command.current_dir(tools::root());
    if let Some(spec) = spec::find()? {
        command.env("OXIKIT_SPEC", spec);
    }
    let needs_stores =
        suites.is_empty() || suites.iter().any(|suite| ON_STORES.contains(&suite.as_str()));
    // Suites skip PostgreSQL, or fail where nothing may be skipped.
    let postgres = needs_stores.then(services::postgres);
    match &postgres {
        Some(Ok(server)) => services::hand_over(&mut command, server)?,
        Some(Err(why)) => println!("without PostgreSQL: {why:#}"),
        None => {}
    }
    let output = tools::run_and_read(command.args(suites), tools::LONG)?;
    let lines = suite_lines(&output);
    if lines.is_empty() {
        bail!("`oxikit-conformance` reported no suite");
    }
    Ok(lines)
}

/// Whether the suite of this line was skipped on this machine.
pub(crate) fn is_skipped(line: &str) -> bool {
    line.split_whitespace().nth(1) == Some("skipped:")
}

/// Whether only the published data was missing, which belongs to other projects and may
/// be missing anywhere.
pub(crate) fn lacks_official_data(line: &str) -> bool {
    is_skipped(line) && line.contains("skipped: no official data")
}

/// The closing lines, `name passed/total …` or `name skipped: why`.
fn suite_lines(output: &str) -> Vec<String> {
    let mut lines: Vec<_> = output
        .lines()
        .rev()
        .skip_while(|line| line.trim().is_empty())
        .take_while(|line| is_suite_line(line))
        .map(str::to_owned)
        .collect();
    lines.reverse();
    lines
}

fn is_suite_line(line: &str) -> bool {
    let is_score = |word: &str| {
        word.split_once('/').is_some_and(|(passed, total)| {
            passed.parse::<u32>().is_ok() && total.parse::<u32>().is_ok()
        })
    };
    is_skipped(line) || line.split_whitespace().nth(1).is_some_and(is_score)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closing_lines_are_the_suites() {
        let output = "running 3/4 of it\nhandlebars failed: x\nhandlebars 170/171 (99.4 %)\noracle skipped: no Node\n\n";
        assert_eq!(suite_lines(output), ["handlebars 170/171 (99.4 %)", "oracle skipped: no Node"]);
        assert!(is_skipped("oracle skipped: no Node"));
        assert!(suite_lines("nothing").is_empty());
    }
}
