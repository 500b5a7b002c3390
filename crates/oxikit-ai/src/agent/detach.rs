//! Detached work: turns that continue after their caller has gone.
//!
//! The store is the only connection between the work and its observers. At the start the work is saved
//! as a *pending* snapshot, together with the data to restart it; at the end the same snapshot becomes
//! the finished one. In between, heartbeats show that it is alive. Observers act on the snapshot only:
//!
//! - A caller stops the work by writing the status `aborted`.
//! - A snapshot without a heartbeat for too long counts as lost; readers see it as expired.
//! - Another process resumes lost work once the lease of the session is free (see `recover`).

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use oxikit_core::ports::{Owner, SessionStore, SnapshotWrite};
use oxikit_core::timestamp::{self, HEARTBEAT};
use oxikit_core::{Inputs, Result, Status, StatusCode};
use oxikit_wire::{AgentFinishReason, AgentInput, AgentOutput, SessionSnapshot, SnapshotStatus};
use tokio::time::sleep;

use super::conversation::{Conversation, RunningTurn, TurnDone};
use super::turn::TurnPlace;
use super::work::Work;
use super::writer::{Write, Writer};
use oxikit_core::random_id;

/// Maximum time of retries to write the end of the work while the store does not answer.
const PATIENCE: Duration = Duration::from_secs(120);

impl Conversation {
    /// Writes the pending snapshot, starts a task that continues the work, and returns the id of
    /// that snapshot to the caller.
    pub(super) async fn detach(
        mut self,
        running: Option<RunningTurn>,
        input: Option<AgentInput>,
        mut waiting: VecDeque<AgentInput>,
        inputs: Inputs<AgentInput>,
    ) -> Result<AgentOutput> {
        if self.writer.is_none() {
            return Err(Status::failed_precondition(
                "Detach is only supported when a session store is provided.",
            ));
        }
        // The caller gets no more chunks; without this, a full queue would stop the work.
        self.session.out().retire();
        self.take_session().await?;
        let place = match &running {
            Some(turn) => turn.place.clone(),
            None => TurnPlace {
                snapshot: Some(random_id()),
                parent: self.last_good.snapshot.clone(),
                index: self.turns,
            },
        };
        if let Some(input) = input.filter(|input| input.message.is_some() || input.resume.is_some())
        {
            waiting.push_front(input);
        }
        let known = running.iter().map(|turn| &turn.input).chain(&waiting);
        let work = Work::new(known.cloned().collect(), self.ctx.data()).to_json()?;
        let (pending, notes) = (self.pending(&place), self.new_notes());
        let before = self.last_good_state().await?;
        if let Some(writer) = &mut self.writer {
            let write = Write { metadata: notes.as_ref(), work: Some(&work), is_last: false };
            writer.save(&pending, &|| before.clone(), write).await?;
        }
        let output = AgentOutput {
            session_id: Some(self.session.id().to_owned()),
            snapshot_id: place.snapshot.clone(),
            finish_reason: Some(AgentFinishReason::Detached),
            ..AgentOutput::default()
        };
        let ctx = self.ctx.clone();
        let detached =
            Detached { place, running, waiting, inputs: Some(inputs), work, is_resumed: false };
        tokio::spawn(async move { ctx.scope(self.run_detached(detached)).await });
        Ok(output)
    }

    /// The snapshot that stands for the work while it runs.
    fn pending(&self, place: &TurnPlace) -> SessionSnapshot {
        let mut snapshot = self.snapshot(place);
        snapshot.status = Some(SnapshotStatus::Pending);
        snapshot.heartbeat_at.clone_from(&snapshot.updated_at);
        snapshot
    }

    /// Runs the work until it ends, until it is aborted, or until the lease is lost. In the last
    /// two cases nothing is written: the row belongs to another writer then.
    pub(super) async fn run_detached(mut self, detached: Detached) {
        let Some(writer) = self.writer.take() else { return };
        let place = detached.place.clone();
        let row = PendingRow {
            store: writer.store().clone(),
            owner: writer.owner().clone(),
            agent: self.agent.name.clone(),
            session: self.session.id().to_owned(),
            snapshot: place.snapshot.clone().unwrap_or_default(),
            work: detached.work.clone(),
        };
        // The heartbeat of resumed work is old, so it is renewed at once.
        let first_beat = if detached.is_resumed { Duration::ZERO } else { HEARTBEAT };
        let done = tokio::select! {
            biased;
            () = row.stopped() => None,
            () = row.beat(first_beat) => None,
            status = writer.keep() => {
                tracing::warn!(%status, session = row.session, "detached work was stopped");
                None
            }
            done = self.take_turns(detached) => Some(done),
        };
        if let Some(done) = done {
            self.settle(writer, &place, done).await;
        }
    }

