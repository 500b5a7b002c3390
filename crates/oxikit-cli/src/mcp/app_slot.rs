//! Holds the application that `start_runtime` starts.
//!
//! The developer tools get the slot in place of an application, because they start before
//! the first application and stay when it is replaced.

use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use oxikit_core::Status;

use crate::app::App;
use oxikit_devtools::{AppControl, AppState, AppStatus};

/// At most one application, which can be replaced.
#[derive(Debug, Default)]
pub(super) struct AppSlot(Mutex<Option<App>>);

impl AppSlot {
    pub(super) fn app(&self) -> Option<App> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Sets the application. The caller must have ended the previous one.
    pub(super) fn set(&self, app: App) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(app);
    }

    /// Ends the application and empties the slot.
    pub(super) async fn end(&self) {
        let app = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(app) = app {
            app.end().await;
        }
    }

    fn started_app(&self) -> Result<App, Status> {
        self.app().ok_or_else(|| Status::failed_precondition("no application was started yet"))
    }
}

#[async_trait]
impl AppControl for AppSlot {
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
        self.started_app()?.restart().await
    }

    async fn stop(&self) -> Result<(), Status> {
        self.started_app()?.stop().await
    }
}
