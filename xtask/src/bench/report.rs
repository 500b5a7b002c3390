//! Medians as a table, as closing lines and as a page of the docs.

use std::collections::HashMap;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::chart;
use super::goals::{Goal, Measured, Verdict};
use super::peers::Peer;
use super::scenario::{Figure, Suite};
use crate::tools;

const PAGE: &str = "docs/benchmarks.md";
const END: &str = "<!-- end of what is written -->";

/// The measured values by figure.
#[derive(Debug, Default)]
pub(super) struct Samples {
    values: HashMap<Peer, HashMap<&'static str, Vec<f64>>>,
    /// Requests that failed, of one figure and one peer.
    errors: HashMap<(&'static str, Peer), u64>,
    /// The least and the most load of the machine; our own programs are a part of it.
    load: Option<(f64, f64)>,
}

impl Samples {
    pub(super) fn add(&mut self, figures: &'static [Figure], peer: Peer, line: &Value) {
        if let Some(load) = line["load"].as_f64() {
            let (least, most) = self.load.unwrap_or((load, load));
            self.load = Some((least.min(load), most.max(load)));
        }
        let is_ours = Peer::OURS.contains(&peer);
        for figure in figures.iter().filter(|figure| is_ours || !figure.is_ours) {
            let key = (figure.name, peer);
            match line[figure.field].as_f64() {
                Some(value) => {
                    let of_peer = self.values.entry(peer).or_default();
                    of_peer.entry(figure.name).or_default().push(value);
                }
                None => *self.errors.entry(key).or_default() += 1,
            }
            *self.errors.entry(key).or_default() += line["errors"].as_u64().unwrap_or(0);
        }
    }

    pub(super) fn median(&self, figure: &str, peer: Peer) -> Option<f64> {
        median(self.values(figure, peer))
    }

    /// The values of all counted rounds that did not fail, in their order.
    pub(super) fn values(&self, figure: &str, peer: Peer) -> &[f64] {
        let of_peer = self.values.get(&peer);
        of_peer.and_then(|figures| figures.get(figure)).map_or(&[], Vec::as_slice)
    }

    /// Number of requests and of whole rounds that failed.
    pub(super) fn error_count(&self, figure: &'static str, peer: Peer) -> u64 {
        self.errors.get(&(figure, peer)).copied().unwrap_or_default()
    }

    fn errors(&self, figure: &'static str) -> Vec<String> {
        let errors = Peer::ALL.into_iter().filter_map(|peer| {
            let count = self.error_count(figure, peer);
            (count > 0).then(|| format!("{count} errors of {}", peer.name()))
        });
        errors.collect()
    }
}

/// The value in the middle; `None` if there are no values.
pub(super) fn median(values: &[f64]) -> Option<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        count if count % 2 == 1 => Some(values[middle]),
        _ => Some(f64::midpoint(values[middle - 1], values[middle])),
    }
}

/// A figure of all peers.
pub(super) struct Row {
    pub(super) figure: &'static Figure,
    medians: HashMap<Peer, f64>,
    /// The goals as text, as they are in this run.
    must: String,
    aim: String,
    verdict: Verdict,
    errors: Vec<String>,
}

impl Row {
    fn new(figure: &'static Figure, samples: &Samples) -> Self {
        let median = |peer| Some((peer, samples.median(figure.name, peer)?));
        let medians: HashMap<Peer, f64> = Peer::ALL.into_iter().filter_map(median).collect();
        let errors = samples.errors(figure.name);
        let floor_of = |figure: &str| samples.median(figure, Peer::Floor);
        let describe = |goal: &Goal| goal.describe(figure.unit, floor_of);
        let (must, aim) = (describe(&figure.must), describe(&figure.aim));
        let mut row = Self { figure, medians, must, aim, verdict: Verdict::Missed, errors };
        if let Some(ours) = row.ours().filter(|_| row.errors.is_empty()) {
            let (floor, official) = (row.of(Peer::Floor), row.official().map(|(_, value)| value));
            let medians = &row.medians;
            let measured = Measured { ours, floor, official, medians, floor_of };
            row.verdict = Verdict::of((&figure.must, &figure.aim), &measured);
        }
        row
    }

