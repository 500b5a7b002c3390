//! F11: the application dies. The tools stay, say how it ended, and start it again when
//! they are asked, and only then.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::process::Signal;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::Setting;
use super::figures::Figures;
use super::tools::{PATIENCE, Project, Tools, cpu_time, signal};

/// Dies when there is a file `die`, with its last words.
const APP: &str =
    "echo started; while [ ! -f die ]; do sleep 0.05; done; echo 'last words' >&2; exit 7";
const GOAL: Duration = Duration::from_secs(1);
const DEATHS: u64 = 5;
/// So long nothing may happen.
const QUIET: Duration = Duration::from_secs(2);

pub(super) async fn run(setting: &Setting) -> Result<Figures> {
    let project = Project::new(setting, "dead-app", "")?;
    let mut tools = project.start_with(&["sh", "-c", APP]).await?;
    let mut figures = Figures::default();
    fs::write(project.path("die"), "")?;
    let (app, noticed) = wait_for(&tools, "stopped").await?;
    figures.time("death shown after", noticed, GOAL);
    figures.holds("its exit status", app["exit"] == "exit status: 7");
    let lines = app["lastLines"].to_string();
    figures.holds("its last lines", lines.contains("last words"));
    let log = project.log()?;
    figures.holds(
        "both on the console",
        log.contains("ended (exit status: 7)") && log.matches("last words").count() >= 2,
    );

    // It dies at once, each time; nobody but us starts it again.
    for _ in 0..DEATHS {
        tools.post_json("/api/v1/app/restart", &json!({})).await?;
        wait_for(&tools, "stopped").await?;
    }
    let before = cpu_time(tools.pid)?;
    sleep(QUIET).await;
    let cpu = (cpu_time(tools.pid)? - before).as_secs_f64() / QUIET.as_secs_f64();
    figures.at_most("% of a core after six deaths", cpu * 100.0, 5.0);
    let app = tools.get("/api/v1/app").await?;
    figures.holds("only started when asked", app["restarts"] == DEATHS);

    fs::remove_file(project.path("die"))?;
    figures.time("restarted after", restart(&tools).await?, GOAL);
    figures.time("again, while it runs, after", restart(&tools).await?, GOAL);
    let app = tools.get("/api/v1/app").await?;
    let pid = app["pid"].as_u64().context("it does not run")?;
    signal(u32::try_from(pid)?, Signal::KILL)?;
    let (app, _) = wait_for(&tools, "stopped").await?;
    figures.holds(
        "a signal is told",
        app["exit"].as_str().is_some_and(|exit| exit.contains("signal: 9")),
    );
    figures.holds("the tools live", tools.is_alive()?);
    Ok(figures)
}

/// Until it runs as another process.
async fn restart(tools: &Tools) -> Result<Duration> {
    let former = tools.get("/api/v1/app").await?["pid"].clone();
    let began = Instant::now();
    tools.post_json("/api/v1/app/restart", &json!({})).await?;
    loop {
        let app = tools.get("/api/v1/app").await?;
        if app["state"] == "running" && app["pid"] != former {
            return Ok(began.elapsed());
        }
        anyhow::ensure!(began.elapsed() < PATIENCE, "it does not start: {app}");
    }
}

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
