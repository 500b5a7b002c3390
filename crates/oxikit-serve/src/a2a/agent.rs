//! Oxikit agents as A2A agents.
//!
//! The conversation (`contextId`) is the agent's session, so that tasks of one conversation go on
//! from each other. Text that the model streams is published as chunks of one artifact, artifacts
//! of the agent as artifacts of the same name, and progress as a status `working`. An interrupt becomes `input-required`: its message
//! has a data part with the tool requests that wait, and the client's next message answers them.

use async_trait::async_trait;
use oxikit_core::{Action, Call, Event, Payload, Registry, Result, Run, Status, StatusCode};
use oxikit_wire::a2a::{self, Artifact, Part, PartContent};
use oxikit_wire::{
    AgentFinishReason, AgentInit, AgentInput, AgentOutput, AgentResume, AgentStreamChunk,
};
use serde_json::{Value, json};

use super::content::{a2a_parts, agent_parts, interrupts_of, user_message};
use super::executor::{AgentExecutor, TaskTurn};
use super::updates::{Chunk, TaskUpdates};

/// The id of the artifact with the text of the agent, before the number of the turn.
const ANSWER: &str = "answer";

/// Runs turns of an oxikit agent.
pub(super) struct AgentAction {
    pub(super) action: Action,
    pub(super) registry: Registry,
    /// Whether the server keeps the agent's sessions.
    pub(super) has_store: bool,
}

#[async_trait]
impl AgentExecutor for AgentAction {
    async fn execute(&self, turn: TaskTurn, updates: &mut TaskUpdates) -> Result<()> {
        let run = self.start(&turn)?;
        Answer { id: format!("{ANSWER}-{}", turn.number), has_chunks: false, held: None }
            .take(run, updates)
            .await
    }
}

impl AgentAction {
    fn start(&self, turn: &TaskTurn) -> Result<Run> {
        let input = input_of(turn)?;
        let session_id = self.has_store.then(|| turn.context_id.clone());
        let init = AgentInit { session_id, ..AgentInit::default() };
        let call = Call::new(input).with_init(Payload::of(init));
        let call = call.in_registry(&self.registry).with_context(turn.caller.clone());
        self.action.start(call.below(turn.trace_parent))
    }
}

/// The message, or the answers to the interrupts of the turn before.
fn input_of(turn: &TaskTurn) -> Result<AgentInput> {
    let status = turn.task.as_ref().map(|task| &task.status);
    let asked = status.and_then(|status| status.message.as_ref()).map(interrupts_of);
    match asked.filter(|interrupts| !interrupts.is_empty()) {
        None => Ok(AgentInput {
            message: Some(user_message(&turn.message).into()),
            ..AgentInput::default()
        }),
        Some(interrupts) => {
            let resume = resume_of(&turn.message, &interrupts)?;
            Ok(AgentInput { resume: Some(resume), ..AgentInput::default() })
        }
    }
}

/// The client's answers to the tool requests that wait. A data part may say `respond` or
/// `restart` as oxikit's own clients do; otherwise the text, or the data, is the answer to the one
/// request that waits.
fn resume_of(message: &a2a::Message, waiting: &[oxikit_wire::ToolRequest]) -> Result<AgentResume> {
    let data = message.parts.iter().find_map(|part| match &part.content {
        PartContent::Data(data) => Some(data),
        _ => None,
    });
    if let Some(data) = data
        && (data.get("respond").is_some() || data.get("restart").is_some())
    {
        return serde_json::from_value(data.clone()).map_err(|error| {
            Status::invalid_argument(format!("the answer to an interrupt cannot be read: {error}"))
        });
    }
    let [request] = waiting else {
        let names: Vec<_> = waiting.iter().map(|request| request.name.as_str()).collect();
        return Err(Status::invalid_argument(format!(
            "several tools wait for an answer ({}): send a data part \
             {{\"respond\": [{{\"toolResponse\": {{\"name\", \"ref\", \"output\"}}}}]}}",
            names.join(", ")
        )));
    };
    let output = data.cloned().unwrap_or_else(|| Value::from(message.text()));
    let response =
        oxikit_wire::Part::tool_response(&request.name, request.reference.clone(), output);
    Ok(AgentResume { respond: Some(vec![response]), restart: None })
}

