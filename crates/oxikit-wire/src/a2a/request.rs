//! Parameters and results of the methods.

use serde::{Deserialize, Serialize};

use super::proto::{count, empty_is_none, optional_integer};
use super::{A2aError, ErrorKind, Message, Part, PushConfig, Task, TaskState};
use crate::JsonObject;
use crate::absent::null_is_default;

/// Parameters of [`SEND_MESSAGE`](super::method::SEND_MESSAGE) and
/// [`SEND_STREAMING_MESSAGE`](super::method::SEND_STREAMING_MESSAGE).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SendMessageRequest {
    /// The tenant that the agent's card names for the interface.
    #[serde(default, deserialize_with = "empty_is_none", skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// The message.
    pub message: Message,
    /// How to answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub configuration: Option<SendConfiguration>,
    /// Data of the client about the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<JsonObject>,
}

impl SendMessageRequest {
    /// Checks what the types leave open: a message needs an id and parts, and no number may be
    /// negative.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidParams`] with all violations.
    pub fn check(&self) -> Result<(), A2aError> {
        let mut error = A2aError::new(ErrorKind::InvalidParams);
        if self.message.message_id.is_empty() {
            error = error.with_violation("message.messageId", "must not be empty");
        }
        if self.message.parts.is_empty() {
            error = error.with_violation("message.parts", "must have at least one part");
        }
        let configuration = self.configuration.as_ref();
        if configuration.and_then(|it| it.history_length).is_some_and(i64::is_negative) {
            error = error.with_violation("configuration.historyLength", "must not be negative");
        }
        if error.violations.is_empty() { Ok(()) } else { Err(error) }
    }

    /// Whether it has JSON values of the sender, as data or metadata. They are kept as they are sent,
    /// whatever they contain.
    pub fn has_json(&self) -> bool {
        let Message { parts, metadata, .. } = &self.message;
        let is_json = |part: &Part| part.as_data().is_some() || part.metadata.is_some();
        self.metadata.is_some() || metadata.is_some() || parts.iter().any(is_json)
    }
}

/// How a server answers a message.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SendConfiguration {
    /// Media types that the client can show.
    #[serde(
        default,
        alias = "accepted_output_modes",
        deserialize_with = "null_is_default",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub accepted_output_modes: Vec<String>,
    /// A webhook for the task.
    #[serde(
        default,
        alias = "task_push_notification_config",
        skip_serializing_if = "Option::is_none"
    )]
    pub task_push_notification_config: Option<PushConfig>,
    /// Maximum number of messages in `history`, the latest ones. All if missing, none if 0.
    #[serde(
        default,
        alias = "history_length",
        deserialize_with = "optional_integer",
        skip_serializing_if = "Option::is_none"
    )]
    pub history_length: Option<i64>,
    /// Whether the server answers with the task as soon as there is one. Otherwise it waits until
    /// the task is in a terminal or interrupted state. `None` is `false`, except in the gRPC
    /// binding of 0.3.
    #[serde(default, alias = "return_immediately", skip_serializing_if = "Option::is_none")]
    pub return_immediately: Option<bool>,
}

/// Parameters of [`LIST_TASKS`](super::method::LIST_TASKS).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListTasksRequest {
    /// The tenant of the tasks.
    #[serde(default, deserialize_with = "empty_is_none", skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// Only tasks of this conversation.
    #[serde(
        default,
        alias = "context_id",
        deserialize_with = "empty_is_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub context_id: Option<String>,
    /// Only tasks in this state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<TaskState>,
    /// Number of tasks on a page, 1 to 100; 50 if missing.
    #[serde(
        default,
        alias = "page_size",
        deserialize_with = "optional_integer",
        skip_serializing_if = "Option::is_none"
    )]
    pub page_size: Option<i64>,
    /// The `nextPageToken` of the page before.
    #[serde(
        default,
        alias = "page_token",
        deserialize_with = "empty_is_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub page_token: Option<String>,
    /// As in [`SendConfiguration::history_length`].
    #[serde(
        default,
        alias = "history_length",
        deserialize_with = "optional_integer",
        skip_serializing_if = "Option::is_none"
    )]
    pub history_length: Option<i64>,
    /// Only tasks whose status has changed at or after this time.
    #[serde(
        default,
        alias = "status_timestamp_after",
        deserialize_with = "empty_is_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub status_timestamp_after: Option<String>,
    /// Whether the tasks contain their artifacts.
    #[serde(default, alias = "include_artifacts", skip_serializing_if = "Option::is_none")]
    pub include_artifacts: Option<bool>,
}

/// A page of tasks, those whose status has changed last first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListTasksResponse {
    /// The tasks.
    #[serde(default, deserialize_with = "null_is_default")]
    pub tasks: Vec<Task>,
    /// The position of the next page; empty on the last one.
    #[serde(default, alias = "next_page_token", deserialize_with = "null_is_default")]
    pub next_page_token: String,
    /// Maximum number of tasks on this page.
    #[serde(default, alias = "page_size", deserialize_with = "count")]
    pub page_size: u64,
    /// Number of tasks on all pages.
    #[serde(default, alias = "total_size", deserialize_with = "count")]
    pub total_size: u64,
}

/// Parameters of [`GET_TASK`](super::method::GET_TASK).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct GetTaskRequest {
    /// The tenant of the task.
    #[serde(default, deserialize_with = "empty_is_none", skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// The task.
    pub id: String,
    /// As in [`SendConfiguration::history_length`].
    #[serde(
        default,
        alias = "history_length",
        deserialize_with = "optional_integer",
        skip_serializing_if = "Option::is_none"
    )]
    pub history_length: Option<i64>,
}

/// Parameters of [`CANCEL_TASK`](super::method::CANCEL_TASK).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CancelTaskRequest {
    /// The tenant of the task.
    #[serde(default, deserialize_with = "empty_is_none", skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// The task.
    pub id: String,
    /// Data of the client about the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<JsonObject>,
}

/// Parameters of [`SUBSCRIBE_TO_TASK`](super::method::SUBSCRIBE_TO_TASK).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SubscribeRequest {
    /// The tenant of the task.
    #[serde(default, deserialize_with = "empty_is_none", skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// The task.
    pub id: String,
}

/// Parameters of [`GET_EXTENDED_CARD`](super::method::GET_EXTENDED_CARD).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ExtendedCardRequest {
    /// The tenant of the agent.
    #[serde(default, deserialize_with = "empty_is_none", skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
}
