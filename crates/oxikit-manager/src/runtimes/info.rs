//! The public descriptions of runtimes.

use schemars::JsonSchema;
use serde::Serialize;

/// A runtime as the tools show it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct RuntimeInfo {
    /// The id with which the runtime registered.
    pub id: String,
    /// The id of its process.
    pub pid: u32,
    /// The name of the application.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Language and version, such as `nodejs/1.20.0`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub genkit_version: Option<String>,
    /// The version of the reflection protocol.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reflection_api_spec_version: Option<u32>,
    /// The URL over which it is reached, without the token.
    pub reflection_server_url: String,
    /// When it registered or was started, as an RFC 3339 timestamp.
    pub timestamp: String,
    /// The name of the project folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project_name: Option<String>,
    /// The environments that it is configured for; `None` if it was found by its file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub envs: Option<Vec<String>>,
    /// Whether it does not react to requests: it is stopped, blocked or busy.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_silent: bool,
}

/// The runtime that is used when a caller names none; see
/// [`Runtimes::set_preferred`](crate::Runtimes::set_preferred).
#[derive(Debug, Clone, PartialEq)]
pub enum Preferred {
    /// The runtime in this process or in one of its descendants.
    Process(u32),
    /// The runtime with this id.
    Runtime(String),
}

/// Current numbers of a manager, for tests and metrics.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ManagerCounts {
    /// Number of open sockets.
    pub sockets: usize,
    /// Number of runtimes, including those that may still reconnect.
    pub runtimes: usize,
    /// Number of unanswered requests.
    pub pending: usize,
    /// Number of runs with a known trace id.
    pub traces: usize,
}
