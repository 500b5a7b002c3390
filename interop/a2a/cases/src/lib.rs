//! The cases of the A2A suites for clients that are written in Rust. A program connects its client
//! behind [`Connect`] and [`Agent`], and [`run`] prints one line of JSON for every case.

mod agent;
mod case;
mod receiver;

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::timeout;

pub use agent::{Agent, Card, Connect, Event, Events, Failure, Kind, Sending};
use case::{CASES, Suite};
pub use receiver::{Hook, Notifier};

/// Timeout of a case.
const LIMIT: Duration = Duration::from_secs(10);

/// A column of the matrix.
#[derive(Debug)]
pub struct Column {
    /// The client, or the server, with its version.
    pub name: String,
    /// `JSONRPC`, `HTTP+JSON` or `GRPC`.
    pub binding: String,
    /// The address of the receiver of notifications.
    pub receiver: String,
    /// The server that sends them.
    pub notifier: Notifier,
}

/// Runs all cases, one after the other.
pub async fn run(column: &Column, connect: &dyn Connect) {
    for name in CASES {
        let suite = Suite { connect, column };
        let outcome = match timeout(LIMIT, suite.run(name)).await {
            Ok(Ok(())) => json!({ "ok": true }),
            Ok(Err(error)) => json!({ "ok": false, "why": format!("{error:#}") }),
            Err(_) => json!({ "ok": false, "why": format!("it took more than {LIMIT:?}") }),
        };
        print(column, name, outcome);
    }
}

#[expect(clippy::print_stdout, reason = "the suite reads the lines")]
fn print(Column { name, binding, .. }: &Column, case: &str, outcome: Value) {
    let mut line = json!({ "peer": name, "binding": binding, "case": case });
    for (name, value) in outcome.as_object().into_iter().flatten() {
        line[name] = value.clone();
    }
    println!("{line}");
}
