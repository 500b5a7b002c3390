//! Tasks that exist: reads, cancels, follows and lists them.

use oxikit_core::ports::{StoreError, TaskHead, TaskQuery, TaskScope};
use oxikit_core::timestamp;
use oxikit_wire::a2a::{
    A2aError, ErrorKind, ListTasksRequest, ListTasksResponse, Task, TaskState, Version,
};

use super::{Service, Subscribed, ended, status_entry};
use crate::a2a::follower::Follower;
use crate::a2a::refusal::Refusal;
use crate::a2a::runner::fold;

/// Number of tasks on a page, if the client does not say.
const PAGE_SIZE: i64 = 50;
const MAX_PAGE_SIZE: i64 = 100;

impl Service<'_> {
    pub(in crate::a2a) async fn get(
        &self,
        id: &str,
        history: Option<i64>,
    ) -> Result<Task, Refusal> {
        check_history(history)?;
        let mut task = fold(&**self.store(), &self.scope(), id, u64::MAX).await?;
        trim(&mut task, history);
        Ok(task)
    }

    /// Cancels a task. The state is stored before the work is ended, so that it wins over
    /// whatever the agent stores.
    pub(in crate::a2a) async fn cancel(&self, id: &str) -> Result<Task, Refusal> {
        let (scope, store) = (self.scope(), self.store());
        let status = status_entry(TaskState::Canceled, None).status;
        match store.end(&scope, id, status).await {
            Ok(_) => self.runner.cancel(id),
            Err(StoreError::Ended(_)) => {
                let head = store.head(&scope, id).await?;
                // Version 1.0 lets a client cancel twice.
                let is_repeated =
                    self.version == Version::V1_0 && head.status.state == TaskState::Canceled;
                if !is_repeated {
                    let detail = format!("the task is {}", head.status.state);
                    let error = A2aError::new(ErrorKind::TaskNotCancelable).with_detail(detail);
                    return Err(error.into());
                }
            }
            Err(error) => return Err(error.into()),
        }
        self.get(id, None).await
    }

    /// Follows a task from now on.
    pub(in crate::a2a) async fn subscribe(&self, id: &str) -> Result<Subscribed, Refusal> {
        let (scope, store) = (self.scope(), self.store());
        let head = store.head(&scope, id).await?;
        if head.status.state.is_terminal() && self.version == Version::V1_0 {
            return Err(ended(&head));
        }
        let task = fold(&**store, &scope, id, head.position).await?;
        let (position, context) = (head.position, &head.context_id);
        let follower =
            Follower::new(&self.runner.storage, scope, id, context, position, self.stop_at());
        Ok(Subscribed { task, position, follower })
    }

    /// Follows a task after an event that the client has.
    pub(in crate::a2a) async fn resume(
        &self,
        id: &str,
        position: u64,
    ) -> Result<Follower, Refusal> {
        let (scope, store) = (self.scope(), self.store());
        let head = store.head(&scope, id).await?;
        if position > head.position {
            return Err(Refusal::invalid("`Last-Event-ID` is beyond the last event of the task"));
        }
        Ok(Follower::new(
            &self.runner.storage,
            scope,
            id,
            &head.context_id,
            position,
            self.stop_at(),
        ))
    }

    pub(in crate::a2a) async fn list(
        &self,
        request: ListTasksRequest,
    ) -> Result<ListTasksResponse, Refusal> {
        let page_size = request.page_size.unwrap_or(PAGE_SIZE);
        if !(1..=MAX_PAGE_SIZE).contains(&page_size) {
            return Err(Refusal::invalid(format!("`pageSize` is not in 1 to {MAX_PAGE_SIZE}")));
        }
        let changed_since = match request.status_timestamp_after.as_deref() {
            Some(text) => Some(timestamp::parse_millis(text).ok_or_else(|| {
                Refusal::invalid(
                    "`statusTimestampAfter` is not a time such as 2026-11-15T06:53:26Z",
                )
            })?),
            None => None,
        };
        check_history(request.history_length)?;
        let query = TaskQuery {
            context_id: request.context_id.clone(),
            state: request.status.filter(|state| *state != TaskState::Unspecified),
            changed_since,
            cursor: request.page_token.clone(),
            limit: usize::try_from(page_size).unwrap_or_default(),
        };
        let scope = self.scope();
        let list = self.store().list(&scope, &query).await.map_err(|error| match error {
            StoreError::Invalid(_) => Refusal::invalid("`pageToken` is not one of this server"),
            error => error.into(),
        })?;
        let mut tasks = Vec::with_capacity(list.tasks.len());
        for head in list.tasks {
            tasks.push(self.listed(&scope, head, &request).await?);
        }
        Ok(ListTasksResponse {
            tasks,
            next_page_token: list.cursor.unwrap_or_default(),
            page_size: page_size.unsigned_abs(),
            total_size: list.total,
        })
    }

    async fn listed(
        &self,
        scope: &TaskScope,
        head: TaskHead,
        request: &ListTasksRequest,
    ) -> Result<Task, Refusal> {
        let has_artifacts = request.include_artifacts == Some(true);
        // Without both there is no need to read the log.
        let mut task = if has_artifacts || request.history_length != Some(0) {
            fold(&**self.store(), scope, &head.id, head.position).await?
        } else {
            Task { status: head.status.clone(), ..head.unfolded() }
        };
        if !has_artifacts {
            task.artifacts.clear();
        }
        trim(&mut task, request.history_length);
        Ok(task)
    }
}

/// Refuses a negative number of messages.
fn check_history(length: Option<i64>) -> Result<(), Refusal> {
    match length {
        Some(..0) => Err(Refusal::invalid("`historyLength` is negative; 0 leaves the history out")),
        _ => Ok(()),
    }
}

/// Leaves the last messages of the history: all if no number is named.
pub(in crate::a2a) fn trim(task: &mut Task, length: Option<i64>) {
    if let Some(length) = length {
        let length = usize::try_from(length).unwrap_or_default();
        let surplus = task.history.len().saturating_sub(length);
        task.history.drain(..surplus);
    }
}
