//! `oxikit app`: shows, restarts and stops the application that `oxikit start` runs.

use serde_json::{Value, json};

use super::args::{AppArgs, AppCommand};
use super::client::Client;
use super::failure::Failure;
use super::output::Output;
use crate::terminal::Text;

pub(super) async fn run(
    args: AppArgs,
    client: &Client,
    output: &mut Output,
) -> Result<(), Failure> {
    let status = match args.command {
        AppCommand::Status => client.get("/api/v1/app").await?,
        AppCommand::Restart => client.post("/api/v1/app/restart", &json!({})).await?,
        AppCommand::Stop => client.post("/api/v1/app/stop", &json!({})).await?,
    };
    if output.is_json() {
        return output.value(&status);
    }
    output.line(describe(&status))?;
    for line in status["lastLines"].as_array().into_iter().flatten() {
        output.line(Text::from("  ").application(line.as_str().unwrap_or_default()))?;
    }
    Ok(())
}

/// The state of the application in one line.
pub(super) fn describe(status: &Value) -> String {
    let arguments = status["command"].as_array().into_iter().flatten();
    let command = arguments.filter_map(Value::as_str).collect::<Vec<_>>().join(" ");
    match (status["pid"].as_u64(), status["exit"].as_str()) {
        (Some(pid), _) => format!("`{command}` runs, process {pid}"),
        (None, Some(exit)) => format!("`{command}` does not run: {exit}"),
        (None, None) => format!("`{command}` does not run"),
    }
}
