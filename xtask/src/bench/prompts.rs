//! `cargo xtask bench prompts`: live editing of a document with many readers beside the floor and a
//! naive server, then ours with a reader that has stopped reading.

use super::goals::Goal;
use super::peers::Peer::{self, Floor, FloorStored, NaivePrompts, Prompts};
use super::rooms;
use super::scenario::{Body, Figure, How, Scenario, Suite, Trial};

pub(super) static SUITE: Suite =
    Suite { name: "prompts", title: "Live editing of prompts", scenarios: &SCENARIOS };

/// The procedure is in `rooms`.
const fn trial(
    name: &'static str,
    trial: Trial,
    counts: &'static [(Peer, u32)],
    figures: &'static [Figure],
) -> Scenario {
    Scenario {
        name,
        how: How::Tools(trial),
        load: ["", ""],
        path: "",
        body: Body::Get,
        counts,
        figures,
        is_long: false,
    }
}

const fn cpu(name: &'static str) -> Figure {
    Figure::new(name, "cpu_us_per_delivery", "µs")
}

const fn p50(name: &'static str) -> Figure {
    Figure::new(name, "p50_ms", "ms")
}

const fn p99(name: &'static str) -> Figure {
    Figure::new(name, "p99_ms", "ms")
}

static SCENARIOS: [Scenario; 6] = [
    trial(
        "room-10",
        Trial::Standing(rooms::room::<10>),
        &[(Floor, 2_000), (FloorStored, 1_000), (Prompts, 500), (NaivePrompts, 200)],
        &[cpu("room-10"), p50("room-10-p50"), p99("room-10-p99")],
    ),
    trial(
        "room-100",
        Trial::Standing(rooms::growth::<10, 100>),
        &[(Floor, 600), (FloorStored, 300), (Prompts, 300), (NaivePrompts, 100)],
        &[
            cpu("room-100")
                .must(Goal::of_floor(80.0).and_times(&[(NaivePrompts, 2.8)]))
                .aim(Goal::of_floor(92.0).and_times(&[(NaivePrompts, 3.3)]))
                .drawn("a document with 100 readers: CPU a delivery"),
            Figure::new("room-100-reader", "cpu_us_per_reader", "µs").aim(Goal::of_floor(80.0)),
            p50("room-100-p50").must(Goal::at_most(1.2)).aim(Goal::at_most(0.9)),
            p99("room-100-p99").must(Goal::at_most(7.0)),
        ],
    ),
    trial(
        "room-1k",
        Trial::Standing(rooms::room::<1_000>),
        &[(Floor, 200), (FloorStored, 200), (Prompts, 200), (NaivePrompts, 20)],
        &[
            cpu("room-1k").drawn("a document with 1,000 readers: CPU a delivery"),
            p50("room-1k-p50").must(Goal::at_most(12.0)).aim(Goal::at_most(9.0)),
            p99("room-1k-p99").must(Goal::at_most(30.0)).aim(Goal::at_most(22.0)),
        ],
    ),
    trial(
        "room-8k",
        Trial::Standing(rooms::growth::<100, 8_000>),
        &[(Floor, 20), (Prompts, 20), (NaivePrompts, 3)],
        &[
            cpu("room-8k").drawn("a document with 8,000 readers: CPU a delivery"),
            p50("room-8k-p50"),
            p99("room-8k-p99"),
            Figure::new("room-8k-all", "all_p50_ms", "ms").aim(Goal::at_most(250.0)),
            Figure::new("room-8k-to-100", "times_few", "×")
                .must(Goal::at_most(1.5))
                .aim(Goal::at_most(1.2)),
        ],
    ),
    trial(
        "stalled",
        Trial::Standing(rooms::stalled),
        &[(Prompts, 200)],
        &[
            Figure::new("stalled-p50", "p50_times", "×").must(Goal::at_most(1.2)),
            Figure::new("stalled-p99", "p99_times", "×").must(Goal::at_most(1.5)),
        ],
    ),
    trial(
        "idle-10k",
        Trial::Fresh(rooms::idle),
        &[(Floor, 10_000), (Prompts, 10_000), (NaivePrompts, 1_000)],
        &[
            Figure::new("idle-10k", "kb_per_conn", "kB")
                .must(Goal::at_most(12.0))
                .aim(Goal::at_most(8.0)),
            Figure::new("idle-10k-cpu", "idle_cpu_pct", "% of a core").must(Goal::at_most(0.5)),
        ],
    ),
];
