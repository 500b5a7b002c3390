//! Measures our programs in turns with those of an earlier commit.
//!
//! Figures of one program differ by a fifth within an hour on a shared machine. Measured in
//! turns, scenario by scenario, both meet the same moments.

use std::fmt::Write as _;

use anyhow::Result;

use super::super::peers::Peer;
use super::super::programs::{self, Earlier};
use super::super::report::{Samples, median, number};
use super::{Bench, Options};
use crate::bench::scenario::{Figure, Scenario, Suite};

/// A figure may be worse than before by this factor. Beyond it, the last line names the figure.
const TOLERANCE: f64 = 1.05;

/// Runs the scenarios of our programs, and prints the figures of both and their ratios.
pub(super) fn compare(
    suite: &Suite,
    options: &Options,
    scenarios: &[&'static Scenario],
    revision: &str,
) -> Result<()> {
    let is_measured = |peer: &Peer| scenarios.iter().any(|scenario| scenario.has(*peer));
    let ours = Peer::OURS.into_iter().filter(is_measured);
    let groups: Vec<_> = ours.map(Peer::our_programs).collect();
    let earlier = programs::of(revision, &groups)?;
    let mut now = Side::prepare(None, suite, options, scenarios)?;
    let mut before = Side::prepare(Some(&earlier), suite, options, scenarios)?;
    for round in 0..=options.rounds {
        for (place, scenario) in scenarios.iter().enumerate() {
            let mut sides = [&mut before, &mut now];
            // Either goes first in turns.
            if (round + place) % 2 == 1 {
                sides.reverse();
            }
            for side in sides {
                side.round(scenario, round)?;
            }
        }
        eprintln!("round {round} of {} done", options.rounds);
    }
    let figures = scenarios.iter().flat_map(|scenario| scenario.figures);
    let rows: Vec<Row> =
        figures.map(|figure| Row::of(figure, &before.bench.samples, &now.bench.samples)).collect();
    print!("{}", show(suite.name, revision, &rows));
    Ok(())
}

/// The programs of one commit, and what was measured of them.
struct Side<'a> {
    /// `None` is this checkout.
    earlier: Option<&'a Earlier>,
    bench: Bench,
}

impl<'a> Side<'a> {
    fn prepare(
        earlier: Option<&'a Earlier>,
        suite: &Suite,
        options: &Options,
        scenarios: &[&'static Scenario],
    ) -> Result<Self> {
        programs::select(earlier);
        let bench = Bench::prepare(suite, options, scenarios, is_ours)?;
        programs::select(None);
        Ok(Self { earlier, bench })
    }

    fn round(&mut self, scenario: &'static Scenario, round: usize) -> Result<()> {
        programs::select(self.earlier);
        let done = self.bench.round(scenario, round, is_ours);
        programs::select(None);
        done
    }
}

fn is_ours(peer: Peer) -> bool {
    Peer::OURS.contains(&peer)
}

/// One figure of both commits.
struct Row {
    figure: &'static Figure,
    before: Vec<f64>,
    now: Vec<f64>,
    /// Requests of either commit that failed.
    errors: u64,
}

impl Row {
    fn of(figure: &'static Figure, before: &Samples, now: &Samples) -> Self {
        let values = |samples: &Samples| {
            Peer::OURS.iter().flat_map(|peer| samples.values(figure.name, *peer)).copied().collect()
        };
        let errors = |samples: &Samples| -> u64 {
            Peer::OURS.iter().map(|peer| samples.error_count(figure.name, *peer)).sum()
        };
        let errors = errors(before) + errors(now);
        Self { figure, before: values(before), now: values(now), errors }
    }

    /// `now / before` of each round, in ascending order. The two values of a round were measured
    /// one directly after the other. There are none if a round is missing, or if the figure was 0.
    fn ratios(&self) -> Vec<f64> {
        if self.before.len() != self.now.len() || self.before.contains(&0.0) {
            return Vec::new();
        }
        let mut ratios: Vec<f64> =
            self.before.iter().zip(&self.now).map(|(before, now)| now / before).collect();
        ratios.sort_by(f64::total_cmp);
        ratios
    }

