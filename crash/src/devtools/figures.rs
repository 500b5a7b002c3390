//! What was measured, each beside its goal.

use std::time::Duration;

use anyhow::{Result, bail};

/// The figures of a trial, in words.
#[derive(Debug, Default)]
pub(super) struct Figures {
    words: Vec<String>,
    missed: Vec<String>,
    /// How many of the missed ones are times or memory.
    measured: usize,
}

impl Figures {
    /// A time, of the wall.
    pub(super) fn time(&mut self, what: &str, measured: Duration, goal: Duration) {
        let words = format!("{what} {} (goal {})", seconds(measured), seconds(goal));
        self.measured += usize::from(measured > goal);
        self.add(words, measured <= goal);
    }

    /// Bytes at most.
    pub(super) fn bytes(&mut self, what: &str, measured: u64, goal: u64) {
        self.measured += usize::from(measured > goal);
        self.add(
            format!("{what} {} (goal {})", megabytes(measured), megabytes(goal)),
            measured <= goal,
        );
    }

    /// A number at most.
    pub(super) fn at_most(&mut self, what: &str, measured: f64, goal: f64) {
        self.add(format!("{what} {measured:.1} (goal {goal})"), measured <= goal);
    }

    /// So many of so many.
    pub(super) fn all(&mut self, what: &str, count: usize, of: usize) {
        self.add(format!("{what} {count} of {of}"), count == of && of > 0);
    }

    /// Must not be; the first of them are told.
    pub(super) fn none(&mut self, what: &str, found: &[String]) {
        self.add(format!("{what} {}", found.len()), found.is_empty());
        self.missed.extend(found.iter().take(3).cloned());
    }

    /// Must be so.
    pub(super) fn holds(&mut self, what: &str, is_so: bool) {
        self.add(if is_so { what.to_owned() } else { format!("not: {what}") }, is_so);
    }

    fn add(&mut self, words: String, is_good: bool) {
        if !is_good {
            self.missed.push(words.clone());
        }
        self.words.push(words);
    }

    pub(super) fn is_good(&self) -> bool {
        self.missed.is_empty()
    }

    /// Whether something was missed, and all of that is times and memory. Other programs may
    /// have had the processor meanwhile, and what is in memory at once depends on it.
    pub(super) fn is_only_measured(&self) -> bool {
        self.measured > 0 && self.measured == self.missed.len()
    }

    /// All in one line, or what was missed.
    pub(super) fn end(self) -> Result<String> {
        if !self.is_good() {
            bail!("{}; all figures: {}", self.missed.join("; "), self.words.join(", "));
        }
        Ok(self.words.join(", "))
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
    fn what_misses_its_goal_fails_the_trial() {
        let second = Duration::from_secs(1);
        let words = end(|figures| figures.time("told after", second / 2, second)).unwrap();
        assert_eq!(words, "told after 500 ms (goal 1.0 s)");
        let late = second + Duration::from_millis(1);
        assert!(end(|figures| figures.time("late", late, second)).is_err());
        let mut figures = Figures::default();
        assert!(!figures.is_only_measured());
        figures.time("late", late, second);
        figures.bytes("growth", 65, 64);
        assert!(figures.is_only_measured());
        figures.all("told", 99, 100);
        assert!(!figures.is_only_measured());
        assert!(end(|figures| figures.bytes("growth", 65, 64)).is_err());
        assert!(end(|figures| figures.at_most("lines", 1.1, 1.0)).is_err());
        assert!(end(|figures| figures.all("told", 99, 100)).is_err());
        assert!(end(|figures| figures.all("told", 0, 0)).is_err());
        assert!(end(|figures| figures.holds("it lives", false)).is_err());
        let lost = end(|figures| figures.none("lost", &["call-7".to_owned()])).unwrap_err();
        assert!(lost.to_string().contains("call-7"), "{lost}");
    }
}
