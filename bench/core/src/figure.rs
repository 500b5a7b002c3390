//! A measured figure and what it is held against.

use std::fmt;

/// A measured value with its name.
#[derive(Debug, Clone)]
pub(crate) struct Figure {
    value: f64,
    unit: Unit,
    aim: Option<f64>,
    explanation: String,
}

/// The unit in which a value is written.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Unit {
    Nanoseconds,
    Megabytes,
    /// A ratio.
    Times,
    /// Of this kind.
    Count(&'static str),
}

impl Figure {
    /// A value; lower is better.
    pub(crate) fn new(value: f64, unit: Unit, explanation: impl Into<String>) -> Self {
        Self { value, unit, aim: None, explanation: explanation.into() }
    }

    /// At most this.
    pub(crate) fn aim(mut self, aim: f64) -> Self {
        self.aim = Some(aim);
        self
    }

    pub(crate) fn explanation(&self) -> &str {
        &self.explanation
    }

    pub(crate) fn has_aim(&self) -> bool {
        self.aim.is_some()
    }

    pub(crate) fn is_met(&self) -> bool {
        self.aim.is_some_and(|aim| self.value <= aim)
    }

    pub(crate) fn is_far_off(&self) -> bool {
        self.aim.is_some_and(|aim| self.value > 2.0 * aim)
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.unit.show(self.value))?;
        if let Some(aim) = self.aim {
            let verdict = if self.is_met() { "ok" } else { "missed" };
            write!(f, " (aim {}) {verdict}", self.unit.show(aim))?;
        }
        Ok(())
    }
}

impl Unit {
    pub(crate) fn show(self, value: f64) -> String {
        match self {
            Self::Nanoseconds if value < 1000.0 => format!("{value:.0} ns"),
            Self::Nanoseconds if value < 10_000.0 => format!("{} µs", short(value / 1000.0, 2)),
            Self::Nanoseconds => format!("{:.0} µs", value / 1000.0),
            Self::Megabytes => format!("{} MB", short(value, 1)),
            Self::Times => format!("{} ×", short(value, 2)),
            Self::Count(what) => format!("{value:.0} {what}"),
        }
    }
}

/// With at most `digits` digits after the point.
fn short(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
