//! Opens the prompts of the project: its folders, and the history in the project's database.

use std::io;
use std::sync::Arc;

use oxikit_prompts::{PromptRoutes, Prompts, RouteOptions, project_options};
use oxikit_sql::SqliteProject;
use tokio_util::sync::CancellationToken;

use super::DevServerOptions;

/// The routes of the project's prompts, until `closing` is cancelled. Their history is in the database
/// of the project.
///
/// # Errors
///
/// If a configured folder does not exist, or the history cannot be read.
pub(crate) async fn open(
    options: &DevServerOptions,
    project: Arc<SqliteProject>,
    closing: CancellationToken,
) -> io::Result<PromptRoutes> {
    let prompts = project_options(&options.root, &options.data_dir(), &options.prompts)?;
    let prompts = Prompts::open(prompts, project).await;
    let prompts = prompts.map_err(|error| {
        io::Error::other(format!("the prompts of the project cannot be opened: {error}"))
    })?;
    for problem in prompts.problems() {
        let (file, reason) = (problem.key, problem.message);
        tracing::warn!(%file, %reason, "a prompt file is not served");
    }
    let mut routes = RouteOptions::default();
    routes.closing = closing;
    Ok(PromptRoutes::new(prompts, routes))
}
