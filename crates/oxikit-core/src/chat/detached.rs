//! Turns that run in the background, and how a client waits for them.
//!
//! The agent writes the progress of such a turn to a snapshot. There is no notification over the
//! transport, so [`DetachedTurn::wait`] polls that snapshot.

use std::sync::Arc;
use std::time::Duration;

use oxikit_wire::{GetSnapshotRequest, SessionSnapshot, SnapshotStatus};

use super::AgentTransport;
use super::reply::failure;
use crate::{Result, Status, StatusCode};

/// Pause after the first poll. It doubles with every poll, up to the longest pause.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
/// Default of the longest pause between two polls.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// A turn that goes on without its caller. Dropping this changes nothing; a caller that
/// knows the id of the snapshot can make a [new one](Self::new).
///
/// ```
/// use std::time::Duration;
/// # use oxikit_core::{Result, chat::Chat};
///
/// # async fn example(mut chat: Chat) -> Result<()> {
/// let work = chat.detach("Write the report.").await?.look_every(Duration::from_secs(5));
/// let snapshot = work.wait().await?;
/// println!("done: {}", snapshot.snapshot_id);
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct DetachedTurn {
    transport: Arc<dyn AgentTransport>,
    snapshot_id: String,
    longest_pause: Duration,
}

impl DetachedTurn {
    /// The work behind this snapshot. Nothing is sent before it is polled.
    pub fn new(transport: Arc<dyn AgentTransport>, snapshot_id: impl Into<String>) -> Self {
        Self { transport, snapshot_id: snapshot_id.into(), longest_pause: LONGEST_PAUSE }
    }

    /// Sets the longest pause between two polls of [`wait`](Self::wait). The default is one
    /// second.
    #[must_use]
    pub fn look_every(mut self, pause: Duration) -> Self {
        self.longest_pause = pause;
        self
    }

    /// The id of the snapshot: of the work while it runs, and of its result afterwards.
    pub fn snapshot_id(&self) -> &str {
        &self.snapshot_id
    }

    /// Reads the snapshot once. Its `status` is `Pending` while the work runs.
    ///
    /// # Errors
    ///
    /// `NOT_FOUND` if the agent does not know the work any more, or the error of the
    /// agent.
    pub async fn poll(&self) -> Result<SessionSnapshot> {
        self.transport.snapshot(by_snapshot(&self.snapshot_id)).await
    }

    /// Waits until the work has ended well, and returns its snapshot.
    ///
    /// # Errors
    ///
    /// The agent's error if the work failed, `ABORTED` if it was stopped,
    /// `DEADLINE_EXCEEDED` if it has expired; else as [`poll`](Self::poll).
    pub async fn wait(&self) -> Result<SessionSnapshot> {
        let mut pause = FIRST_PAUSE.min(self.longest_pause);
        loop {
            let snapshot = self.poll().await?;
            let (code, why) = match snapshot.status {
                Some(SnapshotStatus::Pending) => {
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(self.longest_pause);
                    continue;
                }
                Some(SnapshotStatus::Completed) | None => return Ok(snapshot),
                Some(SnapshotStatus::Failed) => return Err(failure(snapshot.error)),
                Some(SnapshotStatus::Aborted) => (StatusCode::Aborted, "was stopped"),
                Some(SnapshotStatus::Expired) => {
                    (StatusCode::DeadlineExceeded, "has not sent a heartbeat for too long")
                }
            };
            return Err(Status::new(
                code,
                format!("the detached turn `{}` {why}", self.snapshot_id),
            ));
        }
    }

    /// Stops the work. Returns its previous status, or `None` if the agent does not know the
    /// snapshot. Work that has already ended stays as it is.
    ///
    /// # Errors
    ///
    /// If the agent cannot be reached, or has no session store.
    pub async fn abort(&self) -> Result<Option<SnapshotStatus>> {
        self.transport.abort(&self.snapshot_id).await
    }
}

pub(super) fn by_snapshot(snapshot_id: &str) -> GetSnapshotRequest {
    GetSnapshotRequest { snapshot_id: Some(snapshot_id.to_owned()), session_id: None }
}
