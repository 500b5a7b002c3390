//! The measurements of the developer tools. Each trial loads one peer, and returns the figures of the
//! load client.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::peers::{self, Peer};
use super::programs;
use super::rooms::Rooms;
use super::tool_server::{Settings, ToolServer};
use crate::tools;

const ECHO: &str = r#"{"key":"/flow/echo","input":{"n":1},"runtimeId":"fast-0"}"#;
const COUNT: &str = r#"{"key":"/flow/count","input":{"n":10000}}"#;
/// Pause after a start, until the memory is stable.
const SETTLE: Duration = Duration::from_millis(500);
/// Traces that are stored to see what that costs among those that are there.
const INGESTED: u32 = 3_000;
/// Databases of traces are made again after this time, before the tools delete their traces as too
/// old.
const KEPT: Duration = Duration::from_secs(5 * 24 * 60 * 60);

/// The state that is kept between the trials of a run.
#[derive(Default)]
pub(super) struct DevTools {
    /// Managers, by the number of their runtimes.
    managers: HashMap<(Peer, usize), ToolServer>,
    /// Official servers, by the number of their traces. Filling them takes long.
    filled: HashMap<(Peer, u32), ToolServer>,
    /// Cost of a post with a thousand stored traces, in this round.
    ingest_1k_us: Option<f64>,
    /// Of the suite `prompts`.
    pub(super) rooms: Rooms,
}

impl DevTools {
    fn manager(&mut self, peer: Peer, runtimes: usize) -> Result<&ToolServer> {
        Ok(match self.managers.entry((peer, runtimes)) {
            Entry::Occupied(server) => server.into_mut(),
            Entry::Vacant(place) => {
                let mut server = ToolServer::start(peer, &Settings::default())?;
                server.join(runtimes)?;
                place.insert(server)
            }
        })
    }
}

/// Runs of an action whose runtime answers at once.
pub(super) fn run_action(tools: &mut DevTools, peer: Peer, count: u32) -> Result<Value> {
    let server = tools.manager(peer, 1)?;
    runs(server, count)
}

fn runs(server: &ToolServer, count: u32) -> Result<Value> {
    let url = format!("{}/api/runAction", server.api);
    load(server, &["unary", &url, "-c", "8", "-n", &count.to_string(), "-b", ECHO])
}

/// The same with a hundred runtimes, and what it costs then beside one.
pub(super) fn run_among_many(tools: &mut DevTools, peer: Peer, count: u32) -> Result<Value> {
    let alone = runs(tools.manager(peer, 1)?, count)?;
    let mut answer = runs(tools.manager(peer, 100)?, count)?;
    answer["times_one"] = (cpu(&answer)? / cpu(&alone)?).into();
    Ok(answer)
}

/// Streams of ten thousand chunks, one at a time.
pub(super) fn stream(tools: &mut DevTools, peer: Peer, count: u32) -> Result<Value> {
    let server = tools.manager(peer, 1)?;
    let url = format!("{}/api/streamAction", server.api);
    let count = count.to_string();
    load(server, &["stream", &url, "--lines", "-c", "1", "-n", &count, "-b", COUNT])
}

/// Traces of ten spans, a post a span, as runtimes send them.
pub(super) fn spans_one_by_one(_: &mut DevTools, peer: Peer, count: u32) -> Result<Value> {
    let server = ToolServer::start(peer, &Settings::default())?;
    load(&server, &["traces", &server.traces(), "--split", "-c", "4", "-n", &count.to_string()])
}

/// Traces of ten spans, each as one post.
pub(super) fn spans_by_ten(_: &mut DevTools, peer: Peer, count: u32) -> Result<Value> {
    let server = ToolServer::start(peer, &Settings::default())?;
    load(&server, &["traces", &server.traces(), "-c", "4", "-n", &count.to_string()])
}

/// One trace that grows to `count` spans.
pub(super) fn append(_: &mut DevTools, peer: Peer, count: u32) -> Result<Value> {
    let server = ToolServer::start(peer, &Settings::default())?;
    load(&server, &["append", &server.traces(), "-n", &count.to_string()])
}

/// Idle sockets.
pub(super) fn idle_sockets(_: &mut DevTools, peer: Peer, count: u32) -> Result<Value> {
    let settings = Settings { max_sockets: Some(count + 100), ..Settings::default() };
    let server = ToolServer::start(peer, &settings)?;
    std::thread::sleep(SETTLE);
    load(&server, &["sockets", &server.sockets, "-c", &count.to_string(), "--secs", "8"])
}

