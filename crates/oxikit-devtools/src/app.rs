//! The application that the tools have started. The server does not know processes: it shows and
//! controls the application through [`AppControl`], which the command line implements.

use std::ffi::OsStr;
use std::fmt;
use std::path::Path;

use async_trait::async_trait;
use oxikit_core::Status;
use schemars::JsonSchema;
use serde::Serialize;

/// Programs that start applications in other languages, without their versions: `python3.12` is
/// `python`. All others count as Rust, because the name of a built program can be anything.
const NOT_RUST: [&str; 13] = [
    "bun", "deno", "flutter", "dart", "go", "node", "npm", "npx", "pnpm", "python", "tsx", "uv",
    "yarn",
];

/// Controls the process of the application. The command line implements it; the API calls it,
/// possibly several times at once.
///
/// ```
/// use oxikit_core::Status;
/// use oxikit_devtools::{AppControl, AppState, AppStatus};
///
/// /// An application that was started elsewhere and cannot be controlled.
/// #[derive(Debug)]
/// struct External;
///
/// #[async_trait::async_trait]
/// impl AppControl for External {
///     fn status(&self) -> AppStatus {
///         AppStatus {
///             state: AppState::Running,
///             pid: None,
///             command: vec!["app".to_owned()],
///             exit: None,
///             last_lines: Vec::new(),
///             restarts: 0,
///         }
///     }
///
///     async fn restart(&self) -> Result<(), Status> {
///         Err(Status::failed_precondition("restart the application where it was started"))
///     }
///
///     async fn stop(&self) -> Result<(), Status> {
///         Err(Status::failed_precondition("stop the application where it was started"))
///     }
/// }
/// ```
#[async_trait]
pub trait AppControl: fmt::Debug + Send + Sync {
    /// The current status. It is called for every request that shows the application, so it must not
    /// block.
    fn status(&self) -> AppStatus;

    /// Stops the application if it runs, and starts it. Returns when it has started.
    ///
    /// # Errors
    ///
    /// If it cannot be stopped or started. The message is shown to the user.
    async fn restart(&self) -> Result<(), Status>;

    /// Stops the application. Returns when it has ended; it is not an error if it does not run.
    ///
    /// # Errors
    ///
    /// If it cannot be stopped.
    async fn stop(&self) -> Result<(), Status>;
}

/// The status of an application.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppStatus {
    /// Whether it runs.
    pub state: AppState,
    /// The id of its process, while it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// The command: the program and its arguments.
    pub command: Vec<String>,
    /// How it ended, such as `exit status: 1`; missing while it runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit: Option<String>,
    /// The last lines of its output.
    pub last_lines: Vec<String>,
    /// Number of times it was restarted.
    pub restarts: u32,
}

impl AppStatus {
    /// Why the application has not connected as a runtime, and what to do; `None` if no
    /// application was started.
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

/// A hint for the user: how a program that is started by this command connects to the tools. The
/// language is guessed from the name of the program.
///
/// ```
/// use oxikit_devtools::how_to_connect;
///
/// let rust = ["cargo".to_owned(), "run".to_owned()];
/// assert!(how_to_connect(&rust).contains("oxikit_serve::reflect"));
/// let python = ["python3".to_owned(), "main.py".to_owned()];
/// assert!(how_to_connect(&python).contains("uses Genkit"));
/// ```
pub fn how_to_connect(command: &[String]) -> &'static str {
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
    /// The process runs.
    Running,
    /// The process does not run.
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
