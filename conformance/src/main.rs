//! Runs the published conformance data against oxikit.
//!
//! `oxikit-conformance [suite…]` runs the suites named, or all of them, prints
//! the cases that fail and ends with one line per suite: `name passed/total`, or one
//! for each way in which it was run.

#![expect(clippy::print_stdout, reason = "the report is what it is for")]

mod agent;
mod contract;
mod dotprompt;
mod exchanges;
mod generate;
mod handlebars;
mod oracle;
mod random;
mod reflection;
mod secrets;
mod stores;
mod suite;
mod templates;

use std::process::ExitCode;

use suite::{Outcome, Places, Report, Suite};

/// How many failing cases are shown in full.
const SHOWN: usize = 20;

const SUITES: &[Suite] = &[
    Suite { name: "generate", run: generate::run },
    Suite { name: "dotprompt", run: dotprompt::run },
    Suite { name: "handlebars", run: handlebars::run },
    Suite { name: "handlebars-oracle", run: oracle::run },
    Suite { name: "action-http-exchanges", run: exchanges::run },
    Suite { name: "reflection-v2", run: reflection::run },
    Suite { name: "contract", run: contract::run },
    Suite { name: "agent", run: agent::run },
    Suite { name: "secrets", run: secrets::run },
];

fn main() -> anyhow::Result<ExitCode> {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    if let Some(unknown) = wanted.iter().find(|name| !is_suite(name)) {
        let names: Vec<_> = SUITES.iter().map(|suite| suite.name).collect();
        anyhow::bail!("there is no suite `{unknown}`; there are: {}", names.join(", "));
    }
    let places = Places::find();
    let (mut lines, mut has_failed) = (Vec::new(), false);
    for suite in SUITES {
        if !wanted.is_empty() && !wanted.iter().any(|name| name == suite.name) {
            continue;
        }
        has_failed |= !conclude(suite.name, (suite.run)(&places)?, &mut lines);
    }
    println!("{}", lines.join("\n"));
    Ok(if has_failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Shows what failed and adds the closing lines. Answers whether all is well.
fn conclude(name: &str, outcome: Outcome, lines: &mut Vec<String>) -> bool {
    match outcome {
        Outcome::Skipped(why) => {
            lines.push(format!("{name} skipped: {why}"));
            true
        }
        Outcome::Ran(report) => {
            show_failures(name, &report);
            lines.push(summary(name, &report));
            report.failures.is_empty()
        }
        Outcome::Several(ways) => {
            let all = ways.into_iter().map(|(way, outcome)| (format!("{name}/{way}"), outcome));
            all.fold(true, |is_well, (way, outcome)| conclude(&way, outcome, lines) && is_well)
        }
    }
}

fn is_suite(name: &str) -> bool {
    SUITES.iter().any(|suite| suite.name == name)
}

fn show_failures(name: &str, report: &Report) {
    for failure in report.failures.iter().take(SHOWN) {
        println!("FAILED {name}: {}\n{}\n", failure.case, failure.detail);
    }
    let hidden = report.failures.len().saturating_sub(SHOWN);
    if hidden > 0 {
        println!("… and {hidden} more of {name}\n");
    }
}

fn summary(name: &str, report: &Report) -> String {
    let numbers = format!("{name} {}/{}", report.passed, report.total());
    if report.note.is_empty() { numbers } else { format!("{numbers} ({})", report.note) }
}
