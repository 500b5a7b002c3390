//! Versions of the protocol, and the operations that both have.

use std::fmt;

use super::method;

/// A version of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Version {
    /// Version 0.3.
    V0_3,
    /// Version 1.0.
    V1_0,
}

impl Version {
    /// Major and minor number, as the header [`A2A_VERSION`](crate::headers::A2A_VERSION) has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::V0_3 => "0.3",
            Self::V1_0 => "1.0",
        }
    }

    /// The version that a client asks for; `None` if the header is missing or empty. The patch
    /// number does not count.
    ///
    /// ```
    /// use oxikit_wire::a2a::Version;
    ///
    /// assert_eq!(Version::from_header(Some("1.0.1")), Ok(Some(Version::V1_0)));
    /// assert_eq!(Version::from_header(None), Ok(None));
    /// assert!(Version::from_header(Some("99.0")).is_err());
    /// ```
    ///
    /// # Errors
    ///
    /// If it is a version that this crate does not have.
    pub fn from_header(value: Option<&str>) -> Result<Option<Self>, UnsupportedVersion> {
        let Some(value) = value.map(str::trim).filter(|value| !value.is_empty()) else {
            return Ok(None);
        };
        let found = [Self::V0_3, Self::V1_0].into_iter().find(|version| version.includes(value));
        found.map(Some).ok_or_else(|| UnsupportedVersion(value.to_owned()))
    }

    /// Whether the text is this version, with or without a patch number.
    pub(super) fn includes(self, text: &str) -> bool {
        text.strip_prefix(self.name()).is_some_and(|rest| {
            let patch = rest.strip_prefix('.');
            let is_number = |it: &str| !it.is_empty() && it.bytes().all(|b| b.is_ascii_digit());
            rest.is_empty() || patch.is_some_and(is_number)
        })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A client asks for a version of the protocol that is not supported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnsupportedVersion(
    /// The version.
    pub String,
);

impl fmt::Display for UnsupportedVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "version `{}` of A2A is not supported; use 1.0 or 0.3", self.0)
    }
}

impl std::error::Error for UnsupportedVersion {}

/// An operation that a client asks a server for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Sends a message and waits for the answer.
    SendMessage,
    /// Sends a message; the answer is a stream of events.
    SendStreamingMessage,
    /// Reads a task.
    GetTask,
    /// Lists tasks. Not in the JSON-RPC binding of 0.3.
    ListTasks,
    /// Cancels a task.
    CancelTask,
    /// Follows the events of a task.
    SubscribeToTask,
    /// Registers a webhook.
    CreatePushConfig,
    /// Reads a webhook's registration.
    GetPushConfig,
    /// Lists the webhooks of a task.
    ListPushConfigs,
    /// Removes a webhook.
    DeletePushConfig,
    /// Reads the card for authenticated callers.
    GetExtendedCard,
}

impl Operation {
    /// All operations.
    pub const ALL: [Self; 11] = [
        Self::SendMessage,
        Self::SendStreamingMessage,
        Self::GetTask,
        Self::ListTasks,
        Self::CancelTask,
        Self::SubscribeToTask,
        Self::CreatePushConfig,
        Self::GetPushConfig,
        Self::ListPushConfigs,
        Self::DeletePushConfig,
        Self::GetExtendedCard,
    ];

    /// The name of its JSON-RPC method in a version, if that has one.
    pub fn method(self, version: Version) -> Option<&'static str> {
        let (v0_3, v1_0) = match self {
            Self::SendMessage => (Some(method::v0_3::SEND_MESSAGE), method::SEND_MESSAGE),
            Self::SendStreamingMessage => {
                (Some(method::v0_3::SEND_STREAMING_MESSAGE), method::SEND_STREAMING_MESSAGE)
            }
            Self::GetTask => (Some(method::v0_3::GET_TASK), method::GET_TASK),
            Self::ListTasks => (None, method::LIST_TASKS),
            Self::CancelTask => (Some(method::v0_3::CANCEL_TASK), method::CANCEL_TASK),
            Self::SubscribeToTask => {
                (Some(method::v0_3::SUBSCRIBE_TO_TASK), method::SUBSCRIBE_TO_TASK)
            }
            Self::CreatePushConfig => {
                (Some(method::v0_3::CREATE_PUSH_CONFIG), method::CREATE_PUSH_CONFIG)
            }
            Self::GetPushConfig => (Some(method::v0_3::GET_PUSH_CONFIG), method::GET_PUSH_CONFIG),
            Self::ListPushConfigs => {
                (Some(method::v0_3::LIST_PUSH_CONFIGS), method::LIST_PUSH_CONFIGS)
            }
            Self::DeletePushConfig => {
                (Some(method::v0_3::DELETE_PUSH_CONFIG), method::DELETE_PUSH_CONFIG)
            }
            Self::GetExtendedCard => {
                (Some(method::v0_3::GET_EXTENDED_CARD), method::GET_EXTENDED_CARD)
            }
        };
        match version {
            Version::V0_3 => v0_3,
            Version::V1_0 => Some(v1_0),
        }
    }

    /// The operation and the version of a JSON-RPC method.
    ///
    /// ```
    /// use oxikit_wire::a2a::{Operation, Version};
    ///
    /// let found = Operation::from_method("tasks/get");
    /// assert_eq!(found, Some((Operation::GetTask, Version::V0_3)));
    /// ```
    pub fn from_method(name: &str) -> Option<(Self, Version)> {
        let version = if name.contains('/') { Version::V0_3 } else { Version::V1_0 };
        let found = Self::ALL.into_iter().find(|it| it.method(version) == Some(name))?;
        Some((found, version))
    }

    /// Whether the answer is a stream of events.
    pub fn is_streaming(self) -> bool {
        matches!(self, Self::SendStreamingMessage | Self::SubscribeToTask)
    }
}
