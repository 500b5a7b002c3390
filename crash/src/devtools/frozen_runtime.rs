//! A runtime is frozen (SIGSTOP). The tools show it as silent, its runs can be cancelled, calls of
//! other runtimes stay fast, and it reconnects when it continues.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::process::Signal;
use tokio::time::sleep;

use super::callers::{StreamApi, stream};
use super::killed_runtime::start_streamer;
use super::pinger::{Callee, Pinger};
use super::tools::{PATIENCE, Project, Tools, signal};
use super::{Setting, streamer};
use crate::figures::Figures;

/// Shorter timeouts than the defaults of 15 s and 30 s. The goals are the sums of both.
const SHORT: &str = "limits = { ping_ms = 1000, no_pong_ms = 4000 }";
const SHORT_GOAL: Duration = Duration::from_secs(5);
const LONG_GOAL: Duration = Duration::from_secs(45);

pub(super) async fn run(setting: &Setting) -> Result<Figures> {
    let (settings, goal) = if setting.is_long { ("", LONG_GOAL) } else { (SHORT, SHORT_GOAL) };
    let project = Project::new(setting, "frozen-runtime", settings)?;
    let tools = Arc::new(project.start().await?);
    let frozen = start_streamer(&tools, "frozen", None).await?;
    let _other = streamer::spawn(&tools.endpoints.reflection_url, "other").await?;
    let run = |nonce: &'static str| {
        let tools = tools.clone();
        tokio::spawn(
            async move { stream(&tools, "frozen", StreamApi::Own, nonce.to_owned()).await },
        )
    };
    let (first, second, third) = (run("first"), run("second"), run("third"));
    sleep(Duration::from_millis(500)).await;
    let others = Pinger::start(&tools, Callee::Runtime("other"));
    let mut figures = Figures::default();
    let pid = frozen.id().context("the runtime has ended")?;
    signal(pid, Signal::STOP)?;
    let stopped = Instant::now();
    figures.time(
        "cancelled before it is shown as silent",
        cancel(&tools, "first").await?,
        Duration::from_millis(1500),
    );
    let first = first.await??;
    figures.holds("its caller has the error", first.error.is_some_and(|error| error["code"] == 1));
    wait_until_silent(&tools).await?;
    figures.time("shown after", stopped.elapsed(), goal);
    figures.time("cancelled then", cancel(&tools, "second").await?, Duration::from_millis(100));
    second.await??;
    // A run that is not cancelled ends when the manager removes the runtime.
    let third = tokio::time::timeout(PATIENCE, third).await???;
    figures.time("gone after", third.at - stopped, goal + Duration::from_secs(1));
    figures.holds(
        "the third caller has the error",
        third.error.is_some_and(|error| error["code"] == 14),
    );
    signal(pid, Signal::CONT)?;
    figures.time("back after", tools.wait_for_runtime("frozen").await?, Duration::from_secs(5));
    tools.call("frozen").await?;
    let (calls, p99) = others.p99().await?;
    figures.time(&format!("{calls} calls of another, p99"), p99, Duration::from_millis(50));
    Ok(figures)
}

/// Cancels a run. Returns the time until the response.
async fn cancel(tools: &Tools, trace: &str) -> Result<Duration> {
    let began = Instant::now();
    let path = format!("/api/v1/runs/{trace}/cancel");
    let answer = tools.post_json(&path, &serde_json::json!({})).await?;
    anyhow::ensure!(answer.get("error").is_none(), "the cancel failed: {answer}");
    Ok(began.elapsed())
}

/// Waits until the runtime is shown as silent or is not listed any more.
async fn wait_until_silent(tools: &Tools) -> Result<()> {
    let began = Instant::now();
    loop {
        let runtime = tools.runtime("frozen").await?;
        if runtime.is_none_or(|runtime| runtime["isSilent"] == true) {
            return Ok(());
        }
        anyhow::ensure!(began.elapsed() < PATIENCE, "the runtime is not shown as silent");
        sleep(Duration::from_millis(10)).await;
    }
}
