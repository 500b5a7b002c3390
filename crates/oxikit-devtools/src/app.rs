//! The application that is developed: a process with its children, started, watched
//! over, ended and started again.
//!
//! One task owns the process; an [`App`] is a handle to it. The application's death
//! is an event like others: how it ended is shown, and it can be started again.

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
use crate::manager::RuntimeInfo;
use crate::server::{AppControl, AppState, AppStatus};
use connection::Connection;
pub(crate) use guard::{GUARD_COMMAND, Guard, run_guard};
use lines::Tail;
use supervisor::{Order, Supervisor};
pub(crate) use watch::{FileWatcher, watch_files};

/// What is started.
#[derive(Debug, Clone)]
pub(crate) struct AppCommand {
    /// What its lines begin with.
    pub(crate) name: String,
    /// The program and its arguments; at least the program.
    pub(crate) words: Vec<OsString>,
    /// Where it works.
    pub(crate) dir: PathBuf,
    /// What it finds in its environment, besides ours; what has no value it does not
    /// find.
    pub(crate) env: Vec<(&'static str, Option<String>)>,
}

impl AppCommand {
    /// The program and its arguments, for people.
    fn text(&self) -> Vec<String> {
        self.words.iter().map(|word| word.to_string_lossy().into()).collect()
    }
}

/// A handle to the application. Clones are the same.
#[derive(Debug, Clone)]
pub(crate) struct App(Arc<Shared>);

/// What the handle and the owner of the process both see.
#[derive(Debug)]
struct Shared {
    command: AppCommand,
    orders: mpsc::Sender<Order>,
    tail: Tail,
    /// The process, while it runs.
    pid: watched::Sender<Option<u32>>,
    record: Mutex<Record>,
}

/// What has happened so far.
#[derive(Debug, Default)]
struct Record {
    exit: Option<String>,
    starts: u32,
}

impl App {
    /// Starts the application. The task ends, with the application, when it is told
    /// to [end](Self::end). With a list of the runtimes it says how to connect if the
    /// application does not.
    pub(crate) fn start(
        command: AppCommand,
        console: Console,
        guard: Guard,
        runtimes: Option<watched::Receiver<Arc<[RuntimeInfo]>>>,
    ) -> (Self, JoinHandle<()>) {
        let (orders, inbox) = mpsc::channel(8);
        let app = Self(Arc::new(Shared {
            command,
            orders,
            tail: Tail::default(),
            pid: watched::Sender::new(None),
            record: Mutex::default(),
        }));
        let connection = runtimes.map(Connection::new);
        let supervisor = Supervisor::new(app.0.clone(), console, guard, connection);
        let work = tokio::spawn(supervisor.attend(inbox));
        (app, work)
    }

    /// The process, as it is now and whenever it changes; `None` while there is none.
    pub(crate) fn pid(&self) -> watched::Receiver<Option<u32>> {
        let mut pid = self.0.pid.subscribe();
        // It may have been started before anybody asked.
        pid.mark_changed();
        pid
    }

    /// Ends the application for good.
    pub(crate) async fn end(&self) {
        _ = self.order(Order::End).await;
    }

    async fn order<T>(&self, order: impl FnOnce(oneshot::Sender<T>) -> Order) -> Result<T, Status> {
        let gone = || Status::public(StatusCode::Unavailable, "the tools are about to end");
        let (tx, rx) = oneshot::channel();
        self.0.orders.send(order(tx)).await.map_err(|_| gone())?;
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
            // That of an earlier process says nothing about this one.
            exit: record.exit.clone().filter(|_| pid.is_none()),
            last_lines: self.0.tail.lines(),
            restarts: record.starts.saturating_sub(1),
        }
    }

    async fn restart(&self) -> Result<(), Status> {
        self.order(Order::Restart).await?
    }

    async fn stop(&self) -> Result<(), Status> {
        self.order(Order::Stop).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_asks_late_is_told_of_the_process_that_runs() {
        let (orders, _inbox) = mpsc::channel(1);
        let command =
            AppCommand { name: "app".into(), words: vec![], dir: PathBuf::new(), env: vec![] };
        let app = App(Arc::new(Shared {
            command,
            orders,
            tail: Tail::default(),
            pid: watched::Sender::new(None),
            record: Mutex::default(),
        }));
        app.0.pid.send_replace(Some(7));
        let mut pid = app.pid();
        let told = tokio::time::timeout(std::time::Duration::from_secs(5), pid.changed()).await;
        assert!(told.is_ok_and(|changed| changed.is_ok()), "nobody is told");
        assert_eq!(*pid.borrow_and_update(), Some(7));
    }
}
