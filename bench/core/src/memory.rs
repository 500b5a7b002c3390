//! The memory of an idle application.

use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use oxikit_core::{Action, ActionKind, Registry};

use crate::document::{Data, Document, Greeting};
use crate::figure::{Figure, Unit};
use crate::measure::Bench;

/// The word that makes this program an idle application.
pub(crate) const IDLE: &str = "--idle";

/// A fresh process with 100 typed actions that waits.
pub(crate) fn idle(_: &Bench) -> Result<Figure> {
    let output =
        Command::new(std::env::current_exe()?).arg(IDLE).stderr(Stdio::inherit()).output()?;
    let answer = String::from_utf8(output.stdout)?;
    let (bare, idle) =
        answer.trim().split_once(' ').context("two figures from the idle process")?;
    let megabytes = |kilobytes: &str| anyhow::Ok(kilobytes.parse::<f64>()? / 1024.0);
    let (bare, idle) = (megabytes(bare)?, megabytes(idle)?);
    let explanation = format!(
        "resident, tokio with all workers and 100 typed actions: {idle:.1} MB, {bare:.1} MB of them before the first action"
    );
    Ok(Figure::new(idle, Unit::Megabytes, explanation).aim(8.0))
}

/// Defines the actions, waits, and prints resident kilobytes before and after.
pub(crate) fn be_idle() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().build()?;
    let registry = Registry::default();
    let bare = runtime.block_on(async { resident() })?;
    for n in 0..100 {
        registry.register(match n % 4 {
            0 => echo::<Document<String>>(n),
            1 => echo::<Vec<Greeting>>(n),
            2 => echo::<String>(n),
            _ => echo::<Greeting>(n),
        });
    }
    // Every worker has found out that there is nothing to do.
    runtime.block_on(async {
        for _ in 0..64 {
            tokio::spawn(tokio::task::yield_now()).await?;
        }
        anyhow::Ok(())
    })?;
    println!("{bare} {}", resident()?);
    drop(registry);
    Ok(())
}

fn echo<T: Data>(n: u32) -> Action {
    Action::builder(ActionKind::Flow, format!("echo{n}")).handler(async |input: T| Ok(input))
}

/// Kilobytes of this process that are in memory.
fn resident() -> Result<u64> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let value = line.and_then(|line| line.split_whitespace().next());
    Ok(value.context("the kernel tells no resident size")?.parse()?)
}
