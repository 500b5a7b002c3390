//! Handlers for applications that use the prompts, and for checks of all prompts.

use std::sync::Arc;

use axum::extract::State;
use schemars::JsonSchema;
use serde::Deserialize;

use super::PromptApi;
use super::answer::json;
use super::failure::Answer;
use super::target::Params;

/// Which prompts are exported.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ExportQuery {
    /// Only prompts with this label, at its revision. Default: all prompts at their newest one.
    label: Option<String>,
}

/// `GET /export?label=`: all prompts for an application, with their inclusions replaced.
pub(crate) async fn export(
    State(api): State<Arc<PromptApi>>,
    Params(ExportQuery { label }): Params<ExportQuery>,
) -> Answer {
    let label = label.filter(|label| !label.is_empty());
    json(&api.prompts.export(label.as_deref()).await?)
}

/// `GET /lint`: the mistakes in all documents.
pub(crate) async fn lint(State(api): State<Arc<PromptApi>>) -> Answer {
    json(&api.prompts.lint().await?)
}
