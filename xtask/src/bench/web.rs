//! `cargo xtask bench web`: the page of the developer tools in Chromium, on the released program.
//!
//! There is no peer: the official page is closed source and is downloaded at its first start, and the
//! floor has no page.

use super::browser;
use super::goals::Goal;
use super::peers::Peer::{self, Tools};
use super::scenario::{Body, Figure, How, Scenario, Suite, Trial};

pub(super) static SUITE: Suite =
    Suite { name: "web", title: "The web page", scenarios: &SCENARIOS };

/// The procedure is in `browser`, and in `bench/web` for the browser's side of it.
const fn trial(
    name: &'static str,
    trial: Trial,
    counts: &'static [(Peer, u32)],
    figures: &'static [Figure],
    is_long: bool,
) -> Scenario {
    Scenario {
        name,
        how: How::Tools(trial),
        load: ["", ""],
        path: "",
        body: Body::Get,
        counts,
        figures,
        is_long,
    }
}

static SCENARIOS: [Scenario; 5] = [
    trial(
        "first-view",
        Trial::Fresh(browser::first_view),
        &[(Tools, 5)],
        &[
            Figure::new("first-view", "usable_ms", "ms").must(Goal::at_most(1_000.0)),
            Figure::new("first-view-size", "compressed_kb", "kB").must(Goal::at_most(180.0)),
        ],
        false,
    ),
    trial(
        "million",
        Trial::Fresh(browser::million),
        &[(Tools, 1)],
        &[
            Figure::new("million-open", "open_ms", "ms"),
            Figure::new("million-filter", "filter_ms", "ms"),
            Figure::new("million-frame-p95", "frame_p95_ms", "ms").must(Goal::at_most(50.0)),
        ],
        false,
    ),
    trial(
        "spans-10k",
        Trial::Fresh(browser::many_spans),
        &[(Tools, 10_000)],
        &[
            Figure::new("spans-10k-open", "open_ms", "ms").must(Goal::at_most(1_500.0)),
            Figure::new("spans-10k-frame-p95", "frame_p95_ms", "ms"),
        ],
        false,
    ),
    trial(
        "live",
        Trial::Fresh(browser::live),
        &[(Tools, 20)],
        &[
            Figure::new("live-long-tasks", "long_tasks", "").must(Goal::at_most(0.0)),
            Figure::new("live-memory", "heap_times", "×"),
        ],
        false,
    ),
    trial(
        "live-600",
        Trial::Fresh(browser::live),
        &[(Tools, 600)],
        &[
            Figure::new("live-600-long-tasks", "long_tasks", "").must(Goal::at_most(0.0)),
            Figure::new("live-600-memory", "heap_times", "×").must(Goal::at_most(1.2)),
        ],
        true,
    ),
];
