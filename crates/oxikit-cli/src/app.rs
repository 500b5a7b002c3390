//! Starts, supervises and ends the application under development, a process with its children.
//!
//! One task, the [`Supervisor`], owns the process; an [`App`] is a handle that sends it
//! requests. When the application exits, the supervisor shows the exit status and the last
//! lines, and waits for a request to start it again. A second process, the [`Guard`], ends the
//! application if this process is killed.

mod connection;
mod guard;
mod lines;
mod process;
mod process_group;
mod supervisor;
mod watch;

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use oxikit_core::{Status, StatusCode};
use tokio::sync::{mpsc, oneshot, watch as watched};
use tokio::task::JoinHandle;

use crate::console::Console;
use connection::Connection;
pub(crate) use guard::{GUARD_COMMAND, Guard, run_guard};
use lines::Tail;
use oxikit_devtools::{AppControl, AppState, AppStatus};
use oxikit_manager::RuntimeInfo;
use supervisor::{Request, Supervisor};
pub(crate) use watch::{FileWatcher, watch_files};

/// The command that starts the application.
#[derive(Debug, Clone)]
pub(crate) struct AppCommand {
    /// The prefix of its lines on the console.
    pub(crate) name: String,
    /// The program and its arguments; at least the program.
    pub(crate) arguments: Vec<OsString>,
    /// The working directory.
    pub(crate) dir: PathBuf,
    /// Variables to set in addition to the environment of this process. `None` removes a
    /// variable.
    pub(crate) env: Vec<(&'static str, Option<String>)>,
}

impl AppCommand {
    /// The program and its arguments, for people.
    fn text(&self) -> Vec<String> {
        self.arguments.iter().map(|argument| argument.to_string_lossy().into()).collect()
    }
}

/// A handle to the application. Clones refer to the same application.
#[derive(Debug, Clone)]
pub(crate) struct App(Arc<Shared>);

/// The data that handles and the supervisor share.
#[derive(Debug)]
struct Shared {
    command: AppCommand,
    requests: mpsc::Sender<Request>,
    tail: Tail,
    /// The process id while the process runs.
    pid: watched::Sender<Option<u32>>,
    record: Mutex<Record>,
}

/// The history of the process.
#[derive(Debug, Default)]
struct Record {
    exit: Option<String>,
    starts: u32,
}

impl App {
    /// Starts the application and its supervisor task. Both end after [`end`](Self::end).
    /// With a list of the runtimes, the supervisor shows how to connect if the application
    /// does not connect in time.
    pub(crate) fn start(
        command: AppCommand,
        console: Console,
        guard: Guard,
        runtimes: Option<watched::Receiver<Arc<[RuntimeInfo]>>>,
    ) -> (Self, JoinHandle<()>) {
        // A full channel makes callers wait until the supervisor has handled a request.
        let (requests, inbox) = mpsc::channel(8);
        let app = Self(Arc::new(Shared {
            command,
            requests,
            tail: Tail::default(),
            pid: watched::Sender::new(None),
            record: Mutex::default(),
        }));
        let connection = runtimes.map(Connection::new);
        let supervisor = Supervisor::new(app.0.clone(), console, guard, connection);
        let work = tokio::spawn(supervisor.run(inbox));
        (app, work)
    }

    /// A receiver of the process id, which is `None` while no process runs. The current value
    /// counts as changed.
    pub(crate) fn pid(&self) -> watched::Receiver<Option<u32>> {
        let mut pid = self.0.pid.subscribe();
        // The process may have started before the subscription.
        pid.mark_changed();
        pid
    }

    /// Ends the application and its supervisor.
    pub(crate) async fn end(&self) {
        _ = self.request(Request::End).await;
    }

    async fn request<T>(
        &self,
        request: impl FnOnce(oneshot::Sender<T>) -> Request,
    ) -> Result<T, Status> {
        let gone =
            || Status::public(StatusCode::Unavailable, "the developer tools are shutting down");
        let (tx, rx) = oneshot::channel();
        self.0.requests.send(request(tx)).await.map_err(|_| gone())?;
        rx.await.map_err(|_| gone())
    }
}

#[async_trait]
impl AppControl for App {
    fn status(&self) -> AppStatus {
        let record = self.0.record.lock().unwrap_or_else(PoisonError::into_inner);
        let pid = *self.0.pid.borrow();
        AppStatus {
            state: if pid.is_some() { AppState::Running } else { AppState::Stopped },
            pid,
            command: self.0.command.text(),
            // The exit status of an earlier process does not describe the running one.
            exit: record.exit.clone().filter(|_| pid.is_none()),
            last_lines: self.0.tail.lines(),
            restarts: record.starts.saturating_sub(1),
        }
    }

    async fn restart(&self) -> Result<(), Status> {
        self.request(Request::Restart).await?
    }

    async fn stop(&self) -> Result<(), Status> {
        self.request(Request::Stop).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_late_subscriber_sees_the_running_process() {
        let (requests, _inbox) = mpsc::channel(1);
        let command =
            AppCommand { name: "app".into(), arguments: vec![], dir: PathBuf::new(), env: vec![] };
        let app = App(Arc::new(Shared {
            command,
            requests,
            tail: Tail::default(),
            pid: watched::Sender::new(None),
            record: Mutex::default(),
        }));
        app.0.pid.send_replace(Some(7));
        let mut pid = app.pid();
        let changed = tokio::time::timeout(std::time::Duration::from_secs(5), pid.changed()).await;
        assert!(changed.is_ok_and(|changed| changed.is_ok()), "no notification");
        assert_eq!(*pid.borrow_and_update(), Some(7));
    }
}
