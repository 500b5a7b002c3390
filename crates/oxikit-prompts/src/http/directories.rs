//! Handlers of registered directories, and of reading files again.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode as HttpStatus;
use oxikit_wire::JsonObject;
use oxikit_wire::prompts as wire;

use super::PromptApi;
use super::answer::json;
use super::body::{JsonBody, OptionalBody};
use super::conversion::{directory_json, document_json};
use super::failure::{Answer, Failure};
use super::target::{DirectoryPath, Scope};
use crate::{Directory, DirectoryUpdate, Document, Kind, PromptsError};

/// `GET /directories/all`.
pub(crate) async fn list(State(api): State<Arc<PromptApi>>) -> Answer {
    json(&api.prompts.directories().iter().map(directory_json).collect::<Vec<_>>())
}

/// `POST /directories`: registers a directory below an allowed root.
pub(crate) async fn add(
    State(api): State<Arc<PromptApi>>,
    JsonBody(body): JsonBody<wire::NewDirectory>,
) -> Answer {
    let (name, description) = (body.name.as_deref(), body.description.as_deref());
    let added = api.prompts.add_directory(&body.path, name, description).await;
    // Prompt Manager answers 400 here.
    let directory = added.map_err(|error| match error {
        PromptsError::Exists(_) => Failure::from(error).answered_by(HttpStatus::BAD_REQUEST),
        error => error.into(),
    })?;
    json(&directory_json(&directory))
}

/// `PUT /directories/{path}`.
pub(crate) async fn update(
    State(api): State<Arc<PromptApi>>,
    DirectoryPath(path): DirectoryPath,
    JsonBody(body): JsonBody<wire::DirectoryChange>,
) -> Answer {
    let wire::DirectoryChange { name, description, enabled } = body;
    let update = DirectoryUpdate { name, description, enabled };
    let directory = api.prompts.update_directory(&path, update).await;
    json(&directory_json(&directory.map_err(|error| of_directory(error, &path))?))
}

/// `DELETE /directories/{path}`: the files stay.
pub(crate) async fn remove(
    State(api): State<Arc<PromptApi>>,
    DirectoryPath(path): DirectoryPath,
) -> Answer {
    let removed = api.prompts.remove_directory(&path).await;
    let directory = removed.map_err(|error| of_directory(error, &path))?;
    json(&wire::DirectoryRemoved { success: true, path: directory_json(&directory).path })
}

/// `POST /directories/{path}/toggle {enabled?}`: lists its documents or not.
pub(crate) async fn toggle(
    State(api): State<Arc<PromptApi>>,
    DirectoryPath(path): DirectoryPath,
    OptionalBody(body): OptionalBody<wire::Toggle>,
) -> Answer {
    let directory = find(&api, &path)?;
    let enabled = body.enabled.unwrap_or(!directory.enabled);
    // A disabled directory has no documents: they are counted while it is enabled.
    let before = api.prompts.count_documents(&directory);
    let update = DirectoryUpdate { enabled: Some(enabled), ..DirectoryUpdate::default() };
    let updated = api.prompts.update_directory(&path, update).await;
    let updated = updated.map_err(|error| of_directory(error, &path))?;
    json(&wire::DirectoryToggled {
        success: true,
        path: directory_json(&updated).path,
        enabled: updated.enabled,
        affected_prompts: before.max(api.prompts.count_documents(&updated)),
    })
}

/// `POST /directories/{path}/reload`: reads the files of a directory again.
pub(crate) async fn reload(
    State(api): State<Arc<PromptApi>>,
    DirectoryPath(path): DirectoryPath,
    _: OptionalBody<JsonObject>,
) -> Answer {
    let reloaded = api.prompts.reload_directory(&path).await;
    let count = reloaded.map_err(|error| of_directory(error, &path))?;
    json(&reloaded_json(count))
}

/// `GET /directories/{path}/prompts`: the prompts of a directory, sorted by their names.
pub(crate) async fn prompts(
    State(api): State<Arc<PromptApi>>,
    DirectoryPath(path): DirectoryPath,
) -> Answer {
    let directory = find(&api, &path)?;
    let is_inside = |document: &&Arc<Document>| document.directory == directory.path;
    let documents = api.prompts.list(Some(Kind::Prompt));
    json(&documents.iter().filter(is_inside).map(|it| document_json(it)).collect::<Vec<_>>())
}

/// `POST /reload`, `POST /fragments/reload`: reads all files again.
pub(crate) async fn reload_all(
    State(api): State<Arc<PromptApi>>,
    Scope(kind): Scope,
    _: OptionalBody<JsonObject>,
) -> Answer {
    api.prompts.reload().await?;
    json(&reloaded_json(api.prompts.list(Some(kind)).len()))
}

/// `POST /filesystem/complete_path`: folders below the allowed roots.
pub(crate) async fn complete_path(
    State(api): State<Arc<PromptApi>>,
    JsonBody(body): JsonBody<wire::CompletePath>,
) -> Answer {
    json(&api.prompts.complete_path(&body.partial_path).await)
}

fn reloaded_json(count: usize) -> wire::Reloaded {
    let message = format!("{count} documents were read");
    wire::Reloaded { success: true, count, message }
}

/// The directory with this path or name.
fn find(api: &PromptApi, path: &str) -> Result<Directory, Failure> {
    let is_meant = |directory: &Directory| {
        directory.path.as_os_str() == path || *directory.name == *path || *directory.key == *path
    };
    let found = api.prompts.directories().into_iter().find(is_meant);
    found.ok_or_else(|| not_registered(path))
}

/// The error of an operation on a directory.
fn of_directory(error: PromptsError, path: &str) -> Failure {
    match error {
        PromptsError::NoDirectory(_) => not_registered(path),
        error => error.into(),
    }
}

fn not_registered(path: &str) -> Failure {
    Failure::new(HttpStatus::NOT_FOUND, format!("Directory '{path}' not found"))
}
