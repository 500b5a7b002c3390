//! What is promised of a figure, and whether it is so.

/// Bounds of a figure; smaller figures are better.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Goal {
    pub(super) at_most: Option<f64>,
    /// At least this share of the floor: the floor's figure / ours, in per cent.
    pub(super) of_floor: Option<f64>,
    /// At least as many times better than Genkit JS.
    pub(super) times_js: Option<f64>,
    /// At most this much above the floor's figure.
    pub(super) above_floor: Option<f64>,
}

/// How a figure stands to what is promised.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Verdict {
    Free,
    Aim,
    Must,
    /// There is only an aim, and it is missed: no failure.
    Short,
    Missed,
    /// A peer that the goal speaks of was not measured.
    Unknown,
}

impl Goal {
    pub(super) const NONE: Self =
        Self { at_most: None, of_floor: None, times_js: None, above_floor: None };

    pub(super) const fn at_most(bound: f64) -> Self {
        Self { at_most: Some(bound), ..Self::NONE }
    }

    pub(super) const fn of_floor(percent: f64) -> Self {
        Self { of_floor: Some(percent), ..Self::NONE }
    }

    pub(super) const fn above_floor(bound: f64) -> Self {
        Self { above_floor: Some(bound), ..Self::NONE }
    }

    pub(super) const fn and_times_js(self, times: f64) -> Self {
        Self { times_js: Some(times), ..self }
    }

    pub(super) fn is_none(&self) -> bool {
        self.words("").is_empty()
    }

    /// `None` when it cannot be told.
    fn is_met(&self, ours: f64, floor: Option<f64>, js: Option<f64>) -> Option<bool> {
        let mut met = self.at_most.is_none_or(|bound| ours <= bound);
        if let Some(percent) = self.of_floor {
            met &= floor? * 100.0 >= percent * ours;
        }
        if let Some(bound) = self.above_floor {
            met &= ours <= floor? + bound;
        }
        if let Some(times) = self.times_js {
            met &= js? >= times * ours;
        }
        Some(met)
    }

    /// Such as `70 %, 14 ×`.
    pub(super) fn words(&self, unit: &str) -> String {
        let words = [
            self.at_most.map(|bound| format!("{bound} {unit}")),
            self.of_floor.map(|percent| format!("{percent} %")),
            self.above_floor.map(|bound| format!("floor + {bound} {unit}")),
            self.times_js.map(|times| format!("{times} ×")),
        ];
        words.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

impl Verdict {
    pub(super) fn of(
        (must, aim): (&Goal, &Goal),
        ours: f64,
        floor: Option<f64>,
        js: Option<f64>,
    ) -> Self {
        if must.is_none() && aim.is_none() {
            return Self::Free;
        }
        match (must.is_met(ours, floor, js), aim.is_met(ours, floor, js)) {
            (Some(false), _) => Self::Missed,
            (None, _) | (_, None) => Self::Unknown,
            (Some(true), Some(true)) if !aim.is_none() => Self::Aim,
            _ if must.is_none() => Self::Short,
            _ => Self::Must,
        }
    }

    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Free => "",
            Self::Aim => "ok, aim met",
            Self::Must => "ok",
            Self::Short => "aim missed",
            Self::Missed => "MISSED",
            Self::Unknown => "not known",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MUST: Goal = Goal::of_floor(70.0).and_times_js(14.0);
    const AIM: Goal = Goal::of_floor(85.0).and_times_js(18.0);

    #[track_caller]
    fn check(ours: f64, floor: Option<f64>, js: Option<f64>, expected: Verdict) {
        assert_eq!(Verdict::of((&MUST, &AIM), ours, floor, js), expected);
    }

    #[test]
    fn a_goal_holds_when_all_its_parts_do() {
        check(10.0, Some(9.0), Some(200.0), Verdict::Aim);
        check(10.0, Some(8.0), Some(200.0), Verdict::Must);
        check(10.0, Some(6.9), Some(200.0), Verdict::Missed);
        check(10.0, Some(9.0), Some(139.0), Verdict::Missed);
        check(10.0, Some(9.0), None, Verdict::Unknown);
        let only_aim = (&Goal::NONE, &Goal::at_most(1.0));
        assert_eq!(Verdict::of(only_aim, 2.0, None, None), Verdict::Short);
        let free = (&Goal::NONE, &Goal::NONE);
        assert_eq!(Verdict::of(free, 1.0, None, None), Verdict::Free);
    }

    #[test]
    fn a_goal_reads_as_in_the_specification() {
        assert_eq!(MUST.words("µs"), "70 %, 14 ×");
        assert_eq!(Goal::at_most(0.5).and_times_js(5.0).words("µs"), "0.5 µs, 5 ×");
    }
}
