//! What a call, a chunk and an action cost, in CPU, each beside its floor: the
//! same work by hand, with serde_json and plain async functions.
//!
//! `cargo xtask bench core` runs all scenarios; words choose those whose names
//! contain one of them. The last lines are one per scenario, then the suite.

#![expect(clippy::print_stdout, reason = "a program for the terminal")]

mod calls;
mod document;
mod figure;
mod growth;
mod measure;
mod memory;
mod streams;

use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::figure::Figure;
use crate::measure::Bench;

/// A scenario: its name and what measures it.
type Scenario = (&'static str, fn(&Bench) -> Result<Figure>);

const SCENARIOS: [Scenario; 14] = [
    ("flow-small", calls::small_text),
    ("flow-small-typed", calls::small_typed),
    ("flow-nested", calls::nested),
    ("flow-48k", calls::large_text),
    ("flow-48k-trees", calls::large_trees),
    ("flow-48k-validated", calls::large_validated),
    ("flow-48k-value", calls::large_value),
    ("payload-48k", calls::large_payload),
    ("stream-chunk", streams::one_by_one),
    ("stream-batch", streams::batches),
    ("stream-batch-json", streams::batches_as_json),
    ("registry-growth", growth::same_ten),
    ("registry-spread", growth::spread),
    ("idle-memory", memory::idle),
];

fn main() -> Result<ExitCode> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words.first().is_some_and(|word| word == memory::IDLE) {
        memory::be_idle()?;
        return Ok(ExitCode::SUCCESS);
    }
    let is_wanted =
        |name: &str| words.is_empty() || words.iter().any(|word| name.contains(&**word));
    let bench = Bench::new()?;
    let mut figures = Vec::new();
    for (name, measure) in SCENARIOS.iter().filter(|(name, _)| is_wanted(name)) {
        let figure = measure(&bench)?;
        println!("{name}: {}", figure.explanation());
        figures.push((name, figure));
    }
    if figures.is_empty() {
        bail!("no scenario has a name with {words:?} in it");
    }

    println!();
    for (name, figure) in &figures {
        println!("core/{name} {figure}");
    }
    let met = figures.iter().filter(|(_, figure)| figure.is_met());
    let aims = figures.iter().filter(|(_, figure)| figure.has_aim());
    let far_off: Vec<_> =
        figures.iter().filter(|(_, figure)| figure.is_far_off()).map(|(name, _)| **name).collect();
    println!("core {}/{} aims met", met.count(), aims.count());
    if !far_off.is_empty() {
        println!("more than twice its aim: {}", far_off.join(", "));
        return Ok(ExitCode::FAILURE);
    }
    Ok(ExitCode::SUCCESS)
}
