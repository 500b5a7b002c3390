//! The application ends with an error. The tools keep running, show its exit status and last
//! lines, and start it again only on request.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::Setting;
use super::tools::{PATIENCE, Project, Tools, cpu_time, signal};
use crate::figures::Figures;

/// Ends with status 7 when there is a file `die`.
const APP: &str =
    "echo started; while [ ! -f die ]; do sleep 0.05; done; echo 'error of the trial' >&2; exit 7";
const GOAL: Duration = Duration::from_secs(1);
const RESTARTS: u64 = 5;
/// Time in which the tools must do nothing.
const QUIET: Duration = Duration::from_secs(2);

pub(super) async fn run(setting: &Setting) -> Result<Figures> {
    let project = Project::new(setting, "dead-app", "")?;
    let mut tools = project.start_with(&["sh", "-c", APP]).await?;
    let mut figures = Figures::default();
    fs::write(project.path("die"), "")?;
    let (app, noticed) = wait_for(&tools, "stopped").await?;
    figures.time("end shown after", noticed, GOAL);
    figures.holds("its exit status", app["exit"] == "exit status: 7");
    let lines = app["lastLines"].to_string();
    figures.holds("its last lines", lines.contains("error of the trial"));
    let log = project.log()?;
    figures.holds(
        "both on the console",
        log.contains("ended (exit status: 7)") && log.matches("error of the trial").count() >= 2,
    );

    // The application ends at once, each time. Only this trial starts it again.
    for _ in 0..RESTARTS {
        tools.post_json("/api/v1/app/restart", &json!({})).await?;
        wait_for(&tools, "stopped").await?;
    }
    let before = cpu_time(tools.pid)?;
    sleep(QUIET).await;
    let cpu = (cpu_time(tools.pid)? - before).as_secs_f64() / QUIET.as_secs_f64();
    figures.at_most("% of a core after six ends", cpu * 100.0, 5.0);
    let app = tools.get("/api/v1/app").await?;
    figures.holds("only started when asked", app["restarts"] == RESTARTS);

    fs::remove_file(project.path("die"))?;
    figures.time("restarted after", restart(&tools).await?, GOAL);
    figures.time("again, while it runs, after", restart(&tools).await?, GOAL);
    let app = tools.get("/api/v1/app").await?;
    let pid = app["pid"].as_u64().context("it does not run")?;
    signal(u32::try_from(pid)?, Signal::KILL)?;
    let (app, _) = wait_for(&tools, "stopped").await?;
    figures.holds(
        "a signal is shown",
        app["exit"].as_str().is_some_and(|exit| exit.contains("signal: 9")),
    );
    figures.holds("the tools live", tools.is_alive()?);
    Ok(figures)
}

/// Restarts the application. Returns the time until it runs as another process.
async fn restart(tools: &Tools) -> Result<Duration> {
    let previous = tools.get("/api/v1/app").await?["pid"].clone();
    let began = Instant::now();
    tools.post_json("/api/v1/app/restart", &json!({})).await?;
    loop {
        let app = tools.get("/api/v1/app").await?;
        if app["state"] == "running" && app["pid"] != previous {
            return Ok(began.elapsed());
        }
        anyhow::ensure!(began.elapsed() < PATIENCE, "it does not start: {app}");
    }
}

/// Waits for a state of the application. Returns its description and the time.
async fn wait_for(tools: &Tools, state: &str) -> Result<(Value, Duration)> {
    let began = Instant::now();
    loop {
        let app = tools.get("/api/v1/app").await?;
        if app["state"] == state {
            return Ok((app, began.elapsed()));
        }
        anyhow::ensure!(began.elapsed() < PATIENCE, "it is not {state}: {app}");
        sleep(Duration::from_millis(10)).await;
    }
}