/// The text of the agent, as one artifact.
struct Answer {
    id: String,
    has_chunks: bool,
    /// The last chunk so far. It is published with the next event of the agent, when it is known
    /// whether it is the last one.
    held: Option<Vec<Part>>,
}

impl Answer {
    async fn take(mut self, mut run: Run, updates: &mut TaskUpdates) -> Result<()> {
        updates.status(a2a::TaskState::Working, None).await?;
        loop {
            match run.next().await {
                Some(Event::Chunk(chunk)) => self.chunk(chunk.parse()?, updates).await?,
                Some(Event::Done(output)) => return self.end(output.parse()?, updates).await,
                Some(Event::Failed(status)) => {
                    self.release(false, updates).await?;
                    return Err(status);
                }
                None => return Err(Status::cancelled()),
            }
        }
    }

    async fn chunk(&mut self, chunk: AgentStreamChunk, updates: &mut TaskUpdates) -> Result<()> {
        if chunk.turn_end.is_some() {
            // Says that nothing follows; the output does so too.
            return Ok(());
        }
        let content = chunk.model_chunk.map(|chunk| chunk.content).unwrap_or_default();
        if let Some(progress) = content.iter().find_map(oxikit_wire::Part::as_progress) {
            return updates.working(progress).await;
        }
        if let Some(artifact) = chunk.artifact {
            self.release(false, updates).await?;
            return updates.artifact(artifact_of(&artifact)).await;
        }
        let parts = agent_parts(&content);
        // A change of the state has no content. It must not keep the chunk before it from being
        // the last one.
        if !parts.is_empty() {
            self.release(false, updates).await?;
            self.held = Some(parts);
        }
        Ok(())
    }

    /// Publishes the chunk that is held back.
    async fn release(&mut self, last_chunk: bool, updates: &mut TaskUpdates) -> Result<()> {
        let Some(parts) = self.held.take() else { return Ok(()) };
        let append = std::mem::replace(&mut self.has_chunks, true);
        updates.chunk(self.artifact(parts), Chunk { append, last_chunk }).await
    }

    async fn end(mut self, output: AgentOutput, updates: &mut TaskUpdates) -> Result<()> {
        self.release(true, updates).await?;
        let reason = output.finish_reason.unwrap_or(AgentFinishReason::Unknown);
        if let Some(error) = output.error.filter(|_| reason == AgentFinishReason::Failed) {
            // The agent has decided what its clients may read of the failure.
            return Err(Status::public(StatusCode::Internal, error.message));
        }
        let content = output.message.as_ref().map(|message| message.content.as_slice());
        let content = content.unwrap_or_default();
        if reason == AgentFinishReason::Interrupted {
            let message = updates.message(a2a_parts(content));
            return updates.status(a2a::TaskState::InputRequired, Some(message)).await;
        }
        let parts = agent_parts(content);
        if !self.has_chunks && !parts.is_empty() {
            updates.artifact(self.artifact(parts)).await?;
        }
        updates.complete().await
    }

    fn artifact(&self, parts: Vec<Part>) -> Artifact {
        Artifact::new(&self.id, parts).with_name(ANSWER)
    }
}

/// An artifact of an agent, under its name: a later one of the same name replaces it.
fn artifact_of(artifact: &oxikit_wire::Artifact) -> Artifact {
    let name = artifact.name.clone().unwrap_or_else(|| "artifact".to_owned());
    let mut parts = agent_parts(&artifact.parts);
    if parts.is_empty() {
        parts.push(Part::data(json!({})));
    }
    let mut made = Artifact::new(&name, parts).with_name(name);
    made.metadata.clone_from(&artifact.metadata);
    made
}
