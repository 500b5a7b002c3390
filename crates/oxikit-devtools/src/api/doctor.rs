//! Handler of the checks of the project.

use std::sync::Arc;

use axum::extract::State;
use oxikit_core::Status;
use oxikit_http::HttpResult;
use oxikit_http::api::json as answer;
use schemars::JsonSchema;
use serde::Serialize;

use crate::Finding;
use crate::shared::Shared;

/// What the checks have found.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Findings {
    findings: Vec<Finding>,
}

/// `GET /api/v1/doctor`: the findings of `oxikit doctor`.
pub(crate) async fn examine(State(shared): State<Arc<Shared>>) -> HttpResult {
    let doctor = shared.doctor().ok_or_else(|| {
        Status::failed_precondition(
            "these tools were not started by `oxikit start`: run `oxikit doctor` instead",
        )
    })?;
    answer(&Findings { findings: doctor.examine().await })
}
