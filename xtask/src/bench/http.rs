//! `cargo xtask bench http`: the floor, Genkit JS, Genkit Python and oxikit as
//! servers of actions.

use super::goals::Goal;
use super::peers::Peer::{self, Floor, FloorOrdered, GenkitJs, GenkitPython, Oxikit};
use super::scenario::{Body, Figure, How, Scenario, Suite};

pub(super) static SUITE: Suite =
    Suite { name: "http", title: "Action HTTP", scenarios: &SCENARIOS };

const SMALL: Body =
    Body::Text(r#"{"data":{"question":"what is this about?","tags":["a","b","c"],"n":42}}"#);
const EMPTY: Body = Body::Text(r#"{"data":{}}"#);
const CPU: &str = "cpu_us_per_req";
const MANY: [(Peer, u32); 5] = [
    (Floor, 60_000),
    (FloorOrdered, 60_000),
    (Oxikit, 60_000),
    (GenkitJs, 4_000),
    (GenkitPython, 1_500),
];

static SCENARIOS: [Scenario; 13] = [
    Scenario {
        name: "echo-c1",
        how: How::Standing,
        load: ["unary", "1"],
        path: "/echo",
        body: SMALL,
        counts: &[
            (Floor, 20_000),
            (FloorOrdered, 20_000),
            (Oxikit, 20_000),
            (GenkitJs, 4_000),
            (GenkitPython, 1_500),
        ],
        figures: &[Figure::new("echo-c1", CPU, "µs")],
        is_long: false,
    },
    Scenario {
        name: "echo-c16",
        how: How::Standing,
        load: ["unary", "16"],
        path: "/echo",
        body: SMALL,
        counts: &MANY,
        figures: &[
            Figure::new("echo-c16", CPU, "µs")
                .must(Goal::of_floor(70.0).and_times_js(14.0))
                .aim(Goal::of_floor(85.0).and_times_js(18.0))
                .drawn("unary, small, 16 connections: CPU a request"),
            Figure::new("echo-c16-p99", "p99_ms", "ms").aim(Goal::above_floor(1.0)),
        ],
        is_long: false,
    },
    Scenario {
        name: "echo-c64",
        how: How::Standing,
        load: ["unary", "64"],
        path: "/echo",
        body: SMALL,
        counts: &MANY,
        figures: &[Figure::new("echo-c64", CPU, "µs")],
        is_long: false,
    },
    Scenario {
        name: "echo-48k",
        how: How::Standing,
        load: ["unary", "16"],
        path: "/echo",
        body: Body::Large,
        counts: &[
            (Floor, 3_000),
            (FloorOrdered, 3_000),
            (Oxikit, 3_000),
            (GenkitJs, 800),
            (GenkitPython, 200),
        ],
        figures: &[Figure::new("echo-48k", CPU, "µs")
            .must(Goal::of_floor(80.0).and_times_js(2.5))
            .aim(Goal::of_floor(95.0).and_times_js(3.2))
            .drawn("unary, 48 kB, to a JSON tree and back: CPU a request")],
        is_long: false,
    },
    Scenario {
        name: "echo-48k-raw",
        how: How::Standing,
        load: ["unary", "16"],
        path: "/echo-raw",
        body: Body::Large,
        counts: &[(Floor, 10_000), (Oxikit, 10_000), (GenkitJs, 800)],
        figures: &[Figure::new("echo-48k-raw", CPU, "µs")
            .must(Goal::cpu_at_most(200.0, "echo-48k-raw", 104.0).and_times_js(8.0))
            .aim(Goal::cpu_at_most(140.0, "echo-48k-raw", 104.0).and_times_js(12.0))
            .drawn("unary, 48 kB, passed on: CPU a request")],
        is_long: false,
    },
    Scenario {
        name: "count-burst-1000",
        how: How::Standing,
        load: ["stream", "8"],
        path: "/count",
        body: Body::Text(r#"{"data":{"n":1000}}"#),
        counts: &[(Floor, 1_500), (Oxikit, 1_500), (GenkitJs, 250), (GenkitPython, 20)],
        figures: &[Figure::new("count-burst-1000", "cpu_us_per_chunk", "µs")
            .must(Goal::cpu_at_most(0.5, "count-burst-1000", 0.28).and_times_js(5.0))
            .aim(Goal::cpu_at_most(0.33, "count-burst-1000", 0.28).and_times_js(7.0))
            .drawn("stream, 1,000 chunks in a burst: CPU a chunk")],
        is_long: false,
    },
    Scenario {
        name: "count-paced-200",
        how: How::Standing,
        load: ["stream", "8"],
        path: "/count",
        body: Body::Text(r#"{"data":{"n":200,"paced":true}}"#),
        counts: &[(Floor, 800), (Oxikit, 800), (GenkitJs, 150), (GenkitPython, 50)],
        figures: &[
            Figure::new("count-paced-200", "cpu_us_per_chunk", "µs")
                .must(Goal::of_floor(80.0).and_times_js(2.3))
                .aim(Goal::of_floor(92.0).and_times_js(2.7))
                .drawn("stream, chunks one by one: CPU a chunk"),
            Figure::new("count-paced-200-first", "ttfc_p50_ms", "ms").aim(Goal::at_most(0.6)),
        ],
        is_long: false,
    },
    Scenario {
        name: "start",
        how: How::Start,
        load: ["start", "1"],
        path: "/echo",
        body: SMALL,
        counts: &[(Floor, 1), (Oxikit, 1), (GenkitJs, 1), (GenkitPython, 1)],
        figures: &[
            Figure::new("start", "ready_ms", "ms")
                .must(Goal::at_most(50.0).and_times_js(14.0))
                .aim(Goal::at_most(20.0).and_times_js(35.0))
                .drawn("from start to the first 200"),
            Figure::new("resident-start", "rss_mb", "MB")
                .must(Goal::at_most(15.0))
                .aim(Goal::at_most(8.0))
                .drawn("resident memory at the start"),
        ],
        is_long: false,
    },
    Scenario {
        name: "resident-10k",
        how: How::Fresh("0"),
        load: ["unary", "16"],
        path: "/echo",
        body: SMALL,
        counts: &[(Floor, 10_000), (Oxikit, 10_000), (GenkitJs, 10_000), (GenkitPython, 10_000)],
        figures: &[Figure::new("resident-10k", "rss_mb", "MB")
            .must(Goal::at_most(18.0))
            .aim(Goal::at_most(10.0))],
        is_long: false,
    },
    Scenario {
        name: "resident-1m",
        how: How::Fresh("0"),
        load: ["unary", "16"],
        path: "/echo",
        body: SMALL,
        counts: &[(Floor, 1_000_000), (Oxikit, 1_000_000)],
        figures: &[Figure::new("resident-1m", "rss_mb", "MB")
            .must(Goal::at_most(20.0))
            .aim(Goal::at_most(10.0))],
        is_long: true,
    },
    Scenario {
        name: "idle-1000",
        how: How::Fresh("2"),
        load: ["idle", "1000"],
        path: "/hang",
        body: EMPTY,
        counts: &[(Floor, 1), (Oxikit, 1), (GenkitJs, 1), (GenkitPython, 1)],
        figures: &[Figure::new("idle-1000", "kb_per_conn", "kB")
            .must(Goal::at_most(20.0))
            .aim(Goal::at_most(14.0))
            .drawn("memory of an idle stream, of 1,000")],
        is_long: false,
    },
    Scenario {
        name: "idle-10000",
        how: How::Fresh("5"),
        load: ["idle", "10000"],
        path: "/hang",
        body: EMPTY,
        counts: &[(Floor, 1), (Oxikit, 1)],
        figures: &[
            Figure::new("idle-10000", "kb_per_conn", "kB")
                .must(Goal::at_most(20.0))
                .aim(Goal::at_most(14.0)),
            Figure::new("idle-10000-cpu", "idle_cpu_pct", "% of a core").must(Goal::at_most(0.5)),
        ],
        is_long: true,
    },
    Scenario {
        name: "stall-60",
        how: How::Fresh("5"),
        load: ["stall", "60"],
        path: "/flood",
        body: EMPTY,
        counts: &[(Oxikit, 1)],
        // A megabyte a stream is allowed, a quarter of it is aimed at.
        figures: &[Figure::new("stall-60", "growth_mb", "MB")
            .must(Goal::at_most(60.0))
            .aim(Goal::at_most(15.0))],
        is_long: false,
    },
];
