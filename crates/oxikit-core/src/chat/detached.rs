//! Work that goes on without its caller.

use std::sync::Arc;
use std::time::Duration;

use oxikit_wire::{GetSnapshotRequest, SessionSnapshot, SnapshotStatus};

use super::AgentDoor;
use super::reply::failure;
use crate::{Result, Status, StatusCode};

/// The first pause between two looks; later ones are longer.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// A turn that goes on without its caller. Dropping this changes nothing; whoever
/// knows the snapshot can [look after it](Self::new) again.
#[derive(Debug, Clone)]
pub struct DetachedTurn {
    door: Arc<dyn AgentDoor>,
    snapshot_id: String,
    longest_pause: Duration,
}

impl DetachedTurn {
    /// The work behind this snapshot.
    pub fn new(door: Arc<dyn AgentDoor>, snapshot_id: impl Into<String>) -> Self {
        Self { door, snapshot_id: snapshot_id.into(), longest_pause: LONGEST_PAUSE }
    }

    /// Looks at least this often while it [waits](Self::wait); every second if not
    /// set.
    #[must_use]
    pub fn look_every(mut self, pause: Duration) -> Self {
        self.longest_pause = pause;
        self
    }

    /// Names the work, and later its result.
    pub fn snapshot_id(&self) -> &str {
        &self.snapshot_id
    }

    /// How far it is.
    pub async fn poll(&self) -> Result<SessionSnapshot> {
        self.door.snapshot(by_snapshot(&self.snapshot_id)).await
    }

    /// Waits until it has ended well. Fails with the agent's error if it failed,
    /// with `ABORTED` if somebody stopped it, and with `DEADLINE_EXCEEDED` if it
    /// has not been heard of for too long.
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
                    (StatusCode::DeadlineExceeded, "has not been heard of for too long")
                }
            };
            return Err(Status::new(
                code,
                format!("the detached turn `{}` {why}", self.snapshot_id),
            ));
        }
    }

    /// Stops it. Answers the status before; none if there is no such work.
    pub async fn abort(&self) -> Result<Option<SnapshotStatus>> {
        self.door.abort(&self.snapshot_id).await
    }
}

pub(super) fn by_snapshot(snapshot_id: &str) -> GetSnapshotRequest {
    GetSnapshotRequest { snapshot_id: Some(snapshot_id.to_owned()), session_id: None }
}
