//! The state that the tools of one MCP connection share: the project, the client of its
//! developer tools, and the processes that were started for the coding agent.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::app_slot::AppSlot;
use super::conversations::Conversations;
use super::own_tools::OwnTools;
use crate::ProjectDir;
use crate::client::Client;
use crate::failure::Failure;
use crate::project::manager_of;
use oxikit_devtools::ManagerFile;

/// Maximum time for the application and the developer tools to end when the connection
/// ends. After it the tools are aborted, and the guard process kills the application.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(400);

/// See the module.
#[derive(Debug)]
pub(super) struct McpState {
    pub(super) project_dir: ProjectDir,
    /// The application that `start_runtime` started.
    pub(super) app_slot: Arc<AppSlot>,
    pub(super) conversations: Conversations,
    /// The developer tools, if this process runs them. The lock is held while the tools or
    /// the application are started or ended, so that those steps never overlap.
    pub(super) own_tools: tokio::sync::Mutex<Option<OwnTools>>,
    client: Mutex<Option<Client>>,
}

impl McpState {
    pub(super) fn new(project_dir: ProjectDir) -> Self {
        Self {
            project_dir,
            app_slot: Arc::default(),
            conversations: Conversations::default(),
            own_tools: tokio::sync::Mutex::default(),
            client: Mutex::default(),
        }
    }

    /// A client of the developer tools that run for the project. The client is reused as
    /// long as the same tools run.
    ///
    /// # Errors
    ///
    /// `UNAVAILABLE` if none run.
    pub(super) fn client(&self) -> Result<Client, Failure> {
        let manager = self.manager()?.ok_or_else(|| {
            Failure::unavailable(format!(
                "no developer tools run for {}: call start_runtime, or let the user run `oxikit start`",
                self.project_dir.0.display()
            ))
        })?;
        let mut kept = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        match &*kept {
            Some(client) if *client.manager() == manager => Ok(client.clone()),
            _ => Ok(kept.insert(Client::of(manager)?).clone()),
        }
    }

    /// Where the developer tools of the project are reached; `None` if none run.
    pub(super) fn manager(&self) -> Result<Option<ManagerFile>, Failure> {
        let found = manager_of(&self.project_dir.0).map_err(Failure::unavailable)?;
        Ok(found.map(|(_, manager)| manager).filter(ManagerFile::is_alive))
    }

    /// Ends the processes and the server that were started for this connection.
    pub(super) async fn close(&self) {
        let mut own_tools = self.own_tools.lock().await;
        let ending = async {
            // The application ends first, so that the tools still receive its last spans.
            self.app_slot.end().await;
            if let Some(tools) = &mut *own_tools {
                tools.end().await;
            }
        };
        if tokio::time::timeout(CLOSE_TIMEOUT, ending).await.is_err() {
            tracing::warn!("the application did not end in time and was killed");
        }
        if let Some(tools) = own_tools.take() {
            tools.abandon().await;
        }
    }
}
