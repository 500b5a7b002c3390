//! The application that the tools have started.

use std::fmt;

use async_trait::async_trait;
use oxikit_core::Status;
use schemars::JsonSchema;
use serde::Serialize;

/// The process of the application, as far as others may steer it.
#[async_trait]
pub trait AppControl: fmt::Debug + Send + Sync {
    /// How it is.
    fn status(&self) -> AppStatus;

    /// Ends it if it runs, and starts it again. Returns when it has started.
    async fn restart(&self) -> Result<(), Status>;

    /// Ends it. Returns when it has ended; that it does not run is no error.
    async fn stop(&self) -> Result<(), Status>;
}

/// How an application is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppStatus {
    /// Whether it runs.
    pub state: AppState,
    /// Its process, while it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// What was started: the program and its arguments.
    pub command: Vec<String>,
    /// How it ended, such as `exit status: 1`. Absent while it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit: Option<String>,
    /// The last lines it has written.
    pub last_lines: Vec<String>,
    /// How often it was started again.
    pub restarts: u32,
}

/// Whether an application runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AppState {
    /// It runs.
    Running,
    /// It does not.
    Stopped,
}
