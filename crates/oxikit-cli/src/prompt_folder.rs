//! `oxikit prompt lint` and `render` on folders, without a server.

use std::path::PathBuf;
use std::sync::Arc;

use oxikit_core::ports::memory::MemoryRevisions;
use oxikit_prompts::{Prompts, PromptsError, PromptsOptions};
use oxikit_wire::JsonObject;
use oxikit_wire::prompts::{LintReport, Preview};

use super::failure::Failure;

/// Checks all prompts of these folders.
pub(super) async fn lint(dirs: &[PathBuf]) -> Result<LintReport, Failure> {
    let prompts = open(dirs).await?;
    let report = prompts.lint_files().await;
    prompts.close().await;
    report.map_err(failed)
}

/// The messages that a model would get for a prompt of these folders.
pub(super) async fn render(
    dirs: &[PathBuf],
    id: &str,
    variables: JsonObject,
) -> Result<Preview, Failure> {
    let prompts = open(dirs).await?;
    let preview = prompts.preview(id, None, None, variables).await;
    prompts.close().await;
    preview.map(Preview::from).map_err(failed)
}

/// Reads the folders. Nothing is written: they have no history.
async fn open(dirs: &[PathBuf]) -> Result<Prompts, Failure> {
    let mut options = PromptsOptions::new(dirs);
    options.is_read_only = true;
    let opened = Prompts::open(options, Arc::new(MemoryRevisions::default())).await;
    opened.map_err(|error| Failure::usage(error.to_string()))
}

fn failed(error: PromptsError) -> Failure {
    Failure::of_status(&error.into())
}
