//! Handlers of the application that the tools have started.

use std::sync::Arc;

use axum::extract::State;
use oxikit_core::{Status, redact};

use crate::shared::Shared;
use crate::{AppControl, AppStatus};
use oxikit_http::HttpResult;
use oxikit_http::api::Nothing;
use oxikit_http::api::json;

/// `GET /api/v1/app`. Secrets in the command and the output of the application are redacted.
pub(crate) async fn status(State(shared): State<Arc<Shared>>) -> HttpResult {
    status_of(&shared)
}

/// `POST /api/v1/app/restart`: returns the status when the application has started, not when it is
/// connected.
pub(crate) async fn restart(State(shared): State<Arc<Shared>>, _: Nothing) -> HttpResult {
    app(&shared)?.restart().await?;
    status_of(&shared)
}

/// `POST /api/v1/app/stop`: returns the status when the application has ended.
pub(crate) async fn stop(State(shared): State<Arc<Shared>>, _: Nothing) -> HttpResult {
    app(&shared)?.stop().await?;
    status_of(&shared)
}

fn status_of(shared: &Shared) -> HttpResult {
    json(&redacted(app(shared)?.status()))
}

/// The status without the secrets of the command and of the output.
pub(crate) fn redacted(mut status: AppStatus) -> AppStatus {
    for text in status.last_lines.iter_mut().chain(&mut status.command) {
        *text = redact::text(text).into_owned();
    }
    status
}

/// The application, or the error if the tools have not started one.
fn app(shared: &Shared) -> Result<Arc<dyn AppControl>, Status> {
    shared.app().ok_or_else(|| {
        Status::failed_precondition(
            "no application was started by these tools: `oxikit start -- <command>` does",
        )
    })
}
