//! The tools, run by the conversation itself because nobody else does.

use std::fs::File;
use std::sync::Arc;

use tokio::task::{JoinHandle, JoinSet};
use tokio_util::sync::CancellationToken;

use super::seat::Seat;
use crate::app::App;
use crate::cli::Place;
use crate::cli::failure::Failure;
use crate::cli::settings::{SettingArgs, Settings};
use crate::manager::{Preferred, Runtimes};
use crate::server::DevServer;

/// The tools of this process. They are the only ones of the project.
#[derive(Debug)]
pub(super) struct OwnTools {
    runtimes: Runtimes,
    closing: CancellationToken,
    serving: JoinHandle<()>,
    /// One for each application that was started: tells its process on.
    preferring: JoinSet<()>,
}

impl OwnTools {
    /// Starts them with the settings of the project, for who has its claim; others find
    /// them as those of `oxikit start`. The application is the one in the seat.
    pub(super) async fn start(
        place: &Place,
        seat: Arc<Seat>,
        claim: File,
    ) -> Result<Self, Failure> {
        let root = place.root();
        let variable = |name: &str| std::env::var(name).ok();
        let settings = Settings::resolve(&SettingArgs::default(), variable, &root)?;
        let options = settings.server_options(root).with_app(seat);
        let server = DevServer::start(options).await;
        let server = server.map_err(|error| Failure::nobody_there(error.to_string()))?;
        tracing::info!(url = server.urls().base(), "the tools run for this conversation");
        let (runtimes, closing) = (server.runtimes().clone(), CancellationToken::new());
        let serving = tokio::spawn(serve(server, closing.clone(), claim));
        Ok(Self { runtimes, closing, serving, preferring: JoinSet::new() })
    }

    /// From now on the runtime of this application is asked when none is named.
    pub(super) fn prefer(&mut self, app: &App) {
        let (runtimes, mut pid) = (self.runtimes.clone(), app.pid());
        self.preferring.spawn(async move {
            // Until the application is given up.
            while pid.changed().await.is_ok() {
                let own = pid.borrow_and_update().map(Preferred::Process);
                if own.is_some() {
                    runtimes.set_preferred(own);
                }
            }
        });
    }

    /// Closes the doors and waits for those who are still inside.
    pub(super) async fn end(&mut self) {
        self.closing.cancel();
        // How it ended does not matter any more.
        _ = (&mut self.serving).await;
    }

    /// Ends at once what has not ended yet.
    pub(super) async fn abandon(self) {
        if !self.serving.is_finished() {
            self.serving.abort();
            _ = self.serving.await;
        }
    }
}

/// Until somebody asks them to end; then others may have the project.
async fn serve(server: DevServer, closing: CancellationToken, _claim: File) {
    tokio::select! {
        () = server.quit_requested() => {}
        () = closing.cancelled() => {}
    }
    server.close().await;
}
