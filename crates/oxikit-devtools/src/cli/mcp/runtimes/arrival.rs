//! Waits until what was started is there.

use std::collections::HashMap;
use std::time::Duration;

use oxikit_core::Status;
use rustix::process::{Pid, getpgid};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::PAUSE;
use super::application::{self, Application};
use crate::cli::client::Client;
use crate::cli::failure::Failure;
use crate::cli::mcp::toolbox::Answer;

/// Unless something else is said.
const PATIENCE: Duration = Duration::from_secs(30);

/// The runtimes that are there, by their ids, with their processes.
type Connected = HashMap<String, Option<u64>>;

/// A runtime that is to come.
pub(super) struct Arrival {
    /// Those that were there before.
    before: Connected,
    deadline: Instant,
}

impl Arrival {
    /// Looks who is there already.
    pub(super) async fn expect(client: &Client, within: Option<Duration>) -> Result<Self, Failure> {
        let before = connected(client).await?;
        Ok(Self { before, deadline: Instant::now() + within.unwrap_or(PATIENCE) })
    }

    /// Answers when the runtime has come, the application has ended, or the time is
    /// over.
    pub(super) async fn wait(self, client: &Client, application: &Application) -> Answer {
        loop {
            let mut now = connected(client).await?;
            now.retain(|id, _| !self.before.contains_key(id));
            let mut status = application.status().await?;
            let is_late = Instant::now() > self.deadline;
            let is_own = |pid: &Option<u64>| is_of_group(*pid, status["pid"].as_u64());
            // Somebody else may have started one meanwhile. One whose process says nothing,
            // such as that of a container, is only taken when no better one has come.
            if let Some((id, _)) = now.iter().find(|(_, pid)| is_late || is_own(pid)) {
                return Ok(json!({"runtimeId": id, "app": application::shown(status)}));
            }
            if status["state"] == "stopped" && status["exit"].is_string() {
                return Err(ended(status));
            }
            if is_late {
                application::last_lines(&mut status);
                let message = "it runs and is not connected yet; it may still be built: look at list_runtimes in a while, else ask doctor";
                return Ok(json!({"message": message, "app": status}));
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// Whether a process belongs to the application that this one leads.
fn is_of_group(pid: Option<u64>, leader: Option<u64>) -> bool {
    let process = |pid: Option<u64>| Pid::from_raw(i32::try_from(pid?).ok()?);
    match (process(pid), process(leader)) {
        (Some(pid), Some(leader)) => getpgid(Some(pid)).is_ok_and(|group| group == leader),
        _ => false,
    }
}

fn ended(status: Value) -> Status {
    let exit = status["exit"].as_str().unwrap_or_default().to_owned();
    let message = format!(
        "the application ended before it was connected ({exit}): its last lines say why; change it and call restart_runtime"
    );
    Status::failed_precondition(message).with_details(json!({"app": application::shown(status)}))
}

async fn connected(client: &Client) -> Result<Connected, Failure> {
    let list = client.get("/api/v1/runtimes").await?;
    let runtimes = list["runtimes"].as_array().into_iter().flatten();
    let row = |it: &Value| Some((it["id"].as_str()?.to_owned(), it["pid"].as_u64()));
    Ok(runtimes.filter_map(row).collect())
}
