//! Ends the application when the tools are killed and cannot do it themselves.
//!
//! The guard is a second process of this program, in a group of its own. It is told
//! which group to look after over its standard input. That ends when the tools do,
//! whatever ends them, and then what is left of the group ends too.

use std::io::{self, BufRead};
use std::process::Stdio;
use std::time::{Duration, Instant};

use tokio::io::AsyncWriteExt;
use tokio::process::{Child, ChildStdin, Command};
use tokio::signal::unix::{SignalKind, signal};

use super::process_group::ProcessGroup;

/// The name of the hidden command that is the guard.
pub(crate) const GUARD_COMMAND: &str = "__guard";
/// The application is to be gone within a second: it gets half of it.
const GRACE: Duration = Duration::from_millis(500);

/// The tools' end of the guard.
#[derive(Debug)]
pub(crate) struct Guard {
    orders: ChildStdin,
    _process: Child,
}

impl Guard {
    /// Starts the guard.
    pub(crate) fn start() -> io::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg(GUARD_COMMAND).stdin(Stdio::piped()).stdout(Stdio::null());
        // What interrupts us does not interrupt it.
        command.process_group(0);
        let mut process = command.spawn()?;
        let orders = process.stdin.take().ok_or_else(|| io::Error::other("no pipe"))?;
        Ok(Self { orders, _process: process })
    }

    /// From now on looks after the group of this process, and no other.
    pub(crate) async fn look_after(&mut self, leader: Option<u32>) {
        let line = format!("{}\n", leader.unwrap_or_default());
        let written = self.orders.write_all(line.as_bytes()).await;
        // Without an application there is nothing to look after: both may have been ended
        // together.
        if let (Err(error), Some(_)) = (written, leader) {
            tracing::warn!(%error, "the guard is gone: kill the tools and the application stays");
        }
    }
}

/// What the guard does: waits for the end of its input. Signals that ask it to end are
/// meant for the tools: whoever sends them to all processes of this name would leave the
/// application without a guard while it ends.
pub(crate) fn run_guard() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let _entered = runtime.enter();
    let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
    // A signal that is listened to has no other effect.
    let _ignored = kinds.into_iter().map(signal).collect::<io::Result<Vec<_>>>()?;
    let mut group = None;
    for line in io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        group = line.parse().ok().and_then(ProcessGroup::led_by);
    }
    let Some(group) = group else { return Ok(()) };
    group.ask_to_end();
    let asked = Instant::now();
    while !group.is_empty() && asked.elapsed() < GRACE {
        std::thread::sleep(Duration::from_millis(10));
    }
    group.kill();
    Ok(())
}
