//! Imports the traces that the official tools have stored below the project.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::State;
use oxikit_core::Status;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{TraceApi, failure};
use oxikit_http::HttpResult;
use oxikit_http::api::json as answer;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "TraceImportRequest")]
pub(crate) struct ImportBody {
    /// A folder of the official tools below the project.
    #[serde(default = "usual_folder")]
    path: PathBuf,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ImportedTraces")]
pub(crate) struct ImportAnswer {
    imported: usize,
    skipped: Vec<Skipped>,
}

#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "SkippedTraceFile")]
struct Skipped {
    file: String,
    reason: String,
}

/// The folder of the official tools.
fn usual_folder() -> PathBuf {
    ".genkit".into()
}

/// `POST /traces/import`: imports traces of a folder below the project.
pub(super) async fn import(State(api): State<Arc<TraceApi>>, body: Bytes) -> HttpResult {
    let body: ImportBody = serde_json::from_slice(&body).map_err(|error| {
        Status::invalid_argument(format!("the body is `{{\"path\"?}}`: {error}"))
    })?;
    let project = api.project.clone();
    let found = tokio::task::spawn_blocking(move || folder(&project, &body.path)).await;
    let folder = found.map_err(|error| Status::internal("no thread").caused_by(error))??;
    let imported = api.store.import(folder).await.map_err(failure)?;
    let skipped = imported.skipped.into_iter().map(|(path, reason)| Skipped {
        file: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        reason,
    });
    answer(&ImportAnswer { imported: imported.traces, skipped: skipped.collect() })
}

/// The folder with the traces. Links are resolved before its place is checked, so that a link
/// cannot lead out of the project.
fn folder(project: &Path, path: &Path) -> Result<PathBuf, Status> {
    let missing = || Status::not_found("there is no such folder with traces below the project");
    let project = project.canonicalize().map_err(|_| missing())?;
    let named = project.join(path);
    let below = named.join("traces");
    let folder = if below.is_dir() { below } else { named };
    let folder = folder.canonicalize().map_err(|_| missing())?;
    let is_of_genkit = folder.components().any(|part| part.as_os_str() == ".genkit");
    if !folder.starts_with(&project) || !is_of_genkit || !folder.is_dir() {
        return Err(missing());
    }
    Ok(folder)
}
