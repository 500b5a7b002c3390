//! The application that can be started and ended: ours, or that of `oxikit start`.

use std::sync::Arc;

use oxikit_core::{Status, redact};
use serde_json::{Value, json};

use crate::cli::client::Client;
use crate::cli::mcp::desk::Desk;
use crate::cli::mcp::seat::Seat;
use crate::cli::mcp::toolbox::Answer;
use crate::server::AppControl;

/// So many of its last lines are told.
const LINES: usize = 30;

/// Who started it knows more about it.
pub(super) enum Application {
    Own(Arc<Seat>),
    Theirs(Client),
}

impl Application {
    /// The one that was started here, else the one of the tools.
    pub(super) fn find(desk: &Desk, client: Client) -> Self {
        match desk.seat.app() {
            Some(_) => Self::Own(desk.seat.clone()),
            None => Self::Theirs(client),
        }
    }

    /// As `GET /api/v1/app` tells it.
    pub(super) async fn status(&self) -> Answer {
        match self {
            Self::Own(seat) => {
                let mut status = seat.status();
                for text in status.last_lines.iter_mut().chain(&mut status.command) {
                    *text = redact::text(text).into_owned();
                }
                Ok(serde_json::to_value(status)?)
            }
            Self::Theirs(client) => Ok(client.get("/api/v1/app").await?),
        }
    }

    pub(super) async fn restart(&self) -> Result<(), Status> {
        match self {
            Self::Own(seat) => seat.restart().await,
            Self::Theirs(client) => order(client, "/api/v1/app/restart").await,
        }
    }

    pub(super) async fn stop(&self) -> Result<(), Status> {
        match self {
            Self::Own(seat) => seat.stop().await,
            Self::Theirs(client) => order(client, "/api/v1/app/stop").await,
        }
    }
}

async fn order(client: &Client, path: &str) -> Result<(), Status> {
    client.post(path, &json!({})).await.map(drop).map_err(|failure| {
        let status = Status::from(failure);
        Status::public(status.code(), format!("{}; start_runtime starts one", status.message()))
    })
}

/// What of a status helps: lines only of one that has ended.
pub(super) fn shown(mut status: Value) -> Value {
    match status["state"] == "running" {
        true => _ = status.as_object_mut().map(|members| members.remove("lastLines")),
        false => last_lines(&mut status),
    }
    status
}

/// Keeps the last lines only.
pub(super) fn last_lines(status: &mut Value) {
    if let Some(lines) = status["lastLines"].as_array_mut() {
        lines.drain(..lines.len().saturating_sub(LINES));
    }
}
