//! An invocation: its turns, one after another, and its output.
//!
//! A turn works on the session in memory. If it succeeds, the session is saved as a snapshot; if
//! it fails, a snapshot with the error is saved and the invocation ends with the state before
//! the turn. While a turn runs, further inputs are queued, so that a message that asks to
//! detach the work is noticed at once.

use std::collections::VecDeque;
use std::sync::Arc;

use oxikit_core::{
    ActionKind, Context, Emitter, Inputs, Result, Status, Step, StepKind, timestamp,
};
use oxikit_wire::{
    AgentFinishReason, AgentInput, AgentOutput, AgentStreamChunk, RuntimeError, SessionSnapshot,
    SessionState, SnapshotStatus, TurnEnd, attribute,
};
use serde::{Serialize, Serializer};
use tokio_util::sync::DropGuard;

use super::begun::{Begun, LastGood};
use super::definition::BoxFuture;
use super::turn::{TurnParts, TurnPlace, TurnReply};
use super::writer::{Write, Writer};
use super::{Definition, Session};
use oxikit_core::random_id;

/// Maximum number of inputs that wait behind a running turn. Beyond it their sender waits.
const MAX_WAITING: usize = 64;

/// An invocation of an agent: its session, and the state of its turns.
pub(super) struct Conversation {
    pub(super) agent: Arc<Definition>,
    /// The context that turns run in. It carries the session, and has a cancellation token of
    /// its own, because detached work outlives the action.
    pub(super) ctx: Context,
    pub(super) session: Session,
    pub(super) writer: Option<Writer>,
    pub(super) last_good: LastGood,
    pub(super) turns: usize,
    reply: TurnReply,
    /// Cancels the turn when the invocation is dropped, which happens when the caller
    /// disconnects.
    stop: DropGuard,
}

/// A turn at work. It can be handed over to a task of its own.
pub(super) struct RunningTurn {
    pub(super) input: AgentInput,
    pub(super) place: TurnPlace,
    pub(super) work: BoxFuture<Result<TurnDone>>,
}

/// The result of a turn; the trace shows the state.
pub(super) struct TurnDone {
    pub(super) session: Session,
    pub(super) reply: TurnReply,
}

impl Serialize for TurnDone {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Shown {
            state: SessionState,
        }
        Shown { state: self.session.to_state() }.serialize(serializer)
    }
}

impl Conversation {
    pub(super) fn new(
        agent: Arc<Definition>,
        ctx: &Context,
        begun: Begun,
        out: Emitter<AgentStreamChunk>,
    ) -> Self {
        let Begun { session, state, last_good, writer } = begun;
        ctx.set_attribute(attribute::SESSION_ID, session.as_str());
        let out = match agent.chunk_transform.clone() {
            Some(transform) => out.filter_map(move |chunk| transform(chunk)),
            None => out,
        };
        let (transform, schema) = (agent.state_transform.clone(), agent.state_schema.clone());
        let session = Session::new(session, state, out, transform, schema);
        let ctx = ctx.fork_session(session.id(), session.clone());
        let stop = ctx.cancellation().clone().drop_guard();
        let reply = TurnReply::default();
        Self { agent, ctx, session, writer, last_good, turns: 0, reply, stop }
    }

    /// Takes turns until there is no more input, one fails, or the work is detached.
    pub(super) async fn run(mut self, mut inputs: Inputs<AgentInput>) -> Result<AgentOutput> {
        let mut waiting = VecDeque::new();
        loop {
            let input = match waiting.pop_front() {
                Some(input) => input,
                None => match inputs.next().await? {
                    Some(input) => input,
                    None => break,
                },
            };
            if is_detach(&input) {
                return self.detach(None, Some(input), waiting, inputs).await;
            }
            if self.turns > 0 {
                self.take_session().await?;
            }
            let mut turn = self.begin_turn(input);
            let place = turn.place.clone();
            let done = match self.watch(&mut turn.work, &mut waiting, &mut inputs).await? {
                None => return self.detach(Some(turn), None, waiting, inputs).await,
                Some(done) => done,
            };
            // With the last turn, the write of its snapshot releases the lease as well.
            let is_last = waiting.is_empty() && !inputs.is_open();
            match done {
                Ok(done) => self.complete(place, done, is_last).await?,
                Err(status) => return self.fail(place, &status).await,
            }
        }
        // The lease is released before the answer is returned, so that a client that has the
        // answer can start its next turn at once.
        if let Some(writer) = &mut self.writer {
            writer.give_back().await;
        }
        self.finish()
    }

