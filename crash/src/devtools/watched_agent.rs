//! `oxikit start --watch` with the agent of the README, while messages are sent to it. Files that the
//! program writes are not changes of its source; one edit causes one restart.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use oxikit::prelude::*;
use oxikit_sql::SqliteStore;
use tokio::process::Command;
use tokio::time::sleep;

use super::Setting;
use super::tools::{PATIENCE, Project, Tools};
use crate::figures::Figures;

const TALK: Duration = Duration::from_secs(10);
const LONG_TALK: Duration = Duration::from_secs(60);
/// Pause between two messages, as for a user who types.
const PAUSE: Duration = Duration::from_millis(500);
/// A second restart for the same edit would follow within this time.
const QUIET: Duration = Duration::from_secs(2);

/// `oxikit-crash guide`: the agent of the README, connected with the tools.
pub(crate) async fn guide() -> Result<()> {
    let ai = Oxikit::builder().plugin(Offline).default_model("offline/demo").build()?;
    ai.define_agent(
        Agent::builder("guide").system("You know the town.").store(SqliteStore::open("app.db")?),
    )?;
    Ok(oxikit_serve::reflect(&ai).await?)
}

pub(super) async fn run(setting: &Setting) -> Result<Figures> {
    let project = Project::new(setting, "watched-agent", "watch = true\n")?;
    fs::create_dir(project.path("src"))?;
    fs::write(project.path("src/main.rs"), "fn main() {}")?;
    let program = std::env::current_exe()?;
    let program = program.to_str().context("the program has a name of text")?;
    let tools = project.start_with(&[program, "guide"]).await?;
    wait_for_restarts(&tools, 0).await?;
    let talk = if setting.is_long { LONG_TALK } else { TALK };
    let (began, mut messages) = (Instant::now(), 0);
    while began.elapsed() < talk {
        say(&setting.program, &project.folder).await?;
        messages += 1;
        sleep(PAUSE).await;
    }
    let mut figures = Figures::default();
    figures.holds(&format!("{messages} messages in {} s", talk.as_secs()), messages > 0);
    figures.holds("kept in app.db", project.path("app.db").is_file());
    figures.at_most("restarts", restarts(&tools).await? as f64, 0.0);

    // A real edit must be noticed, or the figures above would prove nothing.
    fs::write(project.path("src/main.rs"), "fn main() { edited() }")?;
    wait_for_restarts(&tools, 1).await?;
    sleep(QUIET).await;
    figures.at_most("restarts after one edit", restarts(&tools).await? as f64, 1.0);
    tools.end().await?;
    Ok(figures)
}

/// Sends one message with `oxikit agent chat`.
async fn say(oxikit: &Path, folder: &Path) -> Result<()> {
    let args = ["agent", "chat", "guide", "Where is the library?", "--session", "ada"];
    let mut command = Command::new(oxikit);
    command.args(args).current_dir(folder).stdin(Stdio::null()).kill_on_drop(true);
    let output = tokio::time::timeout(PATIENCE, command.output()).await??;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

async fn restarts(tools: &Tools) -> Result<u64> {
    tools.get("/api/v1/app").await?["restarts"].as_u64().context("no number of restarts")
}

/// Waits until the application is connected and was restarted at least `count` times.
async fn wait_for_restarts(tools: &Tools, count: u64) -> Result<()> {
    let began = Instant::now();
    loop {
        let has_runtime = tools.get("/api/v1/runtimes").await?["current"].is_string();
        if has_runtime && restarts(tools).await? >= count {
            return Ok(());
        }
        ensure!(began.elapsed() < PATIENCE, "the application does not connect");
        sleep(Duration::from_millis(50)).await;
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn it_is_the_agent_of_the_readme() {
        let agent = "Agent::builder(\"guide\").system(\"You know the town.\").store(SqliteStore::open(\"app.db\")?)";
        let [readme, here] = [include_str!("../../../README.md"), include_str!("watched_agent.rs")];
        assert!(readme.contains(agent) && here.contains(agent));
    }
}
