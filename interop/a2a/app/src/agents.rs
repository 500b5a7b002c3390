//! Agents that do what the text of a message says.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use oxikit::prelude::*;
use oxikit_serve::a2a::{AgentExecutor, Artifact, Chunk, Part, TaskTurn, TaskUpdates};
use tokio::sync::Notify;

/// Answers with a task.
#[derive(Default)]
pub(crate) struct Script {
    /// The tasks that wait, by their id.
    gates: Mutex<HashMap<String, Arc<Notify>>>,
}

#[async_trait]
impl AgentExecutor for Script {
    async fn execute(&self, turn: TaskTurn, updates: &mut TaskUpdates) -> Result<()> {
        let text = turn.message.text();
        // The second message of a task is the answer to the question of `ask`.
        let answer = (turn.number > 1).then(|| format!("answer: {text}"));
        match answer.as_deref().unwrap_or(&text) {
            "ask" => updates.ask("which city?").await,
            "chunks" => chunks(updates).await,
            "fail" => Err(Status::invalid_argument("no such city")),
            "hold" => {
                updates.working("holding").await?;
                self.gate(&turn.task_id).notified().await;
                echo(updates, "released").await
            }
            text => {
                if let Some(task) = text.strip_prefix("release ") {
                    self.gate(task).notify_one();
                }
                echo(updates, text).await
            }
        }
    }
}

impl Script {
    /// The gate at which the task `hold` waits. The message `release <task id>` opens it, also
    /// before the task has come to it.
    fn gate(&self, task: &str) -> Arc<Notify> {
        let mut gates = self.gates.lock().unwrap_or_else(PoisonError::into_inner);
        gates.entry(task.to_owned()).or_default().clone()
    }
}

async fn echo(updates: &mut TaskUpdates, text: &str) -> Result<()> {
    updates.artifact(Artifact::new("echo", vec![Part::text(text)])).await?;
    updates.complete().await
}

async fn chunks(updates: &mut TaskUpdates) -> Result<()> {
    let pieces = [("one ", Chunk::FIRST), ("two ", Chunk::NEXT), ("three", Chunk::LAST)];
    for (text, chunk) in pieces {
        updates.chunk(Artifact::new("text", vec![Part::text(text)]), chunk).await?;
    }
    updates.complete().await
}

/// Answers with a message and without a task.
pub(crate) struct Reply;

#[async_trait]
impl AgentExecutor for Reply {
    async fn execute(&self, turn: TaskTurn, updates: &mut TaskUpdates) -> Result<()> {
        let text = format!("re: {}", turn.message.text());
        let message = updates.message(vec![Part::text(text)]);
        updates.reply(message).await
    }

    fn may_reply(&self) -> bool {
        true
    }
}
