//! The application that the tools have started.

use std::sync::Arc;

use axum::extract::State;
use oxikit_core::{Status, redact};

use crate::server::AppControl;
use crate::server::reply::{Answer, json};
use crate::server::request::Nothing;
use crate::server::shared::Shared;

/// `GET /api/v1/app`. What it has written may hold secrets: they are left out.
pub(crate) async fn status(State(shared): State<Arc<Shared>>) -> Answer {
    status_of(&shared)
}

/// `POST /api/v1/app/restart`.
pub(crate) async fn restart(State(shared): State<Arc<Shared>>, _: Nothing) -> Answer {
    app(&shared)?.restart().await?;
    status_of(&shared)
}

/// `POST /api/v1/app/stop`.
pub(crate) async fn stop(State(shared): State<Arc<Shared>>, _: Nothing) -> Answer {
    app(&shared)?.stop().await?;
    status_of(&shared)
}

fn status_of(shared: &Shared) -> Answer {
    let mut status = app(shared)?.status();
    for text in status.last_lines.iter_mut().chain(&mut status.command) {
        *text = redact::text(text).into_owned();
    }
    json(&status)
}

fn app(shared: &Shared) -> Result<Arc<dyn AppControl>, Status> {
    shared.app().ok_or_else(|| {
        Status::failed_precondition(
            "no application was started by these tools: `oxikit start -- <command>` does",
        )
    })
}
