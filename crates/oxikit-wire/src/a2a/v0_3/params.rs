//! Reading of parameters.

use serde::Deserialize;

use super::push::InnerConfig;
use super::read::MessageMembers;
use crate::JsonObject;
use crate::a2a::proto::optional_integer;
use crate::a2a::{
    CancelTaskRequest, GetTaskRequest, Part, SendConfiguration, SendMessageRequest,
    SubscribeRequest,
};
use crate::absent::null_is_default;

#[derive(Deserialize)]
#[serde(bound(deserialize = "P: Deserialize<'de>"))]
pub(crate) struct SendMembers<P> {
    /// Its name in the proto file is `request`.
    #[serde(alias = "request")]
    message: MessageMembers<P>,
    configuration: Option<ConfigurationMembers>,
    metadata: Option<JsonObject>,
}

impl<P: Into<Part>> TryFrom<SendMembers<P>> for SendMessageRequest {
    type Error = &'static str;

    fn try_from(members: SendMembers<P>) -> Result<Self, Self::Error> {
        Ok(Self {
            tenant: None,
            message: members.message.try_into()?,
            configuration: members.configuration.map(Into::into),
            metadata: members.metadata,
        })
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ConfigurationMembers {
    #[serde(default, alias = "accepted_output_modes", deserialize_with = "null_is_default")]
    accepted_output_modes: Vec<String>,
    blocking: Option<bool>,
    #[serde(default, alias = "history_length", deserialize_with = "optional_integer")]
    history_length: Option<i64>,
    #[serde(
        alias = "push_notification_config",
        alias = "pushNotification",
        alias = "push_notification"
    )]
    push_notification_config: Option<InnerConfig>,
}

impl From<ConfigurationMembers> for SendConfiguration {
    fn from(members: ConfigurationMembers) -> Self {
        Self {
            accepted_output_modes: members.accepted_output_modes,
            task_push_notification_config: members
                .push_notification_config
                .map(|config| config.into_config(None)),
            history_length: members.history_length,
            return_immediately: members.blocking.map(|is_blocking| !is_blocking),
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GetTaskMembers {
    id: String,
    #[serde(default, alias = "history_length", deserialize_with = "optional_integer")]
    history_length: Option<i64>,
}

impl From<GetTaskMembers> for GetTaskRequest {
    fn from(members: GetTaskMembers) -> Self {
        Self { tenant: None, id: members.id, history_length: members.history_length }
    }
}

#[derive(Deserialize)]
pub(crate) struct CancelTaskMembers {
    id: String,
    metadata: Option<JsonObject>,
}

impl From<CancelTaskMembers> for CancelTaskRequest {
    fn from(members: CancelTaskMembers) -> Self {
        Self { tenant: None, id: members.id, metadata: members.metadata }
    }
}

#[derive(Deserialize)]
pub(crate) struct SubscribeMembers {
    id: String,
}

impl From<SubscribeMembers> for SubscribeRequest {
    fn from(members: SubscribeMembers) -> Self {
        Self { tenant: None, id: members.id }
    }
}
