//! `cargo xtask bench a2a`: tasks of A2A beside the floor and agents on the official packages, then
//! ours alone on disk, with long tasks, and with many.

use std::process::Command;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::devtools::DevTools;
use super::goals::Goal;
use super::peers::Peer::{self, A2aJs1, A2aJs03, A2aPython, Floor, OxikitStores};
use super::peers::{Server, load_client};
use super::runner::answer;
use super::scenario::{Body, Figure, How, Scenario, Suite, Trial};
use super::stores::Stores;

pub(super) static SUITE: Suite = Suite { name: "a2a", title: "A2A", scenarios: &SCENARIOS };

const SEND_03: Body = Body::A2a03(
    r#"{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"kind":"message","messageId":"m1","role":"user","parts":[{"kind":"text","text":"hi"}]}}}"#,
);
const STREAM_03: Body = Body::A2a03(
    r#"{"jsonrpc":"2.0","id":1,"method":"message/stream","params":{"message":{"kind":"message","messageId":"m1","role":"user","parts":[{"kind":"text","text":"hi"}]}}}"#,
);
const SEND_1: Body = Body::A2a1(
    r#"{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"hi"}]}}}"#,
);
const STREAM_1: Body = Body::A2a1(
    r#"{"jsonrpc":"2.0","id":1,"method":"SendStreamingMessage","params":{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"hi"}]}}}"#,
);
const CPU: &str = "cpu_us_per_req";
/// CPU of the floor where the bounds were set, in µs.
const SEND_FLOOR: f64 = 20.8;
const STREAM_FLOOR: f64 = 29.2;

const fn echo(
    name: &'static str,
    command: &'static str,
    body: Body,
    counts: &'static [(Peer, u32)],
    figures: &'static [Figure],
) -> Scenario {
    let load = [command, "8"];
    Scenario { name, how: How::Standing, load, path: "/a2a", body, counts, figures, is_long: false }
}

const fn trial(
    name: &'static str,
    run: fn(&mut DevTools, Peer, u32) -> Result<Value>,
    count: &'static [(Peer, u32)],
    figures: &'static [Figure],
) -> Scenario {
    Scenario {
        name,
        how: How::Tools(Trial::Fresh(run)),
        load: ["", ""],
        path: "",
        body: Body::Get,
        counts: count,
        figures,
        is_long: false,
    }
}

static SCENARIOS: [Scenario; 9] = [
    echo(
        "send-0.3",
        "unary",
        SEND_03,
        &[(Floor, 45_000), (OxikitStores, 45_000), (A2aJs03, 2_000), (A2aPython, 300)],
        &[Figure::new("send-0.3", CPU, "µs")
            .must(
                Goal::cpu_at_most(40.0, "send-0.3", SEND_FLOOR)
                    .and_times(&[(A2aJs03, 6.0), (A2aPython, 25.0)]),
            )
            .aim(
                Goal::cpu_at_most(28.0, "send-0.3", SEND_FLOOR)
                    .and_times(&[(A2aJs03, 9.0), (A2aPython, 36.0)]),
            )
            .drawn("A2A 0.3, a message until its task is completed: CPU a message")],
    ),
    echo(
        "send-1.0",
        "unary",
        SEND_1,
        &[(Floor, 45_000), (OxikitStores, 45_000), (A2aJs1, 1_500)],
        &[Figure::new("send-1.0", CPU, "µs")
            .must(Goal::cpu_at_most(40.0, "send-0.3", SEND_FLOOR).and_times(&[(A2aJs1, 13.0)]))
            .aim(Goal::cpu_at_most(28.0, "send-0.3", SEND_FLOOR).and_times(&[(A2aJs1, 19.0)]))
            .drawn("A2A 1.0, a message until its task is completed: CPU a message")],
    ),
    echo(
        "stream-0.3",
        "stream",
        STREAM_03,
        &[(Floor, 36_000), (OxikitStores, 36_000), (A2aJs03, 1_500), (A2aPython, 200)],
        &[Figure::new("stream-0.3", CPU, "µs")
            .must(
                Goal::cpu_at_most(60.0, "stream-0.3", STREAM_FLOOR)
                    .and_times(&[(A2aJs03, 7.0), (A2aPython, 32.0)]),
            )
            .aim(
                Goal::cpu_at_most(39.0, "stream-0.3", STREAM_FLOOR)
                    .and_times(&[(A2aJs03, 11.0), (A2aPython, 50.0)]),
            )
            .drawn("A2A 0.3, a message and its eight events as a stream: CPU a message")],
    ),
    echo(
        "stream-1.0",
        "stream",
        STREAM_1,
        &[(Floor, 36_000), (OxikitStores, 36_000), (A2aJs1, 1_200)],
        &[Figure::new("stream-1.0", CPU, "µs")
            .must(Goal::cpu_at_most(60.0, "stream-0.3", STREAM_FLOOR).and_times(&[(A2aJs1, 11.0)]))
            .aim(Goal::cpu_at_most(39.0, "stream-0.3", STREAM_FLOOR).and_times(&[(A2aJs1, 17.0)]))
            .drawn("A2A 1.0, a message and its eight events as a stream: CPU a message")],
    ),
    Scenario {
        how: How::Store("sqlite"),
        ..echo(
            "send-sqlite",
            "unary",
            SEND_03,
            &[(OxikitStores, 3_000)],
            &[Figure::new("send-sqlite", CPU, "µs")
                .must(Goal::cpu_at_most(500.0, "send-0.3", SEND_FLOOR))
                .aim(Goal::cpu_at_most(250.0, "send-0.3", SEND_FLOOR))],
        )
    },
    Scenario {
        how: How::Store("sqlite"),
        ..echo(
            "stream-sqlite",
            "stream",
            STREAM_03,
            &[(OxikitStores, 3_000)],
            &[Figure::new("stream-sqlite", CPU, "µs")],
        )
    },
    trial(
        "chunks-memory",
        |_, peer, _| chunks(peer, None),
        &[(OxikitStores, 1)],
        &[
            Figure::new("chunks-4k", "ms_4k", "ms").must(Goal::at_most(1000.0)),
            Figure::new("chunks-16k", "ms_16k", "ms"),
            Figure::new("chunks-16k-to-4k", "times_4k", "×").must(Goal::at_most(1.5)),
        ],
    ),
    trial(
        "chunks-sqlite",
        |_, peer, _| chunks(peer, Some("sqlite")),
        &[(OxikitStores, 1)],
        &[
            Figure::new("chunks-sqlite-4k", "ms_4k", "ms").must(Goal::at_most(1000.0)),
            Figure::new("chunks-sqlite-16k", "ms_16k", "ms"),
            Figure::new("chunks-sqlite-16k-to-4k", "times_4k", "×").must(Goal::at_most(1.5)),
        ],
    ),
    trial(
        "many-tasks",
        |_, peer, _| many_tasks(peer),
        &[(OxikitStores, 1)],
        &[
            Figure::new("resident-10k", "rss_10k", "MB"),
            Figure::new("resident-50k", "rss_50k", "MB"),
            Figure::new("resident-100k", "rss_100k", "MB"),
            Figure::new("resident-100k-to-10k", "times_10k", "×").must(Goal::at_most(1.1)),
        ],
    ),
];

