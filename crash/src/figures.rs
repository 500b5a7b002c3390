//! The figures that a trial measured, with their goals.

use std::time::Duration;

use anyhow::{Result, bail};

/// The figures of a trial as text, and those that miss their goals.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    lines: Vec<String>,
    missed: Vec<String>,
    /// Number of missed goals of time or memory. A trial that misses only these is repeated.
    measured: usize,
}

impl Figures {
    /// Adds a wall-clock time that must not exceed its goal.
    pub(crate) fn time(&mut self, what: &str, measured: Duration, goal: Duration) {
        let figure = format!("{what} {} (goal {})", seconds(measured), seconds(goal));
        self.measured += usize::from(measured > goal);
        self.add(figure, measured <= goal);
    }

    /// Adds a number of bytes that must not exceed its goal.
    pub(crate) fn bytes(&mut self, what: &str, measured: u64, goal: u64) {
        self.measured += usize::from(measured > goal);
        self.add(
            format!("{what} {} (goal {})", megabytes(measured), megabytes(goal)),
            measured <= goal,
        );
    }

    /// Adds a number that must not exceed its goal.
    pub(crate) fn at_most(&mut self, what: &str, measured: f64, goal: f64) {
        self.add(format!("{what} {measured:.1} (goal {goal})"), measured <= goal);
    }

    /// Adds a figure that passes if `count` is all `of` them.
    pub(crate) fn all(&mut self, what: &str, count: usize, of: usize) {
        self.add(format!("{what} {count} of {of}"), count == of && of > 0);
    }

    /// Adds a figure that passes if nothing was found. The first three findings are reported.
    pub(crate) fn none(&mut self, what: &str, found: &[String]) {
        self.add(format!("{what} {}", found.len()), found.is_empty());
        self.missed.extend(found.iter().take(3).cloned());
    }

    /// Adds a condition that must hold.
    pub(crate) fn holds(&mut self, what: &str, is_so: bool) {
        self.add(if is_so { what.to_owned() } else { format!("not: {what}") }, is_so);
    }

    fn add(&mut self, figure: String, is_good: bool) {
        if !is_good {
            self.missed.push(figure.clone());
        }
        self.lines.push(figure);
    }

    pub(crate) fn is_good(&self) -> bool {
        self.missed.is_empty()
    }

    /// Whether goals were missed, and all of them are goals of time or memory. Other programs on
    /// the machine influence both, so the trial may be repeated.
    pub(crate) fn is_only_measured(&self) -> bool {
        self.measured > 0 && self.measured == self.missed.len()
    }

    /// All figures in one line. Fails with the missed goals, if there are any.
    pub(crate) fn end(self) -> Result<String> {
        if !self.is_good() {
            bail!("{}; all figures: {}", self.missed.join("; "), self.lines.join(", "));
        }
        Ok(self.lines.join(", "))
    }
}

fn seconds(time: Duration) -> String {
    if time < Duration::from_secs(1) {
        format!("{} ms", time.as_millis())
    } else {
        format!("{:.1} s", time.as_secs_f64())
    }
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(measure: impl FnOnce(&mut Figures)) -> Result<String> {
        let mut figures = Figures::default();
        measure(&mut figures);
        figures.end()
    }

    #[test]
    fn a_missed_goal_fails_the_trial() {
        let second = Duration::from_secs(1);
        let line = end(|figures| figures.time("shown after", second / 2, second)).unwrap();
        assert_eq!(line, "shown after 500 ms (goal 1.0 s)");
        let late = second + Duration::from_millis(1);
        assert!(end(|figures| figures.time("late", late, second)).is_err());
        let mut figures = Figures::default();
        assert!(!figures.is_only_measured());
        figures.time("late", late, second);
        figures.bytes("growth", 65, 64);
        assert!(figures.is_only_measured());
        figures.all("answered", 99, 100);
        assert!(!figures.is_only_measured());
        assert!(end(|figures| figures.bytes("growth", 65, 64)).is_err());
        assert!(end(|figures| figures.at_most("lines", 1.1, 1.0)).is_err());
        assert!(end(|figures| figures.all("answered", 99, 100)).is_err());
        assert!(end(|figures| figures.all("answered", 0, 0)).is_err());
        assert!(end(|figures| figures.holds("it runs", false)).is_err());
        let lost = end(|figures| figures.none("lost", &["call-7".to_owned()])).unwrap_err();
        assert!(lost.to_string().contains("call-7"), "{lost}");
    }
}
