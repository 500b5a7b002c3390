//! The task that owns the application's process. No other code starts or ends it.

use std::io;
use std::process::ExitStatus;
use std::sync::{Arc, PoisonError};

use oxikit_core::Status;
use tokio::sync::{mpsc, oneshot};

use super::connection::{Connection, ConnectionEvent};
use super::process::Process;
use super::{Guard, Record, Shared};
use crate::console::Console;
use oxikit_devtools::how_to_connect;

/// Maximum number of last lines that are shown again when the application has failed.
const SHOWN_LINES: usize = 10;

/// A request of a handle. The sender receives the result.
#[derive(Debug)]
pub(super) enum Request {
    Restart(oneshot::Sender<Result<(), Status>>),
    Stop(oneshot::Sender<()>),
    /// Stops the application and ends the supervisor.
    End(oneshot::Sender<()>),
}

/// Starts and ends the process.
#[derive(Debug)]
pub(super) struct Supervisor {
    shared: Arc<Shared>,
    console: Console,
    guard: Guard,
    connection: Option<Connection>,
    process: Option<Process>,
}

/// An event that the supervisor handles.
enum Event {
    Request(Option<Request>),
    Ended(io::Result<ExitStatus>),
    Connection(ConnectionEvent),
}

impl Supervisor {
    pub(super) fn new(
        shared: Arc<Shared>,
        console: Console,
        guard: Guard,
        connection: Option<Connection>,
    ) -> Self {
        Self { shared, console, guard, connection, process: None }
    }

    pub(super) async fn run(mut self, mut inbox: mpsc::Receiver<Request>) {
        // An error was shown on the console. The supervisor stays, so that the user can fix the
        // cause and restart.
        _ = self.start().await;
        loop {
            // All three futures are cancel safe, so nothing is lost when another branch is chosen. The
            // event is handled outside of the `select!`, where `self` is no longer borrowed.
            let event = match &mut self.process {
                None => Event::Request(inbox.recv().await),
                Some(process) => tokio::select! {
                    request = inbox.recv() => Event::Request(request),
                    status = process.ended() => Event::Ended(status),
                    event = connection_event(&mut self.connection, &self.shared) => {
                        Event::Connection(event)
                    }
                },
            };
            match event {
                Event::Ended(status) => self.exited(status).await,
                Event::Connection(event) => self.show_connection(event),
                Event::Request(Some(Request::Restart(answer))) => {
                    self.stop().await;
                    // The caller may have been cancelled.
                    _ = answer.send(self.start().await);
                }
                Event::Request(Some(Request::Stop(answer))) => {
                    self.stop().await;
                    _ = answer.send(());
                }
                Event::Request(Some(Request::End(answer))) => {
                    self.stop().await;
                    _ = answer.send(());
                    return;
                }
                Event::Request(None) => return self.stop().await,
            }
        }
    }

    async fn start(&mut self) -> Result<(), Status> {
        self.shared.tail.clear();
        if let Some(connection) = &mut self.connection {
            connection.expect();
        }
        let process = match Process::spawn(&self.shared, &self.console) {
            Ok(process) => process,
            Err(error) => return Err(self.not_started(error)),
        };
        let pid = process.pid();
        self.guard.set_group(Some(pid)).await;
        self.process = Some(process);
        let name = &self.shared.command.name;
        let is_again = self.record(|record| {
            record.starts += 1;
            record.starts > 1
        });
        if is_again {
            self.console.info(format!("{name} was started again, process {pid}"));
        }
        self.shared.pid.send_replace(Some(pid));
        Ok(())
    }

    fn not_started(&self, error: io::Error) -> Status {
        let program =
            self.shared.command.arguments.first().map(|argument| argument.to_string_lossy());
        let program = program.unwrap_or_default();
        let message = format!("`{program}` cannot be started: {error}");
        self.record(|record| record.exit = Some(message.clone()));
        self.console.warn(message.clone());
        Status::failed_precondition(message)
    }

    /// Ends the process on request.
    async fn stop(&mut self) {
        let Some(process) = self.process.take() else { return };
        let status = process.end().await;
        self.ended(&status).await;
    }

    /// Handles the end of a process that ended by itself.
    async fn exited(&mut self, status: io::Result<ExitStatus>) {
        let Some(process) = self.process.take() else { return };
        // Ends the processes that it has started.
        _ = process.end().await;
        let exit = self.ended(&status).await;
        let name = &self.shared.command.name;
        let is_good = status.is_ok_and(|status| status.success());
        let is_absent =
            self.connection.as_mut().is_some_and(|connection| !connection.is_connected());
        if is_good && is_absent {
            let hint = how_to_connect(&self.shared.command.text());
            self.console.warn(format!("{name} ended ({exit}) and had not connected: {hint}"));
        } else if is_good {
            self.console.info(format!("{name} ended ({exit})"));
        } else {
            self.console.warn(format!("{name} ended ({exit}); its last lines:"));
            let lines = self.shared.tail.lines();
            for line in &lines[lines.len().saturating_sub(SHOWN_LINES)..] {
                self.console.repeat_app_line(format!("  {line}"));
            }
        }
        self.console.info("start it again with `oxikit app restart`, or `r` and Enter");
    }

    fn show_connection(&self, event: ConnectionEvent) {
        let name = &self.shared.command.name;
        match event {
            ConnectionEvent::Late => {
                let hint = how_to_connect(&self.shared.command.text());
                self.console.warn(format!("{name} runs and has not connected yet: {hint}"));
            }
            ConnectionEvent::ConnectedLate => self.console.info(format!("{name} has connected")),
        }
    }

    async fn ended(&mut self, status: &io::Result<ExitStatus>) -> String {
        self.guard.set_group(None).await;
        let exit = match status {
            Ok(status) => status.to_string(),
            Err(error) => format!("not known: {error}"),
        };
        self.record(|record| record.exit = Some(exit.clone()));
        self.shared.pid.send_replace(None);
        exit
    }

    fn record<T>(&self, change: impl FnOnce(&mut Record) -> T) -> T {
        change(&mut self.shared.record.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The next event of the connection. Pending forever if no connection is expected.
async fn connection_event(connection: &mut Option<Connection>, shared: &Shared) -> ConnectionEvent {
    match connection {
        Some(connection) => connection.next_event(&shared.tail).await,
        None => std::future::pending().await,
    }
}
