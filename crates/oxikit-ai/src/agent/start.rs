//! Starts an invocation: finds the state that it continues from and takes the session.

use std::collections::HashSet;
use std::sync::Arc;

use oxikit_core::ports::{Owner, SessionStore, StoredSnapshot};
use oxikit_core::{Context, Emitter, Result, Status};
use oxikit_wire::{
    AgentFinishReason, AgentInit, AgentOutput, AgentStreamChunk, SessionSnapshot, SessionState,
    SnapshotStatus,
};

use super::Definition;
use super::begun::{Begun, LastGood, fresh};
use super::conversation::{Conversation, runtime_error};
use super::writer::Writer;
use oxikit_core::random_id;

/// An invocation that can begin, or the output that reports why it cannot.
pub(super) enum Start {
    Ready(Box<Conversation>),
    Refused(Box<AgentOutput>),
}

/// Finds the session that the init names. A mistake of the calling program is a status; a
/// condition that any program can meet, such as a deleted snapshot, is an output with an error,
/// as the official runtimes answer it.
pub(super) async fn begin(
    agent: Arc<Definition>,
    ctx: &Context,
    init: AgentInit,
    out: Emitter<AgentStreamChunk>,
) -> Result<Start> {
    let begun = match agent.store.clone() {
        None => from_state(&agent, init),
        Some(store) => from_store(&agent, store, Owner::of(ctx.data()), init).await,
    };
    let begun = match begun {
        Ok(begun) => begun,
        Err(Refusal::Thrown(status)) => return Err(status),
        Err(Refusal::Reported(status, state)) => {
            return Ok(Start::Refused(Box::new(AgentOutput {
                finish_reason: Some(AgentFinishReason::Failed),
                error: Some(runtime_error(&agent, ctx, &status)),
                state,
                ..AgentOutput::default()
            })));
        }
    };
    Ok(Start::Ready(Box::new(Conversation::new(agent, ctx, begun, out))))
}

/// The reason why an invocation cannot begin.
enum Refusal {
    /// The action fails with this status.
    Thrown(Status),
    /// The action succeeds with an output that has this error. Clients that keep the state get
    /// back what they sent.
    Reported(Status, Option<SessionState>),
}

impl<E: Into<Status>> From<E> for Refusal {
    fn from(error: E) -> Self {
        Self::Thrown(error.into())
    }
}

/// The client keeps the state.
fn from_state(agent: &Definition, init: AgentInit) -> Result<Begun, Refusal> {
    let named = [("snapshotId", &init.snapshot_id), ("sessionId", &init.session_id)];
    if let Some((member, _)) = named.into_iter().find(|(_, id)| id.is_some()) {
        return Err(Refusal::Thrown(Status::failed_precondition(format!(
            "Cannot use '{member}' with agent '{}': it has no session store, so its clients send the whole 'state'",
            agent.name
        ))));
    }
    let state = init.state.unwrap_or_else(fresh);
    if let Err(status) = agent.check_state(&state) {
        return Err(Refusal::Reported(status, Some(state)));
    }
    let session = match &state.session_id {
        Some(session) => named_session(session)?,
        None => random_id(),
    };
    let state = SessionState { session_id: Some(session.clone()), ..state };
    let last_good = LastGood { snapshot: None, created_at: None, state: Some(state.clone()) };
    Ok(Begun { session, state, last_good, writer: None })
}

/// The server keeps the state.
async fn from_store(
    agent: &Arc<Definition>,
    store: Arc<dyn SessionStore>,
    owner: Owner,
    init: AgentInit,
) -> Result<Begun, Refusal> {
    if init.state.is_some() {
        return Err(Refusal::Thrown(Status::failed_precondition(format!(
            "Cannot send 'state' to agent '{}': it keeps its sessions in a store; send 'sessionId' or 'snapshotId'",
            agent.name
        ))));
    }
    let session = init.session_id.as_deref().map(named_session).transpose()?;
    let mut found = match &init.snapshot_id {
        Some(id) => Some(resumable(agent, &*store, &owner, id, session.as_deref()).await?),
        None => None,
    };
    let is_new = found.is_none() && session.is_none();
    let of_snapshot = found.as_ref().and_then(|snapshot| snapshot.session_id.clone());
    let session = of_snapshot.or(session).unwrap_or_else(random_id);
    let mut writer = Writer::new(agent.clone(), store, owner, session.clone());
    // A new session needs no lease: no other writer knows its id yet.
    if !is_new {
        writer.take().await?;
    }
    if found.is_none() && !is_new {
        found = match last_completed(agent, &writer, &session).await {
            Ok(found) => found,
            Err(refusal) => return Err(refused(writer, refusal).await),
        };
    }
    let mut begun = Begun::after(found, session, Some(writer));
    match (agent.check_state(&begun.state), begun.writer.take()) {
        (Err(status), Some(writer)) => Err(refused(writer, Refusal::Reported(status, None)).await),
        (_, writer) => Ok(Begun { writer, ..begun }),
    }
}

/// Releases the session before the refusal is reported, so that the client can retry at once.
async fn refused(mut writer: Writer, refusal: Refusal) -> Refusal {
    writer.give_back().await;
    refusal
}

/// A snapshot that a turn may go on from.
async fn resumable(
    agent: &Definition,
    store: &dyn SessionStore,
    owner: &Owner,
    id: &str,
    session: Option<&str>,
) -> Result<SessionSnapshot, Refusal> {
    let reported = |status| Refusal::Reported(status, None);
    let Some(StoredSnapshot { snapshot, .. }) =
        store.get(owner, id).await?.filter(|stored| agent.owns(stored))
    else {
        return Err(reported(Status::not_found(format!("Snapshot '{id}' not found"))));
    };
    if session.is_some_and(|session| snapshot.session_id.as_deref() != Some(session)) {
        let session = session.unwrap_or_default();
        return Err(Refusal::Thrown(Status::invalid_argument(format!(
            "Snapshot '{id}' does not belong to session '{session}'"
        ))));
    }
    if snapshot.status != Some(SnapshotStatus::Completed) {
        let status = snapshot.status.map_or("none", SnapshotStatus::as_str);
        return Err(reported(Status::invalid_argument(format!(
            "Snapshot '{id}' is not resumable (status: {status})"
        ))));
    }
    Ok(snapshot)
}

/// The newest completed snapshot on the way back from the latest one.
async fn last_completed(
    agent: &Definition,
    writer: &Writer,
    session: &str,
) -> Result<Option<SessionSnapshot>, Refusal> {
    let (store, owner) = (writer.store(), writer.owner());
    // Official stores may contain rows that name themselves or each other as parents.
    let mut seen = HashSet::new();
    let mut next = store.latest(owner, session).await?.filter(|stored| agent.owns(stored));
    while let Some(StoredSnapshot { snapshot, .. }) = next {
        if snapshot.status == Some(SnapshotStatus::Completed) {
            return Ok(Some(snapshot));
        }
        next = match snapshot.parent_id {
            Some(parent) => store.get(owner, &parent).await?,
            None => None,
        };
        if !seen.insert(snapshot.snapshot_id) {
            let message = format!("the snapshots of session '{session}' lead in a circle");
            return Err(Refusal::Reported(Status::failed_precondition(message), None));
        }
    }
    Ok(None)
}

fn named_session(id: &str) -> Result<String> {
    if id.trim().is_empty() {
        return Err(Status::invalid_argument("a session id is not blank"));
    }
    Ok(id.to_owned())
}