    pub(super) fn of(&self, peer: Peer) -> Option<f64> {
        self.medians.get(&peer).copied()
    }

    fn ours(&self) -> Option<f64> {
        Peer::OURS.into_iter().find_map(|peer| self.of(peer))
    }

    /// The peer that ours is compared with.
    fn official(&self) -> Option<(Peer, f64)> {
        Peer::OFFICIAL.into_iter().find_map(|peer| Some((peer, self.of(peer)?)))
    }

    /// A figure / ours, unless ours is nothing.
    fn ratio(&self, other: f64) -> Option<f64> {
        Some(other / self.ours().filter(|ours| *ours > 0.0)?)
    }

    fn share(&self, floor: Peer) -> Option<String> {
        Some(format!("{:.0} %", self.ratio(self.of(floor)?)? * 100.0))
    }

    fn times(&self) -> Option<String> {
        self.times_of(self.official()?.0)
    }

    /// How many times more than ours a peer costs.
    fn times_of(&self, peer: Peer) -> Option<String> {
        Some(format!("{} ×", number(self.ratio(self.of(peer)?)?)))
    }

    fn is_beside_js(&self) -> bool {
        self.medians.contains_key(&Peer::GenkitJs)
    }

    /// Such as `echo-c16 14.2 µs, 84 % of floor, 19 × Genkit JS (must 70 %, 14 ×) ok`.
    fn line(&self) -> String {
        let unit = self.figure.unit;
        let figure = self.ours().map_or("nothing".to_owned(), number);
        let mut parts = vec![format!("{figure} {unit}")];
        parts.extend(self.share(Peer::Floor).map(|share| format!("{share} of floor")));
        let ordered = self.share(Peer::FloorOrdered);
        parts.extend(ordered.map(|share| format!("{share} of floor with ordered keys")));
        let stored = self.share(Peer::FloorStored);
        parts.extend(stored.map(|share| format!("{share} of floor that stores")));
        let official = self.official().map_or("", |(peer, _)| peer.name());
        parts.extend(self.times().map(|times| format!("{times} {official}")));
        let named = Peer::NAMED.into_iter();
        let named = named.filter_map(|peer| Some((self.times_of(peer)?, peer.name())));
        parts.extend(named.map(|(times, name)| format!("{times} {name}")));
        parts.extend(self.errors.iter().cloned());
        let goals = [("must", &self.must), ("aim", &self.aim)];
        let goals = goals.into_iter().filter(|(_, goal)| !goal.is_empty());
        let goals: Vec<_> = goals.map(|(word, goal)| format!("{word} {goal}")).collect();
        let goals =
            if goals.is_empty() { String::new() } else { format!(" ({})", goals.join("; ")) };
        let line =
            format!("{} {}{goals} {}", self.figure.name, parts.join(", "), self.verdict.word());
        line.trim_end().to_owned()
    }
}

/// All figures of a run.
pub(super) struct Report {
    suite: &'static Suite,
    rows: Vec<Row>,
    skipped: Vec<(Peer, String)>,
    rounds: usize,
    load: Option<(f64, f64)>,
}

