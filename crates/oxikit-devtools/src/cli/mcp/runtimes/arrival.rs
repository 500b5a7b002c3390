//! Waits until what was started is there.

use std::collections::HashSet;
use std::time::Duration;

use oxikit_core::Status;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::application::{self, Application};
use crate::cli::client::Client;
use crate::cli::failure::Failure;
use crate::cli::mcp::toolbox::Answer;

/// Unless something else is said.
const PATIENCE: Duration = Duration::from_secs(30);
/// Between two looks.
const PAUSE: Duration = Duration::from_millis(50);

/// A runtime that is to come.
pub(super) struct Arrival {
    /// Those that were there before.
    known: HashSet<String>,
    deadline: Instant,
}

impl Arrival {
    pub(super) fn new(known: HashSet<String>, within: Option<Duration>) -> Self {
        Self { known, deadline: Instant::now() + within.unwrap_or(PATIENCE) }
    }

    /// Answers when a runtime has come, the application has ended, or the time is over.
    pub(super) async fn wait(self, client: &Client, application: &Application) -> Answer {
        loop {
            let ids = known_ids(client).await?;
            let mut status = application.status().await?;
            if let Some(id) = ids.difference(&self.known).next() {
                return Ok(json!({"runtimeId": id, "app": application::shown(status)}));
            }
            if status["state"] == "stopped" && status["exit"].is_string() {
                return Err(ended(status));
            }
            if Instant::now() > self.deadline {
                application::last_lines(&mut status);
                let message = "it runs and is not connected yet; it may still be built: look at list_runtimes in a while, else ask doctor";
                return Ok(json!({"message": message, "app": status}));
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}

fn ended(status: Value) -> Status {
    let exit = status["exit"].as_str().unwrap_or_default().to_owned();
    let message = format!(
        "the application ended before it was connected ({exit}): its last lines say why; change it and call restart_runtime"
    );
    Status::failed_precondition(message).with_details(json!({"app": application::shown(status)}))
}

/// The runtimes that are there.
pub(super) async fn known_ids(client: &Client) -> Result<HashSet<String>, Failure> {
    let list = client.get("/api/v1/runtimes").await?;
    let runtimes = list["runtimes"].as_array().into_iter().flatten();
    Ok(runtimes.filter_map(|runtime| runtime["id"].as_str()).map(str::to_owned).collect())
}
