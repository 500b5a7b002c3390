//! What commands print: JSON for programs, or text for people, with colours on a
//! terminal.

use std::fmt::Display;
use std::io::{self, Write};
use std::time::{SystemTime, UNIX_EPOCH};

use owo_colors::OwoColorize;
use serde::Serialize;

use super::failure::Failure;

/// The standard output of a command. A reader who leaves ends the command quietly.
#[derive(Debug)]
pub(super) struct Output {
    is_json: bool,
}

impl Output {
    pub(super) fn new(is_json: bool) -> Self {
        Self { is_json }
    }

    /// Whether programs read it.
    pub(super) fn is_json(&self) -> bool {
        self.is_json
    }

    /// A value on a line of its own.
    pub(super) fn value(&mut self, value: &impl Serialize) -> Result<(), Failure> {
        let mut line = serde_json::to_string(value).map_err(io::Error::other)?;
        line.push('\n');
        self.text(&line)
    }

    /// A value for people: on several lines.
    pub(super) fn pretty(&mut self, value: &impl Serialize) -> Result<(), Failure> {
        let mut text = serde_json::to_string_pretty(value).map_err(io::Error::other)?;
        text.push('\n');
        self.text(&text)
    }

    /// A line for people.
    pub(super) fn line(&mut self, line: impl Display) -> Result<(), Failure> {
        self.text(&format!("{line}\n"))
    }

    /// Text as it is. It is seen at once.
    pub(super) fn text(&mut self, text: &str) -> Result<(), Failure> {
        let mut stdout = anstream::stdout();
        stdout.write_all(text.as_bytes())?;
        Ok(stdout.flush()?)
    }

    /// A remark beside the output, for people only.
    pub(super) fn remark(&mut self, text: impl Display) {
        // Nobody has to read it.
        _ = writeln!(anstream::stderr(), "{}", text.dimmed());
    }

    /// What went wrong.
    pub(super) fn error(&mut self, message: &str) {
        _ = writeln!(anstream::stderr(), "{} {message}", "error:".red().bold());
    }
}

/// Lines with columns of the same width. The first line is the heading.
pub(super) fn table(rows: &[Vec<String>]) -> Vec<String> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max()
    };
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or_default()).collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect()
}

/// How long something took, for people.
pub(super) fn duration(milliseconds: f64) -> String {
    match milliseconds {
        ms if ms < 1.0 => format!("{:.0} µs", ms * 1000.0),
        ms if ms < 1000.0 => format!("{ms:.1} ms"),
        ms => format!("{:.2} s", ms / 1000.0),
    }
}

/// How long ago, for people; the moment is in milliseconds since 1970.
pub(super) fn ago(milliseconds: f64) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    match (now.as_secs_f64() - milliseconds / 1000.0).max(0.0) as u64 {
        seconds @ 0..=119 => format!("{seconds} s ago"),
        seconds @ 120..=7199 => format!("{} min ago", seconds / 60),
        seconds @ 7200..=172_799 => format!("{} h ago", seconds / 3600),
        seconds => format!("{} days ago", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_below_each_other() {
        let row = |cells: [&str; 2]| cells.map(str::to_owned).to_vec();
        let lines = table(&[row(["id", "name"]), row(["longer", "x"]), row(["é", ""])]);
        assert_eq!(lines, ["id      name", "longer  x", "é"]);
    }

    #[test]
    fn durations_have_a_fitting_unit() {
        assert_eq!([0.25, 12.34, 2500.0].map(duration), ["250 µs", "12.3 ms", "2.50 s"]);
    }
}
