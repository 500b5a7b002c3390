//! The client's copy of a session.
//!
//! A turn changes it only when its output has arrived ([`Memory::commit`]). Everything before
//! that is in [`Gathered`] and is discarded with the turn, which is why a failed or dropped turn
//! leaves no trace in the conversation.

use std::sync::Arc;

use oxikit_wire::{
    AgentFinishReason, AgentInit, AgentOutput, Artifact, Message, SessionSnapshot, SessionState,
};
use serde_json::Value;

use crate::{Status, StatusCode};

/// The state of a session as of its last successful turn.
#[derive(Debug, Clone, Default)]
pub(super) struct Memory {
    /// The whole state if the client keeps it; else the part that turns have shown.
    pub(super) state: SessionState,
    /// The last completed snapshot, if the server keeps the state.
    pub(super) snapshot_id: Option<String>,
    /// Whether the client keeps the state and sends it with every turn.
    pub(super) is_kept_here: bool,
    /// The snapshot of detached work whose end is not known.
    pub(super) pending: Option<String>,
    /// Whether a turn was begun whose end has not arrived: it was dropped, or its
    /// connection broke. The agent may still be busy with it.
    pub(super) is_open: bool,
}

/// The data of a turn that arrived before its output.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    /// The message that was sent to the agent.
    pub(super) sent: Option<Arc<Message>>,
    /// The custom state, once it has changed.
    pub(super) custom: Option<Value>,
    pub(super) artifacts: Vec<Arc<Artifact>>,
}

impl Memory {
    /// The init of the next turn: exactly one of state, snapshot and session.
    pub(super) fn init(&self) -> AgentInit {
        let mut init = AgentInit::default();
        if self.is_kept_here {
            init.state = Some(self.state.clone());
        } else if self.snapshot_id.is_some() {
            init.snapshot_id.clone_from(&self.snapshot_id);
        } else {
            // Also after a first turn that failed: the server knows the session.
            init.session_id.clone_from(&self.state.session_id);
        }
        init
    }

    /// Records that a turn has ended without an output.
    pub(super) fn fail(&mut self, status: &Status) {
        // With these codes the connection failed, not the turn: the agent may still work on it.
        let may_go_on = matches!(
            status.code(),
            StatusCode::Unavailable | StatusCode::DeadlineExceeded | StatusCode::Cancelled
        );
        self.is_open = may_go_on;
    }

    /// Takes over the output of a turn. Of a failed turn only the ids count: they name the
    /// snapshot to continue from.
    pub(super) fn commit(&mut self, gathered: Gathered, output: &AgentOutput) {
        self.is_open = false;
        if output.session_id.is_some() {
            self.state.session_id.clone_from(&output.session_id);
        }
        if output.finish_reason == Some(AgentFinishReason::Detached) {
            self.pending.clone_from(&output.snapshot_id);
            return;
        }
        if output.snapshot_id.is_some() {
            self.snapshot_id.clone_from(&output.snapshot_id);
        }
        if let Some(state) = &output.state {
            let session_id = self.state.session_id.take();
            self.state = state.clone();
            self.state.session_id = state.session_id.clone().or(session_id);
            self.is_kept_here = true;
        } else if output.finish_reason != Some(AgentFinishReason::Failed) {
            self.add(gathered, output);
        }
    }

    /// Replaces the state by a completed snapshot.
    pub(super) fn adopt(&mut self, snapshot: SessionSnapshot) {
        self.state = snapshot.state.unwrap_or_default();
        self.state.session_id = snapshot.session_id.or(self.state.session_id.take());
        self.snapshot_id = Some(snapshot.snapshot_id);
        self.is_kept_here = false;
        self.pending = None;
    }

    /// Adds the messages, the custom state and the artifacts of a successful turn.
    fn add(&mut self, gathered: Gathered, output: &AgentOutput) {
        let new_messages = gathered.sent.into_iter().chain(output.message.clone());
        self.state.messages.get_or_insert_default().extend(new_messages);
        if let Some(custom) = gathered.custom {
            self.state.custom = Some(Arc::new(custom));
        }
        let known = self.state.artifacts.get_or_insert_default();
        for artifact in gathered.artifacts {
            put_artifact(known, artifact);
        }
        for artifact in output.artifacts.iter().flatten() {
            // The output repeats the artifacts of the chunks. An artifact without a name cannot
            // replace its copy, so it must not be added twice.
            if artifact.name.is_some() || !known.contains(artifact) {
                put_artifact(known, artifact.clone());
            }
        }
    }
}

/// An artifact replaces the one of its name.
fn put_artifact(known: &mut Vec<Arc<Artifact>>, artifact: Arc<Artifact>) {
    let previous = known
        .iter_mut()
        .find(|previous| previous.name == artifact.name && artifact.name.as_deref() > Some(""));
    match previous {
        Some(previous) => *previous = artifact,
        None => known.push(artifact),
    }
}
