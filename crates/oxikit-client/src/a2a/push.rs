//! Webhooks of tasks.

use oxikit_core::Result;
use oxikit_wire::a2a::{
    ListPushConfigsRequest, ListPushConfigsResponse, PushConfig, PushConfigRequest,
};

use super::A2aClient;
use super::call::Call;

/// Webhooks.
impl A2aClient {
    /// Registers a webhook for the task that the configuration names.
    ///
    /// # Errors
    ///
    /// As [`send`](Self::send); [`ErrorKind::PushNotificationNotSupported`](super::ErrorKind) if the agent has no
    /// webhooks.
    pub async fn set_push_config(&self, config: PushConfig) -> Result<PushConfig> {
        let config = PushConfig { tenant: self.tenant(), ..config };
        self.ask(Call::CreatePush(&config.into_v1_0())).await
    }

    /// Reads the registration of a webhook.
    ///
    /// # Errors
    ///
    /// As [`set_push_config`](Self::set_push_config).
    pub async fn get_push_config(&self, task_id: &str, config_id: &str) -> Result<PushConfig> {
        self.ask(Call::GetPush(&self.push_request(task_id, config_id))).await
    }

    /// Reads the registrations of all webhooks of a task.
    ///
    /// # Errors
    ///
    /// As [`set_push_config`](Self::set_push_config).
    pub async fn list_push_configs(&self, task_id: &str) -> Result<Vec<PushConfig>> {
        let mut request = ListPushConfigsRequest {
            tenant: self.tenant(),
            task_id: task_id.to_owned(),
            ..ListPushConfigsRequest::default()
        };
        let mut configs = Vec::new();
        loop {
            let page: ListPushConfigsResponse = self.ask(Call::ListPush(&request)).await?;
            let is_empty = page.configs.is_empty();
            configs.extend(page.configs);
            match page.next_page_token {
                Some(token) if !is_empty => request.page_token = Some(token),
                _ => return Ok(configs),
            }
        }
    }

    /// Removes a webhook.
    ///
    /// # Errors
    ///
    /// As [`set_push_config`](Self::set_push_config).
    pub async fn delete_push_config(&self, task_id: &str, config_id: &str) -> Result<()> {
        let request = self.push_request(task_id, config_id);
        self.invoke(Call::DeletePush(&request)).await.map(drop)
    }

    fn push_request(&self, task_id: &str, config_id: &str) -> PushConfigRequest {
        let (task_id, id) = (task_id.to_owned(), Some(config_id.to_owned()));
        PushConfigRequest { tenant: self.tenant(), task_id, id }
    }
}
