//! The result of a turn, with the state that belongs to it.

use oxikit_core::{Payload, Status};
use oxikit_wire::{AgentFinishReason, AgentOutput, ExecuteResult, SessionState};

use super::agent::Agent;
use super::sessions::{Session, last_completed};

/// The result of a turn, with the whole state behind it.
pub(super) async fn result_of(agent: &Agent, output: Payload) -> Result<ExecuteResult, Status> {
    let mut output: AgentOutput = output.parse()?;
    let state = match (output.state.take(), &output.snapshot_id) {
        (Some(state), _) => Some(state),
        (None, None) => Some(SessionState::default()),
        // The turn is over, whatever comes of reading its state: it must not look
        // as if it had failed.
        (None, Some(snapshot)) => state_at(agent, snapshot, output.finish_reason)
            .await
            .inspect_err(|status| tracing::warn!(snapshot, %status, "cannot read the state"))
            .ok(),
    };
    Ok(ExecuteResult::new(output, state))
}

/// The state at a snapshot; while detached work goes on, the state before it.
async fn state_at(
    agent: &Agent,
    snapshot: &str,
    finish_reason: Option<AgentFinishReason>,
) -> Result<SessionState, Status> {
    let found = agent.snapshot(snapshot).await?;
    let state = match (finish_reason, &found.session_id) {
        (Some(AgentFinishReason::Detached), Some(session)) => {
            let Session { nodes, .. } = Session::find(agent, session).await?;
            match last_completed(&nodes, snapshot) {
                Some(completed) if completed != snapshot => agent.snapshot(completed).await?.state,
                Some(_) => found.state,
                None => None,
            }
        }
        _ => found.state,
    };
    Ok(state.unwrap_or_default())
}
