//! One life of the application.

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

/// Between being asked to end and being killed.
const GRACE: Duration = Duration::from_secs(3);
/// The last lines are waited for this long: somebody outside the group may hold
/// the pipe.
const LAST_LINES: Duration = Duration::from_millis(300);

/// The process with its group, and the readers of its lines.
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
        let pid = child.id().ok_or_else(|| io::Error::other("it ended at once"))?;
        let group = ProcessGroup::led_by(pid).ok_or_else(|| io::Error::other("no process"))?;
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

    /// Ready when the process has ended by itself. It is cancel safe.
    pub(super) async fn ended(&mut self) -> io::Result<ExitStatus> {
        self.child.wait().await
    }

    /// Ends it with all that it has started, and says how it ended. It may have
    /// ended before.
    pub(super) async fn end(mut self) -> io::Result<ExitStatus> {
        let group = self.group;
        // The process is waited for beside: nobody else notices its end.
        let (status, _) = tokio::join!(self.child.wait(), group.end(GRACE));
        let readers = async { while self.readers.join_next().await.is_some() {} };
        _ = tokio::time::timeout(LAST_LINES, readers).await;
        status
    }
}

fn command_of(command: &AppCommand) -> io::Result<Command> {
    let (program, arguments) = command
        .words
        .split_first()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "no program is named"))?;
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

/// Passes lines on as they come. A console that is slow does not slow the application.
async fn show(pipe: impl AsyncRead + Unpin, to: Pipe, shared: Arc<Shared>, console: Console) {
    let mut lines = LineReader::new(pipe);
    while let Some(line) = lines.next().await {
        shared.tail.add(&line);
        console.app_line(to, line);
    }
}
