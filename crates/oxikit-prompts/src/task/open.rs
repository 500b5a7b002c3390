//! The tasks of documents that are in use.
//!
//! A task is started by the first request for its document and ends when nobody has used it for a
//! while, so that memory does not grow with the number of documents that were ever open.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, mpsc, oneshot};

use super::input::{Change, Input, Reply, Wanted};
use super::{DocumentTask, Place};
use crate::document::Document;
use crate::error::PromptsError;
use crate::requests::Submitted;
use crate::state::State;

/// Number of requests that wait for a document. The senders of more wait.
const INBOX: usize = 256;

/// All open documents.
#[derive(Debug)]
pub(crate) struct Tasks {
    pub(crate) state: Arc<State>,
    open: Mutex<HashMap<String, Handle>>,
}

/// The way to the task of a document.
#[derive(Debug, Clone)]
pub(crate) struct Handle {
    inbox: mpsc::Sender<Input>,
    notices: Arc<Notices>,
}

/// What a task is told without being asked. It replaces what it was told before, so it needs no
/// queue.
#[derive(Debug, Default)]
pub(crate) struct Notices {
    waiting: Mutex<Waiting>,
    pub(super) ready: Notify,
}

/// Notices that the task has not read.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    /// Included documents that have changed: their ids and revisions.
    pub(super) dependencies: BTreeMap<String, u64>,
    /// Whether the document has another id.
    pub(super) has_new_id: bool,
}

impl Tasks {
    pub(crate) fn new(state: Arc<State>) -> Self {
        Self { state, open: Mutex::default() }
    }

    /// Changes a document and waits for the result.
    pub(crate) async fn change(
        self: &Arc<Self>,
        key: &str,
        wanted: Wanted,
        author: Option<&str>,
        op: Option<String>,
    ) -> Result<Submitted, PromptsError> {
        let author = author.map(str::to_owned);
        self.ask(key, |reply| {
            Input::Change(Box::new(Change { wanted, author, op, member: None, reply }))
        })
        .await
    }

    /// Compares a document with its file and the store. `None` if there is no document.
    pub(crate) async fn check(
        self: &Arc<Self>,
        key: &str,
    ) -> Result<Option<Arc<Document>>, PromptsError> {
        self.ask(key, |reply| Input::Check { reply: Some(reply) }).await
    }

    /// Sends a request to the task of a document, which is started if need be, and waits for the
    /// answer.
    pub(crate) async fn ask<T>(
        self: &Arc<Self>,
        key: &str,
        input: impl FnOnce(Reply<T>) -> Input,
    ) -> Result<T, PromptsError> {
        let (reply, answer) = oneshot::channel();
        self.send(key, input(reply)).await?;
        answer.await.unwrap_or(Err(PromptsError::Closed))
    }

    /// Sends a request to the task of a document, which is started if need be.
    pub(crate) async fn send(
        self: &Arc<Self>,
        key: &str,
        mut input: Input,
    ) -> Result<Handle, PromptsError> {
        loop {
            let handle = self.handle(key)?;
            match handle.inbox.send(input).await {
                Ok(()) => return Ok(handle),
                // The task has failed. The next one begins with the stored state.
                Err(mpsc::error::SendError(rejected)) => input = rejected,
            }
            self.forget(key, &handle);
        }
    }

    /// Tells the task of a document that an included document has changed, if it is open.
    pub(crate) fn dependency_changed(&self, key: &str, id: &str, rev: u64) {
        self.notice(key, |waiting| _ = waiting.dependencies.insert(id.to_owned(), rev));
    }

    /// Tells the task of a document that it has another id, if it is open.
    pub(crate) fn id_changed(&self, key: &str) {
        self.notice(key, |waiting| waiting.has_new_id = true);
    }

    /// Ends the tasks of all documents of a directory and closes their members.
    pub(crate) async fn evict(&self, directory_key: &str) {
        let prefix = format!("{directory_key}/");
        let handles: Vec<_> = {
            let mut open = self.lock();
            let keys: Vec<_> =
                open.keys().filter(|key| key.starts_with(&prefix)).cloned().collect();
            keys.iter().filter_map(|key| open.remove(key)).collect()
        };
        for handle in handles {
            // A task that has ended needs no request.
            _ = handle.inbox.send(Input::Evict).await;
        }
    }

    /// Ends the task of a document, if there is one, and waits until it has ended. It is used for
    /// deleted documents only, which have no members.
    pub(crate) async fn retire(&self, key: &str) {
        let handle = self.lock().remove(key);
        if let Some(handle) = handle {
            _ = handle.inbox.send(Input::Evict).await;
            handle.inbox.closed().await;
        }
    }

    /// Number of open documents.
    pub(crate) fn count(&self) -> usize {
        self.lock().len()
    }

    /// The task of a document gets another key.
    pub(super) fn move_key(&self, from: &str, to: &str) {
        let mut open = self.lock();
        if let Some(handle) = open.remove(from) {
            open.insert(to.to_owned(), handle);
        }
    }

    /// Removes an idle task, unless somebody has or wants its handle.
    pub(super) fn remove_idle(&self, key: &str, inbox: &mpsc::Receiver<Input>) -> bool {
        let mut open = self.lock();
        // Handles are cloned under this lock, so the last one is that of the map.
        let is_unused = inbox.sender_strong_count() <= 1 && inbox.is_empty();
        if is_unused {
            open.remove(key);
        }
        is_unused
    }

    fn handle(self: &Arc<Self>, key: &str) -> Result<Handle, PromptsError> {
        if self.state.stop.is_cancelled() {
            return Err(PromptsError::Closed);
        }
        let mut open = self.lock();
        if let Some(handle) = open.get(key) {
            return Ok(handle.clone());
        }
        let place = Place::of(key, &self.state.registry())?;
        let (inbox, receiver) = mpsc::channel(INBOX);
        let handle = Handle { inbox, notices: Arc::default() };
        let task = DocumentTask::new(self.clone(), place, receiver, handle.notices.clone());
        self.state.tracker.spawn(task.run());
        open.insert(key.to_owned(), handle.clone());
        Ok(handle)
    }

    fn forget(&self, key: &str, handle: &Handle) {
        let mut open = self.lock();
        if open.get(key).is_some_and(|known| known.inbox.same_channel(&handle.inbox)) {
            open.remove(key);
        }
    }

    fn notice(&self, key: &str, change: impl FnOnce(&mut Waiting)) {
        let handle = self.lock().get(key).cloned();
        if let Some(handle) = handle {
            change(&mut handle.notices.lock());
            handle.notices.ready.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Handle>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Handle {
    /// Wakes the task, so that it sees who has left.
    pub(crate) fn wake(&self) {
        self.notices.ready.notify_one();
    }

    /// Sends a request to this task, and to no other one of the same document.
    pub(crate) async fn send(&self, input: Input) -> Result<(), PromptsError> {
        self.inbox.send(input).await.map_err(|_| PromptsError::Closed)
    }

    /// Sends a request to this task and waits for the answer.
    pub(crate) async fn ask<T>(
        &self,
        input: impl FnOnce(Reply<T>) -> Input,
    ) -> Result<T, PromptsError> {
        let (reply, answer) = oneshot::channel();
        self.send(input(reply)).await?;
        answer.await.unwrap_or(Err(PromptsError::Closed))
    }
}

impl Notices {
    /// Takes all notices.
    pub(super) fn take(&self) -> Waiting {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
