//! `cargo xtask bench manager`: the developer tools beside the official manager, the
//! official telemetry server and the floor; then ours alone, as its data grows.

use super::devtools;
use super::goals::Goal;
use super::peers::Peer::{self, Floor, OfficialManager, OfficialTelemetry, Tools};
use super::scenario::{Body, Figure, How, Scenario, Suite, Trial};

pub(super) static SUITE: Suite =
    Suite { name: "manager", title: "The developer tools", scenarios: &SCENARIOS };

/// One that goes its own way: what is done stands in `devtools`.
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

const CPU: &str = "cpu_us_per_req";
const LIST: Goal = Goal::at_most(2.0);
const LIST_AIM: Goal = Goal::at_most(0.6);
// A list of ours takes a tenth of a millisecond: of fewer, the median depends on the moment.
const LISTS: &[(Peer, u32)] = &[(Floor, 4_000), (Tools, 4_000), (OfficialTelemetry, 40)];
const OURS: &[(Peer, u32)] = &[(Tools, 4_000)];

const fn list(name: &'static str, field: &'static str) -> Figure {
    Figure::new(name, field, "ms").must(LIST).aim(LIST_AIM)
}

/// Of a filter that finds nothing.
const fn filter(name: &'static str, field: &'static str) -> Figure {
    list(name, field).ours()
}

const fn start(name: &'static str) -> Figure {
    Figure::new(name, "ready_ms", "ms").must(Goal::at_most(150.0)).aim(Goal::at_most(60.0)).ours()
}

const fn ingest_growth(name: &'static str) -> Figure {
    Figure::new(name, "times_1k", "×").must(Goal::at_most(2.0)).aim(Goal::at_most(1.3)).ours()
}

const fn resident(name: &'static str, must: f64, aim: f64) -> Figure {
    Figure::new(name, "rss_mb", "MB").must(Goal::at_most(must)).aim(Goal::at_most(aim))
}

