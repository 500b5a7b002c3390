//! Whether the application has connected to the tools.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::lines::Tail;
use crate::manager::RuntimeInfo;

/// An application that has not connected after this time gets a hint, once.
const CONNECT_TIME: Duration = Duration::from_secs(10);
/// While it is built, it is looked at again after this time.
const BUILD_POLL: Duration = Duration::from_secs(1);
/// What the lines of `cargo` begin with before the program runs.
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

/// What is new about the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum News {
    /// The application runs, and should have connected by now.
    Late,
    /// It was late, and has connected.
    ConnectedLate,
}

/// The connection of one application, through all its starts.
#[derive(Debug)]
pub(super) struct Connection {
    runtimes: watch::Receiver<Arc<[RuntimeInfo]>>,
    /// The runtimes that were there when it was started: by id and time of registration.
    before: HashSet<(String, String)>,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// It may still connect until then.
    Expected(Instant),
    Late,
    Connected,
}

impl Connection {
    pub(super) fn new(runtimes: watch::Receiver<Arc<[RuntimeInfo]>>) -> Self {
        Self { runtimes, before: HashSet::new(), state: State::Connected }
    }

    /// The application is about to be started.
    pub(super) fn expect(&mut self) {
        self.before = self.runtimes.borrow_and_update().iter().map(key).collect();
        self.state = State::Expected(Instant::now() + CONNECT_TIME);
    }

    /// Whether it has connected since it was started.
    pub(super) fn is_made(&mut self) -> bool {
        // A process in a container has another number there, so any new runtime counts.
        let runtimes = self.runtimes.borrow_and_update();
        if runtimes.iter().any(|runtime| !self.before.contains(&key(runtime))) {
            self.state = State::Connected;
        }
        self.state == State::Connected
    }

    /// The next news of the application, which has written these lines. It is cancel safe.
    pub(super) async fn news(&mut self, lines: &Tail) -> News {
        loop {
            let former = self.state;
            if self.is_made() {
                if former == State::Late {
                    return News::ConnectedLate;
                }
                std::future::pending::<()>().await;
            }
            let deadline = match former {
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
                        return News::Late;
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
        let news = tokio::time::timeout(10 * CONNECT_TIME, connection.news(&lines)).await;
        assert!(news.is_err(), "it is built: {news:?}");
        lines.add("     Running `target/debug/app`");
        assert_eq!(connection.news(&lines).await, News::Late);
        let news = tokio::time::timeout(10 * CONNECT_TIME, connection.news(&lines)).await;
        assert!(news.is_err(), "it was told: {news:?}");
        assert!(!connection.is_made());
    }
}
