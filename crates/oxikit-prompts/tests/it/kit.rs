//! A library on temporary folders, clients of it, and a store that fails when it is told to.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use oxikit_core::ports::memory::MemoryRevisions;
use oxikit_core::ports::{
    DocumentHead, NewRevision, Notifier, Revision, RevisionInfo, RevisionStore, StoreError,
};
use oxikit_prompts::{JoinOptions, Member, Outgoing, Prompts, PromptsOptions};
use oxikit_sql::SqliteProject;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::timeout;

/// Time after which a test has failed.
const PATIENCE: Duration = Duration::from_secs(20);

/// A library and what is below it.
pub(crate) struct Kit {
    pub(crate) folder: TempDir,
    pub(crate) store: Arc<dyn RevisionStore>,
    pub(crate) prompts: Prompts,
}

/// A library with these files, whose history is in memory.
pub(crate) async fn open(files: &[(&str, &str)]) -> Kit {
    open_on(Arc::new(MemoryRevisions::default()), files).await
}

/// A library with these files.
pub(crate) async fn open_on(store: Arc<dyn RevisionStore>, files: &[(&str, &str)]) -> Kit {
    let folder = folder(files);
    let prompts = Prompts::open(options(folder.path()), store.clone()).await.unwrap();
    Kit { folder, store, prompts }
}

/// A history in a file.
pub(crate) fn sqlite(folder: &Path) -> Arc<dyn RevisionStore> {
    Arc::new(SqliteProject::open(folder.join("project.db")).unwrap())
}

/// A folder `prompts` with these files, in a temporary folder.
pub(crate) fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = temporary();
    std::fs::create_dir(folder.path().join("prompts")).unwrap();
    for (path, text) in files {
        let path = folder.path().join("prompts").join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    folder
}

/// A temporary folder, in memory where the system has a place for such: tests with thousands of edits
/// do not wait for the disk, and none of them is about a power failure.
pub(crate) fn temporary() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap()
}

/// The options for a folder that [`folder`] has made. Files are only checked when a test asks for it.
pub(crate) fn options(folder: &Path) -> PromptsOptions {
    let mut options = PromptsOptions::new([folder.join("prompts")]);
    options.watch_interval = Duration::from_secs(3600);
    options
}

impl Kit {
    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join("prompts").join(path)
    }

    pub(crate) fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.path(path)).unwrap()
    }

    /// The text of a document's file, when it has the newest one.
    pub(crate) async fn saved(&self, id: &str) -> String {
        let document = timeout(PATIENCE, self.prompts.saved(id, None)).await.expect("it is saved");
        std::fs::read_to_string(document.unwrap().full_path()).unwrap()
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        std::fs::write(self.path(path), text).unwrap();
    }

    pub(crate) async fn join(&self, id: &str) -> Client {
        Client::join(&self.prompts, id).await
    }

    /// All texts of the history of a document, the oldest first.
    pub(crate) async fn texts(&self, key: &str) -> Vec<String> {
        texts(&*self.store, key).await
    }

    /// The kinds of the revisions of a document, the oldest first.
    pub(crate) async fn kinds(&self, key: &str) -> Vec<&'static str> {
        let mut log = self.store.log(key, None, 1000).await.unwrap();
        log.reverse();
        log.iter().map(|info| info.kind.as_str()).collect()
    }

    /// Opens another library on the same files and history, as after a crash: the first one is only
    /// dropped.
    pub(crate) async fn crash(self) -> Self {
        let Self { folder, store, prompts } = self;
        drop(prompts);
        let prompts = Prompts::open(options(folder.path()), store.clone()).await.unwrap();
        Self { folder, store, prompts }
    }
}

/// All texts of the history of a document, the oldest first. A deletion is an empty text.
pub(crate) async fn texts(store: &dyn RevisionStore, key: &str) -> Vec<String> {
    let mut all = Vec::new();
    for number in 1.. {
        match store.revision(key, number).await.unwrap() {
            Some(revision) => all.push(revision.text.as_deref().unwrap_or_default().to_owned()),
            None => break,
        }
    }
    all
}

/// A client of the plain protocol, as in the seed: it shows what it is sent.
pub(crate) struct Client {
    pub(crate) member: Member,
    /// What is on the client's screen.
    pub(crate) text: String,
}

impl Client {
    pub(crate) async fn join(prompts: &Prompts, id: &str) -> Self {
        let member = prompts.join(id, None, JoinOptions::default()).await.unwrap();
        let mut client = Self { member, text: String::new() };
        let initial = client.receive().await;
        assert_eq!(initial["action"], "initial");
        client
    }

    /// Sends a message of the client and waits until it is handled.
    pub(crate) async fn send(&self, message: Value) {
        let handled = self.member.handle(serde_json::from_value(message).unwrap());
        timeout(PATIENCE, handled).await.expect("the message is handled");
    }

