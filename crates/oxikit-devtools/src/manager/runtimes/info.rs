//! What others are told about runtimes.

use schemars::JsonSchema;
use serde::Serialize;

/// A runtime as the tools show it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct RuntimeInfo {
    /// Its id.
    pub id: String,
    /// Its process.
    pub pid: u32,
    /// The application.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Language and version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub genkit_version: Option<String>,
    /// The version of the protocol.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reflection_api_spec_version: Option<u32>,
    /// How it is reached, without the token.
    pub reflection_server_url: String,
    /// Since when.
    pub timestamp: String,
    /// The folder of the project.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project_name: Option<String>,
    /// The environments it is configured for, as it says; none of one that is found by
    /// its file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub envs: Option<Vec<String>>,
    /// It was asked and says nothing: it is frozen, or busy with itself.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_silent: bool,
}

/// Which runtime is asked when nobody is named.
#[derive(Debug, Clone, PartialEq)]
pub enum Preferred {
    /// The runtime of this process, or of one that it has started.
    Process(u32),
    /// The runtime with this id.
    Runtime(String),
}

/// How much there is at the moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ManagerCounts {
    /// Open sockets.
    pub sockets: usize,
    /// Runtimes, also those that may come back.
    pub runtimes: usize,
    /// Requests that wait for an answer.
    pub pending: usize,
    /// Runs that can be addressed by their trace.
    pub traces: usize,
}
