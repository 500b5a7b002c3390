//! Developer tools that run inside `oxikit mcp`, for projects where no `oxikit start` runs.

use std::fs::File;
use std::sync::Arc;

use tokio::task::{JoinHandle, JoinSet};
use tokio_util::sync::CancellationToken;

use super::app_slot::AppSlot;
use crate::ProjectDir;
use crate::app::App;
use crate::failure::Failure;
use crate::settings::{SettingArgs, Settings};
use oxikit_devtools::DevServer;
use oxikit_manager::{Preferred, Runtimes};

/// The developer tools of this process. While they run, no others can start for the project.
#[derive(Debug)]
pub(super) struct OwnTools {
    runtimes: Runtimes,
    closing: CancellationToken,
    serving: JoinHandle<()>,
    /// One task for each application that was started, which passes its process id on to
    /// `runtimes`.
    preferring: JoinSet<()>,
}

impl OwnTools {
    /// Starts the developer tools with the settings of the project. `claim` is the lock of
    /// the project and is held until they end. Other commands find these tools as they
    /// find those of `oxikit start`.
    pub(super) async fn start(
        project_dir: &ProjectDir,
        app_slot: Arc<AppSlot>,
        claim: File,
    ) -> Result<Self, Failure> {
        let root = project_dir.root();
        let variable = |name: &str| std::env::var(name).ok();
        let settings = Settings::resolve(&SettingArgs::default(), variable, &root)?;
        let options = settings.server_options(root).with_app(app_slot);
        let server = DevServer::start(options).await;
        let server = server.map_err(|error| Failure::unavailable(error.to_string()))?;
        tracing::info!(url = server.urls().base(), "developer tools started");
        let (runtimes, closing) = (server.runtimes().clone(), CancellationToken::new());
        // The claim moves into the task, so that the project stays locked until the server is closed.
        let serving = tokio::spawn(serve(server, closing.clone(), claim));
        Ok(Self { runtimes, closing, serving, preferring: JoinSet::new() })
    }

    /// Makes the runtime of this application the current one, also after a restart.
    pub(super) fn prefer(&mut self, app: &App) {
        let (runtimes, mut pid) = (self.runtimes.clone(), app.pid());
        self.preferring.spawn(async move {
            // The channel closes when the application is dropped.
            while pid.changed().await.is_ok() {
                let own = pid.borrow_and_update().map(Preferred::Process);
                if own.is_some() {
                    runtimes.set_preferred(own);
                }
            }
        });
    }

    /// Stops accepting requests and waits until those in progress have ended.
    pub(super) async fn end(&mut self) {
        self.closing.cancel();
        // An error of the task changes nothing: the tools have ended.
        _ = (&mut self.serving).await;
    }

    /// Aborts the tools if they have not ended.
    pub(super) async fn abandon(self) {
        if !self.serving.is_finished() {
            self.serving.abort();
            _ = self.serving.await;
        }
    }
}

/// Serves until a client asks the tools to quit or the token is cancelled. Then the lock is
/// released.
async fn serve(server: DevServer, closing: CancellationToken, _claim: File) {
    tokio::select! {
        () = server.quit_requested() => {}
        () = closing.cancelled() => {}
    }
    server.close().await;
}
