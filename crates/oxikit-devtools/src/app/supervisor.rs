//! The owner of the application's process.

use std::io;
use std::process::ExitStatus;
use std::sync::{Arc, PoisonError};

use oxikit_core::Status;
use tokio::sync::{mpsc, oneshot};

use super::connection::{Connection, News};
use super::process::Process;
use super::{Guard, Record, Shared};
use crate::console::Console;
use crate::server::how_to_connect;

/// So many lines are shown again when the application has died.
const SHOWN_LINES: usize = 10;

/// What the owner is asked for.
#[derive(Debug)]
pub(super) enum Order {
    Restart(oneshot::Sender<Result<(), Status>>),
    Stop(oneshot::Sender<()>),
    /// Stops it for good.
    End(oneshot::Sender<()>),
}

/// Starts and ends the process; the only one who does.
#[derive(Debug)]
pub(super) struct Supervisor {
    shared: Arc<Shared>,
    console: Console,
    guard: Guard,
    connection: Option<Connection>,
    process: Option<Process>,
}

/// What happens next.
enum Event {
    Order(Option<Order>),
    Ended(io::Result<ExitStatus>),
    Connection(News),
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

    pub(super) async fn attend(mut self, mut inbox: mpsc::Receiver<Order>) {
        // It was told; it can be tried again.
        _ = self.start().await;
        loop {
            let event = match &mut self.process {
                None => Event::Order(inbox.recv().await),
                Some(process) => tokio::select! {
                    order = inbox.recv() => Event::Order(order),
                    status = process.ended() => Event::Ended(status),
                    news = news(&mut self.connection, &self.shared) => Event::Connection(news),
                },
            };
            match event {
                Event::Ended(status) => self.died(status).await,
                Event::Connection(news) => self.tell(news),
                Event::Order(Some(Order::Restart(answer))) => {
                    self.stop().await;
                    // Whoever asked may have left.
                    _ = answer.send(self.start().await);
                }
                Event::Order(Some(Order::Stop(answer))) => {
                    self.stop().await;
                    _ = answer.send(());
                }
                Event::Order(Some(Order::End(answer))) => {
                    self.stop().await;
                    _ = answer.send(());
                    return;
                }
                Event::Order(None) => return self.stop().await,
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
        self.guard.look_after(Some(pid)).await;
        self.process = Some(process);
        let name = &self.shared.command.name;
        let is_again = self.record(|record| {
            record.starts += 1;
            record.starts > 1
        });
        if is_again {
            self.console.say(format!("{name} was started again, process {pid}"));
        }
        self.shared.pid.send_replace(Some(pid));
        Ok(())
    }

    fn not_started(&self, error: io::Error) -> Status {
        let program = self.shared.command.words.first().map(|word| word.to_string_lossy());
        let program = program.unwrap_or_default();
        let message = format!("`{program}` cannot be started: {error}");
        self.record(|record| record.exit = Some(message.clone()));
        self.console.warn(message.clone());
        Status::failed_precondition(message)
    }

    /// Ends the process because somebody wants it.
    async fn stop(&mut self) {
        let Some(process) = self.process.take() else { return };
        let status = process.end().await;
        self.ended(&status).await;
    }

    /// The process has ended by itself.
    async fn died(&mut self, status: io::Result<ExitStatus>) {
        let Some(process) = self.process.take() else { return };
        // What it has started ends with it.
        _ = process.end().await;
        let exit = self.ended(&status).await;
        let name = &self.shared.command.name;
        let is_good = status.is_ok_and(|status| status.success());
        let is_absent = self.connection.as_mut().is_some_and(|connection| !connection.is_made());
        if is_good && is_absent {
            let hint = how_to_connect(&self.shared.command.text());
            self.console.warn(format!("{name} ended ({exit}) and had not connected: {hint}"));
        } else if is_good {
            self.console.say(format!("{name} ended ({exit})"));
        } else {
            self.console.warn(format!("{name} ended ({exit}); its last lines:"));
            let lines = self.shared.tail.lines();
            for line in &lines[lines.len().saturating_sub(SHOWN_LINES)..] {
                self.console.app_line_again(format!("  {line}"));
            }
        }
        self.console.say("start it again with `oxikit app restart`, or `r` and Enter");
    }

    fn tell(&self, news: News) {
        let name = &self.shared.command.name;
        match news {
            News::Late => {
                let hint = how_to_connect(&self.shared.command.text());
                self.console.warn(format!("{name} runs and has not connected yet: {hint}"));
            }
            News::ConnectedLate => self.console.say(format!("{name} has connected")),
        }
    }

    async fn ended(&mut self, status: &io::Result<ExitStatus>) -> String {
        self.guard.look_after(None).await;
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

/// The next news of the connection; never without one.
async fn news(connection: &mut Option<Connection>, shared: &Shared) -> News {
    match connection {
        Some(connection) => connection.news(&shared.tail).await,
        None => std::future::pending().await,
    }
}