/// Lists, searches and posts among `SIZE` traces, and the time to start with them.
pub(super) fn traces<const SIZE: u32>(
    tools: &mut DevTools,
    peer: Peer,
    count: u32,
) -> Result<Value> {
    if peer != Peer::Tools {
        return listed(tools.filled(peer, SIZE)?, count);
    }
    // The user may have chosen this size only.
    if SIZE != 1_000 && tools.ingest_1k_us.is_none() {
        traces::<1_000>(tools, peer, count)?;
    }
    // At its limit, so that a post also removes what is too much.
    let settings =
        Settings { traces: Some(database(SIZE)?), max_traces: Some(SIZE), ..Settings::default() };
    let server = ToolServer::start(peer, &settings)?;
    std::thread::sleep(SETTLE);
    let mut answer = listed(&server, count)?;
    answer["ready_ms"] = server.ready_ms.into();
    let rare = format!("number{}", SIZE / 2);
    let queries = [
        ("search", "text=reply".to_owned()),
        ("search_rare", format!("text={rare}")),
        ("running", "status=running".to_owned()),
        ("slow", "minDuration=60000".to_owned()),
        ("since", "from=1990000000000".to_owned()),
    ];
    for (name, query) in queries {
        let url = format!("{}/api/v1/traces?limit=10&{query}", server.api);
        let seen = load(&server, &["unary", &url, "--get", "-c", "1", "-n", &count.to_string()])?;
        answer[format!("{name}_ms")] = seen["p50_ms"].clone();
        answer[format!("{name}_p99_ms")] = seen["p99_ms"].clone();
        add_errors(&mut answer, &seen);
    }
    let (base, posts) = (SIZE.to_string(), INGESTED.to_string());
    let url = server.traces();
    let load_posts = ["traces", &url, "--spans", "1", "--base", &base, "-c", "4", "-n", &posts];
    let ingest = load(&server, &load_posts)?;
    add_errors(&mut answer, &ingest);
    let ingest_us = cpu(&ingest)?;
    answer["ingest_us"] = ingest_us.into();
    if SIZE == 1_000 {
        tools.ingest_1k_us = Some(ingest_us);
    }
    if let Some(first) = tools.ingest_1k_us {
        answer["times_1k"] = (ingest_us / first).into();
    }
    answer["rss_mb"] = server.resident_mb()?.into();
    Ok(answer)
}

/// The newest page, as the official tools ask for it.
fn listed(server: &ToolServer, count: u32) -> Result<Value> {
    let mut answer = json!({});
    for limit in ["10", "50"] {
        let url = format!("{}?limit={limit}", server.traces());
        let seen = load(server, &["unary", &url, "--get", "-c", "1", "-n", &count.to_string()])?;
        answer[format!("list_{limit}_ms")] = seen["p50_ms"].clone();
        answer[format!("list_{limit}_p99_ms")] = seen["p99_ms"].clone();
        add_errors(&mut answer, &seen);
    }
    answer["rss_mb"] = server.resident_mb()?.into();
    Ok(answer)
}

/// The size of the program, as it is built and without its symbols.
pub(super) fn binary(_: &mut DevTools, peer: Peer, _: u32) -> Result<Value> {
    let megabytes = |path: &PathBuf| Ok::<_, anyhow::Error>(path.metadata()?.len() as f64 / 1e6);
    let (program, bare) = (peer.program()?, peers::out_dir()?.join("oxikit-stripped"));
    let mut answer = json!({"built_mb": megabytes(&program)?});
    if tools::read(Command::new("strip").arg("-o").arg(&bare).arg(&program)).is_ok() {
        answer["stripped_mb"] = megabytes(&bare)?.into();
        std::fs::remove_file(bare)?;
    }
    Ok(answer)
}

impl DevTools {
    /// An official server with this number of traces, posted one after the other.
    fn filled(&mut self, peer: Peer, traces: u32) -> Result<&ToolServer> {
        Ok(match self.filled.entry((peer, traces)) {
            Entry::Occupied(server) => server.into_mut(),
            Entry::Vacant(place) => {
                let server = ToolServer::start(peer, &Settings::default())?;
                let (url, count) = (server.traces(), traces.to_string());
                load(&server, &["traces", &url, "--spans", "1", "-c", "4", "-n", &count])?;
                place.insert(server)
            }
        })
    }
}

/// A database with this number of traces of one span each, made once and kept.
pub(super) fn database(traces: u32) -> Result<PathBuf> {
    let path = peers::out_dir()?.join(format!("traces-{traces}-{}.db", programs::label()));
    let is_young =
        |path: &PathBuf| Some(path.metadata().ok()?.modified().ok()?.elapsed().ok()? < KEPT);
    if is_young(&path) == Some(true) {
        return Ok(path);
    }
    eprintln!("making a database with {traces} traces");
    let unfinished = path.with_extension("new");
    super::stores::remove(&unfinished);
    let mut posts = Command::new(peers::load_client())
        .args(["posts", "--spans", "1", "-n", &traces.to_string()])
        .stdout(Stdio::piped())
        .spawn()?;
    let posted = posts.stdout.take().context("its output is piped")?;
    let mut fill = Command::new(peers::trace_filler()?);
    let filled = fill.arg(&unfinished).stdin(posted).status();
    posts.wait()?;
    anyhow::ensure!(filled?.success(), "the database of traces was not made");
    std::fs::rename(unfinished, &path)?;
    Ok(path)
}

fn load(server: &ToolServer, args: &[&str]) -> Result<Value> {
    let mut load = Command::new("sh");
    load.args(["-c", "ulimit -n 20000; exec \"$0\" \"$@\""]).arg(peers::load_client());
    load.args(args).args(["--pid", &server.pid()]);
    let output = tools::read_within(&mut load, Duration::from_secs(300))?;
    serde_json::from_str(output.trim()).context("the output of the load client is not JSON")
}

fn cpu(answer: &Value) -> Result<f64> {
    answer["cpu_us_per_req"].as_f64().context("it has no CPU")
}

fn add_errors(answer: &mut Value, seen: &Value) {
    let errors = |answer: &Value| answer["errors"].as_u64().unwrap_or_default();
    answer["errors"] = (errors(answer) + errors(seen)).into();
}
