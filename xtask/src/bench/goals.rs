//! The goals of figures, and whether they are reached.

use std::collections::HashMap;

use super::peers::Peer;
use super::report::number;

/// Bounds of a figure; smaller figures are better.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Goal {
    pub(super) at_most: Option<f64>,
    /// The reference of a relative bound; without it the bound is absolute.
    pub(super) scale: Option<Scale>,
    /// At least this share of the floor: the floor's figure / ours, in per cent.
    pub(super) of_floor: Option<f64>,
    /// At least as many times better than Genkit JS.
    pub(super) times_js: Option<f64>,
    /// At least as many times better than each of these.
    pub(super) times: &'static [(Peer, f64)],
    /// At most this much above the floor's figure.
    pub(super) above_floor: Option<f64>,
}

/// A bound on CPU time holds for the machine that it was set on. On another one it is
/// multiplied by what the floor of a figure costs there / what it cost when the bound was set.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scale {
    /// The figure whose floor is meant.
    pub(super) figure: &'static str,
    pub(super) floor_then: f64,
}

/// The medians of a run that a goal is held against.
#[derive(Debug, Clone, Copy)]
pub(super) struct Measured<'a, F> {
    pub(super) ours: f64,
    pub(super) floor: Option<f64>,
    pub(super) official: Option<f64>,
    /// All peers.
    pub(super) medians: &'a HashMap<Peer, f64>,
    /// The floor of any figure.
    pub(super) floor_of: F,
}

/// The result of comparing a figure with its goals.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Verdict {
    Free,
    Aim,
    Must,
    /// There is only an aim, and it is missed: no failure.
    Short,
    Missed,
    /// A peer that the goal speaks of was not measured: a failure of the run.
    Unmeasured,
}

impl Goal {
    pub(super) const NONE: Self = Self {
        at_most: None,
        scale: None,
        of_floor: None,
        times_js: None,
        times: &[],
        above_floor: None,
    };

    /// A bound that is the same on every machine: bytes, counts, ratios, times that are waited.
    pub(super) const fn at_most(bound: f64) -> Self {
        Self { at_most: Some(bound), ..Self::NONE }
    }

    /// A bound on CPU time, which moves with the floor of `figure`.
    pub(super) const fn cpu_at_most(bound: f64, figure: &'static str, floor_then: f64) -> Self {
        Self { scale: Some(Scale { figure, floor_then }), ..Self::at_most(bound) }
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

    pub(super) const fn and_times(self, times: &'static [(Peer, f64)]) -> Self {
        Self { times, ..self }
    }

    pub(super) fn is_none(&self) -> bool {
        let parts = [self.at_most, self.of_floor, self.times_js, self.above_floor];
        parts.iter().all(Option::is_none) && self.times.is_empty()
    }

    /// The bound as it is in this run. `None` when there is none, or the floor is not known.
    fn bound(&self, floor_of: impl Fn(&str) -> Option<f64>) -> Option<f64> {
        let scale = self.scale.map_or(Some(1.0), |scale| {
            floor_of(scale.figure).map(|floor| floor / scale.floor_then)
        });
        Some(self.at_most? * scale?)
    }

    /// `None` if a peer of the goal was not measured.
    fn is_met<F: Fn(&str) -> Option<f64>>(&self, measured: &Measured<'_, F>) -> Option<bool> {
        let Measured { ours, floor, official, medians, floor_of } = measured;
        let mut met = true;
        if self.at_most.is_some() {
            met &= *ours <= self.bound(floor_of)?;
        }
        if let Some(percent) = self.of_floor {
            met &= (*floor)? * 100.0 >= percent * ours;
        }
        if let Some(bound) = self.above_floor {
            met &= *ours <= (*floor)? + bound;
        }
        if let Some(times) = self.times_js {
            met &= (*official)? >= times * ours;
        }
        for (peer, times) in self.times {
            met &= *medians.get(peer)? >= times * ours;
        }
        Some(met)
    }

    /// Such as `70 %, 14 ×`. A bound that moves is followed by what it is in this run:
    /// `70 µs (now 66.9)`.
    pub(super) fn describe(&self, unit: &str, floor_of: impl Fn(&str) -> Option<f64>) -> String {
        let now = self.scale.and_then(|_| self.bound(floor_of));
        let now = now.map(|bound| format!(" (now {})", number(bound))).unwrap_or_default();
        let parts = [
            self.at_most.map(|bound| format!("{bound} {unit}{now}")),
            self.of_floor.map(|percent| format!("{percent} %")),
            self.above_floor.map(|bound| format!("floor + {bound} {unit}")),
            self.times_js.map(|times| format!("{times} ×")),
        ];
        let times = self.times.iter().map(|(peer, times)| format!("{times} × {}", peer.name()));
        parts.into_iter().flatten().chain(times).collect::<Vec<_>>().join(", ")
    }
}

impl Verdict {
    pub(super) fn of<F: Fn(&str) -> Option<f64>>(
        (must, aim): (&Goal, &Goal),
        measured: &Measured<'_, F>,
    ) -> Self {
        if must.is_none() && aim.is_none() {
            return Self::Free;
        }
        match (must.is_met(measured), aim.is_met(measured)) {
            (Some(false), _) => Self::Missed,
            (None, _) | (_, None) => Self::Unmeasured,
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
            Self::Unmeasured => "NOT MEASURED",
        }
    }

