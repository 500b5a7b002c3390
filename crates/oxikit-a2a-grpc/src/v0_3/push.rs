//! Webhooks.

use oxikit_wire::a2a::{self, A2aError};

use super::resource::{ids_of, task_name, task_of, webhook_name};
use crate::object;
use crate::text::{narrow, optional, or_empty, required, violation};

/// A webhook without its task.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct PushConfig {
    #[prost(string, tag = "1")]
    id: String,
    #[prost(string, tag = "2")]
    url: String,
    #[prost(string, tag = "3")]
    token: String,
    #[prost(message, optional, tag = "4")]
    authentication: Option<AuthenticationInfo>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct AuthenticationInfo {
    #[prost(string, repeated, tag = "1")]
    schemes: Vec<String>,
    #[prost(string, tag = "2")]
    credentials: String,
}

/// A webhook of a task, which its name tells.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct TaskPushConfig {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(message, optional, tag = "2")]
    push_notification_config: Option<PushConfig>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct CreatePushRequest {
    #[prost(string, tag = "1")]
    parent: String,
    #[prost(string, tag = "2")]
    config_id: String,
    #[prost(message, optional, tag = "3")]
    config: Option<TaskPushConfig>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct ListPushConfigsRequest {
    #[prost(string, tag = "1")]
    parent: String,
    #[prost(int32, tag = "2")]
    page_size: i32,
    #[prost(string, tag = "3")]
    page_token: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct ListPushConfigsResponse {
    #[prost(message, repeated, tag = "1")]
    configs: Vec<TaskPushConfig>,
    #[prost(string, tag = "2")]
    next_page_token: String,
}

impl From<&a2a::PushConfig> for PushConfig {
    fn from(config: &a2a::PushConfig) -> Self {
        let authentication = config.authentication.as_ref().map(|it| {
            let first = Some(&it.scheme).filter(|scheme| !scheme.is_empty());
            AuthenticationInfo {
                schemes: first.into_iter().chain(&it.other_schemes).cloned().collect(),
                credentials: or_empty(it.credentials.as_ref()),
            }
        });
        Self {
            id: or_empty(config.id.as_ref()),
            url: config.url.clone(),
            token: or_empty(config.token.as_ref()),
            authentication,
        }
    }
}

impl PushConfig {
    pub(super) fn into_config(self, task_id: Option<String>) -> Result<a2a::PushConfig, A2aError> {
        if self.url.is_empty() {
            return Err(violation("url", "must not be empty"));
        }
        Ok(a2a::PushConfig {
            tenant: None,
            id: optional(self.id),
            task_id,
            url: self.url,
            token: optional(self.token),
            authentication: self.authentication.map(Into::into),
        })
    }
}

impl From<AuthenticationInfo> for a2a::AuthenticationInfo {
    fn from(authentication: AuthenticationInfo) -> Self {
        let mut schemes = authentication.schemes.into_iter();
        Self {
            scheme: schemes.next().unwrap_or_default(),
            credentials: optional(authentication.credentials),
            other_schemes: schemes.collect(),
        }
    }
}

impl From<&a2a::PushConfig> for TaskPushConfig {
    fn from(config: &a2a::PushConfig) -> Self {
        let task = config.task_id.as_deref().unwrap_or_default();
        Self {
            name: webhook_name(task, config.id.as_deref()),
            push_notification_config: Some(config.into()),
        }
    }
}

impl TryFrom<TaskPushConfig> for a2a::PushConfig {
    type Error = A2aError;

    fn try_from(config: TaskPushConfig) -> Result<Self, A2aError> {
        let (task, id) = match ids_of(&config.name) {
            Some((task, id)) => (Some(task), id),
            None => (None, None),
        };
        let inner = required(config.push_notification_config, "pushNotificationConfig")?;
        let config = inner.into_config(task)?;
        Ok(Self { id: config.id.clone().or(id), ..config })
    }
}

impl From<&object::CreatePushRequest> for CreatePushRequest {
    fn from(object::CreatePushRequest(config): &object::CreatePushRequest) -> Self {
        Self {
            parent: task_name(config.task_id.as_deref().unwrap_or_default()),
            config_id: or_empty(config.id.as_ref()),
            config: Some(config.into()),
        }
    }
}

impl TryFrom<CreatePushRequest> for object::CreatePushRequest {
    type Error = A2aError;

    fn try_from(request: CreatePushRequest) -> Result<Self, A2aError> {
        let mut config: a2a::PushConfig = required(request.config, "config")?.try_into()?;
        if !request.parent.is_empty() {
            config.task_id = Some(task_of(&request.parent, "parent")?);
        }
        config.id = config.id.or(optional(request.config_id));
        Ok(Self(config))
    }
}

impl From<&a2a::ListPushConfigsRequest> for ListPushConfigsRequest {
    fn from(request: &a2a::ListPushConfigsRequest) -> Self {
        Self {
            parent: task_name(&request.task_id),
            page_size: request.page_size.map(narrow).unwrap_or_default(),
            page_token: or_empty(request.page_token.as_ref()),
        }
    }
}

impl TryFrom<ListPushConfigsRequest> for a2a::ListPushConfigsRequest {
    type Error = A2aError;

    fn try_from(request: ListPushConfigsRequest) -> Result<Self, A2aError> {
        Ok(Self {
            tenant: None,
            task_id: task_of(&request.parent, "parent")?,
            page_size: (request.page_size != 0).then(|| request.page_size.into()),
            page_token: optional(request.page_token),
        })
    }
}

impl From<&a2a::ListPushConfigsResponse> for ListPushConfigsResponse {
    fn from(response: &a2a::ListPushConfigsResponse) -> Self {
        Self {
            configs: response.configs.iter().map(Into::into).collect(),
            next_page_token: or_empty(response.next_page_token.as_ref()),
        }
    }
}

impl TryFrom<ListPushConfigsResponse> for a2a::ListPushConfigsResponse {
    type Error = A2aError;

    fn try_from(response: ListPushConfigsResponse) -> Result<Self, A2aError> {
        let configs = response.configs.into_iter().map(TryInto::try_into);
        Ok(Self {
            configs: configs.collect::<Result<_, A2aError>>()?,
            next_page_token: optional(response.next_page_token),
        })
    }
}
