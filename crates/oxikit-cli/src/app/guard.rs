//! Ends the application if the developer tools are killed and cannot do it themselves.
//!
//! The guard is a second process of this program, in its own process group. It reads the id of
//! the application's process group from its standard input. The operating system closes that
//! pipe when the developer tools end, even after `SIGKILL`; then the guard ends the processes
//! that are left in the group.

use std::io::{self, BufRead};
use std::process::Stdio;
use std::time::{Duration, Instant};

use tokio::io::AsyncWriteExt;
use tokio::process::{Child, ChildStdin, Command};
use tokio::signal::unix::{SignalKind, signal};

use super::process_group::ProcessGroup;

/// The name of the hidden command that runs the guard.
pub(crate) const GUARD_COMMAND: &str = "__guard";
/// Time between `SIGTERM` and `SIGKILL`. The application should be gone within a second.
const GRACE: Duration = Duration::from_millis(500);

/// The developer tools' handle to the guard process.
#[derive(Debug)]
pub(crate) struct Guard {
    stdin: ChildStdin,
    _process: Child,
}

impl Guard {
    /// Starts the guard process.
    pub(crate) fn start() -> io::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg(GUARD_COMMAND).stdin(Stdio::piped()).stdout(Stdio::null());
        // Ctrl-C signals the process group of the tools, and must not reach the guard.
        command.process_group(0);
        let mut process = command.spawn()?;
        let stdin = process.stdin.take().ok_or_else(|| io::Error::other("no pipe"))?;
        Ok(Self { stdin, _process: process })
    }

    /// Sets the process group to end, by its leader, in place of the previous one. `None` if
    /// no application runs.
    pub(crate) async fn set_group(&mut self, leader: Option<u32>) {
        let line = format!("{}\n", leader.unwrap_or_default());
        let written = self.stdin.write_all(line.as_bytes()).await;
        // Without an application a lost guard does no harm: both may have been killed together.
        if let (Err(error), Some(_)) = (written, leader) {
            tracing::warn!(%error, "the guard is gone: if the developer tools are killed, the application keeps running");
        }
    }
}

/// The main function of the guard process: waits for the end of its input, then ends the
/// group.
///
/// It ignores the signals that ask a process to end. `pkill oxikit` would otherwise end the
/// guard together with the developer tools, before they have ended the application.
pub(crate) fn run_guard() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let _entered = runtime.enter();
    let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()];
    // Registering a handler replaces the default action, which is to end the process.
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