    /// Whether the run fails for it.
    pub(super) fn is_failure(self) -> bool {
        matches!(self, Self::Missed | Self::Unmeasured)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MUST: Goal = Goal::of_floor(70.0).and_times_js(14.0);
    const AIM: Goal = Goal::of_floor(85.0).and_times_js(18.0);

    fn verdict(goals: (&Goal, &Goal), ours: f64, floor: Option<f64>, js: Option<f64>) -> Verdict {
        let floor_of = |figure: &str| floor.filter(|_| figure == "echo");
        let medians = HashMap::new();
        Verdict::of(goals, &Measured { ours, floor, official: js, medians: &medians, floor_of })
    }

    #[track_caller]
    fn check(ours: f64, floor: Option<f64>, js: Option<f64>, expected: Verdict) {
        assert_eq!(verdict((&MUST, &AIM), ours, floor, js), expected);
    }

    #[test]
    fn a_goal_holds_when_all_its_parts_do() {
        check(10.0, Some(9.0), Some(200.0), Verdict::Aim);
        check(10.0, Some(8.0), Some(200.0), Verdict::Must);
        check(10.0, Some(6.9), Some(200.0), Verdict::Missed);
        check(10.0, Some(9.0), Some(139.0), Verdict::Missed);
        check(10.0, Some(9.0), None, Verdict::Unmeasured);
        let only_aim = (&Goal::NONE, &Goal::at_most(1.0));
        assert_eq!(verdict(only_aim, 2.0, None, None), Verdict::Short);
        let free = (&Goal::NONE, &Goal::NONE);
        assert_eq!(verdict(free, 1.0, None, None), Verdict::Free);
    }

    #[test]
    fn a_bound_on_cpu_moves_with_the_floor() {
        let must = Goal::cpu_at_most(70.0, "echo", 28.0);
        let goals = (&must, &Goal::NONE);
        assert_eq!(verdict(goals, 70.0, Some(28.0), None), Verdict::Must);
        assert_eq!(verdict(goals, 71.0, Some(28.0), None), Verdict::Missed);
        assert_eq!(verdict(goals, 105.0, Some(42.0), None), Verdict::Must, "a slower machine");
        assert_eq!(verdict(goals, 70.0, Some(27.0), None), Verdict::Missed, "a faster machine");
        assert_eq!(verdict(goals, 1.0, None, None), Verdict::Unmeasured);
    }

    #[test]
    fn a_goal_may_name_several_peers() {
        let must = Goal::at_most(40.0).and_times(&[(Peer::A2aJs03, 6.0), (Peer::A2aPython, 25.0)]);
        let check = |ours, peers: &[(Peer, f64)], expected| {
            let medians = peers.iter().copied().collect();
            let (floor, official, floor_of) = (None, None, |_: &str| None);
            let measured = Measured { ours, floor, official, medians: &medians, floor_of };
            assert_eq!(Verdict::of((&must, &Goal::NONE), &measured), expected);
        };
        check(40.0, &[(Peer::A2aJs03, 240.0), (Peer::A2aPython, 1000.0)], Verdict::Must);
        check(40.0, &[(Peer::A2aJs03, 239.0), (Peer::A2aPython, 1000.0)], Verdict::Missed);
        check(40.0, &[(Peer::A2aJs03, 240.0), (Peer::A2aPython, 999.0)], Verdict::Missed);
        check(40.0, &[(Peer::A2aJs03, 240.0)], Verdict::Unmeasured);
        let text = must.describe("µs", |_| None);
        assert_eq!(text, "40 µs, 6 × a2a-js 0.3, 25 × a2a-python 0.3");
    }

    #[test]
    fn a_goal_without_its_peer_fails_the_run() {
        let failures = [Verdict::Missed, Verdict::Unmeasured];
        let fine = [Verdict::Free, Verdict::Aim, Verdict::Must, Verdict::Short];
        assert!(failures.into_iter().all(Verdict::is_failure));
        assert!(!fine.into_iter().any(Verdict::is_failure));
    }

    #[test]
    fn a_goal_reads_as_in_the_specification() {
        let unknown = |_: &str| None;
        assert_eq!(MUST.describe("µs", unknown), "70 %, 14 ×");
        assert_eq!(Goal::at_most(0.5).and_times_js(5.0).describe("µs", unknown), "0.5 µs, 5 ×");
        let moving = Goal::cpu_at_most(70.0, "echo", 28.0);
        assert_eq!(moving.describe("µs", |_| Some(42.0)), "70 µs (now 105)");
    }
}
