//! A store that is slower than the agent.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use oxikit_core::Registry;
use oxikit_core::ports::memory::MemoryTasks;
use oxikit_core::ports::{
    Appended, DuePush, NewTask, NewTurn, PushTarget, Received, StoreError, TaskHead, TaskList,
    TaskPage, TaskQuery, TaskRetention, TaskScope, TaskStore, TaskWrite,
};
use oxikit_serve::a2a::TaskStatus;
use serde_json::json;
use tokio::sync::Semaphore;

use super::kit::{message, serve};
use super::store_faults::only_task;

#[tokio::test]
async fn events_of_an_agent_that_does_not_wait_are_stored_with_its_task() {
    let store = Arc::new(HeldTasks::default());
    let app = serve(store.clone(), &Registry::default(), |server| server).await;
    let task = app.send(message("chunks at once")).await;
    let expected = json!([{ "text": "one " }, { "text": "two " }, { "text": "three" }]);
    assert_eq!(task["artifacts"][0]["parts"], expected);
    assert_eq!(store.writes.load(Ordering::Relaxed), 0);
}

/// The agent publishes four events. The first is stored with the task when the agent waits. The
/// others come while that is written, and are stored by one more write, in order.
#[tokio::test]
async fn events_that_come_during_a_write_are_stored_together() {
    let store = Arc::new(HeldTasks {
        answers_allowed: Semaphore::new(0),
        writes_allowed: Semaphore::new(0),
        ..HeldTasks::default()
    });
    let app = serve(store.clone(), &Registry::default(), |server| server).await;
    let params = json!({ "message": message("chunks") });
    let _client = app.open("SendMessage", params, "").await;
    store.messages.acquire().await.unwrap().forget();
    let task = app.task(&only_task(&app).await["id"]).await;
    assert_eq!(task["status"]["state"], "TASK_STATE_SUBMITTED");
    let first = json!([{ "text": "one " }]);
    assert_eq!(task["artifacts"][0]["parts"], first, "clients see what is stored: {task}");
    let stream = app.stream("SubscribeToTask", json!({ "id": task["id"] }), "").await;
    store.answers_allowed.add_permits(1);
    store.writes_allowed.add_permits(1);
    let events: Vec<_> = stream.all().await.into_iter().map(|(_, event)| event).collect();
    let texts: Vec<_> = events[1..]
        .iter()
        .map(|event| &event["result"]["artifactUpdate"]["artifact"]["parts"][0]["text"])
        .collect();
    assert_eq!(texts, [&json!("two "), &json!("three"), &json!(null)]);
    assert_eq!(events[3]["result"]["statusUpdate"]["status"]["state"], "TASK_STATE_COMPLETED");
    assert_eq!(store.writes.load(Ordering::Relaxed), 1);
}

/// Tasks in memory, whose events are stored and whose messages are answered when the test allows
/// it.
#[derive(Debug)]
pub(super) struct HeldTasks {
    pub(super) inner: MemoryTasks,
    pub(super) writes_allowed: Semaphore,
    pub(super) writes: AtomicUsize,
    /// Messages that may be answered; all of them unless the test says otherwise.
    pub(super) answers_allowed: Semaphore,
    /// Messages that are stored.
    pub(super) messages: Semaphore,
    /// What goes wrong with the first write to the next task.
    pub(super) write_fault: Mutex<Option<Fault>>,
    /// What goes wrong with the next message.
    pub(super) message_fault: Mutex<Option<Fault>>,
}

/// A failure of a store.
#[derive(Debug, Clone, Copy)]
pub(super) enum Fault {
    /// It could not be reached.
    NotStored,
    /// It did what it was asked for, and the answer was lost.
    AnswerLost,
    /// The task is too long.
    Refused,
}

impl Fault {
    /// The answer of the store with this fault.
    async fn of<T>(
        next: &Mutex<Option<Self>>,
        answer: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let fault = next.lock().unwrap().take();
        match fault {
            None => return answer.await,
            Some(Self::NotStored) => {}
            Some(Self::AnswerLost) => drop(answer.await?),
            Some(Self::Refused) => return Err(StoreError::Full("task".to_owned(), "a test")),
        }
        Err(StoreError::Unavailable("a test".into()))
    }
}

