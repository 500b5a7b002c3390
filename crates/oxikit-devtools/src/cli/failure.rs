//! Why a command did not work, and the exit code that says so.

use std::io;
use std::process::ExitCode;

use serde_json::{Value, json};

use super::output::Output;

/// The exit codes; they are documented.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exit {
    /// It worked.
    Good = 0,
    /// The flow, or what else was asked for, failed.
    Failed = 1,
    /// The command line is wrong.
    Usage = 2,
    /// There are no tools or no runtime to ask.
    NobodyThere = 3,
    /// A fault of ours, or of the machine.
    Internal = 4,
}

impl Exit {
    /// What the parser of the command line says, where help is not a failure.
    pub(super) fn from_usage(code: i32) -> Self {
        if code == 0 { Self::Good } else { Self::Usage }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

/// Why a command did not work.
#[derive(Debug)]
pub(super) enum Failure {
    /// To be told.
    Told {
        /// The exit code.
        exit: Exit,
        /// The status, such as `NOT_FOUND`.
        status: String,
        /// What is wrong, and what to do.
        message: String,
        /// What else the tools or the runtime have said.
        details: Option<Value>,
    },
    /// It was told already, as part of the output.
    Shown(Exit),
    /// Nobody reads the output any more, which is their right.
    Unread,
}

impl Failure {
    pub(super) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, "INVALID_ARGUMENT", message)
    }

    pub(super) fn nobody_there(message: impl Into<String>) -> Self {
        Self::new(Exit::NobodyThere, "UNAVAILABLE", message)
    }

    pub(super) fn failed(status: &str, message: impl Into<String>) -> Self {
        Self::new(Exit::Failed, status, message)
    }

    pub(super) fn internal(message: impl Into<String>) -> Self {
        Self::new(Exit::Internal, "INTERNAL", message)
    }

    fn new(exit: Exit, status: &str, message: impl Into<String>) -> Self {
        Self::Told { exit, status: status.to_owned(), message: message.into(), details: None }
    }

    /// With what else is known; nothing if that is null.
    pub(super) fn with_details(self, more: Option<Value>) -> Self {
        match self {
            Self::Told { exit, status, message, .. } => {
                Self::Told { exit, status, message, details: more.filter(|it| !it.is_null()) }
            }
            failure => failure,
        }
    }

    /// With advice behind the message, if there is any.
    pub(super) fn advised(self, advice: impl Into<Option<String>>) -> Self {
        match (self, advice.into()) {
            (Self::Told { exit, status, message, details }, Some(advice)) => {
                Self::Told { exit, status, message: format!("{message}; {advice}"), details }
            }
            (failure, _) => failure,
        }
    }

    /// Whether something that was named does not exist.
    pub(super) fn is_not_found(&self) -> bool {
        matches!(self, Self::Told { status, .. } if status == "NOT_FOUND")
    }

    /// As the output of a command shows it.
    pub(super) fn to_json(&self) -> Value {
        match self {
            Self::Told { status, message, details: None, .. } => {
                json!({"status": status, "message": message})
            }
            Self::Told { status, message, details, .. } => {
                json!({"status": status, "message": message, "details": details})
            }
            Self::Shown(_) | Self::Unread => Value::Null,
        }
    }

    /// Tells it, if there is anything to tell.
    pub(super) fn report(self, output: &mut Output) -> Exit {
        match &self {
            Self::Told { exit, message, .. } => {
                if output.is_json() {
                    // Who has stopped reading the output reads the exit code.
                    _ = output.value(&json!({"ok": false, "error": self.to_json()}));
                } else {
                    output.error(message);
                }
                *exit
            }
            Self::Shown(exit) => *exit,
            Self::Unread => Exit::Good,
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::Unread,
            _ => Self::internal(error.to_string()),
        }
    }
}
