//! The application that the tools start and end: the one of this process, or the one of an
//! `oxikit start` beside it.

use std::sync::Arc;

use oxikit_core::{Status, redact};
use serde_json::{Value, json};

use crate::client::Client;
use crate::mcp::app_slot::AppSlot;
use crate::mcp::state::McpState;
use crate::mcp::tool_registry::ToolResult;
use oxikit_devtools::AppControl;

/// Maximum number of last lines of the application in a result. Earlier ones are left out.
const MAX_LINES: usize = 30;

/// The application, by the process that owns it.
pub(super) enum Application {
    /// This process started it.
    Own(Arc<AppSlot>),
    /// The developer tools of another process control it.
    External(Client),
}

impl Application {
    /// The application that this process started, else the one of the developer tools.
    pub(super) fn find(state: &McpState, client: Client) -> Self {
        match state.app_slot.app() {
            Some(_) => Self::Own(state.app_slot.clone()),
            None => Self::External(client),
        }
    }

    /// The status in the form of `GET /api/v1/app`.
    pub(super) async fn status(&self) -> ToolResult {
        match self {
            Self::Own(app_slot) => {
                let mut status = app_slot.status();
                for text in status.last_lines.iter_mut().chain(&mut status.command) {
                    *text = redact::text(text).into_owned();
                }
                Ok(serde_json::to_value(status)?)
            }
            Self::External(client) => Ok(client.get("/api/v1/app").await?),
        }
    }

    pub(super) async fn restart(&self) -> Result<(), Status> {
        match self {
            Self::Own(app_slot) => app_slot.restart().await,
            Self::External(client) => send_command(client, "/api/v1/app/restart").await,
        }
    }

    pub(super) async fn stop(&self) -> Result<(), Status> {
        match self {
            Self::Own(app_slot) => app_slot.stop().await,
            Self::External(client) => send_command(client, "/api/v1/app/stop").await,
        }
    }
}

async fn send_command(client: &Client, path: &str) -> Result<(), Status> {
    client.post(path, &json!({})).await.map(drop).map_err(|failure| {
        let status = Status::from(failure);
        Status::public(status.code(), format!("{}; start_runtime starts one", status.message()))
    })
}

/// The status for the model. The last lines are only kept if the application has ended.
pub(super) fn shown(mut status: Value) -> Value {
    match status["state"] == "running" {
        true => _ = status.as_object_mut().map(|members| members.remove("lastLines")),
        false => last_lines(&mut status),
    }
    status
}

/// Cuts the lines to the last ones.
pub(super) fn last_lines(status: &mut Value) {
    if let Some(lines) = status["lastLines"].as_array_mut() {
        lines.drain(..lines.len().saturating_sub(MAX_LINES));
    }
}
