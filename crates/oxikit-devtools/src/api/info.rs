//! Information about the server. Values of environment variables are never sent,
//! because they may be secrets.

use std::path::PathBuf;
use std::sync::Arc;

use axum::extract::State;
use schemars::JsonSchema;
use serde::Serialize;

use crate::shared::Shared;
use oxikit_http::HttpResult;
use oxikit_http::api::json as answer;

/// Information about the tools.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Info {
    /// The version of the tools.
    version: &'static str,
    /// The id of their process.
    pid: u32,
    /// The name of the project's folder.
    project: Option<String>,
    /// The project's folder.
    root: PathBuf,
    /// The names of the environment's variables.
    environment: Vec<String>,
}

/// `GET /api/v1/info`. It has the names of environment variables only: values may be secrets.
pub(crate) async fn info(State(shared): State<Arc<Shared>>) -> HttpResult {
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
