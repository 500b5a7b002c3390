//! Writing of parameters and of webhooks.

use serde::{Serialize, Serializer};

use super::out::{Binding, Out};
use super::rest;
use crate::a2a::members::Members;
use crate::a2a::{
    AuthenticationInfo, CancelTaskRequest, GetTaskRequest, ListPushConfigsRequest,
    ListPushConfigsResponse, ListTasksResponse, PushConfig, PushConfigRequest, SendConfiguration,
    SendMessageRequest, SubscribeRequest,
};

impl Serialize for Out<'_, SendMessageRequest> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let SendMessageRequest { tenant: _, message, configuration, metadata } = self.value;
        let mut members = Members(serializer.serialize_map(None)?);
        members.put("message", &self.of(message))?;
        members.put_some("configuration", configuration.as_ref().map(|it| self.of(it)))?;
        members.put_some("metadata", metadata.as_ref())?;
        members.end()
    }
}

impl Serialize for Out<'_, SendConfiguration> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let configuration = self.value;
        let mut members = Members(serializer.serialize_map(None)?);
        members.put_list("acceptedOutputModes", &configuration.accepted_output_modes)?;
        let is_blocking = configuration.return_immediately.map(|returns| !returns);
        members.put_some("blocking", is_blocking)?;
        members.put_some("historyLength", configuration.history_length)?;
        let webhook = match self.binding {
            Binding::JsonRpc => "pushNotificationConfig",
            Binding::Rest => "pushNotification",
        };
        let config = configuration.task_push_notification_config.as_ref();
        members.put_some(webhook, config.map(InnerConfig))?;
        members.end()
    }
}

/// The members of a webhook that do not name its task.
struct InnerConfig<'a>(&'a PushConfig);

impl Serialize for InnerConfig<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let PushConfig { tenant: _, task_id: _, id, url, token, authentication } = self.0;
        let mut members = Members(serializer.serialize_map(None)?);
        members.put_some("id", id.as_ref())?;
        members.put("url", url)?;
        members.put_some("token", token.as_ref())?;
        members.put_some("authentication", authentication.as_ref().map(Schemes))?;
        members.end()
    }
}

/// Authentication with its list of schemes.
struct Schemes<'a>(&'a AuthenticationInfo);

impl Serialize for Schemes<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let AuthenticationInfo { scheme, credentials, other_schemes } = self.0;
        let first = Some(scheme).filter(|scheme| !scheme.is_empty());
        let schemes: Vec<&String> = first.into_iter().chain(other_schemes).collect();
        let mut members = Members(serializer.serialize_map(None)?);
        members.put("schemes", &schemes)?;
        members.put_some("credentials", credentials.as_ref())?;
        members.end()
    }
}

impl Serialize for Out<'_, PushConfig> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let task_id = self.value.task_id.as_deref().unwrap_or_default();
        let mut members = Members(serializer.serialize_map(None)?);
        match self.binding {
            Binding::JsonRpc => members.put("taskId", task_id)?,
            Binding::Rest => {
                let id = self.value.id.as_deref().unwrap_or_default();
                let name = format_args!("tasks/{task_id}/pushNotificationConfigs/{id}");
                members.put("name", &name)?;
            }
        }
        members.put("pushNotificationConfig", &InnerConfig(self.value))?;
        members.end()
    }
}

impl Serialize for rest::RegisterPush<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let PushConfig { task_id, id, .. } = self.0;
        let mut members = Members(serializer.serialize_map(None)?);
        let task_id = task_id.as_deref().unwrap_or_default();
        members.put("parent", &format_args!("tasks/{task_id}"))?;
        members.put_some("configId", id.as_ref())?;
        members.put("config", &Out::rest(self.0))?;
        members.end()
    }
}

/// In the JSON-RPC binding, an array.
impl Serialize for Out<'_, ListPushConfigsResponse> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let ListPushConfigsResponse { configs, next_page_token } = self.value;
        let configs = self.each(configs);
        if self.binding == Binding::JsonRpc {
            return configs.serialize(serializer);
        }
        let mut members = Members(serializer.serialize_map(None)?);
        members.put("configs", &configs)?;
        members.put_some("nextPageToken", next_page_token.as_ref())?;
        members.end()
    }
}

/// Only in the HTTP binding, which has no pages.
impl Serialize for Out<'_, ListTasksResponse> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut members = Members(serializer.serialize_map(Some(1))?);
        members.put("tasks", &self.each(&self.value.tasks))?;
        members.end()
    }
}

impl Serialize for Out<'_, GetTaskRequest> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let GetTaskRequest { tenant: _, id, history_length } = self.value;
        let mut members = Members(serializer.serialize_map(None)?);
        members.put("id", id)?;
        members.put_some("historyLength", history_length.as_ref())?;
        members.end()
    }
}

impl Serialize for Out<'_, CancelTaskRequest> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let CancelTaskRequest { tenant: _, id, metadata } = self.value;
        let mut members = Members(serializer.serialize_map(None)?);
        members.put("id", id)?;
        members.put_some("metadata", metadata.as_ref())?;
        members.end()
    }
}

impl Serialize for Out<'_, SubscribeRequest> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut members = Members(serializer.serialize_map(Some(1))?);
        members.put("id", &self.value.id)?;
        members.end()
    }
}

impl Serialize for Out<'_, PushConfigRequest> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let PushConfigRequest { tenant: _, task_id, id } = self.value;
        let mut members = Members(serializer.serialize_map(None)?);
        members.put("id", task_id)?;
        members.put_some("pushNotificationConfigId", id.as_ref())?;
        members.end()
    }
}

impl Serialize for Out<'_, ListPushConfigsRequest> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut members = Members(serializer.serialize_map(Some(1))?);
        members.put("id", &self.value.task_id)?;
        members.end()
    }
}
