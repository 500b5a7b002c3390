//! What this side of a conversation knows.

use std::sync::Arc;

use oxikit_wire::{
    AgentFinishReason, AgentInit, AgentOutput, Artifact, Message, SessionSnapshot, SessionState,
};
use serde_json::Value;

use crate::{Status, StatusCode};

/// What is known of a session, as of its last good turn.
#[derive(Debug, Clone, Default)]
pub(super) struct Memory {
    /// With a server that keeps the state: what was seen of it.
    pub(super) state: SessionState,
    /// The last good snapshot, if the server keeps the state.
    pub(super) snapshot_id: Option<String>,
    /// Whether the agent takes the state from us.
    pub(super) is_kept_here: bool,
    /// The snapshot of detached work whose end is not known.
    pub(super) pending: Option<String>,
    /// Whether a turn was begun whose end we have not seen: it was dropped, or its
    /// connection broke.
    pub(super) is_open: bool,
}

/// What a turn has brought before its output.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    /// What was said to the agent.
    pub(super) sent: Option<Arc<Message>>,
    /// The custom state, once it has changed.
    pub(super) custom: Option<Value>,
    pub(super) artifacts: Vec<Arc<Artifact>>,
}

impl Memory {
    /// What the next turn starts from.
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

    /// Notes that a turn has ended without an output.
    pub(super) fn fail(&mut self, status: &Status) {
        let may_go_on = matches!(
            status.code(),
            StatusCode::Unavailable | StatusCode::DeadlineExceeded | StatusCode::Cancelled
        );
        self.is_open = may_go_on;
    }

    /// Takes over the end of a turn. Of a failed one only the place to go on from
    /// counts, which the agent names.
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

    /// Takes over a good snapshot.
    pub(super) fn adopt(&mut self, snapshot: SessionSnapshot) {
        self.state = snapshot.state.unwrap_or_default();
        self.state.session_id = snapshot.session_id.or(self.state.session_id.take());
        self.snapshot_id = Some(snapshot.snapshot_id);
        self.is_kept_here = false;
        self.pending = None;
    }

    /// Adds what a turn has brought to what is known.
    fn add(&mut self, gathered: Gathered, output: &AgentOutput) {
        let said = gathered.sent.into_iter().chain(output.message.clone());
        self.state.messages.get_or_insert_default().extend(said);
        if let Some(custom) = gathered.custom {
            self.state.custom = Some(Arc::new(custom));
        }
        let known = self.state.artifacts.get_or_insert_default();
        for artifact in gathered.artifacts {
            put_artifact(known, artifact);
        }
        for artifact in output.artifacts.iter().flatten() {
            // One without a name came as a chunk already.
            if artifact.name.is_some() || !known.contains(artifact) {
                put_artifact(known, artifact.clone());
            }
        }
    }
}

/// An artifact replaces the one of its name.
fn put_artifact(known: &mut Vec<Arc<Artifact>>, artifact: Arc<Artifact>) {
    let former = known
        .iter_mut()
        .find(|former| former.name == artifact.name && artifact.name.as_deref() > Some(""));
    match former {
        Some(former) => *former = artifact,
        None => known.push(artifact),
    }
}
