//! The output of commands: JSON for programs, or text for people, with colours on a
//! terminal.
//!
//! This module decides on the form only. [`crate::terminal`] escapes and writes the text.

use std::io;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;
use serde_json::json;

use super::failure::{Exit, Failure};
use super::table::table;
use crate::terminal::{self, Text};

/// Maximum number of columns of a row when the output is not a terminal. Longer rows are
/// cut.
const MAX_COLUMNS: usize = 4096;

/// The standard output of a command. If its reader closes it, the methods return
/// [`Failure::OutputClosed`], which ends the command without an error message.
#[derive(Debug)]
pub(super) struct Output {
    is_json: bool,
}

impl Output {
    pub(super) fn new(is_json: bool) -> Self {
        Self { is_json }
    }

    /// Whether the output is JSON.
    pub(super) fn is_json(&self) -> bool {
        self.is_json
    }

    /// Writes a value as JSON on one line.
    pub(super) fn value(&mut self, value: &impl Serialize) -> Result<(), Failure> {
        let json = serde_json::to_string(value).map_err(io::Error::other)?;
        Ok(terminal::write_json(&json)?)
    }

    /// Writes a value as JSON on several lines, indented.
    pub(super) fn pretty(&mut self, value: &impl Serialize) -> Result<(), Failure> {
        let json = serde_json::to_string_pretty(value).map_err(io::Error::other)?;
        self.text(Text::new().lines(json).end())
    }

    /// Writes a JSON document: on one line for programs, indented for people.
    pub(super) fn document(&mut self, document: &impl Serialize) -> Result<(), Failure> {
        if self.is_json { self.value(document) } else { self.pretty(document) }
    }

    /// Writes a line of text.
    pub(super) fn line(&mut self, line: impl Into<Text>) -> Result<(), Failure> {
        self.text(line.into().end())
    }

    /// Writes a line of a list or of a tree, cut to the width of the terminal.
    pub(super) fn row(&mut self, row: Text) -> Result<(), Failure> {
        self.line(row.cut(terminal::out_columns().unwrap_or(MAX_COLUMNS)))
    }

    /// Writes rows with aligned columns. The first row may be a heading. The columns in
    /// `ids` hold values that people copy; they are never cut to fit the terminal.
    pub(super) fn table(&mut self, rows: &[Vec<String>], ids: &[usize]) -> Result<(), Failure> {
        table(rows, ids, terminal::out_columns()).into_iter().try_for_each(|row| self.line(row))
    }

    /// Writes text without a line break behind it, and flushes.
    pub(super) fn text(&mut self, text: Text) -> Result<(), Failure> {
        Ok(terminal::write_out(&text)?)
    }

    /// Writes a remark for people to the standard error.
    pub(super) fn remark(&mut self, text: impl AsRef<str>) {
        terminal::write_err(&Text::new().dimmed(text.as_ref()).end());
    }

    /// Writes an error message of one or several lines to the standard error.
    pub(super) fn error(&mut self, message: &str) {
        terminal::write_err(&Text::new().bold_red("error:").plain(" ").paragraph(message).end());
    }

    /// Shows a failure, unless the command has shown it already, and returns the exit code.
    pub(super) fn report(&mut self, failure: &Failure) -> Exit {
        match failure {
            Failure::Error { exit, message, .. } => {
                if self.is_json {
                    // If the output is closed, the exit code is all that the caller can see.
                    _ = self.value(&json!({"ok": false, "error": failure.to_json()}));
                } else {
                    self.error(message);
                }
                *exit
            }
            Failure::AlreadyShown(exit) => *exit,
            Failure::OutputClosed => Exit::Success,
        }
    }
}

/// A duration for people, in a unit that fits. `?` for values that no real duration has.
pub(super) fn duration(milliseconds: f64) -> String {
    /// Maximum duration in milliseconds, 100 years. Longer ones come from wrong clocks.
    const LONGEST: f64 = 100.0 * 365.0 * 24.0 * 3600.0 * 1000.0;
    match milliseconds {
        ms if !(0.0..=LONGEST).contains(&ms) => "?".to_owned(),
        ms if ms < 1.0 => format!("{:.0} µs", ms * 1000.0),
        ms if ms < 1000.0 => format!("{ms:.1} ms"),
        ms => format!("{:.2} s", ms / 1000.0),
    }
}

/// The time since a moment, for people. The moment is in milliseconds since 1970.
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
    fn durations_have_a_fitting_unit() {
        assert_eq!([0.25, 12.34, 2500.0].map(duration), ["250 µs", "12.3 ms", "2.50 s"]);
        let odd = [-5.0, 1e300, f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
        assert_eq!(odd.map(duration), ["?"; 5]);
    }

    #[test]
    fn every_moment_has_a_short_text() {
        for moment in [0.0, -1e300, 1e300, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(ago(moment).len() < 40, "{}", ago(moment));
        }
    }
}
