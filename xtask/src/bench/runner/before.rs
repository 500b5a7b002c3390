//! Measures our programs in turns with those of an earlier commit.
//!
//! Figures of one program differ by a fifth within an hour on a shared machine. Measured in
//! turns, scenario by scenario, both meet the same moments.

use std::path::Path;

use anyhow::Result;

use super::super::peers::{self, Peer};
use super::{Bench, Options};
use crate::bench::scenario::{Scenario, Suite};

/// Runs the scenarios of our programs and prints the medians of both, and their ratio.
pub(super) fn compare(
    suite: &Suite,
    options: &Options,
    scenarios: &[&'static Scenario],
    folder: &Path,
) -> Result<()> {
    let ours = |peer: Peer| Peer::OURS.contains(&peer);
    let earlier = || peers::use_programs_of(Some(folder.to_owned()));
    let current = || peers::use_programs_of(None);
    let mut now = Bench::prepare(suite, options, scenarios)?;
    earlier();
    let mut before = Bench::prepare(suite, options, scenarios)?;
    for round in 0..=options.rounds {
        for (place, scenario) in scenarios.iter().enumerate() {
            // Either goes first in turns.
            let measure_before = |before: &mut Bench| {
                earlier();
                before.round(scenario, round, ours)
            };
            let measure_now = |now: &mut Bench| {
                current();
                now.round(scenario, round, ours)
            };
            if (round + place) % 2 == 0 {
                measure_before(&mut before)?;
                measure_now(&mut now)?;
            } else {
                measure_now(&mut now)?;
                measure_before(&mut before)?;
            }
        }
        eprintln!("round {round} of {} done", options.rounds);
    }
    println!("| figure | before | now | now / before |\n| --- | ---: | ---: | ---: |");
    for figure in scenarios.iter().flat_map(|scenario| scenario.figures) {
        let of = |bench: &Bench| {
            Peer::OURS.into_iter().find_map(|peer| bench.samples.median(figure.name, peer))
        };
        if let (Some(was), Some(is)) = (of(&before), of(&now)) {
            let (name, unit) = (figure.name, figure.unit);
            println!("| {name} | {was:.1} {unit} | {is:.1} {unit} | {:.2} |", is / was);
        }
    }
    earlier();
    drop(before);
    current();
    Ok(())
}
