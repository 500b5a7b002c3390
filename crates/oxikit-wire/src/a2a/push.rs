//! Push notifications: webhooks of clients.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::proto::{empty_is_none, optional_integer};
use crate::absent::null_is_default;

/// Stands in debug output for a secret.
const REDACTED: &str = "[redacted]";

/// A webhook that is called when a task changes.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PushConfig {
    /// The tenant of the task.
    #[serde(default, deserialize_with = "empty_is_none", skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// Identifies the webhook within its task. A server uses the id of the task if it is missing.
    #[serde(default, deserialize_with = "empty_is_none", skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The task. Missing in the request that makes the task.
    #[serde(
        default,
        alias = "task_id",
        deserialize_with = "empty_is_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub task_id: Option<String>,
    /// Receives the notifications by POST.
    pub url: String,
    /// Sent with every notification, so that the receiver recognises its own.
    #[serde(default, deserialize_with = "empty_is_none", skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// The credentials that the receiver asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authentication: Option<AuthenticationInfo>,
}

/// Without the token and the credentials, so that they are in no log.
impl fmt::Debug for PushConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { tenant, id, task_id, url, token, authentication } = self;
        f.debug_struct("PushConfig")
            .field("tenant", tenant)
            .field("id", id)
            .field("task_id", task_id)
            .field("url", url)
            .field("token", &token.as_ref().map(|_| REDACTED))
            .field("authentication", authentication)
            .finish()
    }
}

impl PushConfig {
    /// The webhook as version 1.0 describes it: without
    /// [`other_schemes`](AuthenticationInfo::other_schemes), which strict readers of 1.0 refuse.
    #[must_use]
    pub fn into_v1_0(mut self) -> Self {
        if let Some(authentication) = &mut self.authentication {
            authentication.other_schemes.clear();
        }
        self
    }
}

/// How a server authenticates itself to a webhook.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AuthenticationInfo {
    /// The scheme of the `Authorization` header, such as `Bearer`.
    #[serde(default, deserialize_with = "null_is_default")]
    pub scheme: String,
    /// Its value.
    #[serde(default, deserialize_with = "empty_is_none", skip_serializing_if = "Option::is_none")]
    pub credentials: Option<String>,
    /// More schemes that the receiver accepts. Only version 0.3 has them; they are kept in the
    /// stored form and left out by [`PushConfig::into_v1_0`].
    #[serde(default, deserialize_with = "null_is_default", skip_serializing_if = "Vec::is_empty")]
    pub other_schemes: Vec<String>,
}

/// Without the credentials, so that they are in no log.
impl fmt::Debug for AuthenticationInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scheme, credentials, other_schemes } = self;
        f.debug_struct("AuthenticationInfo")
            .field("scheme", scheme)
            .field("credentials", &credentials.as_ref().map(|_| REDACTED))
            .field("other_schemes", other_schemes)
            .finish()
    }
}

/// Parameters of [`GET_PUSH_CONFIG`](super::method::GET_PUSH_CONFIG) and
/// [`DELETE_PUSH_CONFIG`](super::method::DELETE_PUSH_CONFIG).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PushConfigRequest {
    /// The tenant of the task.
    #[serde(default, deserialize_with = "empty_is_none", skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// The task.
    #[serde(alias = "task_id")]
    pub task_id: String,
    /// The webhook. May only be missing when a client of version 0.3 reads the default one.
    #[serde(default, deserialize_with = "empty_is_none", skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

/// Parameters of [`LIST_PUSH_CONFIGS`](super::method::LIST_PUSH_CONFIGS).
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListPushConfigsRequest {
    /// The tenant of the task.
    #[serde(default, deserialize_with = "empty_is_none", skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// The task.
    #[serde(alias = "task_id")]
    pub task_id: String,
    /// Number of webhooks on a page.
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
}

/// The webhooks of a task.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ListPushConfigsResponse {
    /// The webhooks.
    #[serde(default, deserialize_with = "null_is_default")]
    pub configs: Vec<PushConfig>,
    /// The position of the next page.
    #[serde(
        default,
        alias = "next_page_token",
        deserialize_with = "empty_is_none",
        skip_serializing_if = "Option::is_none"
    )]
    pub next_page_token: Option<String>,
}