/// One task of 4,000 chunks and one of 16,000, published one by one and read as a stream.
fn chunks(peer: Peer, store: Option<&'static str>) -> Result<Value> {
    let kept = store.map(|kind| Stores::default().empty(kind)).transpose()?;
    let name = kept.as_ref().map_or("", |kept| kept.name());
    let server = Server::start(peer, &[("STORE", name)])?;
    let one = |count: u32| -> Result<(f64, f64)> {
        let text = format!(r#""text":"{count}""#);
        let body = STREAM_03.text().replace(r#""text":"hi""#, &text);
        let answer = load(&server, "stream", "/a2a-chunks", 1, 3, &body)?;
        let events = 3.0 * (f64::from(count) + 2.0);
        let read = number(&answer, "chunks")?;
        anyhow::ensure!(read >= events, "{read} of {events} events were read");
        Ok((number(&answer, "p50_ms")?, number(&answer, CPU)? / f64::from(count)))
    };
    // Makes the file grow, which takes time on some disks.
    one(1_000)?;
    let (ms_4k, cpu_4k) = one(4_000)?;
    let (ms_16k, cpu_16k) = one(16_000)?;
    Ok(json!({ "ms_4k": ms_4k, "ms_16k": ms_16k, "times_4k": cpu_16k / cpu_4k }))
}

/// A hundred thousand tasks in memory, which keeps ten thousand of them.
fn many_tasks(peer: Peer) -> Result<Value> {
    let server = Server::start(peer, &[])?;
    let resident = |more: u32| -> Result<f64> {
        number(&load(&server, "unary", "/a2a", 8, more, &SEND_03.text())?, "rss_mb")
    };
    let (rss_10k, rss_50k, rss_100k) = (resident(10_000)?, resident(40_000)?, resident(50_000)?);
    Ok(json!({
        "rss_10k": rss_10k, "rss_50k": rss_50k, "rss_100k": rss_100k,
        "times_10k": rss_100k / rss_10k,
    }))
}

/// Sends `count` requests over `connections` connections; fails if one of them does.
fn load(
    server: &Server,
    command: &str,
    path: &str,
    connections: u32,
    count: u32,
    body: &str,
) -> Result<Value> {
    let url = format!("http://127.0.0.1:{}{path}", server.port);
    let (connections, count) = (connections.to_string(), count.to_string());
    let mut load = Command::new(load_client());
    load.args([command, &url, "-c", &connections, "-n", &count, "-b", body]);
    load.args(["--expect", r#""completed""#]);
    let answer = answer(load.args(["--pid", &server.pid()]))?;
    anyhow::ensure!(answer["errors"] == 0, "requests failed: {answer}");
    Ok(answer)
}

fn number(answer: &Value, field: &str) -> Result<f64> {
    answer[field].as_f64().with_context(|| format!("the load client has not said {field}"))
}
