//! The session that an invocation continues, and the state that a failed turn falls back to.

use oxikit_wire::{SessionSnapshot, SessionState};

use super::writer::Writer;

/// A session to continue.
pub(super) struct Begun {
    pub(super) session: String,
    pub(super) state: SessionState,
    pub(super) last_good: LastGood,
    pub(super) writer: Option<Writer>,
}

impl Begun {
    /// The session after this snapshot; without one, a new session.
    pub(super) fn after(
        snapshot: Option<SessionSnapshot>,
        session: String,
        writer: Option<Writer>,
    ) -> Self {
        let (state, last_good) = match snapshot {
            Some(SessionSnapshot { snapshot_id, created_at, state, .. }) => {
                let (snapshot, created_at) = (Some(snapshot_id), Some(created_at));
                (state.unwrap_or_default(), LastGood { snapshot, created_at, state: None })
            }
            None => {
                let state = SessionState { session_id: Some(session.clone()), ..fresh() };
                let kept = Some(state.clone());
                (state, LastGood { snapshot: None, created_at: None, state: kept })
            }
        };
        Self { session, state, last_good, writer }
    }
}

/// The state that a failed turn falls back to.
#[derive(Debug)]
pub(super) struct LastGood {
    pub(super) snapshot: Option<String>,
    pub(super) created_at: Option<String>,
    /// The state, if it cannot be read from the snapshot: that of a new session,
    /// and of one that its client keeps.
    pub(super) state: Option<SessionState>,
}

/// The state of a new session.
pub(super) fn fresh() -> SessionState {
    SessionState { messages: Some(Vec::new()), artifacts: Some(Vec::new()), ..Default::default() }
}
