//! What this is.

use std::path::PathBuf;
use std::sync::Arc;

use axum::extract::State;
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY};
use axum::response::IntoResponse;
use schemars::JsonSchema;
use serde::Serialize;

use crate::server::reply::{Answer, json as answer};
use crate::server::shared::Shared;

const PAGE: &str = "The developer tools of oxikit.\n\n\
    Programs call /api/v1 with the token: see /api/v1/openapi.json.\n";

/// `GET /`. There is nothing secret in it.
pub(crate) async fn page() -> impl IntoResponse {
    let headers = [
        (CONTENT_TYPE, "text/plain; charset=utf-8"),
        (CONTENT_SECURITY_POLICY, "default-src 'none'; frame-ancestors 'none'"),
        (REFERRER_POLICY, "no-referrer"),
    ];
    (headers, PAGE)
}

/// What the tools are.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Info {
    /// Of the tools.
    version: &'static str,
    /// Their process.
    pid: u32,
    /// The name of the project's folder.
    project: Option<String>,
    /// The project's folder.
    root: PathBuf,
    /// The names of the environment's variables.
    environment: Vec<String>,
}

/// `GET /api/v1/info`. Of variables the names only: their values are secrets.
pub(crate) async fn info(State(shared): State<Arc<Shared>>) -> Answer {
    answer(&Info {
        version: env!("CARGO_PKG_VERSION"),
        pid: std::process::id(),
        project: shared.options.project_name(),
        root: shared.options.root.clone(),
        environment: variable_names(),
    })
}

/// The names of the environment's variables, in order.
pub(crate) fn variable_names() -> Vec<String> {
    let name = |(name, _): (std::ffi::OsString, _)| name.to_string_lossy().into_owned();
    let mut names: Vec<String> = std::env::vars_os().map(name).collect();
    names.sort_unstable();
    names
}
