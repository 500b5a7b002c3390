//! Runs the published conformance data against oxikit.
//!
//! `oxikit-conformance [suite…]` runs the suites named, or all of them, prints
//! the cases that fail and ends with one line per suite: `name passed/total`.

#![expect(clippy::print_stdout, reason = "the report is what it is for")]

mod dotprompt;
mod exchanges;
mod generate;
mod handlebars;
mod oracle;
mod random;
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
        let line = match (suite.run)(&places)? {
            Outcome::Skipped(why) => format!("{} skipped: {why}", suite.name),
            Outcome::Ran(report) => {
                has_failed |= !report.failures.is_empty();
                show_failures(suite.name, &report);
                summary(suite.name, &report)
            }
        };
        lines.push(line);
    }
    println!("{}", lines.join("\n"));
    Ok(if has_failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
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
