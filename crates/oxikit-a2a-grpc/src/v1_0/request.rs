//! Parameters and results of the methods.

use oxikit_wire::a2a::{self, A2aError};

use super::push::PushConfig;
use super::task::{Message, Task};
use crate::content::{read_state, state_number};
use crate::text::{narrow, optional, or_empty, required, violation};
use crate::value::{Struct, Timestamp, object};

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct SendMessageRequest {
    #[prost(string, tag = "1")]
    tenant: String,
    #[prost(message, optional, tag = "2")]
    message: Option<Message>,
    #[prost(message, optional, tag = "3")]
    configuration: Option<SendConfiguration>,
    #[prost(message, optional, tag = "4")]
    metadata: Option<Struct>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct SendConfiguration {
    #[prost(string, repeated, tag = "1")]
    accepted_output_modes: Vec<String>,
    #[prost(message, optional, tag = "2")]
    task_push_notification_config: Option<PushConfig>,
    #[prost(int32, optional, tag = "3")]
    history_length: Option<i32>,
    #[prost(bool, tag = "4")]
    return_immediately: bool,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct GetTaskRequest {
    #[prost(string, tag = "1")]
    tenant: String,
    #[prost(string, tag = "2")]
    id: String,
    #[prost(int32, optional, tag = "3")]
    history_length: Option<i32>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct ListTasksRequest {
    #[prost(string, tag = "1")]
    tenant: String,
    #[prost(string, tag = "2")]
    context_id: String,
    #[prost(int32, tag = "3")]
    status: i32,
    #[prost(int32, optional, tag = "4")]
    page_size: Option<i32>,
    #[prost(string, tag = "5")]
    page_token: String,
    #[prost(int32, optional, tag = "6")]
    history_length: Option<i32>,
    #[prost(message, optional, tag = "7")]
    status_timestamp_after: Option<Timestamp>,
    #[prost(bool, optional, tag = "8")]
    include_artifacts: Option<bool>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct ListTasksResponse {
    #[prost(message, repeated, tag = "1")]
    tasks: Vec<Task>,
    #[prost(string, tag = "2")]
    next_page_token: String,
    #[prost(int32, tag = "3")]
    page_size: i32,
    #[prost(int32, tag = "4")]
    total_size: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct CancelTaskRequest {
    #[prost(string, tag = "1")]
    tenant: String,
    #[prost(string, tag = "2")]
    id: String,
    #[prost(message, optional, tag = "3")]
    metadata: Option<Struct>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct SubscribeRequest {
    #[prost(string, tag = "1")]
    tenant: String,
    #[prost(string, tag = "2")]
    id: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct ExtendedCardRequest {
    #[prost(string, tag = "1")]
    tenant: String,
}

impl From<&a2a::SendMessageRequest> for SendMessageRequest {
    fn from(request: &a2a::SendMessageRequest) -> Self {
        let configuration = request.configuration.as_ref().map(|it| SendConfiguration {
            accepted_output_modes: it.accepted_output_modes.clone(),
            task_push_notification_config: it
                .task_push_notification_config
                .as_ref()
                .map(Into::into),
            history_length: it.history_length.map(narrow),
            return_immediately: it.return_immediately.unwrap_or_default(),
        });
        Self {
            tenant: or_empty(request.tenant.as_ref()),
            message: Some((&request.message).into()),
            configuration,
            metadata: request.metadata.as_ref().map(Into::into),
        }
    }
}

impl TryFrom<SendMessageRequest> for a2a::SendMessageRequest {
    type Error = A2aError;

    fn try_from(request: SendMessageRequest) -> Result<Self, A2aError> {
        Ok(Self {
            tenant: optional(request.tenant),
            message: required(request.message, "message")?.try_into()?,
            configuration: request.configuration.map(TryInto::try_into).transpose()?,
            metadata: object(request.metadata)?,
        })
    }
}

impl TryFrom<SendConfiguration> for a2a::SendConfiguration {
    type Error = A2aError;

    fn try_from(configuration: SendConfiguration) -> Result<Self, A2aError> {
        let push = configuration.task_push_notification_config;
        Ok(Self {
            accepted_output_modes: configuration.accepted_output_modes,
            task_push_notification_config: push.map(TryInto::try_into).transpose()?,
            history_length: configuration.history_length.map(i64::from),
            return_immediately: Some(configuration.return_immediately),
        })
    }
}

impl From<&a2a::GetTaskRequest> for GetTaskRequest {
    fn from(request: &a2a::GetTaskRequest) -> Self {
        Self {
            tenant: or_empty(request.tenant.as_ref()),
            id: request.id.clone(),
            history_length: request.history_length.map(narrow),
        }
    }
}

impl TryFrom<GetTaskRequest> for a2a::GetTaskRequest {
    type Error = A2aError;

    fn try_from(request: GetTaskRequest) -> Result<Self, A2aError> {
        Ok(Self {
            tenant: optional(request.tenant),
            id: request.id,
            history_length: request.history_length.map(i64::from),
        })
    }
}

impl From<&a2a::ListTasksRequest> for ListTasksRequest {
    fn from(request: &a2a::ListTasksRequest) -> Self {
        let after = request.status_timestamp_after.as_deref();
        Self {
            tenant: or_empty(request.tenant.as_ref()),
            context_id: or_empty(request.context_id.as_ref()),
            status: request.status.map(state_number).unwrap_or_default(),
            page_size: request.page_size.map(narrow),
            page_token: or_empty(request.page_token.as_ref()),
            history_length: request.history_length.map(narrow),
            status_timestamp_after: after.and_then(Timestamp::read),
            include_artifacts: request.include_artifacts,
        }
    }
}

impl TryFrom<ListTasksRequest> for a2a::ListTasksRequest {
    type Error = A2aError;

    fn try_from(request: ListTasksRequest) -> Result<Self, A2aError> {
        let after = match request.status_timestamp_after.map(Timestamp::text) {
            Some(None) => {
                return Err(violation("statusTimestampAfter", "must be between 1970 and 9999"));
            }
            after => after.flatten(),
        };
        Ok(Self {
            tenant: optional(request.tenant),
            context_id: optional(request.context_id),
            status: (request.status != 0).then(|| read_state(request.status)),
            page_size: request.page_size.map(i64::from),
            page_token: optional(request.page_token),
            history_length: request.history_length.map(i64::from),
            status_timestamp_after: after,
            include_artifacts: request.include_artifacts,
        })
    }
}

impl From<&a2a::ListTasksResponse> for ListTasksResponse {
    fn from(response: &a2a::ListTasksResponse) -> Self {
        let narrow = |size: u64| i32::try_from(size).unwrap_or(i32::MAX);
        Self {
            tasks: response.tasks.iter().map(Into::into).collect(),
            next_page_token: response.next_page_token.clone(),
            page_size: narrow(response.page_size),
            total_size: narrow(response.total_size),
        }
    }
}

impl TryFrom<ListTasksResponse> for a2a::ListTasksResponse {
    type Error = A2aError;

    fn try_from(response: ListTasksResponse) -> Result<Self, A2aError> {
        let size = |size: i32| u64::try_from(size).unwrap_or_default();
        Ok(Self {
            tasks: response.tasks.into_iter().map(TryInto::try_into).collect::<Result<_, _>>()?,
            next_page_token: response.next_page_token,
            page_size: size(response.page_size),
            total_size: size(response.total_size),
        })
    }
}

impl From<&a2a::CancelTaskRequest> for CancelTaskRequest {
    fn from(request: &a2a::CancelTaskRequest) -> Self {
        Self {
            tenant: or_empty(request.tenant.as_ref()),
            id: request.id.clone(),
            metadata: request.metadata.as_ref().map(Into::into),
        }
    }
}

impl TryFrom<CancelTaskRequest> for a2a::CancelTaskRequest {
    type Error = A2aError;

    fn try_from(request: CancelTaskRequest) -> Result<Self, A2aError> {
        let metadata = object(request.metadata)?;
        Ok(Self { tenant: optional(request.tenant), id: request.id, metadata })
    }
}

impl From<&a2a::SubscribeRequest> for SubscribeRequest {
    fn from(request: &a2a::SubscribeRequest) -> Self {
        Self { tenant: or_empty(request.tenant.as_ref()), id: request.id.clone() }
    }
}

impl TryFrom<SubscribeRequest> for a2a::SubscribeRequest {
    type Error = A2aError;

    fn try_from(request: SubscribeRequest) -> Result<Self, A2aError> {
        Ok(Self { tenant: optional(request.tenant), id: request.id })
    }
}

impl From<&a2a::ExtendedCardRequest> for ExtendedCardRequest {
    fn from(request: &a2a::ExtendedCardRequest) -> Self {
        Self { tenant: or_empty(request.tenant.as_ref()) }
    }
}

impl TryFrom<ExtendedCardRequest> for a2a::ExtendedCardRequest {
    type Error = A2aError;

    fn try_from(request: ExtendedCardRequest) -> Result<Self, A2aError> {
        Ok(Self { tenant: optional(request.tenant) })
    }
}
