//! Webhooks.

use oxikit_wire::a2a::{self, A2aError};

use crate::object::CreatePushRequest;
use crate::text::{narrow, optional, or_empty, violation};

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct PushConfig {
    #[prost(string, tag = "1")]
    tenant: String,
    #[prost(string, tag = "2")]
    id: String,
    #[prost(string, tag = "3")]
    task_id: String,
    #[prost(string, tag = "4")]
    url: String,
    #[prost(string, tag = "5")]
    token: String,
    #[prost(message, optional, tag = "6")]
    authentication: Option<AuthenticationInfo>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct AuthenticationInfo {
    #[prost(string, tag = "1")]
    scheme: String,
    #[prost(string, tag = "2")]
    credentials: String,
}

/// Parameters of two methods: to read a webhook, and to remove one.
#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct PushConfigRequest {
    #[prost(string, tag = "1")]
    tenant: String,
    #[prost(string, tag = "2")]
    task_id: String,
    #[prost(string, tag = "3")]
    id: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct ListPushConfigsRequest {
    #[prost(string, tag = "1")]
    task_id: String,
    #[prost(int32, tag = "2")]
    page_size: i32,
    #[prost(string, tag = "3")]
    page_token: String,
    #[prost(string, tag = "4")]
    tenant: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct ListPushConfigsResponse {
    #[prost(message, repeated, tag = "1")]
    configs: Vec<PushConfig>,
    #[prost(string, tag = "2")]
    next_page_token: String,
}

impl From<&a2a::PushConfig> for PushConfig {
    fn from(config: &a2a::PushConfig) -> Self {
        Self {
            tenant: or_empty(config.tenant.as_ref()),
            id: or_empty(config.id.as_ref()),
            task_id: or_empty(config.task_id.as_ref()),
            url: config.url.clone(),
            token: or_empty(config.token.as_ref()),
            authentication: config.authentication.as_ref().map(|it| AuthenticationInfo {
                scheme: it.scheme.clone(),
                credentials: or_empty(it.credentials.as_ref()),
            }),
        }
    }
}

impl TryFrom<PushConfig> for a2a::PushConfig {
    type Error = A2aError;

    fn try_from(config: PushConfig) -> Result<Self, A2aError> {
        if config.url.is_empty() {
            return Err(violation("url", "must not be empty"));
        }
        Ok(Self {
            tenant: optional(config.tenant),
            id: optional(config.id),
            task_id: optional(config.task_id),
            url: config.url,
            token: optional(config.token),
            authentication: config.authentication.map(|it| a2a::AuthenticationInfo {
                scheme: it.scheme,
                credentials: optional(it.credentials),
                other_schemes: Vec::new(),
            }),
        })
    }
}

impl From<&CreatePushRequest> for PushConfig {
    fn from(CreatePushRequest(config): &CreatePushRequest) -> Self {
        config.into()
    }
}

impl TryFrom<PushConfig> for CreatePushRequest {
    type Error = A2aError;

    fn try_from(config: PushConfig) -> Result<Self, A2aError> {
        config.try_into().map(Self)
    }
}

impl From<&a2a::PushConfigRequest> for PushConfigRequest {
    fn from(request: &a2a::PushConfigRequest) -> Self {
        Self {
            tenant: or_empty(request.tenant.as_ref()),
            task_id: request.task_id.clone(),
            id: or_empty(request.id.as_ref()),
        }
    }
}

impl TryFrom<PushConfigRequest> for a2a::PushConfigRequest {
    type Error = A2aError;

    fn try_from(request: PushConfigRequest) -> Result<Self, A2aError> {
        let (task_id, id) = (request.task_id, optional(request.id));
        Ok(Self { tenant: optional(request.tenant), task_id, id })
    }
}

impl From<&a2a::ListPushConfigsRequest> for ListPushConfigsRequest {
    fn from(request: &a2a::ListPushConfigsRequest) -> Self {
        Self {
            task_id: request.task_id.clone(),
            page_size: request.page_size.map(narrow).unwrap_or_default(),
            page_token: or_empty(request.page_token.as_ref()),
            tenant: or_empty(request.tenant.as_ref()),
        }
    }
}

impl TryFrom<ListPushConfigsRequest> for a2a::ListPushConfigsRequest {
    type Error = A2aError;

    fn try_from(request: ListPushConfigsRequest) -> Result<Self, A2aError> {
        Ok(Self {
            tenant: optional(request.tenant),
            task_id: request.task_id,
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
