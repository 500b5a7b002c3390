//! Reading of webhooks.

use serde::Deserialize;

use super::read::list;
use crate::a2a::proto::empty_is_none;
use crate::a2a::{
    AuthenticationInfo, ListPushConfigsRequest, ListPushConfigsResponse, PushConfig,
    PushConfigRequest,
};
use crate::absent::null_is_default;

/// The members of a webhook that do not name its task.
#[derive(Deserialize)]
pub(crate) struct InnerConfig {
    #[serde(default, deserialize_with = "empty_is_none")]
    id: Option<String>,
    url: String,
    #[serde(default, deserialize_with = "empty_is_none")]
    token: Option<String>,
    authentication: Option<AuthenticationMembers>,
}

impl InnerConfig {
    pub(super) fn into_config(self, task_id: Option<String>) -> PushConfig {
        PushConfig {
            tenant: None,
            id: self.id,
            task_id,
            url: self.url,
            token: self.token,
            authentication: self.authentication.map(Into::into),
        }
    }
}

#[derive(Deserialize)]
struct AuthenticationMembers {
    #[serde(default, deserialize_with = "null_is_default")]
    schemes: Vec<String>,
    #[serde(default, deserialize_with = "empty_is_none")]
    credentials: Option<String>,
}

impl From<AuthenticationMembers> for AuthenticationInfo {
    fn from(members: AuthenticationMembers) -> Self {
        let mut schemes = members.schemes.into_iter();
        Self {
            scheme: schemes.next().unwrap_or_default(),
            credentials: members.credentials,
            other_schemes: schemes.collect(),
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TaskConfigMembers {
    task_id: String,
    push_notification_config: InnerConfig,
}

impl From<TaskConfigMembers> for PushConfig {
    fn from(members: TaskConfigMembers) -> Self {
        members.push_notification_config.into_config(Some(members.task_id))
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ConfigIdMembers {
    id: String,
    #[serde(default, deserialize_with = "empty_is_none")]
    push_notification_config_id: Option<String>,
}

impl From<ConfigIdMembers> for PushConfigRequest {
    fn from(members: ConfigIdMembers) -> Self {
        Self { tenant: None, task_id: members.id, id: members.push_notification_config_id }
    }
}

#[derive(Deserialize)]
pub(crate) struct ListMembers {
    id: String,
}

impl From<ListMembers> for ListPushConfigsRequest {
    fn from(members: ListMembers) -> Self {
        Self { task_id: members.id, ..Self::default() }
    }
}

#[derive(Deserialize)]
#[serde(transparent)]
pub(crate) struct ConfigList(Vec<TaskConfigMembers>);

impl From<ConfigList> for ListPushConfigsResponse {
    fn from(ConfigList(configs): ConfigList) -> Self {
        Self { configs: configs.into_iter().map(Into::into).collect(), next_page_token: None }
    }
}

/// A webhook of the HTTP binding. The request that registers one has three forms: members of the
/// request around the webhook, only the `config` around it, or the webhook alone.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NamedConfigMembers {
    #[serde(default, deserialize_with = "empty_is_none")]
    parent: Option<String>,
    #[serde(default, alias = "config_id", deserialize_with = "empty_is_none")]
    config_id: Option<String>,
    config: Option<Box<NamedConfigMembers>>,
    #[serde(default, deserialize_with = "empty_is_none")]
    name: Option<String>,
    #[serde(alias = "push_notification_config")]
    push_notification_config: Option<InnerConfig>,
}

impl TryFrom<NamedConfigMembers> for PushConfig {
    type Error = &'static str;

    fn try_from(members: NamedConfigMembers) -> Result<Self, Self::Error> {
        let NamedConfigMembers { parent, config_id, config, name, push_notification_config } =
            members;
        let (inner, inner_name) = match config {
            Some(config) => (config.push_notification_config, config.name),
            None => (push_notification_config, None),
        };
        let inner = inner.ok_or("a webhook needs its `pushNotificationConfig`")?;
        let (task_id, id) = inner_name.or(name).map(|name| ids_of(&name)).unwrap_or_default();
        let task_id = task_id.or_else(|| parent.and_then(|parent| ids_of(&parent).0));
        let mut config = inner.into_config(task_id);
        config.id = config.id.or(config_id).or(id);
        Ok(config)
    }
}

/// The ids of `tasks/{task}/pushNotificationConfigs/{config}`, as far as it has them.
fn ids_of(name: &str) -> (Option<String>, Option<String>) {
    let Some(rest) = name.strip_prefix("tasks/") else { return (None, None) };
    let (task, config) = rest.split_once("/pushNotificationConfigs").unwrap_or((rest, ""));
    let owned = |id: &str| (!id.is_empty()).then(|| id.to_owned());
    (owned(task), owned(config.trim_start_matches('/')))
}

#[derive(Deserialize)]
pub(crate) struct NamedConfigList {
    #[serde(default, deserialize_with = "list")]
    configs: Vec<NamedConfigMembers>,
    #[serde(
        default,
        rename = "nextPageToken",
        alias = "next_page_token",
        deserialize_with = "empty_is_none"
    )]
    next_page_token: Option<String>,
}

impl TryFrom<NamedConfigList> for ListPushConfigsResponse {
    type Error = &'static str;

    fn try_from(list: NamedConfigList) -> Result<Self, Self::Error> {
        let configs: Result<_, _> = list.configs.into_iter().map(TryInto::try_into).collect();
        Ok(Self { configs: configs?, next_page_token: list.next_page_token })
    }
}
