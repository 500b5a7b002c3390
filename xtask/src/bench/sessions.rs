//! `cargo xtask bench sessions`: turns of agents beside the floor and Genkit JS, then
//! ours alone on disk, and lists of many sessions.

use super::goals::Goal;
use super::peers::Peer::{Floor, GenkitJs, OxikitStores};
use super::scenario::{Body, Figure, How, Scenario, Suite};

pub(super) static SUITE: Suite =
    Suite { name: "sessions", title: "Agents and sessions", scenarios: &SCENARIOS };

const NEW: Body = Body::Text(
    r#"{"data":{"message":{"role":"user","content":[{"text":"what is this about?"}]}},"init":{}}"#,
);
const LIST: &str = "/api/agents/chat/sessions?limit=50";
const ACTIVE: &str = "/api/agents/chat/sessions?limit=50&status=active";
const DEEP: &str = "/api/agents/chat/sessions?limit=50&continuationToken={deep}";

/// The first page, a page far behind, and one of a status.
const fn list(
    name: &'static str,
    path: &'static str,
    rows: u32,
    figures: &'static [Figure],
) -> Scenario {
    Scenario {
        name,
        how: How::Sessions("sqlite", rows),
        load: ["unary", "1"],
        path,
        body: Body::Get,
        counts: &[(OxikitStores, 1_000)],
        figures,
        is_long: rows > 100_000,
    }
}

/// Conversations on a store, from their first turn to their last.
const fn growing(name: &'static str, store: &'static str, figures: &'static [Figure]) -> Scenario {
    Scenario {
        name,
        how: How::Store(store),
        load: ["chat", "10"],
        path: "/chat",
        body: NEW,
        counts: &[(OxikitStores, 1_000)],
        figures,
        is_long: false,
    }
}

const FIRST: Goal = Goal::at_most(1.5);
const FURTHER: Goal = Goal::at_most(4.0);

static SCENARIOS: [Scenario; 13] = [
    Scenario {
        name: "chat-new",
        how: How::Standing,
        load: ["stream", "8"],
        path: "/chat",
        body: NEW,
        counts: &[(Floor, 15_000), (OxikitStores, 15_000), (GenkitJs, 800)],
        figures: &[Figure::new("chat-new", "cpu_us_per_req", "µs")
            .must(Goal::cpu_at_most(70.0, "chat-new", 28.0).and_times_js(12.0))
            .aim(Goal::cpu_at_most(45.0, "chat-new", 28.0).and_times_js(19.0))
            .drawn("agent, first turn of a session: CPU a turn")],
        is_long: false,
    },
    Scenario {
        name: "chat-800",
        how: How::Fresh("0"),
        load: ["chat", "4"],
        path: "/chat",
        body: NEW,
        counts: &[(Floor, 800), (OxikitStores, 800), (GenkitJs, 800)],
        figures: &[
            Figure::new("chat-turn-10", "cpu_us_turn_10", "µs"),
            Figure::new("chat-turn-800", "cpu_us_last", "µs")
                .must(Goal::NONE.and_times_js(150.0))
                .aim(Goal::NONE.and_times_js(350.0))
                .drawn("agent, turn 800 of a session: CPU a turn"),
            Figure::new("chat-turn-800-to-10", "times_turn_10", "×")
                .must(Goal::at_most(3.0))
                .aim(Goal::at_most(1.5)),
            Figure::new("chat-800-memory", "kb_per_message", "kB")
                .must(Goal::at_most(1.0))
                .drawn("memory kept of a message"),
        ],
        is_long: false,
    },
    growing(
        "sqlite-1000",
        "sqlite",
        &[
            Figure::new("sqlite-turn-10", "cpu_us_turn_10", "µs")
                .must(Goal::cpu_at_most(400.0, "chat-new", 28.0))
                .aim(Goal::cpu_at_most(200.0, "chat-new", 28.0)),
            Figure::new("sqlite-turn-1000", "cpu_us_last", "µs")
                .must(Goal::cpu_at_most(400.0, "chat-new", 28.0))
                .aim(Goal::cpu_at_most(200.0, "chat-new", 28.0)),
            Figure::new("sqlite-bytes-10", "bytes_turn_10", "B"),
            Figure::new("sqlite-bytes-1000", "bytes_last", "B"),
        ],
    ),
    growing(
        "postgres-1000",
        "postgres",
        &[
            Figure::new("postgres-turn-10", "cpu_us_turn_10", "µs"),
            Figure::new("postgres-turn-1000", "cpu_us_last", "µs"),
        ],
    ),
    list("list-1k", LIST, 1_000, &[Figure::new("list-1k", "p50_ms", "ms").must(FIRST)]),
    list("list-10k", LIST, 10_000, &[Figure::new("list-10k", "p50_ms", "ms").must(FIRST)]),
    list("list-100k", LIST, 100_000, &[Figure::new("list-100k", "p50_ms", "ms").must(FIRST)]),
    list("list-1m", LIST, 1_000_000, &[Figure::new("list-1m", "p50_ms", "ms").must(FIRST)]),
    list("deep-1k", DEEP, 1_000, &[Figure::new("deep-1k", "p50_ms", "ms").must(FURTHER)]),
    list("deep-100k", DEEP, 100_000, &[Figure::new("deep-100k", "p50_ms", "ms").must(FURTHER)]),
    list("deep-1m", DEEP, 1_000_000, &[Figure::new("deep-1m", "p50_ms", "ms").must(FURTHER)]),
    list(
        "active-100k",
        ACTIVE,
        100_000,
        &[Figure::new("active-100k", "p50_ms", "ms").must(FURTHER)],
    ),
    list("active-1m", ACTIVE, 1_000_000, &[Figure::new("active-1m", "p50_ms", "ms").must(FURTHER)]),
];
