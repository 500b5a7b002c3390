//! Stores, and servers that can be killed: each has a runtime of its own, which is dropped.

use std::net::SocketAddr;
use std::sync::Arc;

use async_trait::async_trait;
use oxikit::prelude::*;
use oxikit_core::Registry;
use oxikit_core::ports::TaskStore;
use oxikit_core::ports::memory::MemoryTasks;
use oxikit_serve::Server;
use oxikit_serve::a2a::{
    A2aAgent, AgentExecutor, Artifact, Chunk, Part, TaskState, TaskTurn, TaskUpdates,
};
use oxikit_sql::{PostgresOptions, PostgresStore, SqliteStore};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::sync::Semaphore;

/// The name of the agent.
pub(super) const AGENT: &str = "random";

/// A kind of store.
#[derive(Debug, Clone)]
pub(super) enum Kind {
    Memory,
    Sqlite,
    /// With the URL of the server.
    Postgres(String),
}

/// Data that outlives the servers.
pub(super) enum Data {
    Memory(Arc<dyn TaskStore>),
    Sqlite(TempDir),
    Postgres { url: String, schema: String },
}

impl Data {
    pub(super) fn new(kind: Kind) -> Self {
        match kind {
            Kind::Memory => Self::Memory(Arc::new(MemoryTasks::default())),
            Kind::Sqlite => Self::Sqlite(tempfile::tempdir().unwrap()),
            Kind::Postgres(url) => {
                Self::Postgres { url, schema: format!("random_{}", uuid::Uuid::new_v4().simple()) }
            }
        }
    }

    /// A store of its own for each process.
    pub(super) async fn open(&self) -> Arc<dyn TaskStore> {
        match self {
            Self::Memory(store) => store.clone(),
            Self::Sqlite(folder) => {
                SqliteStore::open(folder.path().join("app.db")).unwrap().tasks()
            }
            Self::Postgres { url, schema } => {
                let options = PostgresOptions::default().with_schema(schema);
                Arc::new(PostgresStore::connect_with(url, options).await.unwrap())
            }
        }
    }
}

pub(super) fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

/// A server that works until it is killed.
pub(super) struct Process {
    pub(super) address: SocketAddr,
    runtime: Option<Runtime>,
}

impl Process {
    pub(super) async fn start(data: &Arc<Data>, gate: &Arc<Semaphore>) -> Self {
        let (data, gate) = (data.clone(), gate.clone());
        let runtime = runtime();
        let bound = runtime.spawn(async move {
            let store = data.open().await;
            let server = Server::new(&Registry::default())
                .a2a(A2aAgent::with_executor(AGENT, Random { gate }))
                .task_store(store)
                .port(0);
            let server = server.bind().await.unwrap();
            let address = server.local_addr().unwrap();
            tokio::spawn(server.run(std::future::pending()));
            address
        });
        Self { address: bound.await.unwrap(), runtime: Some(runtime) }
    }

    /// Drops the tasks of the server at their next await, without a shutdown.
    pub(super) fn kill(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Does what the text of a message says.
struct Random {
    /// A turn that waits takes a permit. All go on when it is closed.
    gate: Arc<Semaphore>,
}

impl Random {
    async fn wait(&self) {
        if let Ok(permit) = self.gate.acquire().await {
            permit.forget();
        }
    }
}

#[async_trait]
impl AgentExecutor for Random {
    async fn execute(&self, turn: TaskTurn, updates: &mut TaskUpdates) -> Result<()> {
        match turn.message.text().as_str() {
            "Fail" => Err(Status::internal("it failed")),
            "Panic" => panic!("it panicked"),
            "Reject" => updates.reject("no").await,
            "Ask" => updates.ask("what next?").await,
            "Chunks" => {
                for (text, chunk) in [("a", Chunk::FIRST), ("b", Chunk::NEXT), ("c", Chunk::LAST)] {
                    updates.chunk(Artifact::new("chunks", vec![Part::text(text)]), chunk).await?;
                }
                updates.complete().await
            }
            "Wait" => {
                updates.working("waiting").await?;
                self.wait().await;
                updates.complete().await
            }
            "WaitAndAsk" => {
                self.wait().await;
                updates.artifact(Artifact::new("whole", vec![Part::text("a")])).await?;
                updates.ask("what next?").await
            }
            "Authorise" => {
                updates.status(TaskState::AuthRequired, None).await?;
                self.wait().await;
                updates.working("authorised").await?;
                updates.complete().await
            }
            _ => Ok(()),
        }
    }
}