static SCENARIOS: [Scenario; 12] = [
    trial(
        "run-action",
        Trial::Standing(devtools::run_action),
        &[(Floor, 20_000), (Tools, 20_000), (OfficialManager, 1_500)],
        &[
            Figure::new("run-action", CPU, "µs")
                .must(Goal::cpu_at_most(45.0, "run-action", 23.0).and_times_js(10.0))
                .aim(Goal::cpu_at_most(30.0, "run-action", 23.0).and_times_js(15.0))
                .drawn("manager, a run on a fast runtime, 8 connections: CPU a run"),
            Figure::new("run-action-p99", "p99_ms", "ms"),
        ],
    ),
    trial(
        "run-among-100",
        Trial::Standing(devtools::run_among_many),
        &[(Tools, 20_000)],
        &[
            Figure::new("run-among-100", CPU, "µs"),
            Figure::new("run-among-100-to-1", "times_one", "×")
                .must(Goal::at_most(1.2))
                .aim(Goal::at_most(1.05)),
        ],
    ),
    trial(
        "stream-10k",
        Trial::Standing(devtools::stream),
        &[(Floor, 60), (Tools, 60), (OfficialManager, 5)],
        &[Figure::new("stream-10k", "cpu_us_per_chunk", "µs")
            .must(Goal::cpu_at_most(1.0, "stream-10k", 0.53).and_times_js(6.0))
            .aim(Goal::cpu_at_most(0.7, "stream-10k", 0.53).and_times_js(9.0))
            .drawn("manager, a stream of 10,000 chunks: CPU a chunk")],
    ),
    trial(
        "spans-1",
        Trial::Fresh(devtools::spans_one_by_one),
        &[(Floor, 20_000), (Tools, 20_000), (OfficialTelemetry, 3_000)],
        &[Figure::new("spans-1", CPU, "µs")
            .must(Goal::cpu_at_most(80.0, "spans-1", 17.0).and_times_js(12.0))
            .aim(Goal::cpu_at_most(40.0, "spans-1", 17.0).and_times_js(20.0))
            .drawn("traces, a post a span, kept: CPU a post")],
    ),
    trial(
        "spans-10",
        Trial::Fresh(devtools::spans_by_ten),
        &[(Floor, 5_000), (Tools, 5_000), (OfficialTelemetry, 1_000)],
        &[Figure::new("spans-10", CPU, "µs")
            .must(Goal::cpu_at_most(200.0, "spans-1", 17.0).and_times_js(4.0))
            .aim(Goal::cpu_at_most(100.0, "spans-1", 17.0).and_times_js(8.0))
            .drawn("traces, ten spans a post, kept: CPU a post")],
    ),
    trial(
        "append-10k",
        Trial::Fresh(devtools::append),
        &[(Tools, 10_000)],
        &[
            Figure::new("append-at-10", "cpu_us_early", "µs"),
            Figure::new("append-at-10k", "cpu_us_late", "µs"),
            Figure::new("append-10k-to-10", "times_early", "×").must(Goal::at_most(1.5)),
            Figure::new("append-1000", "thousand_s", "s").must(Goal::at_most(1.0)),
        ],
    ),
    trial(
        "traces-1k",
        Trial::Fresh(devtools::traces::<1_000>),
        LISTS,
        &[
            list("list-10-1k", "list_10_ms"),
            list("list-50-1k", "list_50_ms"),
            list("search-1k", "search_ms").ours(),
            list("search-rare-1k", "search_rare_ms").ours(),
            filter("running-1k", "running_ms"),
            filter("slow-1k", "slow_ms"),
            filter("since-1k", "since_ms"),
            Figure::new("ingest-1k", "ingest_us", "µs").ours(),
            start("start-1k"),
        ],
    ),
    trial(
        "traces-10k",
        Trial::Fresh(devtools::traces::<10_000>),
        LISTS,
        &[
            list("list-10-10k", "list_10_ms").drawn("newest 10 of 10,000 traces"),
            list("list-50-10k", "list_50_ms"),
            list("search-10k", "search_ms").ours(),
            list("search-rare-10k", "search_rare_ms").ours(),
            filter("running-10k", "running_ms"),
            filter("slow-10k", "slow_ms"),
            filter("since-10k", "since_ms"),
            Figure::new("ingest-10k", "ingest_us", "µs").ours(),
            ingest_growth("ingest-10k-to-1k"),
            start("start-10k"),
            resident("resident-10k", 40.0, 25.0).drawn("resident with 10,000 traces"),
        ],
    ),
    trial(
        "traces-100k",
        Trial::Fresh(devtools::traces::<100_000>),
        OURS,
        &[
            list("list-10-100k", "list_10_ms"),
            list("list-50-100k", "list_50_ms"),
            list("search-100k", "search_ms"),
            list("search-rare-100k", "search_rare_ms"),
            Figure::new("list-100k-p99", "list_50_p99_ms", "ms").must(Goal::at_most(50.0)),
            Figure::new("search-100k-p99", "search_p99_ms", "ms").must(Goal::at_most(50.0)),
            filter("running-100k", "running_ms"),
            filter("slow-100k", "slow_ms"),
            filter("since-100k", "since_ms"),
            Figure::new("ingest-100k", "ingest_us", "µs"),
            ingest_growth("ingest-100k-to-1k"),
            start("start-100k"),
            resident("resident-100k", 60.0, 35.0),
        ],
    ),
    Scenario {
        is_long: true,
        ..trial(
            "traces-1m",
            Trial::Fresh(devtools::traces::<1_000_000>),
            OURS,
            &[
                list("list-10-1m", "list_10_ms"),
                list("list-50-1m", "list_50_ms"),
                list("search-1m", "search_ms"),
                list("search-rare-1m", "search_rare_ms"),
                filter("running-1m", "running_ms"),
                filter("slow-1m", "slow_ms"),
                filter("since-1m", "since_ms"),
                Figure::new("ingest-1m", "ingest_us", "µs"),
                ingest_growth("ingest-1m-to-1k"),
                start("start-1m"),
                resident("resident-1m", 60.0, 35.0),
            ],
        )
    },
    trial(
        "sockets-10k",
        Trial::Fresh(devtools::idle_sockets),
        &[(Tools, 10_000)],
        &[
            Figure::new("sockets-10k", "kb_per_conn", "kB")
                .must(Goal::at_most(12.0))
                .aim(Goal::at_most(8.0)),
            Figure::new("sockets-10k-cpu", "idle_cpu_pct", "% of a core").must(Goal::at_most(0.5)),
        ],
    ),
    trial(
        "binary",
        Trial::Fresh(devtools::binary),
        &[(Tools, 1)],
        &[
            Figure::new("binary", "built_mb", "MB"),
            // What is distributed.
            Figure::new("binary-stripped", "stripped_mb", "MB").must(Goal::at_most(40.0)),
        ],
    ),
];
