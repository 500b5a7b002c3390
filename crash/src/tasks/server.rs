//! The server that is killed: an A2A agent that takes its time.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use async_trait::async_trait;
use oxikit::Oxikit;
use oxikit_core::ports::TaskStore;
use oxikit_serve::Server;
use oxikit_serve::a2a::{
    A2aAgent, AgentExecutor, Artifact, Chunk, OutgoingPolicy, Part, PushNotifications, TaskTurn,
    TaskUpdates,
};
use oxikit_sql::{PostgresStore, SqliteStore};

use crate::Args;
use crate::server::end_of_input;

/// Number of chunks of a task, if the message does not say.
const CHUNKS: u32 = 60;
/// Time between two of them.
const PACE: Duration = Duration::from_millis(50);

/// Publishes chunks with their numbers.
struct Counter;

#[async_trait]
impl AgentExecutor for Counter {
    async fn execute(&self, turn: TaskTurn, updates: &mut TaskUpdates) -> oxikit_core::Result<()> {
        for number in 0..turn.message.text().parse().unwrap_or(CHUNKS) {
            tokio::time::sleep(PACE).await;
            let artifact = Artifact::new("count", vec![Part::text(number.to_string())]);
            updates.chunk(artifact, Chunk { append: number > 0, last_chunk: false }).await?;
        }
        updates.complete().await
    }
}

/// Serves until the process is killed, or until standard input ends.
pub(crate) async fn run(args: &Args) -> Result<()> {
    let port = args.get("--port")?.parse().context("--port takes a number")?;
    let store = args.get("--store")?;
    let store: Arc<dyn TaskStore> = match store.starts_with("postgres://") {
        true => Arc::new(PostgresStore::connect(store).await?),
        false => SqliteStore::open(store)?.tasks(),
    };
    let ai = Oxikit::builder().build()?;
    let push = PushNotifications::with_policy(OutgoingPolicy::default().allow_loopback())?;
    let server = Server::new(&ai).a2a(A2aAgent::with_executor("count", Counter));
    let server = server.push_notifications(push);
    let server = server.task_store(store).port(port).bind().await?;
    println!("listening on http://{}", server.local_addr()?);
    server.run(end_of_input()).await;
    Ok(())
}
