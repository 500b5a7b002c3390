//! The error type of all commands, and the exit codes of the program.
//!
//! A [`Failure`] is only data. `Output::report` prints it as text or as JSON.

use std::io;
use std::process::ExitCode;

use oxikit_core::{Status, StatusCode};
use serde_json::{Value, json};

/// The exit codes. `docs/cli.md` documents them, so scripts may depend on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exit {
    /// The command did what was asked.
    Success = 0,
    /// The run, or whatever else was requested, failed.
    Failed = 1,
    /// The command line is not valid.
    Usage = 2,
    /// The developer tools do not run, no runtime is connected, or an A2A agent cannot be
    /// reached.
    Unavailable = 3,
    /// An error of this program or of the operating system.
    Internal = 4,
}

impl Exit {
    /// The exit code for an error of clap. Clap also reports `--help` as an error, with
    /// code 0.
    pub(super) fn from_usage(code: i32) -> Self {
        if code == 0 { Self::Success } else { Self::Usage }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Why a command failed.
#[derive(Debug)]
pub(super) enum Failure {
    /// An error that has not been shown yet.
    Error {
        /// The exit code.
        exit: Exit,
        /// The status, such as `NOT_FOUND`.
        status: String,
        /// The problem and its solution.
        message: String,
        /// Further details from the developer tools or from the runtime.
        details: Option<Value>,
    },
    /// The command has already shown the error as part of its output.
    AlreadyShown(Exit),
    /// The reader of the standard output has closed it, as `head` does. The command ends
    /// early and successfully.
    OutputClosed,
}

impl Failure {
    pub(super) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, "INVALID_ARGUMENT", message)
    }

    pub(super) fn unavailable(message: impl Into<String>) -> Self {
        Self::new(Exit::Unavailable, "UNAVAILABLE", message)
    }

    pub(super) fn failed(status: &str, message: impl Into<String>) -> Self {
        Self::new(Exit::Failed, status, message)
    }

    pub(super) fn internal(message: impl Into<String>) -> Self {
        Self::new(Exit::Internal, "INTERNAL", message)
    }

    fn new(exit: Exit, status: &str, message: impl Into<String>) -> Self {
        Self::Error { exit, status: status.to_owned(), message: message.into(), details: None }
    }

    /// The failure of a call that ended with this status.
    pub(super) fn of_status(status: &Status) -> Self {
        match status.code() {
            StatusCode::Unavailable => Self::unavailable(status.message()),
            code => {
                let failure = Self::failed(code.name(), status.message());
                failure.with_details(status.details().cloned())
            }
        }
    }

    /// Adds details to the error. A `null` counts as no details.
    pub(super) fn with_details(self, more: Option<Value>) -> Self {
        match self {
            Self::Error { exit, status, message, .. } => {
                Self::Error { exit, status, message, details: more.filter(|it| !it.is_null()) }
            }
            failure => failure,
        }
    }

    /// Appends advice to the message, separated by a semicolon. `None` changes nothing.
    pub(super) fn with_advice(self, advice: impl Into<Option<String>>) -> Self {
        match (self, advice.into()) {
            (Self::Error { exit, status, message, details }, Some(advice)) => {
                Self::Error { exit, status, message: format!("{message}; {advice}"), details }
            }
            (failure, _) => failure,
        }
    }

    /// Whether the status is `NOT_FOUND`.
    pub(super) fn is_not_found(&self) -> bool {
        matches!(self, Self::Error { status, .. } if status == "NOT_FOUND")
    }

    /// The value of the member `error` in the JSON output: `{"status", "message",
    /// "details"?}`. `null` if there is nothing left to show.
    pub(super) fn to_json(&self) -> Value {
        match self {
            Self::Error { status, message, details: None, .. } => {
                json!({"status": status, "message": message})
            }
            Self::Error { status, message, details, .. } => {
                json!({"status": status, "message": message, "details": details})
            }
            Self::AlreadyShown(_) | Self::OutputClosed => Value::Null,
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::OutputClosed,
            _ => Self::internal(error.to_string()),
        }
    }
}