    /// Whether the figure is at most 5 % above the earlier one; all figures are costs.
    fn is_kept(&self) -> bool {
        let is_nothing =
            |values: &[f64]| !values.is_empty() && values.iter().all(|value| *value <= 0.0);
        let is_close = median(&self.ratios()).is_some_and(|ratio| ratio <= TOLERANCE);
        self.errors == 0 && (is_close || is_nothing(&self.now))
    }

    fn line(&self) -> String {
        let unit = self.figure.unit;
        let show = |values: &[f64]| {
            median(values).map_or("–".to_owned(), |value| format!("{} {unit}", number(value)))
        };
        let ratio = match (&*self.ratios(), self.errors) {
            (_, 1..) => format!("{} errors", self.errors),
            ([lowest, .., highest], _) => {
                let middle = median(&self.ratios()).unwrap_or_default();
                format!("{middle:.2} ({lowest:.2}–{highest:.2})")
            }
            ([ratio], _) => format!("{ratio:.2}"),
            ([], _) => "–".to_owned(),
        };
        format!("| {} | {} | {} | {ratio} |", self.figure.name, show(&self.before), show(&self.now))
    }
}

/// The table, and a line that names the figures that are worse.
fn show(suite: &str, revision: &str, rows: &[Row]) -> String {
    let mut text = format!(
        "| figure | {revision} | now | now / {revision} (all rounds) |\n| --- | ---: | ---: | ---: |\n"
    );
    for row in rows {
        _ = writeln!(text, "{}", row.line());
    }
    let worse = rows.iter().filter(|row| !row.is_kept());
    let worse: Vec<_> = worse.map(|row| row.figure.name).collect();
    let kept = rows.len() - worse.len();
    _ = write!(text, "\n{suite} beside {revision}: {kept} of {} figures within 5 %", rows.len());
    if !worse.is_empty() {
        _ = write!(text, "; not {}", worse.join(", "));
    }
    text + "\n"
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    static FIGURES: [Figure; 2] =
        [Figure::new("call", "call_us", "µs"), Figure::new("lost", "lost_percent", "%")];

    fn samples(lines: &[serde_json::Value]) -> Samples {
        let mut samples = Samples::default();
        for line in lines {
            samples.add(&FIGURES, Peer::Tools, line);
        }
        samples
    }

    fn compared(before: &[serde_json::Value], now: &[serde_json::Value]) -> String {
        let (before, now) = (samples(before), samples(now));
        let rows: Vec<Row> = FIGURES.iter().map(|figure| Row::of(figure, &before, &now)).collect();
        show("manager", "v1", &rows)
    }

    #[test]
    fn the_ratio_is_that_of_neighbours_and_not_of_medians() {
        // The machine was slow in the second and third round, for both.
        let line = |call: f64| json!({"call_us": call, "lost_percent": 0.0});
        let text =
            compared(&[line(10.0), line(20.0), line(40.0)], &[line(10.2), line(20.2), line(40.0)]);
        assert!(text.contains("| call | 20.0 µs | 20.2 µs | 1.01 (1.00–1.02) |"), "{text}");
        assert!(text.contains("| lost | 0.00 % | 0.00 % | – |"), "{text}");
        assert!(text.ends_with("manager beside v1: 2 of 2 figures within 5 %\n"), "{text}");
    }

    #[test]
    fn a_figure_that_is_worse_or_not_measured_is_named() {
        let line = |call: f64| json!({"call_us": call, "lost_percent": 1.0});
        let text = compared(&[line(10.0)], &[line(10.6)]);
        assert!(text.contains("| call | 10.0 µs | 10.6 µs | 1.06 |"), "{text}");
        assert!(text.ends_with("1 of 2 figures within 5 %; not call\n"), "{text}");
        let failed = json!({"failed": "there is no such route"});
        let text = compared(&[failed], &[line(10.0)]);
        assert!(text.contains("| call | – | 10.0 µs | 1 errors |"), "{text}");
        assert!(text.ends_with("0 of 2 figures within 5 %; not call, lost\n"), "{text}");
    }
}
