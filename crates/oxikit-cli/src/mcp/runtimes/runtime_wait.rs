//! Waits until the runtime of a started application is connected.

use std::collections::HashMap;
use std::time::Duration;

use oxikit_core::Status;
use rustix::process::{Pid, getpgid};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::POLL_INTERVAL;
use super::application::{self, Application};
use crate::client::Client;
use crate::failure::Failure;
use crate::mcp::tool_registry::ToolResult;

/// Maximum time to wait if the caller sets none.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);

/// The process ids of the connected runtimes, by runtime id.
type Connected = HashMap<String, Option<u64>>;

/// Recognises the new runtime by comparing the list with the one from before the start.
pub(super) struct RuntimeWait {
    /// The runtimes that were connected before the start.
    before: Connected,
    deadline: Instant,
}

impl RuntimeWait {
    /// Remembers the connected runtimes. Called before the application is started.
    pub(super) async fn begin(client: &Client, within: Option<Duration>) -> Result<Self, Failure> {
        let before = connected(client).await?;
        Ok(Self { before, deadline: Instant::now() + within.unwrap_or(DEFAULT_TIMEOUT) })
    }

    /// Returns when the runtime is connected, the application has ended, or the time is
    /// over.
    pub(super) async fn wait(self, client: &Client, application: &Application) -> ToolResult {
        loop {
            let mut now = connected(client).await?;
            now.retain(|id, _| !self.before.contains_key(id));
            let mut status = application.status().await?;
            let is_late = Instant::now() > self.deadline;
            let is_own = |pid: &Option<u64>| is_of_group(*pid, status["pid"].as_u64());
            // The user may have started another runtime in the meantime, so one of the
            // process group of the application is preferred. A process in a container has
            // another id there; such a runtime is accepted when the time is over.
            if let Some((id, _)) = now.iter().find(|(_, pid)| is_late || is_own(pid)) {
                return Ok(json!({"runtimeId": id, "app": application::shown(status)}));
            }
            if status["state"] == "stopped" && status["exit"].is_string() {
                return Err(ended(status));
            }
            if is_late {
                application::last_lines(&mut status);
                let message = "the application runs and is not connected yet; it may still be compiling: call list_runtimes later, and doctor if it does not appear";
                return Ok(json!({"message": message, "app": status}));
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }
}

/// Whether a process belongs to the process group of the leader.
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
        "the application ended before it was connected ({exit}): its last lines show the reason; fix it and call restart_runtime"
    );
    Status::failed_precondition(message).with_details(json!({"app": application::shown(status)}))
}

async fn connected(client: &Client) -> Result<Connected, Failure> {
    let list = client.get("/api/v1/runtimes").await?;
    let runtimes = list["runtimes"].as_array().into_iter().flatten();
    let row = |it: &Value| Some((it["id"].as_str()?.to_owned(), it["pid"].as_u64()));
    Ok(runtimes.filter_map(row).collect())
}
