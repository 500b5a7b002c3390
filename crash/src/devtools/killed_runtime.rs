//! A runtime is killed while a hundred calls stream from it. Every caller receives an error, and
//! every chunk that the socket of the runtime had taken.

use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use tokio::process::{Child, Command};
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::Setting;
use super::callers::{Received, StreamApi, check, stream};
use super::tools::{Project, Tools, until};
use crate::figures::Figures;

const CALLS: usize = 100;
const GOAL: Duration = Duration::from_secs(1);
/// Time for which the runs stream before the runtime is killed.
const STREAMING: Duration = Duration::from_millis(1500);

pub(super) async fn run(setting: &Setting) -> Result<Figures> {
    let project = Project::new(setting, "killed-runtime", "")?;
    let tools = std::sync::Arc::new(project.start().await?);
    let notes = project.path("streamer.notes");
    let mut runtime = start_streamer(&tools, "victim", Some(&notes)).await?;
    let mut calls = JoinSet::new();
    for number in 0..CALLS {
        let tools = tools.clone();
        let api = if number % 2 == 0 { StreamApi::Own } else { StreamApi::Official };
        calls.spawn(async move { stream(&tools, "victim", api, format!("call-{number}")).await });
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
    let received: Vec<Received> = calls.join_all().await.into_iter().collect::<Result<_>>()?;
    let notes = read();
    let mut figures = Figures::default();
    let last = received.iter().map(|one| one.at - killed).max().context("there was no call")?;
    figures.all(
        "callers with an error",
        received.iter().filter(|one| one.error.is_some()).count(),
        CALLS,
    );
    figures.time("the last after", last, GOAL);
    let written = notes.lines().count();
    figures.none(
        &format!("of {written} chunks written lost or out of order"),
        &check(&received, &notes),
    );
    figures.all("planted faults found", find_planted(&received, &notes), 3);
    Ok(figures)
}

/// Starts a `streamer` process and waits until it is connected.
pub(super) async fn start_streamer(
    tools: &Tools,
    id: &str,
    notes: Option<&std::path::Path>,
) -> Result<Child> {
    let mut command = Command::new(std::env::current_exe()?);
    command
        .args(["streamer", "--id", id])
        .env("GENKIT_REFLECTION_V2_SERVER", &tools.endpoints.reflection_url);
    if let Some(notes) = notes {
        command.arg("--log").arg(notes);
    }
    let child = command.stdin(Stdio::null()).kill_on_drop(true).spawn()?;
    tools.wait_for_runtime(id).await?;
    Ok(child)
}

/// Removes a chunk in the middle, the last chunks, or the error from what a caller received.
/// Returns how many of these faults the checker finds.
fn find_planted(received: &[Received], notes: &str) -> usize {
    let plant: [fn(&mut Received); 3] = [
        |one| _ = one.chunks.remove(one.chunks.len() / 2),
        // The last chunk may have been sent but not noted, so two are removed.
        |one| one.chunks.truncate(one.chunks.len().saturating_sub(2)),
        |one| one.error = None,
    ];
    let is_found = |fault: &fn(&mut Received)| {
        let mut received = received.to_vec();
        fault(&mut received[CALLS / 3]);
        !check(&received, notes).is_empty()
    };
    plant.iter().filter(|fault| is_found(fault)).count()
}
