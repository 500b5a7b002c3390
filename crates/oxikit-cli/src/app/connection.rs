//! Watches whether the application connects to the developer tools after its start.
//!
//! An application that runs but does not connect usually lacks one call in its code, so the
//! supervisor shows how to connect. While `cargo` still builds, the timeout is extended.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::lines::Tail;
use oxikit_manager::RuntimeInfo;

/// Maximum time to connect after a start. After it a hint is shown once.
const CONNECT_TIME: Duration = Duration::from_secs(10);
/// Time between two checks while the application is being built.
const BUILD_POLL: Duration = Duration::from_secs(1);
/// The first words of the lines that `cargo` prints before the program runs.
const BUILD_STEPS: [&str; 8] = [
    "Updating",
    "Locking",
    "Downloading",
    "Downloaded",
    "Adding",
    "Compiling",
    "Blocking",
    "Building",
];

/// A change of the connection that should be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConnectionEvent {
    /// The application runs and has not connected in time.
    Late,
    /// The application has connected after it was late.
    ConnectedLate,
}

/// The connection of the application, over all its starts.
#[derive(Debug)]
pub(super) struct Connection {
    runtimes: watch::Receiver<Arc<[RuntimeInfo]>>,
    /// The runtimes that were connected at the last start, by id and time of registration.
    before: HashSet<(String, String)>,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The application was started and should connect before this time.
    Expected(Instant),
    Late,
    Connected,
}

impl Connection {
    pub(super) fn new(runtimes: watch::Receiver<Arc<[RuntimeInfo]>>) -> Self {
        Self { runtimes, before: HashSet::new(), state: State::Connected }
    }

    /// Begins to wait for a new runtime. Called before each start of the application.
    pub(super) fn expect(&mut self) {
        self.before = self.runtimes.borrow_and_update().iter().map(key).collect();
        self.state = State::Expected(Instant::now() + CONNECT_TIME);
    }

    /// Whether the application has connected since the last start.
    pub(super) fn is_connected(&mut self) -> bool {
        // Any new runtime counts: the process id is no criterion, because a process in a
        // container reports another one.
        let runtimes = self.runtimes.borrow_and_update();
        if runtimes.iter().any(|runtime| !self.before.contains(&key(runtime))) {
            self.state = State::Connected;
        }
        self.state == State::Connected
    }

    /// The next event. `lines` are the last lines of the application, which show whether it is
    /// still being built. Cancel safe.
    pub(super) async fn next_event(&mut self, lines: &Tail) -> ConnectionEvent {
        loop {
            // `Expected` becomes `Late` when the deadline is over, and `Connected` when a new runtime
            // appears. Each of the two events is returned once; after `Connected` there are none.
            let previous = self.state;
            if self.is_connected() {
                if previous == State::Late {
                    return ConnectionEvent::ConnectedLate;
                }
                std::future::pending::<()>().await;
            }
            let deadline = match previous {
                State::Expected(deadline) => Some(deadline),
                _ => None,
            };
            let late = async {
                match deadline {
                    Some(deadline) => sleep_until(deadline).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                changed = self.runtimes.changed() => if changed.is_err() {
                    std::future::pending::<()>().await;
                },
                () = late => {
                    if is_building(lines) {
                        self.state = State::Expected(Instant::now() + BUILD_POLL);
                    } else {
                        self.state = State::Late;
                        return ConnectionEvent::Late;
                    }
                }
            }
        }
    }
}

fn key(runtime: &RuntimeInfo) -> (String, String) {
    (runtime.id.clone(), runtime.timestamp.clone())
}

fn is_building(lines: &Tail) -> bool {
    let is_step =
        |line: &String| BUILD_STEPS.iter().any(|step| line.trim_start().starts_with(step));
    lines.lines().last().is_some_and(is_step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_application_is_late_once_and_not_while_it_is_built() {
        let (_list, runtimes) = watch::channel(Arc::from([]));
        let (mut connection, lines) = (Connection::new(runtimes), Tail::default());
        connection.expect();
        lines.add("   Compiling app v0.1.0");
        let event = tokio::time::timeout(10 * CONNECT_TIME, connection.next_event(&lines)).await;
        assert!(event.is_err(), "the application is being built: {event:?}");
        lines.add("     Running `target/debug/app`");
        assert_eq!(connection.next_event(&lines).await, ConnectionEvent::Late);
        let event = tokio::time::timeout(10 * CONNECT_TIME, connection.next_event(&lines)).await;
        assert!(event.is_err(), "the hint was already shown: {event:?}");
        assert!(!connection.is_connected());
    }
}
