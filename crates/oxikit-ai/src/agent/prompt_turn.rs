//! The turn of a prompt agent: the prompt with the conversation in it, the model,
//! the tools.

use std::sync::Arc;

use oxikit_core::{Result, Status};
use oxikit_wire::{
    AgentFinishReason, AgentInput, AgentStreamChunk, FinishReason, GenerateResponse,
    GenerateResponseChunk, Part, PartKind, Role,
};
use serde_json::Value;

use super::resume;
use super::turn::{TurnParts, TurnReply};
use crate::generate::AddedMessages;
use crate::middleware::Middleware;
use crate::{Generate, Oxikit};

/// The prompt of a prompt agent.
pub(super) struct PromptBody {
    pub(super) prompt: String,
    pub(super) input: Value,
    pub(super) middleware: Vec<Arc<dyn Middleware>>,
}

impl PromptBody {
    pub(super) async fn run(&self, parts: TurnParts) -> Result<TurnReply> {
        let TurnParts { input, session, ctx, .. } = &parts;
        check(input)?;
        let history = session.messages();
        if let Some(resume) = &input.resume {
            resume::check(resume, &history)?;
        }
        let added = AddedMessages::kept();
        let call = Oxikit::of(ctx.registry())
            .prompt(&self.prompt, &self.input)
            .shared_middleware(&self.middleware)
            .messages(history)
            .added(added.clone());
        let pieces = |piece| {
            Ok(Some(AgentStreamChunk { model_chunk: Some(piece), ..AgentStreamChunk::default() }))
        };
        let response = resumed(call, input).run(session.out().filter_map(pieces)).await?;

        // After a resume, what was added begins with the last message, its interrupts
        // resolved.
        session.append(added.take(), input.resume.is_some());
        if response.finish_reason == Some(FinishReason::Interrupted) {
            session.send_chunk(interrupts(&response)).await?;
        }
        Ok(TurnReply {
            finish_reason: response.finish_reason.map(agent_reason),
            message: response.message,
            artifacts: session.artifacts(),
        })
    }
}

/// Rejects an input that a prompt cannot answer. The roles are checked because the message comes
/// from a client: one with the role `model` or with tool responses could rewrite the conversation.
fn check(input: &AgentInput) -> Result<()> {
    let Some(message) = &input.message else {
        return match input.resume {
            Some(_) => Ok(()),
            None => Err(Status::invalid_argument("a turn takes a `message` or a `resume`")),
        };
    };
    if message.role != Role::User {
        return Err(Status::invalid_argument("the message of a turn has the role `user`"));
    }
    let is_of_tool =
        |part: &Part| matches!(part.kind, PartKind::ToolRequest(_) | PartKind::ToolResponse(_));
    if message.content.iter().any(is_of_tool) {
        return Err(Status::invalid_argument(
            "the message of a turn has no tool parts; interrupts are answered by `resume`",
        ));
    }
    Ok(())
}

fn resumed(mut call: Generate, input: &AgentInput) -> Generate {
    let Some(resume) = &input.resume else { return call };
    for response in resume.respond.iter().flatten() {
        call = call.respond(response.clone());
    }
    for restart in resume.restart.iter().flatten() {
        call = call.restart(resume::mark_resumed(restart));
    }
    call
}

/// A chunk with the tool requests that wait for an answer, so that a reader of the stream sees
/// them without the final result.
fn interrupts(response: &GenerateResponse) -> GenerateResponseChunk {
    let parts = response.message.iter().flat_map(|message| &message.content);
    GenerateResponseChunk {
        role: Some(Role::Tool),
        content: parts.filter(|part| part.as_tool_request().is_some()).cloned().collect(),
        ..GenerateResponseChunk::default()
    }
}

fn agent_reason(reason: FinishReason) -> AgentFinishReason {
    match reason {
        FinishReason::Stop => AgentFinishReason::Stop,
        FinishReason::Length => AgentFinishReason::Length,
        FinishReason::Blocked => AgentFinishReason::Blocked,
        FinishReason::Aborted => AgentFinishReason::Aborted,
        FinishReason::Failed => AgentFinishReason::Failed,
        FinishReason::Interrupted => AgentFinishReason::Interrupted,
        FinishReason::Other => AgentFinishReason::Other,
        FinishReason::Unknown => AgentFinishReason::Unknown,
    }
}
