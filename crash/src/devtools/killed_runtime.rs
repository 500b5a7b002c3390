//! F9: a runtime is killed while a hundred calls stream from it. All are told, and none
//! loses a chunk that the runtime's socket had taken.

use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tokio::process::{Child, Command};
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::Setting;
use super::callers::{Door, Told, check, stream};
use super::figures::Figures;
use super::tools::{Project, Tools, until};

const CALLS: usize = 100;
const GOAL: Duration = Duration::from_secs(1);
/// So long they stream.
const STREAMING: Duration = Duration::from_millis(1500);

pub(super) async fn run(setting: &Setting) -> Result<Figures> {
    let project = Project::new(setting, "killed-runtime", "")?;
    let tools = std::sync::Arc::new(project.start().await?);
    let notes = project.path("streamer.notes");
    let mut runtime = start_streamer(&tools, "victim", Some(&notes)).await?;
    let mut calls = JoinSet::new();
    for number in 0..CALLS {
        let tools = tools.clone();
        let door = if number % 2 == 0 { Door::Own } else { Door::Official };
        calls.spawn(async move { stream(&tools, "victim", door, format!("call-{number}")).await });
    }
    let read = || std::fs::read_to_string(&notes).unwrap_or_default();
    until("all calls stream", || {
        let notes = read();
        (0..CALLS).all(|number| notes.contains(&format!("call-{number} 1\n")))
    })
    .await?;
    sleep(STREAMING).await;
    let killed = Instant::now();
    runtime.kill().await?;
    let told: Vec<Told> = calls.join_all().await.into_iter().collect::<Result<_>>()?;
    let notes = read();
    let mut figures = Figures::default();
    let last = told.iter().map(|told| told.at - killed).max().context("nobody called")?;
    figures.all("told", told.iter().filter(|told| told.error.is_some()).count(), CALLS);
    figures.time("the last after", last, GOAL);
    let written = notes.lines().count();
    figures
        .none(&format!("of {written} chunks written lost or out of order"), &check(&told, &notes));
    figures.all("planted faults found", find_planted(&told, &notes), 3);
    Ok(figures)
}

/// A process that streams, when it is there.
pub(super) async fn start_streamer(
    tools: &Tools,
    id: &str,
    notes: Option<&std::path::Path>,
) -> Result<Child> {
    let mut command = Command::new(std::env::current_exe()?);
    command
        .args(["streamer", "--id", id])
        .env("GENKIT_REFLECTION_V2_SERVER", &tools.doors.reflection_url);
    if let Some(notes) = notes {
        command.arg("--log").arg(notes);
    }
    let child = command.stdin(Stdio::null()).kill_on_drop(true).spawn()?;
    tools.wait_for_runtime(id).await?;
    Ok(child)
}

/// Callers that swallow a chunk in the middle, the last chunk, or the end: how many of
/// them the checker finds.
fn find_planted(told: &[Told], notes: &str) -> usize {
    let plant: [fn(&mut Told); 3] = [
        |told| _ = told.chunks.remove(told.chunks.len() / 2),
        // What was written may be one less than what came.
        |told| told.chunks.truncate(told.chunks.len().saturating_sub(2)),
        |told| told.error = None,
    ];
    let is_found = |fault: &fn(&mut Told)| {
        let mut told = told.to_vec();
        fault(&mut told[CALLS / 3]);
        !check(&told, notes).is_empty()
    };
    plant.iter().filter(|fault| is_found(fault)).count()
}
