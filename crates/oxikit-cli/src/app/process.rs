//! One process of the application, from its start to its end.

use std::io;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncRead;
use tokio::process::{Child, Command};
use tokio::task::JoinSet;

use super::lines::LineReader;
use super::process_group::ProcessGroup;
use super::{AppCommand, Shared};
use crate::console::{Console, Pipe};

/// Time between `SIGTERM` and `SIGKILL`.
const GRACE: Duration = Duration::from_secs(3);
/// Maximum time to wait for the last lines after the end. A process outside the group may
/// keep the pipe open.
const LAST_LINES: Duration = Duration::from_millis(300);

/// A process, its group, and the tasks that read its output.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    pid: u32,
    group: ProcessGroup,
    readers: JoinSet<()>,
}

impl Process {
    pub(super) fn spawn(shared: &Arc<Shared>, console: &Console) -> io::Result<Self> {
        let mut child = command_of(&shared.command)?.spawn()?;
        let pid = child.id().ok_or_else(|| io::Error::other("the process ended at once"))?;
        let group = ProcessGroup::led_by(pid)
            .ok_or_else(|| io::Error::other("the process id is not valid"))?;
        let mut readers = JoinSet::new();
        if let Some(stdout) = child.stdout.take() {
            readers.spawn(show(stdout, Pipe::Out, shared.clone(), console.clone()));
        }
        if let Some(stderr) = child.stderr.take() {
            readers.spawn(show(stderr, Pipe::Err, shared.clone(), console.clone()));
        }
        Ok(Self { child, pid, group, readers })
    }

    pub(super) fn pid(&self) -> u32 {
        self.pid
    }

    /// Waits until the process has ended by itself. Cancel safe.
    pub(super) async fn ended(&mut self) -> io::Result<ExitStatus> {
        self.child.wait().await
    }

    /// Ends the process and its group, and returns the exit status. The process may have
    /// ended already.
    pub(super) async fn end(mut self) -> io::Result<ExitStatus> {
        let group = self.group;
        // Both are awaited together: until its parent has waited for it, an ended process stays
        // in the group as a zombie, and the group would never become empty.
        let (status, _) = tokio::join!(self.child.wait(), group.end(GRACE));
        // The pipes reach their end when the last process that holds them has ended.
        let readers = async { while self.readers.join_next().await.is_some() {} };
        _ = tokio::time::timeout(LAST_LINES, readers).await;
        status
    }
}

fn command_of(command: &AppCommand) -> io::Result<Command> {
    let (program, arguments) = command
        .arguments
        .split_first()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the command is empty"))?;
    let mut process = Command::new(program);
    process
        .args(arguments)
        .current_dir(&command.dir)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true);
    for (name, value) in &command.env {
        match value {
            Some(value) => process.env(name, value),
            None => process.env_remove(name),
        };
    }
    Ok(process)
}

/// Passes lines to the console as they arrive. A slow console does not block the
/// application, because the console drops lines.
async fn show(pipe: impl AsyncRead + Unpin, to: Pipe, shared: Arc<Shared>, console: Console) {
    let mut lines = LineReader::new(pipe);
    while let Some(line) = lines.next().await {
        shared.tail.add(&line);
        console.app_line(to, line);
    }
}