impl Default for HeldTasks {
    fn default() -> Self {
        Self {
            inner: MemoryTasks::default(),
            writes_allowed: Semaphore::new(Semaphore::MAX_PERMITS),
            writes: AtomicUsize::new(0),
            answers_allowed: Semaphore::new(Semaphore::MAX_PERMITS),
            messages: Semaphore::new(0),
            write_fault: Mutex::default(),
            message_fault: Mutex::default(),
        }
    }
}

#[async_trait]
impl TaskStore for HeldTasks {
    async fn append(&self, id: &str, write: TaskWrite) -> Result<Appended, StoreError> {
        self.writes_allowed.acquire().await.unwrap().forget();
        self.writes.fetch_add(1, Ordering::Relaxed);
        if write.number == 1 {
            return Fault::of(&self.write_fault, self.inner.append(id, write)).await;
        }
        self.inner.append(id, write).await
    }

    async fn create(&self, task: NewTask) -> Result<u64, StoreError> {
        let position = Fault::of(&self.message_fault, self.inner.create(task)).await?;
        self.messages.add_permits(1);
        self.answers_allowed.acquire().await.unwrap().forget();
        Ok(position)
    }

    async fn receive(
        &self,
        scope: &TaskScope,
        id: &str,
        received: NewTurn,
    ) -> Result<Received, StoreError> {
        let turn = Fault::of(&self.message_fault, self.inner.receive(scope, id, received)).await?;
        self.messages.add_permits(1);
        self.answers_allowed.acquire().await.unwrap().forget();
        Ok(turn)
    }

    async fn end(
        &self,
        scope: &TaskScope,
        id: &str,
        status: TaskStatus,
    ) -> Result<u64, StoreError> {
        self.inner.end(scope, id, status).await
    }

    async fn expire(&self, id: &str, runner: &str, status: TaskStatus) -> Result<u64, StoreError> {
        self.inner.expire(id, runner, status).await
    }

    async fn head(&self, scope: &TaskScope, id: &str) -> Result<TaskHead, StoreError> {
        self.inner.head(scope, id).await
    }

    async fn read(
        &self,
        scope: &TaskScope,
        id: &str,
        position: u64,
        limit: usize,
    ) -> Result<TaskPage, StoreError> {
        self.inner.read(scope, id, position, limit).await
    }

    async fn wait(&self, scope: &TaskScope, id: &str, position: u64) -> Result<(), StoreError> {
        self.inner.wait(scope, id, position).await
    }

    async fn list(&self, scope: &TaskScope, query: &TaskQuery) -> Result<TaskList, StoreError> {
        self.inner.list(scope, query).await
    }

    async fn put_push(
        &self,
        scope: &TaskScope,
        id: &str,
        target: PushTarget,
    ) -> Result<(), StoreError> {
        self.inner.put_push(scope, id, target).await
    }

    async fn push_targets(
        &self,
        scope: &TaskScope,
        id: &str,
    ) -> Result<Vec<PushTarget>, StoreError> {
        self.inner.push_targets(scope, id).await
    }

    async fn remove_push(
        &self,
        scope: &TaskScope,
        id: &str,
        target: &str,
    ) -> Result<bool, StoreError> {
        self.inner.remove_push(scope, id, target).await
    }

    async fn claim_pushes(&self, runner: &str, limit: usize) -> Result<Vec<DuePush>, StoreError> {
        self.inner.claim_pushes(runner, limit).await
    }

    async fn release_push(
        &self,
        runner: &str,
        push: &DuePush,
        position: u64,
        attempts: u32,
        pause: Duration,
    ) -> Result<(), StoreError> {
        self.inner.release_push(runner, push, position, attempts, pause).await
    }

    async fn push_wait(&self) -> Result<(), StoreError> {
        self.inner.push_wait().await
    }

    async fn renew(&self, runner: &str) -> Result<(), StoreError> {
        self.inner.renew(runner).await
    }

    async fn runners(&self) -> Result<Vec<(String, u64)>, StoreError> {
        self.inner.runners().await
    }

    async fn tasks_of(&self, runner: &str, limit: usize) -> Result<Vec<String>, StoreError> {
        self.inner.tasks_of(runner, limit).await
    }

    async fn forget(&self, runner: &str) -> Result<(), StoreError> {
        self.inner.forget(runner).await
    }

    async fn prune(&self, retention: &TaskRetention) -> Result<u64, StoreError> {
        self.inner.prune(retention).await
    }
}
