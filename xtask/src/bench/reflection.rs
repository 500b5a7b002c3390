//! `cargo xtask bench reflection`: the cost of a connection with the developer tools, to which every
//! call is sent.

use super::goals::Goal;
use super::peers::Peer::{Floor, GenkitJs, Oxikit};
use super::scenario::{Body, Figure, How, Scenario, Suite};

pub(super) static SUITE: Suite =
    Suite { name: "reflection", title: "Under the developer tools", scenarios: &SCENARIOS };

const SMALL: Body =
    Body::Text(r#"{"data":{"question":"what is this about?","tags":["a","b","c"],"n":42}}"#);

/// Maximum cost that the connection and the traces may add to a call.
const MORE: Goal = Goal::cpu_at_most(15.0, "traced-c16", 12.4);
/// The same for calls that come one by one, each of which wakes its threads on idle cores: what
/// that costs is seen from the floor at the same pace.
const MORE_AT_A_PACE: Goal = Goal::cpu_at_most(25.0, "traced-2000", 42.4);

static SCENARIOS: [Scenario; 3] = [
    Scenario {
        name: "traced-2000",
        how: How::Traced { rate: "2000", log: "warn" },
        load: ["unary", "16"],
        path: "/echo",
        body: SMALL,
        counts: &[(Floor, 20_000), (Oxikit, 20_000)],
        figures: &[
            Figure::new("traced-2000-plain", "plain_us", "µs").ours(),
            Figure::new("traced-2000", "cpu_us_per_req", "µs"),
            Figure::new("traced-2000-more", "more_us", "µs").ours().must(MORE_AT_A_PACE).aim(MORE),
            Figure::new("traced-2000-lost", "lost_percent", "%").ours().must(Goal::at_most(0.0)),
        ],
        is_long: false,
    },
    Scenario {
        name: "traced-c16",
        how: How::Traced { rate: "0", log: "warn" },
        load: ["unary", "16"],
        path: "/echo",
        body: SMALL,
        counts: &[(Floor, 60_000), (Oxikit, 60_000), (GenkitJs, 4_000)],
        figures: &[
            Figure::new("traced-c16-plain", "plain_us", "µs").ours(),
            Figure::new("traced-c16", "cpu_us_per_req", "µs")
                .must(Goal::cpu_at_most(35.0, "traced-c16", 12.4).and_times_js(7.0))
                .aim(Goal::cpu_at_most(25.0, "traced-c16", 12.4).and_times_js(10.0))
                .drawn("unary, small, 16 connections, oxikit traced: CPU a request"),
            Figure::new("traced-c16-more", "more_us", "µs").ours().must(MORE),
            Figure::new("traced-c16-lost", "lost_percent", "%").ours().must(Goal::at_most(0.0)),
        ],
        is_long: false,
    },
    Scenario {
        name: "logged-c16",
        how: How::Traced { rate: "0", log: "info" },
        load: ["unary", "16"],
        path: "/echo",
        body: SMALL,
        counts: &[(Oxikit, 60_000)],
        figures: &[
            Figure::new("logged-c16", "cpu_us_per_req", "µs"),
            Figure::new("logged-c16-more", "more_us", "µs"),
            Figure::new("logged-c16-lost", "lost_percent", "%"),
        ],
        is_long: false,
    },
];