/// A column of the table; one that is empty in all rows is left out.
type Column = (&'static str, fn(&Row) -> Option<String>);

const COLUMNS: [Column; 25] = [
    ("figure", |row| Some(row.figure.name.to_owned())),
    ("unit", |row| Some(row.figure.unit.to_owned())),
    ("floor", |row| row.of(Peer::Floor).map(number)),
    ("ordered", |row| row.of(Peer::FloorOrdered).map(number)),
    ("stored", |row| row.of(Peer::FloorStored).map(number)),
    ("oxikit", |row| row.ours().map(number)),
    ("Genkit JS", |row| row.of(Peer::GenkitJs).map(number)),
    ("official", |row| Some(number(row.official().filter(|_| !row.is_beside_js())?.1))),
    ("Python", |row| row.of(Peer::GenkitPython).map(number)),
    ("a2a-js 0.3", |row| row.of(Peer::A2aJs03).map(number)),
    ("a2a-js 1", |row| row.of(Peer::A2aJs1).map(number)),
    ("a2a-python 0.3", |row| row.of(Peer::A2aPython).map(number)),
    ("FastAPI", |row| row.of(Peer::NaivePrompts).map(number)),
    ("of floor", |row| row.share(Peer::Floor)),
    ("of ordered", |row| row.share(Peer::FloorOrdered)),
    ("of stored", |row| row.share(Peer::FloorStored)),
    ("to JS", |row| row.times().filter(|_| row.is_beside_js())),
    ("to official", |row| row.times().filter(|_| !row.is_beside_js())),
    ("to JS 0.3", |row| row.times_of(Peer::A2aJs03)),
    ("to JS 1", |row| row.times_of(Peer::A2aJs1)),
    ("to Python", |row| row.times_of(Peer::A2aPython)),
    ("to FastAPI", |row| row.times_of(Peer::NaivePrompts)),
    ("must", |row| Some(row.must.clone())),
    ("aim", |row| Some(row.aim.clone())),
    ("", |row| Some(row.verdict.word().to_owned())),
];

impl Report {
    pub(super) fn new(
        suite: &'static Suite,
        figures: Vec<&'static Figure>,
        samples: Samples,
        skipped: Vec<(Peer, String)>,
        rounds: usize,
    ) -> Self {
        let rows = figures.into_iter().map(|figure| Row::new(figure, &samples));
        // An earlier run may have left a scenario out.
        let rows = rows.filter(|row| !(row.medians.is_empty() && row.errors.is_empty())).collect();
        Self { suite, rows, skipped, rounds, load: samples.load }
    }

    /// Such as `medians of 5 rounds, load 1.2 to 2.5`.
    fn circumstances(&self) -> String {
        let load = self.load.map(|(least, most)| format!(", load {least:.1} to {most:.1}"));
        format!("medians of {} rounds{}", self.rounds, load.unwrap_or_default())
    }

    /// The head, then the rows.
    fn table(&self) -> Vec<Vec<String>> {
        let mut table = vec![Vec::new(); self.rows.len() + 1];
        for (head, cell) in COLUMNS {
            let cells: Vec<_> = self.rows.iter().map(|row| cell(row).unwrap_or_default()).collect();
            if cells.iter().any(|cell| !cell.is_empty()) {
                let column = std::iter::once(head.to_owned()).chain(cells);
                table.iter_mut().zip(column).for_each(|(row, cell)| row.push(cell));
            }
        }
        table
    }

    pub(super) fn print(&self) {
        let table = self.table();
        let width = |column: usize| {
            table.iter().map(|row| row[column].chars().count()).max().unwrap_or_default()
        };
        let widths: Vec<usize> = (0..table[0].len()).map(width).collect();
        println!("\n{}; CPU of the server\n", self.circumstances());
        for row in &table {
            let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, width))| {
                let is_number = column > 1 && !matches!(&*table[0][column], "must" | "aim" | "");
                if is_number { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
            });
            println!("{}", cells.collect::<Vec<_>>().join("  ").trim_end());
        }
        println!();
        for (peer, why) in &self.skipped {
            println!("{}: {} skipped: {why}", self.suite.name, peer.name());
        }
        for row in &self.rows {
            println!("{}/{}", self.suite.name, row.line());
        }
        let bound = self.rows.iter().filter(|row| !row.figure.must.is_none());
        let met = bound.clone().filter(|row| matches!(row.verdict, Verdict::Aim | Verdict::Must));
        println!("{} {}/{} musts met", self.suite.name, met.count(), bound.count());
    }

    /// Fails when a *must* is missed, when one of its peers was not measured, or when a
    /// request failed.
    pub(super) fn verdict(&self) -> Result<()> {
        let missed = self.missed();
        if !missed.is_empty() {
            bail!("missed: {}", missed.join(", "));
        }
        Ok(())
    }

    fn missed(&self) -> Vec<&'static str> {
        let missed = self.rows.iter().filter(|row| row.verdict.is_failure());
        missed.map(|row| row.figure.name).collect()
    }

    /// The measured part of the page, and its picture.
    pub(super) fn write_docs(&self) -> Result<()> {
        let path = tools::root().join(PAGE);
        let page = std::fs::read_to_string(&path)?;
        let begin = format!("<!-- written by `cargo xtask bench {} --docs` -->\n", self.suite.name);
        let (before, rest) = page.split_once(&begin).context("the page has lost its marks")?;
        let (_, after) = rest.split_once(END).context("the page has lost its marks")?;
        let date = tools::read(Command::new("date").args(["-u", "+%Y-%m-%d"]))?;
        let date = date.trim();
        let circumstances = self.circumstances().replacen('m', "M", 1);
        let mut text = format!("{before}{begin}\n{circumstances}, {date}.");
        for (peer, why) in &self.skipped {
            text += &format!(" {} was skipped: {why}.", peer.name());
        }
        let missed = self.missed();
        if !missed.is_empty() {
            text += &format!(" A *must* was missed by: {}.", missed.join(", "));
        }
        text += "\n\n";
        for (position, row) in self.table().iter().enumerate() {
            text += &format!("| {} |\n", row.join(" | "));
            if position == 0 {
                text += &format!("|{}\n", " --- |".repeat(row.len()));
            }
        }
        std::fs::write(path, format!("{text}\n{END}{after}"))?;
        // The picture shows multiples of the floor; a page in a browser has none.
        if self.rows.iter().any(|row| row.of(Peer::Floor).is_some()) {
            std::fs::write(
                tools::root().join(format!("docs/bench-{}.svg", self.suite.name)),
                chart::draw(self.suite.title, &self.rows, date),
            )?;
        }
        Ok(())
    }
}