    /// Replaces the content.
    pub(crate) async fn update(&mut self, content: &str) {
        self.text = content.to_owned();
        self.send(json!({ "action": "update", "content": content })).await;
    }

    /// The next message.
    pub(crate) async fn receive(&mut self) -> Value {
        match self.next().await {
            Outgoing::Text(text) => self.show(&text),
            Outgoing::Close { code, reason } => panic!("closed: {code} {reason}"),
        }
    }

    pub(crate) async fn next(&self) -> Outgoing {
        timeout(PATIENCE, self.member.next()).await.expect("a message comes")
    }

    /// The next message of this action. Others are shown and skipped.
    pub(crate) async fn receive_action(&mut self, action: &str) -> Value {
        loop {
            let message = self.receive().await;
            if message["action"] == action {
                return message;
            }
        }
    }

    /// All messages that wait.
    pub(crate) fn drain(&mut self) -> Vec<Value> {
        let mut messages = Vec::new();
        while let Some(Outgoing::Text(text)) = self.member.try_next() {
            messages.push(self.show(&text));
        }
        messages
    }

    /// The close code and reason; messages before it are skipped.
    pub(crate) async fn closed(&mut self) -> (u16, String) {
        loop {
            match self.next().await {
                Outgoing::Text(text) => _ = self.show(&text),
                Outgoing::Close { code, reason } => return (code, reason),
            }
        }
    }

    /// Takes a message over, as the screen does.
    pub(crate) fn show(&mut self, text: &str) -> Value {
        let message: Value = serde_json::from_str(text).unwrap();
        if matches!(message["action"].as_str(), Some("initial" | "update")) {
            self.text = message["content"].as_str().unwrap().to_owned();
        }
        message
    }
}

/// The actions of messages.
pub(crate) fn actions(messages: &[Value]) -> Vec<&str> {
    messages.iter().map(|message| message["action"].as_str().unwrap()).collect()
}

/// A store that refuses to write while it is told so, and counts its writes and its reads of logs.
#[derive(Debug, Default)]
pub(crate) struct Fragile {
    inner: MemoryRevisions,
    pub(crate) is_broken: AtomicBool,
    pub(crate) appends: AtomicUsize,
    pub(crate) logs_read: AtomicUsize,
    /// The append that fails, counted from now on; 0 means none.
    pub(crate) fails_at: AtomicUsize,
}

impl Fragile {
    fn check(&self) -> Result<(), StoreError> {
        let fails = self.fails_at.load(Ordering::SeqCst) > 0
            && self.fails_at.fetch_sub(1, Ordering::SeqCst) == 1;
        if fails || self.is_broken.load(Ordering::SeqCst) {
            return Err(StoreError::Unavailable("the disk is full".into()));
        }
        self.appends.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
}

#[async_trait]
impl RevisionStore for Fragile {
    async fn append(
        &self,
        document: &str,
        expected: u64,
        revisions: Vec<NewRevision>,
    ) -> Result<Vec<RevisionInfo>, StoreError> {
        self.check()?;
        self.inner.append(document, expected, revisions).await
    }

    async fn head(&self, document: &str) -> Result<Option<(u64, Revision)>, StoreError> {
        self.inner.head(document).await
    }

    async fn revision(&self, document: &str, number: u64) -> Result<Option<Revision>, StoreError> {
        self.inner.revision(document, number).await
    }

    async fn log(
        &self,
        document: &str,
        before: Option<u64>,
        limit: usize,
    ) -> Result<Vec<RevisionInfo>, StoreError> {
        self.logs_read.fetch_add(1, Ordering::SeqCst);
        self.inner.log(document, before, limit).await
    }

    async fn find_op(
        &self,
        document: &str,
        op: &str,
        since: i64,
    ) -> Result<Option<RevisionInfo>, StoreError> {
        self.inner.find_op(document, op, since).await
    }

    async fn documents(&self) -> Result<Vec<DocumentHead>, StoreError> {
        self.inner.documents().await
    }

    async fn rename(
        &self,
        from: &str,
        to: &str,
        expected: u64,
        revision: NewRevision,
    ) -> Result<RevisionInfo, StoreError> {
        self.inner.rename(from, to, expected, revision).await
    }

    async fn set_label(
        &self,
        document: &str,
        label: &str,
        number: Option<u64>,
    ) -> Result<(), StoreError> {
        self.inner.set_label(document, label, number).await
    }

    async fn labels(&self, document: &str) -> Result<BTreeMap<String, u64>, StoreError> {
        self.inner.labels(document).await
    }

    fn notifier(&self) -> &dyn Notifier {
        self.inner.notifier()
    }
}
