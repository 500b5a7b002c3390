//! The prompt files of an idle application are read in a loop, as backups, searches and editors do.
//! Reading is not a change, so the application must neither reload them nor use the processor.

use std::fs;
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result};
use oxikit::prelude::*;
use tokio::process::{Child, Command};
use tokio::time::sleep;

use super::Setting;
use super::tools::{Project, cpu_time, until};
use crate::figures::Figures;

const FILES: usize = 5;
const TIME: Duration = Duration::from_secs(10);
const LONG_TIME: Duration = Duration::from_secs(60);
/// Reads all files in a loop, and adds a byte to `rounds` each time.
const READER: &str = "while cat prompts/*.prompt >/dev/null; do echo >>rounds; done";
/// Time in which a changed file must be loaded.
const RELOAD: Duration = Duration::from_secs(5);

/// `oxikit-crash prompts`: an application with a directory of prompts, connected with the tools.
pub(crate) async fn prompts() -> Result<()> {
    let ai = Oxikit::builder().prompt_dir("prompts").build()?;
    Ok(oxikit_serve::reflect(&ai).await?)
}

pub(super) async fn run(setting: &Setting) -> Result<Figures> {
    let project = Project::new(setting, "read-prompts", "")?;
    fs::create_dir(project.path("prompts"))?;
    for number in 0..FILES {
        let text = format!("---\nmodel: offline/demo\n---\nPrompt {number} for {{{{name}}}}.");
        fs::write(project.path(&format!("prompts/p{number}.prompt")), text)?;
    }
    let program = std::env::current_exe()?;
    let program = program.to_str().context("the program has a name of text")?;
    let tools = project.start_with(&[program, "prompts"]).await?;
    until("the application is connected", || {
        project.log().is_ok_and(|log| log.contains("connected with the developer tools"))
    })
    .await?;
    let pid = tools.get("/api/v1/app").await?["pid"].as_u64().context("it does not run")?;
    let pid = u32::try_from(pid)?;

    let reader = read_in_a_loop(&project)?;
    until("the files are read", || project.path("rounds").is_file()).await?;
    let time = if setting.is_long { LONG_TIME } else { TIME };
    let before = (cpu_time(pid)?, rounds(&project)?);
    sleep(time).await;
    let (cpu, rounds) = (cpu_time(pid)? - before.0, rounds(&project)? - before.1);
    drop(reader);
    let mut figures = Figures::default();
    let read = rounds * FILES as u64;
    figures.holds(&format!("{read} files read in {} s", time.as_secs()), rounds > 0);
    let percent = 100.0 * cpu.as_secs_f64() / time.as_secs_f64();
    figures.at_most("% of a core", percent, 1.0);
    let reloads = |log: &str| log.matches("prompts loaded again").count();
    figures.at_most("reloads", reloads(&project.log()?) as f64, 0.0);

    // A real change must be noticed, or the figures above would prove nothing.
    fs::write(project.path("prompts/p0.prompt"), "another text")?;
    let found = until("the change is found", || project.log().is_ok_and(|log| reloads(&log) > 0));
    figures.time("a change found after", found.await?, RELOAD);
    tools.end().await?;
    Ok(figures)
}

/// Reads until it is dropped.
fn read_in_a_loop(project: &Project) -> Result<Child> {
    let mut command = Command::new("sh");
    command.args(["-c", READER]).current_dir(&project.folder).stdin(Stdio::null());
    Ok(command.kill_on_drop(true).spawn()?)
}

/// Number of times that all files were read.
fn rounds(project: &Project) -> Result<u64> {
    Ok(fs::metadata(project.path("rounds"))?.len())
}