/// Three digits that count.
pub(super) fn number(value: f64) -> String {
    match value {
        1000.0.. => {
            let whole = value.round();
            format!("{:.0},{:03.0}", (whole / 1000.0).floor(), whole % 1000.0)
        }
        100.0.. => format!("{value:.0}"),
        10.0.. => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::bench::goals::Goal;

    static FIGURES: [Figure; 1] = [Figure {
        name: "echo",
        field: "cpu",
        unit: "µs",
        must: Goal::of_floor(70.0).and_times_js(14.0),
        aim: Goal::NONE,
        title: None,
        is_ours: false,
    }];

    #[test]
    fn the_closing_line_says_all() {
        let mut samples = Samples::default();
        for cpu in [11.0, 900.0, 12.0] {
            samples.add(&FIGURES, Peer::Floor, &json!({"cpu": cpu}));
        }
        samples.add(&FIGURES, Peer::Oxikit, &json!({"cpu": 15.0, "errors": 0}));
        samples.add(&FIGURES, Peer::GenkitJs, &json!({"cpu": 300.0}));
        assert_eq!(
            Row::new(&FIGURES[0], &samples).line(),
            "echo 15.0 µs, 80 % of floor, 20.0 × Genkit JS (must 70 %, 14 ×) ok"
        );
        samples.add(&FIGURES, Peer::Oxikit, &json!({"failed": "it hung"}));
        let row = Row::new(&FIGURES[0], &samples);
        assert_eq!((row.verdict, row.errors), (Verdict::Missed, vec!["1 errors of oxikit".into()]));
    }

    #[test]
    fn numbers_are_short() {
        let shown = [12_345.6, 1796.0, 265.2, 12.44, 0.284].map(number);
        assert_eq!(shown, ["12,346", "1,796", "265", "12.4", "0.28"]);
    }
}
