//! The measurements of the page. Each trial starts the developer tools and lets `bench/web/measure.mjs`
//! open their page in Chromium; the figures are what that program prints.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;

use super::devtools::{DevTools, database};
use super::peers::Peer;
use super::tool_server::{Settings, ToolServer};
use crate::{interop, tools};

/// Number of traces in the list that is scrolled.
const MILLION: u32 = 1_000_000;
/// Processes that keep the cores busy while the page is opened.
const BUSY: usize = 2;
/// Time that a measurement may take besides the seconds that it was asked for.
const PATIENCE: Duration = Duration::from_secs(300);

/// Opens the page with an empty cache, so many times, while both cores have other work.
pub(super) fn first_view(_: &mut DevTools, peer: Peer, count: u32) -> Result<Value> {
    let server = ToolServer::start(peer, &Settings::default())?;
    let _busy = Busy::start()?;
    measure(&server, "first-view", count)
}

/// Opens, filters and scrolls the list of a million traces.
pub(super) fn million(_: &mut DevTools, peer: Peer, count: u32) -> Result<Value> {
    let traces = Some(database(MILLION)?);
    let settings = Settings { traces, max_traces: Some(MILLION), ..Settings::default() };
    let server = ToolServer::start(peer, &settings)?;
    measure(&server, "million", count)
}

/// Opens and scrolls a trace of so many spans.
pub(super) fn many_spans(_: &mut DevTools, peer: Peer, count: u32) -> Result<Value> {
    let server = ToolServer::start(peer, &Settings::default())?;
    measure(&server, "spans", count)
}

/// Keeps the list of traces open for so many seconds while a thousand spans a second arrive.
pub(super) fn live(_: &mut DevTools, peer: Peer, count: u32) -> Result<Value> {
    let server = ToolServer::start(peer, &Settings::default())?;
    measure(&server, "live", count)
}

fn measure(server: &ToolServer, what: &str, count: u32) -> Result<Value> {
    // The browser and its driver are those of the interop suites.
    interop::prepare_browser()?;
    let mut node = Command::new("node");
    node.arg(tools::root().join("bench/web/measure.mjs")).args([
        what,
        &count.to_string(),
        &server.page(),
        &server.traces(),
    ]);
    let time = PATIENCE + Duration::from_secs(count.min(600).into());
    let output = tools::read_within(&mut node, time)?;
    let last = output.trim().lines().last().unwrap_or_default();
    serde_json::from_str(last).context("the output of the measurement is not JSON")
}

/// Processes without an end. They are stopped when this is dropped.
struct Busy(Vec<Child>);

impl Busy {
    fn start() -> Result<Self> {
        let mut busy = Self(Vec::new());
        for _ in 0..BUSY {
            let mut shell = Command::new("sh");
            shell.args(["-c", "while :; do :; done"]).stdin(Stdio::null());
            busy.0.push(shell.spawn()?);
        }
        Ok(busy)
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        for child in &mut self.0 {
            // It never ends by itself.
            _ = child.kill();
            _ = child.wait();
        }
    }
}
