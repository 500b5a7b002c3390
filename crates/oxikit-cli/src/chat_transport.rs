//! The transport of `oxikit agent chat` and of the MCP tool `chat`: it reaches an agent of a
//! runtime through the HTTP API of the developer tools.
//!
//! The conversation itself (history, state, interrupts) is `oxikit_core::chat::Chat`.

use std::sync::Arc;

use async_trait::async_trait;
use futures_util::stream;
use oxikit_core::chat::{AgentEvent, AgentTransport, Chat, Invocation};
use oxikit_core::{Result, Status, StatusCode};
use oxikit_wire::{
    AgentAbortRequest, AgentAbortResponse, AgentInit, AgentInput, GetSnapshotRequest,
    SessionSnapshot, SnapshotStatus,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::{RawValue, to_raw_value};

use super::args::Target;
use super::client::{Client, encoded, query};
use super::failure::Failure;
use super::run::{Call, RunError, RunPart, key_of};

/// An agent of a runtime, and the client that forwards calls to it.
#[derive(Debug)]
pub(super) struct ChatTransport {
    pub(super) client: Client,
    pub(super) target: Target,
    pub(super) name: String,
    /// The context of its runs, such as the authenticated user.
    pub(super) context: Option<Box<RawValue>>,
}

impl ChatTransport {
    /// A conversation that continues or creates a session. If tools wait for an answer in
    /// the session, `Chat::interrupts` returns them.
    pub(super) async fn in_session(self: &Arc<Self>, session: String) -> Result<Chat> {
        let agent = self.clone();
        match Chat::load_session(agent.clone(), &session).await {
            Ok(chat) if !chat.interrupts().is_empty() => Ok(chat),
            // The chat starts without a snapshot, so that the agent continues from the
            // session's latest snapshot at the time of the turn.
            Ok(_) => Ok(Chat::new(agent).in_session(session)),
            Err(status) if status.code() == StatusCode::NotFound => {
                Ok(Chat::new(agent).in_session(session))
            }
            Err(status) => Err(status),
        }
    }

    /// A conversation that continues from a snapshot. Interrupts as in
    /// [`in_session`](Self::in_session).
    pub(super) async fn from_snapshot(self: &Arc<Self>, snapshot: String) -> Result<Chat> {
        let loaded = Chat::load_snapshot(self.clone(), &snapshot).await?;
        // If the snapshot cannot be resumed, `load_snapshot` returns an earlier one.
        match loaded.snapshot_id() == Some(&*snapshot) && !loaded.interrupts().is_empty() {
            true => Ok(loaded),
            false => Ok(Chat::new(self.clone()).from_snapshot(snapshot)),
        }
    }

    /// A call of an action of this kind with the agent's name.
    fn call(&self, kind: &str) -> Call {
        let context = self.context.clone();
        Call { context, ..self.target.call(key_of(kind, &self.name)) }
    }

    /// Runs a companion action of the agent: one with the same name and another kind.
    async fn run_companion<T: DeserializeOwned>(
        &self,
        kind: &str,
        input: &impl Serialize,
    ) -> Result<T> {
        let input = Some(to_raw_value(input)?);
        let call = Call { input, ..self.call(kind) };
        let outcome = self.client.run(&call, None).await.map_err(status_of)?;
        match outcome.error {
            Some(error) => Err(error.into()),
            None => read(outcome.result),
        }
    }
}

#[async_trait]
impl AgentTransport for ChatTransport {
    async fn invoke(&self, init: AgentInit, input: AgentInput) -> Result<Invocation> {
        let call = Call {
            input: Some(to_raw_value(&input)?),
            init: Some(to_raw_value(&init)?),
            ..self.call("agent")
        };
        // Dropping the returned stream drops the HTTP response, which cancels the turn.
        let parts = self.client.start_stream(&call).await.map_err(status_of)?;
        Ok(Box::pin(stream::unfold(Some(parts), |parts| async move {
            let mut parts = parts?;
            match parts.next().await {
                Ok(RunPart::Chunk(chunk)) => {
                    let event =
                        read(Some(chunk)).map_or_else(AgentEvent::Unreadable, AgentEvent::Chunk);
                    Some((Ok(event), Some(parts)))
                }
                Ok(RunPart::Done(output)) => Some((read(output).map(AgentEvent::Done), None)),
                Ok(RunPart::Failed(error)) => Some((Err(error.into()), None)),
                Err(failure) => Some((Err(status_of(failure)), None)),
            }
        })))
    }

    async fn snapshot(&self, request: GetSnapshotRequest) -> Result<SessionSnapshot> {
        let context = self.context.as_deref().map(|context| context.get().to_owned());
        let query = query(&[
            ("snapshotId", request.snapshot_id.as_ref()),
            ("sessionId", request.session_id.as_ref()),
            ("runtime", self.target.runtime.as_ref()),
            ("context", context.as_ref()),
        ]);
        // The API is used in place of the companion action, because a run of that would
        // leave a trace for each look at a snapshot.
        let path = format!("/api/agents/{}/snapshot?{query}", encoded(&self.name));
        Ok(serde_json::from_value(self.client.get(&path).await.map_err(status_of)?)?)
    }

    async fn abort(&self, snapshot_id: &str) -> Result<Option<SnapshotStatus>> {
        let request = AgentAbortRequest { snapshot_id: snapshot_id.to_owned() };
        let answer: AgentAbortResponse = self.run_companion("agent-abort", &request).await?;
        Ok(answer.status)
    }
}

fn read<T: DeserializeOwned>(value: Option<Box<RawValue>>) -> Result<T> {
    Ok(serde_json::from_str(value.as_deref().map_or("null", RawValue::get))?)
}

impl From<RunError> for Status {
    fn from(error: RunError) -> Self {
        let code = error.status.parse().unwrap_or(StatusCode::Unknown);
        Self::public(code, error.message)
    }
}

/// Turns a failure of the developer tools into the status of the agent call.
fn status_of(failure: Failure) -> Status {
    let error = failure.to_json();
    let text = |member: &str| error[member].as_str().unwrap_or_default();
    let code = text("status").parse().unwrap_or(StatusCode::Unavailable);
    Status::public(code, text("message"))
}
