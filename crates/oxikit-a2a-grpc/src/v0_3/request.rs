//! Parameters of the methods.

use oxikit_wire::a2a::{self, A2aError};

use super::push::PushConfig;
use super::resource::{ids_of, task_name, task_of, webhook_name};
use super::task::Message;
use crate::text::{narrow, required, violation};
use crate::value::{Struct, object};

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct SendMessageRequest {
    /// The field is named `request`.
    #[prost(message, optional, tag = "1")]
    message: Option<Message>,
    #[prost(message, optional, tag = "2")]
    configuration: Option<SendConfiguration>,
    #[prost(message, optional, tag = "3")]
    metadata: Option<Struct>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct SendConfiguration {
    #[prost(string, repeated, tag = "1")]
    accepted_output_modes: Vec<String>,
    #[prost(message, optional, tag = "2")]
    push_notification: Option<PushConfig>,
    #[prost(int32, tag = "3")]
    history_length: i32,
    #[prost(bool, tag = "4")]
    blocking: bool,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct GetTaskRequest {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(int32, tag = "2")]
    history_length: i32,
}

/// Parameters of the methods that only take the name of a task or of a webhook.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct NameRequest {
    #[prost(string, tag = "1")]
    name: String,
}

#[derive(Clone, Copy, PartialEq, prost::Message)]
pub(crate) struct GetAgentCardRequest {}

/// The length of a history. 0 is the same as no length here, so that no client can ask for a task
/// without its history.
fn history_length(length: i32) -> Option<i64> {
    (length != 0).then(|| length.into())
}

impl From<&a2a::SendMessageRequest> for SendMessageRequest {
    fn from(request: &a2a::SendMessageRequest) -> Self {
        // Servers that read a missing configuration as "do not wait" exist: it is always written.
        let configuration = request.configuration.clone().unwrap_or_default();
        let push = configuration.task_push_notification_config;
        Self {
            message: Some((&request.message).into()),
            configuration: Some(SendConfiguration {
                accepted_output_modes: configuration.accepted_output_modes,
                push_notification: push.as_ref().map(Into::into),
                history_length: configuration.history_length.map(narrow).unwrap_or_default(),
                blocking: configuration.return_immediately != Some(true),
            }),
            metadata: request.metadata.as_ref().map(Into::into),
        }
    }
}

impl TryFrom<SendMessageRequest> for a2a::SendMessageRequest {
    type Error = A2aError;

    fn try_from(request: SendMessageRequest) -> Result<Self, A2aError> {
        Ok(Self {
            tenant: None,
            message: required(request.message, "message")?.try_into()?,
            configuration: request.configuration.map(TryInto::try_into).transpose()?,
            metadata: object(request.metadata)?,
        })
    }
}

impl TryFrom<SendConfiguration> for a2a::SendConfiguration {
    type Error = A2aError;

    fn try_from(configuration: SendConfiguration) -> Result<Self, A2aError> {
        let push = configuration.push_notification.map(|push| push.into_config(None));
        Ok(Self {
            accepted_output_modes: configuration.accepted_output_modes,
            task_push_notification_config: push.transpose()?,
            history_length: history_length(configuration.history_length),
            return_immediately: Some(!configuration.blocking),
        })
    }
}

impl From<&a2a::GetTaskRequest> for GetTaskRequest {
    fn from(request: &a2a::GetTaskRequest) -> Self {
        Self {
            name: task_name(&request.id),
            history_length: request.history_length.map(narrow).unwrap_or_default(),
        }
    }
}

impl TryFrom<GetTaskRequest> for a2a::GetTaskRequest {
    type Error = A2aError;

    fn try_from(request: GetTaskRequest) -> Result<Self, A2aError> {
        let id = task_of(&request.name, "name")?;
        Ok(Self { tenant: None, id, history_length: history_length(request.history_length) })
    }
}

impl From<&a2a::CancelTaskRequest> for NameRequest {
    fn from(request: &a2a::CancelTaskRequest) -> Self {
        Self { name: task_name(&request.id) }
    }
}

impl TryFrom<NameRequest> for a2a::CancelTaskRequest {
    type Error = A2aError;

    fn try_from(request: NameRequest) -> Result<Self, A2aError> {
        Ok(Self { id: task_of(&request.name, "name")?, ..Self::default() })
    }
}

impl From<&a2a::SubscribeRequest> for NameRequest {
    fn from(request: &a2a::SubscribeRequest) -> Self {
        Self { name: task_name(&request.id) }
    }
}

impl TryFrom<NameRequest> for a2a::SubscribeRequest {
    type Error = A2aError;

    fn try_from(request: NameRequest) -> Result<Self, A2aError> {
        Ok(Self { tenant: None, id: task_of(&request.name, "name")? })
    }
}

impl From<&a2a::PushConfigRequest> for NameRequest {
    fn from(request: &a2a::PushConfigRequest) -> Self {
        Self { name: webhook_name(&request.task_id, request.id.as_deref()) }
    }
}

impl TryFrom<NameRequest> for a2a::PushConfigRequest {
    type Error = A2aError;

    fn try_from(request: NameRequest) -> Result<Self, A2aError> {
        let (task_id, id) = ids_of(&request.name)
            .ok_or_else(|| violation("name", "must be tasks/{id}/pushNotificationConfigs/{id}"))?;
        Ok(Self { tenant: None, task_id, id })
    }
}

impl From<&a2a::ExtendedCardRequest> for GetAgentCardRequest {
    fn from(_: &a2a::ExtendedCardRequest) -> Self {
        Self {}
    }
}

impl TryFrom<GetAgentCardRequest> for a2a::ExtendedCardRequest {
    type Error = A2aError;

    fn try_from(_: GetAgentCardRequest) -> Result<Self, A2aError> {
        Ok(Self::default())
    }
}
