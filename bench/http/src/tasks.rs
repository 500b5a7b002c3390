//! Agents that answer A2A messages with tasks.

use std::sync::Arc;

use oxikit::prelude::{Result, Status};
use oxikit_core::ports::TaskStore;
use oxikit_serve::Server;
use oxikit_serve::a2a::{
    A2aAgent, AgentExecutor, Artifact, Chunk, Part, TaskState, TaskTurn, TaskUpdates,
};

/// Serves the agents `/a2a` and `/a2a-chunks` with their tasks in this store.
pub(crate) fn serve(server: Server, tasks: Arc<dyn TaskStore>) -> Server {
    server
        .a2a(A2aAgent::with_executor("echo", Echo).path("a2a"))
        .a2a(A2aAgent::with_executor("chunks", Chunks).path("a2a-chunks"))
        .task_store(tasks)
}

/// Publishes the events of the peers: working, an artifact in five chunks, completed.
struct Echo;

#[async_trait::async_trait]
impl AgentExecutor for Echo {
    async fn execute(&self, _: TaskTurn, updates: &mut TaskUpdates) -> Result<()> {
        updates.status(TaskState::Working, None).await?;
        publish(5, updates).await?;
        updates.complete().await
    }
}

/// Publishes as many chunks as the message says.
struct Chunks;

#[async_trait::async_trait]
impl AgentExecutor for Chunks {
    async fn execute(&self, turn: TaskTurn, updates: &mut TaskUpdates) -> Result<()> {
        let count = turn.message.text().parse();
        let count = count.map_err(|_| Status::invalid_argument("send a number of chunks"))?;
        publish(count, updates).await?;
        updates.complete().await
    }
}

async fn publish(count: u64, updates: &mut TaskUpdates) -> Result<()> {
    let id = format!("{}-out", updates.task_id());
    for i in 0..count {
        let parts = vec![Part::text(format!("chunk {i} "))];
        let artifact = Artifact::new(&id, parts).with_name("out");
        updates.chunk(artifact, Chunk { append: i > 0, last_chunk: i + 1 == count }).await?;
    }
    Ok(())
}
