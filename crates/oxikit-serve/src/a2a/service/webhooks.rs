//! The webhooks of a task.

use oxikit_core::ports::PushTarget;
use oxikit_wire::a2a::{A2aError, ErrorKind, PushConfig, PushConfigRequest, Version};

use super::Service;
use crate::a2a::refusal::Refusal;

impl Service<'_> {
    /// Registers a webhook of a task.
    pub(in crate::a2a) async fn create_push(
        &self,
        config: PushConfig,
    ) -> Result<PushConfig, Refusal> {
        let task = config.task_id.clone().ok_or_else(|| Refusal::invalid("`taskId` is missing"))?;
        let target = named(self.agent.push_target(config, self.version).await?, &task);
        let config = target.config.clone();
        self.store().put_push(&self.scope(), &task, target).await?;
        Ok(self.shown(config))
    }

    /// A webhook of a task; the default one if none is named.
    pub(in crate::a2a) async fn get_push(
        &self,
        request: &PushConfigRequest,
    ) -> Result<PushConfig, Refusal> {
        self.agent.check_push()?;
        let id = push_id(request);
        let targets = self.store().push_targets(&self.scope(), &request.task_id).await?;
        let found = targets.into_iter().find(|target| target.id == id);
        found.map(|target| self.shown(target.config)).ok_or_else(|| {
            let detail = format!("there is no push notification config `{id}`");
            A2aError::new(ErrorKind::TaskNotFound).with_detail(detail).into()
        })
    }

    pub(in crate::a2a) async fn list_push(&self, task: &str) -> Result<Vec<PushConfig>, Refusal> {
        self.agent.check_push()?;
        let targets = self.store().push_targets(&self.scope(), task).await?;
        Ok(targets.into_iter().map(|target| self.shown(target.config)).collect())
    }

    /// Removes a webhook. One that is not there is removed already.
    pub(in crate::a2a) async fn delete_push(
        &self,
        request: &PushConfigRequest,
    ) -> Result<(), Refusal> {
        self.agent.check_push()?;
        let id = push_id(request);
        self.store().remove_push(&self.scope(), &request.task_id, id).await?;
        Ok(())
    }

    /// A webhook in the form of the client's version.
    fn shown(&self, config: PushConfig) -> PushConfig {
        match self.version {
            Version::V0_3 => config,
            Version::V1_0 => config.into_v1_0(),
        }
    }
}

/// A webhook without an id has that of its task.
pub(super) fn named(mut target: PushTarget, task: &str) -> PushTarget {
    if target.id.is_empty() || target.id == "default" {
        task.clone_into(&mut target.id);
    }
    target.config.id = Some(target.id.clone());
    target.config.task_id = Some(task.to_owned());
    target
}

/// The id of a webhook: the default one has that of its task.
fn push_id(request: &PushConfigRequest) -> &str {
    request.id.as_deref().filter(|id| *id != "default").unwrap_or(&request.task_id)
}