    /// Takes the lease for a further turn. The first turn of a new session needs none: no other
    /// client knows its id yet.
    pub(super) async fn take_session(&mut self) -> Result<()> {
        match &mut self.writer {
            Some(writer) => writer.take().await,
            None => Ok(()),
        }
    }

    /// Begins a turn. Nothing happens until its work is polled.
    pub(super) fn begin_turn(&mut self, input: AgentInput) -> RunningTurn {
        let place = TurnPlace {
            snapshot: self.writer.as_ref().map(|_| random_id()),
            parent: self.last_good.snapshot.clone(),
            index: self.turns,
        };
        self.begin_turn_at(place, input)
    }

    pub(super) fn begin_turn_at(&mut self, place: TurnPlace, input: AgentInput) -> RunningTurn {
        self.turns += 1;
        self.session.begin_turn(place.snapshot.clone());
        let (agent, session, above) = (self.agent.clone(), self.session.clone(), self.ctx.clone());
        let (at, asked) = (place.clone(), input.clone());
        let work = async move {
            let name = format!("runTurn-{}", at.index + 1);
            let step = Step::new(StepKind::FlowStep, &name).below(&above).input(&input);
            step.run(|ctx| async move {
                if let Some(snapshot) = &at.snapshot {
                    ctx.set_attribute(attribute::SNAPSHOT_ID, snapshot.as_str());
                }
                if let Some(message) = &input.message {
                    session.add_message(message.clone());
                }
                let parts = TurnParts { input, session: session.clone(), ctx, place: at };
                let reply = agent.run_turn(parts).await?;
                Ok(TurnDone { session, reply })
            })
            .await
        };
        RunningTurn { input: asked, place, work: Box::pin(work) }
    }

    /// Waits for the end of the turn, while inputs queue up behind it. `None` if
    /// one of them asks to detach it.
    async fn watch(
        &self,
        work: &mut BoxFuture<Result<TurnDone>>,
        waiting: &mut VecDeque<AgentInput>,
        inputs: &mut Inputs<AgentInput>,
    ) -> Result<Option<Result<TurnDone>>> {
        loop {
            tokio::select! {
                // The order matters: a turn that has ended is saved, even if the lease was lost
                // or a request to detach arrived at the same time. The store rejects the write
                // if another writer has the session.
                biased;
                done = &mut *work => return Ok(Some(done)),
                status = kept(self.writer.as_ref()) => return Err(status),
                input = inputs.next(), if inputs.is_open() && waiting.len() < MAX_WAITING => {
                    let Some(input) = input? else { continue };
                    let is_detach = is_detach(&input);
                    if input.message.is_some() || input.resume.is_some() {
                        waiting.push_back(input);
                    }
                    if is_detach {
                        return Ok(None);
                    }
                }
            }
        }
    }

    /// Saves the session after a turn, then sends the end of the turn: a client that has received
    /// it can rely on the snapshot.
    async fn complete(&mut self, place: TurnPlace, done: TurnDone, is_last: bool) -> Result<()> {
        let finish_reason = done.reply.finish_reason;
        let mut snapshot = self.snapshot(&place);
        snapshot.status = Some(SnapshotStatus::Completed);
        snapshot.finish_reason = finish_reason;
        self.save(&snapshot, is_last).await?;
        self.last_good = LastGood {
            snapshot: place.snapshot.clone(),
            created_at: Some(snapshot.created_at),
            state: self.writer.is_none().then(|| self.session.to_state()),
        };
        self.reply = done.reply;
        self.session.send_end(TurnEnd { snapshot_id: place.snapshot, finish_reason }).await
    }

    /// Saves a snapshot with the error of a failed turn, and ends the invocation with the state
    /// before the turn.
    async fn fail(mut self, place: TurnPlace, status: &Status) -> Result<AgentOutput> {
        let error = self.report(status);
        let finish_reason = Some(AgentFinishReason::Failed);
        let mut snapshot = self.snapshot(&place);
        snapshot.status = Some(SnapshotStatus::Failed);
        snapshot.finish_reason = finish_reason;
        snapshot.error = Some(error.clone());
        self.save(&snapshot, true).await?;
        let end = TurnEnd { snapshot_id: place.snapshot, finish_reason };
        self.session.send_end(end).await?;
        let state = self.last_good_state().await?;
        self.reply = TurnReply {
            message: state.messages.as_ref().and_then(|messages| messages.last().cloned()),
            artifacts: state.artifacts.unwrap_or_default(),
            finish_reason,
        };
        Ok(AgentOutput { error: Some(error), ..self.finish()? })
    }

