//! The application that the tools have started.

use std::ffi::OsStr;
use std::fmt;
use std::path::Path;

use async_trait::async_trait;
use oxikit_core::Status;
use schemars::JsonSchema;
use serde::Serialize;

/// Programs that start applications in other languages, without their versions.
const NOT_RUST: [&str; 13] = [
    "bun", "deno", "flutter", "dart", "go", "node", "npm", "npx", "pnpm", "python", "tsx", "uv",
    "yarn",
];

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

impl AppStatus {
    /// Why the application is no runtime, and what to do; `None` if nothing was started.
    pub(crate) fn why_absent(&self) -> Option<String> {
        if self.command.is_empty() {
            return None;
        }
        let command = self.command.join(" ");
        Some(match (self.state, &self.exit) {
            (AppState::Running, _) => {
                let hint = how_to_connect(&self.command);
                format!("`{command}` runs and has not connected; it may still be built, and {hint}")
            }
            (AppState::Stopped, Some(exit)) => format!(
                "`{command}` has ended ({exit}): see its last lines with `oxikit app status`, start it again with `oxikit app restart`"
            ),
            (AppState::Stopped, None) => {
                format!("`{command}` does not run: start it with `oxikit app restart`")
            }
        })
    }
}

/// How a program that is started by this command connects to the tools.
pub(crate) fn how_to_connect(command: &[String]) -> &'static str {
    let program = command.first().map(|program| Path::new(program).file_stem());
    let program = program.flatten().and_then(OsStr::to_str).unwrap_or_default();
    let is_version = |letter: char| letter.is_ascii_digit() || letter == '.';
    if NOT_RUST.contains(&program.trim_end_matches(is_version)) {
        "a program connects if it uses Genkit and leaves the GENKIT_ variables as they are"
    } else {
        "a Rust program connects in `oxikit_serve::reflect(&ai).await` or `oxikit_serve::serve(&ai).await`, and stays; one that calls neither never connects"
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hint_is_for_the_language_and_the_state() {
        let status = |state, command: &[&str], exit: Option<&str>| AppStatus {
            state,
            pid: None,
            command: command.iter().copied().map(str::to_owned).collect(),
            exit: exit.map(str::to_owned),
            last_lines: Vec::new(),
            restarts: 0,
        };
        let check = |status: AppStatus, expected: &str| {
            let why = status.why_absent().unwrap();
            assert!(why.contains(expected), "{why}");
        };
        check(status(AppState::Running, &["cargo", "run"], None), "oxikit_serve::reflect(&ai)");
        check(status(AppState::Running, &["target/debug/app"], None), "oxikit_serve::serve(&ai)");
        check(status(AppState::Running, &["/usr/bin/python3", "main.py"], None), "uses Genkit");
        check(status(AppState::Running, &["npm", "run", "dev"], None), "GENKIT_ variables");
        let ended = status(AppState::Stopped, &["cargo", "run"], Some("exit status: 3"));
        check(ended, "`cargo run` has ended (exit status: 3): see its last lines");
        check(status(AppState::Stopped, &["cargo", "run"], None), "oxikit app restart");
        assert_eq!(status(AppState::Stopped, &[], None).why_absent(), None);
    }
}
