//! The tools are killed. Their application ends with all of its child processes, a runtime that
//! was started by hand waits without load and reconnects, and acknowledged spans are stored.

use std::fs;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::json;
use tokio::process::{Child, Command};
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::Setting;
use super::tools::{PATIENCE, Project, Tools, cpu_time, free_port, is_gone, until};
use crate::figures::Figures;

/// An application with a child process, and with another one that ignores SIGTERM.
const APP: &str = "sleep 100000 & echo $! > pids; (trap '' TERM; exec sleep 100001) & \
    echo $! >> pids; echo $$ >> pids; wait";
const POSTERS: usize = 8;
const POSTING: Duration = Duration::from_millis(1500);
/// Time for which the runtime runs without the tools.
const ALONE: Duration = Duration::from_secs(10);

pub(super) async fn run(setting: &Setting) -> Result<Figures> {
    let project = Project::new(setting, "killed-tools", "")?.on_ports(free_port()?, free_port()?);
    let tools = Arc::new(project.start_with(&["sh", "-c", APP]).await?);
    let mut runtime = start_runtime(&project, &tools)?;
    until("the application has started all", || pids(&project).len() == 3).await?;
    let id = wait_for_any_runtime(&tools).await?;

    let posts = Posts::start(&tools);
    sleep(POSTING).await;
    let killed = Instant::now();
    kill(tools.pid)?;
    let pids = pids(&project);
    until("all processes of the application are gone", || pids.iter().all(|pid| is_gone(*pid)))
        .await?;
    let mut figures = Figures::default();
    figures.time(
        "its application with children ended after",
        killed.elapsed(),
        Duration::from_secs(1),
    );
    let acknowledged = posts.end().await;
    drop(tools);

    let pid = runtime.id().context("the runtime has ended")?;
    let (cpu, lines) = (cpu_time(pid)?, count_lines(&project)?);
    sleep(ALONE).await;
    let cpu = (cpu_time(pid)? - cpu).as_secs_f64() / ALONE.as_secs_f64() * 100.0;
    figures.at_most("a runtime alone: % of a core", cpu, 1.0);
    figures.at_most("lines in 10 s", (count_lines(&project)? - lines) as f64, 1.0);

    let tools = project.start().await?;
    figures.time("back after", tools.wait_for_runtime(&id).await?, Duration::from_secs(5));
    let lost = find_lost(&tools, &acknowledged).await?;
    figures.none(&format!("of {} acknowledged traces lost", acknowledged.len()), &lost);
    let planted = find_lost(&tools, &[format!("{:032x}", u128::MAX)]).await?;
    figures.all("planted faults found", planted.len(), 1);
    runtime.kill().await?;
    Ok(figures)
}

/// Starts a real application, as a user would by hand.
fn start_runtime(project: &Project, tools: &Tools) -> Result<Child> {
    let log = fs::File::create(project.path("runtime.log"))?;
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["runtime", "--resting", "--log"]).arg(project.path("runtime.notes"));
    command
        .env("GENKIT_ENV", "dev")
        .env("GENKIT_REFLECTION_V2_SERVER", &tools.endpoints.reflection_url);
    command.env("GENKIT_TELEMETRY_SERVER", &tools.endpoints.telemetry_url);
    // The application ends with its standard input.
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(log).kill_on_drop(true);
    Ok(command.spawn()?)
}

async fn wait_for_any_runtime(tools: &Tools) -> Result<String> {
    let began = Instant::now();
    loop {
        let list = tools.get("/api/v1/runtimes").await?;
        if let Some(id) = list["runtimes"][0]["id"].as_str() {
            return Ok(id.to_owned());
        }
        anyhow::ensure!(began.elapsed() < PATIENCE, "the runtime does not connect");
        sleep(Duration::from_millis(10)).await;
    }
}

fn kill(pid: u32) -> Result<()> {
    super::tools::signal(pid, rustix::process::Signal::KILL)
}

fn pids(project: &Project) -> Vec<u32> {
    let text = fs::read_to_string(project.path("pids")).unwrap_or_default();
    text.lines().filter_map(|line| line.parse().ok()).collect()
}

fn count_lines(project: &Project) -> Result<usize> {
    Ok(fs::read_to_string(project.path("runtime.log"))?.lines().count())
}

/// Tasks that post spans without a pause, and remember which were acknowledged.
struct Posts {
    tasks: JoinSet<Vec<String>>,
    has_ended: Arc<AtomicBool>,
}

impl Posts {
    fn start(tools: &Arc<Tools>) -> Self {
        let has_ended = Arc::new(AtomicBool::new(false));
        let mut tasks = JoinSet::new();
        for poster in 0..POSTERS {
            tasks.spawn(post(tools.clone(), poster, has_ended.clone()));
        }
        Self { tasks, has_ended }
    }

    async fn end(self) -> Vec<String> {
        self.has_ended.store(true, Ordering::Relaxed);
        self.tasks.join_all().await.concat()
    }
}

async fn post(tools: Arc<Tools>, poster: usize, has_ended: Arc<AtomicBool>) -> Vec<String> {
    let url = format!("{}/api/traces", tools.endpoints.telemetry_url);
    let mut acknowledged = Vec::new();
    for number in 0.. {
        if has_ended.load(Ordering::Relaxed) {
            break;
        }
        let id = format!("{poster:016x}{number:016x}");
        let sent = tools.http.post(&url).json(&trace(&id, "posted")).send().await;
        // The tools were killed. A span that was not acknowledged may be lost.
        let Ok(response) = sent else { break };
        if response.status().is_success() {
            acknowledged.push(id);
        }
    }
    acknowledged
}

/// A trace of one span.
pub(super) fn trace(id: &str, name: &str) -> serde_json::Value {
    let span = json!({"spanId": "1", "traceId": id, "startTime": 1_000, "endTime": 1_002,
        "attributes": {"genkit:name": name}, "displayName": name, "spanKind": "INTERNAL",
        "instrumentationLibrary": {"name": "crash"}});
    json!({"traceId": id, "displayName": name, "startTime": 1_000, "endTime": 1_002,
        "spans": {"1": span}})
}

/// The ids of traces that the tools do not have.
async fn find_lost(tools: &Tools, ids: &[String]) -> Result<Vec<String>> {
    let mut lost = Vec::new();
    for id in ids {
        let found = tools.get(&format!("/api/v1/traces/{id}")).await?;
        if found["trace"]["traceId"] != **id {
            lost.push(format!("{id}: {found}"));
        }
    }
    Ok(lost)
}