    /// Runs all turns that were requested, until one fails. They share one snapshot.
    async fn take_turns(&mut self, detached: Detached) -> Result<TurnDone> {
        let Detached { place, running, mut waiting, mut inputs, .. } = detached;
        let mut done = match running {
            Some(turn) => Some(turn.work.await?),
            None => None,
        };
        loop {
            let next = match (waiting.pop_front(), &mut inputs) {
                (Some(input), _) => Some(input),
                (None, Some(inputs)) => inputs.next().await?,
                (None, None) => None,
            };
            let Some(input) = next else { break };
            if input.message.is_some() || input.resume.is_some() {
                let place = TurnPlace { index: self.turns, ..place.clone() };
                done = Some(self.begin_turn_at(place, input).work.await?);
            }
        }
        let nothing = || TurnDone { session: self.session.clone(), reply: Default::default() };
        Ok(done.unwrap_or_else(nothing))
    }

    /// Writes the end of the work into its snapshot, with retries for at most [`PATIENCE`] while
    /// the store does not answer.
    async fn settle(self, mut writer: Writer, place: &TurnPlace, done: Result<TurnDone>) {
        let (status, finish_reason, error) = match done {
            Ok(done) => (SnapshotStatus::Completed, done.reply.finish_reason, None),
            Err(status) => {
                let error = self.report(&status);
                (SnapshotStatus::Failed, Some(AgentFinishReason::Failed), Some(error))
            }
        };
        let mut snapshot = self.snapshot(place);
        snapshot.status = Some(status);
        snapshot.finish_reason = finish_reason;
        snapshot.error = error;
        let mut pause = Duration::from_millis(50);
        let until = tokio::time::Instant::now() + PATIENCE;
        loop {
            let write = Write { is_last: true, ..Write::default() };
            match writer.save(&snapshot, &|| self.session.to_state(), write).await {
                Err(status) if is_temporary(&status) && tokio::time::Instant::now() < until => {}
                Err(status) => {
                    tracing::error!(%status, snapshot = snapshot.snapshot_id, "the end of detached work could not be stored");
                    return;
                }
                Ok(_) => return,
            }
            sleep(pause).await;
            pause = (pause * 2).min(Duration::from_secs(5));
        }
    }
}

/// Turns that run without a caller.
pub(super) struct Detached {
    pub(super) place: TurnPlace,
    pub(super) running: Option<RunningTurn>,
    pub(super) waiting: VecDeque<AgentInput>,
    pub(super) inputs: Option<Inputs<AgentInput>>,
    /// The data to restart them.
    pub(super) work: String,
    /// Whether another process began the work and has ended.
    pub(super) is_resumed: bool,
}

/// The row that stands for detached work.
struct PendingRow {
    store: Arc<dyn SessionStore>,
    owner: Owner,
    agent: String,
    session: String,
    snapshot: String,
    work: String,
}

impl PendingRow {
    /// Waits until the work was aborted or its session deleted.
    async fn stopped(&self) {
        let Self { store, owner, snapshot, .. } = self;
        let mut revision = 0;
        loop {
            match store.get(owner, snapshot).await {
                Ok(Some(stored)) if stored.snapshot.status == Some(SnapshotStatus::Pending) => {
                    revision = stored.revision;
                }
                // The work itself has ended and was written.
                Ok(Some(stored)) if stored.snapshot.status != Some(SnapshotStatus::Aborted) => {
                    return std::future::pending().await;
                }
                Ok(_) => return,
                Err(_) => sleep(Duration::from_secs(1)).await,
            }
            if store.changed(owner, snapshot, revision).await.is_err() {
                sleep(Duration::from_secs(1)).await;
            }
        }
    }

    /// Renews the heartbeat at intervals. It never returns.
    async fn beat(&self, mut pause: Duration) {
        let Self { store, owner, agent, session, snapshot, work } = self;
        loop {
            sleep(pause).await;
            pause = HEARTBEAT;
            let write = SnapshotWrite {
                work: Some(work),
                ..SnapshotWrite::new(owner, agent, session, snapshot)
            };
            let beat = |row: Option<&SessionSnapshot>| {
                let row = row.filter(|row| row.status == Some(SnapshotStatus::Pending));
                Ok(row.map(|row| SessionSnapshot {
                    heartbeat_at: Some(timestamp::now()),
                    ..row.clone()
                }))
            };
            if let Err(error) = store.save(write, &beat).await {
                tracing::warn!(%error, snapshot, "a heartbeat could not be stored");
            }
        }
    }
}

fn is_temporary(status: &Status) -> bool {
    matches!(status.code(), StatusCode::Unavailable | StatusCode::DeadlineExceeded)
}
