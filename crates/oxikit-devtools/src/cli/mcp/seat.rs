//! The place of the application that a conversation starts.

use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use oxikit_core::Status;

use crate::app::App;
use crate::server::{AppControl, AppState, AppStatus};

/// Holds one application at most; another can take its place.
#[derive(Debug, Default)]
pub(super) struct Seat(Mutex<Option<App>>);

impl Seat {
    pub(super) fn app(&self) -> Option<App> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// From now on this one. The one before should have ended.
    pub(super) fn set(&self, app: App) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(app);
    }

    /// Ends the application for good, if there is one.
    pub(super) async fn end(&self) {
        let app = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(app) = app {
            app.end().await;
        }
    }

    fn seated(&self) -> Result<App, Status> {
        self.app().ok_or_else(|| Status::failed_precondition("nothing was started yet"))
    }
}

#[async_trait]
impl AppControl for Seat {
    fn status(&self) -> AppStatus {
        self.app().map_or_else(
            || AppStatus {
                state: AppState::Stopped,
                pid: None,
                command: Vec::new(),
                exit: None,
                last_lines: Vec::new(),
                restarts: 0,
            },
            |app| app.status(),
        )
    }

    async fn restart(&self) -> Result<(), Status> {
        self.seated()?.restart().await
    }

    async fn stop(&self) -> Result<(), Status> {
        self.seated()?.stop().await
    }
}