    /// Logs the failure of a turn, and answers what a client may read of it.
    pub(super) fn report(&self, status: &Status) -> RuntimeError {
        runtime_error(&self.agent, &self.ctx, status)
    }

    /// The state before this turn.
    pub(super) async fn last_good_state(&self) -> Result<SessionState> {
        let LastGood { snapshot, state, .. } = &self.last_good;
        if let Some(state) = state {
            return Ok(state.clone());
        }
        let (Some(writer), Some(snapshot)) = (&self.writer, snapshot) else {
            return Ok(SessionState::default());
        };
        let stored = writer.store().get(writer.owner(), snapshot).await?;
        Ok(stored.and_then(|stored| stored.snapshot.state).unwrap_or_default())
    }

    /// The snapshot of a turn, without its state. Its time is never before that of its parent,
    /// even if the clock was set back: stores find the newest snapshot by time.
    pub(super) fn snapshot(&self, place: &TurnPlace) -> SessionSnapshot {
        let now = timestamp::now();
        let created_at = match &self.last_good.created_at {
            Some(parent) if *parent > now => parent.clone(),
            _ => now,
        };
        SessionSnapshot {
            snapshot_id: place.snapshot.clone().unwrap_or_default(),
            session_id: Some(self.session.id().to_owned()),
            parent_id: place.parent.clone(),
            updated_at: Some(created_at.clone()),
            created_at,
            ..SessionSnapshot::default()
        }
    }

    async fn save(&mut self, snapshot: &SessionSnapshot, is_last: bool) -> Result<()> {
        let metadata = self.new_notes();
        let session = &self.session;
        let Some(writer) = &mut self.writer else { return Ok(()) };
        let write = Write { is_last, metadata: metadata.as_ref(), work: None };
        writer.save(snapshot, &|| session.to_state(), write).await?;
        Ok(())
    }

    /// The metadata of a session that has no snapshot yet.
    pub(super) fn new_notes(&self) -> Option<oxikit_wire::JsonObject> {
        let notes = self.agent.session_notes.as_ref()?;
        self.last_good.snapshot.is_none().then(|| notes(self.ctx.data()))
    }

    /// The output of the invocation.
    fn finish(self) -> Result<AgentOutput> {
        // The turns have ended, but tasks that user code has started with this context go on.
        let _ = self.stop.disarm();
        let TurnReply { message, artifacts, finish_reason } = self.reply;
        let mut output = AgentOutput {
            session_id: Some(self.session.id().to_owned()),
            message,
            artifacts: Some(artifacts).filter(|artifacts| !artifacts.is_empty()),
            finish_reason,
            ..AgentOutput::default()
        };
        if self.writer.is_some() {
            output.snapshot_id = self.last_good.snapshot;
            return Ok(output);
        }
        match self.agent.shown(self.last_good.state.unwrap_or_default()) {
            Ok(state) => output.state = Some(state),
            // If the transform fails, the state is not shown: it may hold data that the
            // transform should have removed.
            Err(status) => {
                output.message = None;
                output.artifacts = None;
                output.finish_reason = Some(AgentFinishReason::Failed);
                output.error = Some(runtime_error(&self.agent, &self.ctx, &status));
            }
        }
        Ok(output)
    }
}

/// Ends only when the session is lost to another writer.
async fn kept(writer: Option<&Writer>) -> Status {
    match writer {
        Some(writer) => writer.keep().await,
        None => std::future::pending().await,
    }
}

fn is_detach(input: &AgentInput) -> bool {
    input.detach == Some(true)
}

/// Logs a failure that is returned as an answer, which no server logs as one, and answers
/// what a client may read of it.
pub(super) fn runtime_error(agent: &Definition, ctx: &Context, status: &Status) -> RuntimeError {
    let action = format!("/{}/{}", ActionKind::Agent, agent.name);
    let outgoing = ctx.registry().report_failure(&action, Some(ctx.trace_id()), status);
    RuntimeError {
        status: Some(outgoing.status.name().to_owned()),
        message: outgoing.message,
        details: outgoing.details,
    }
}
