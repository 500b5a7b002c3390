//! Resumes a call after an interrupt: answers and restarts of the caller become the responses of
//! the interrupted tools.

use std::sync::Arc;

use oxikit_core::{Action, Result, Status};
use oxikit_wire::{
    GenerateActionOptions, JsonObject, Message, Part, PartKind, ResumeOptions, Role, ToolRequest,
};
use serde_json::Value;

use super::tool_run::{Outcome, run_one};
use crate::middleware::Stack;

/// Resolves every tool request of the last message. Answers that message with the
/// outcome noted on it, and the tool message with the responses.
pub(crate) async fn resolve(
    options: &GenerateActionOptions,
    resume: ResumeOptions,
    tools: &[Action],
    stack: &Stack,
) -> Result<[Arc<Message>; 2]> {
    let last = options
        .messages
        .last()
        .filter(|message| message.role == Role::Model && message.tool_requests().next().is_some());
    let Some(last) = last else {
        return Err(Status::failed_precondition(
            "Cannot 'resume' generation unless the previous message is a model message with at least one tool request.",
        ));
    };
    let mut resolved = Message::clone(last);
    let mut responses = Vec::new();
    for part in &mut resolved.content {
        let Some(request) = part.as_tool_request() else { continue };
        responses.push(response_for(part, request, &resume, tools, stack).await?);
        note_resolved(part);
    }
    let resumed = resume.metadata.map_or(Value::Bool(true), Value::Object);
    let answers = Message::tool(responses).with_metadata("resumed", resumed);
    Ok([Arc::new(resolved), Arc::new(answers)])
}

/// The response to one request: what the tool had answered before the interrupt,
/// else the answer given, else what the restarted tool answers.
async fn response_for(
    part: &Part,
    request: &ToolRequest,
    resume: &ResumeOptions,
    tools: &[Action],
    stack: &Stack,
) -> Result<Part> {
    // Tools beside the interrupted one have answered; they must not run a second time.
    if let Some(output) = part.metadata("pendingOutput") {
        let response =
            Part::tool_response(&request.name, request.reference.clone(), output.clone());
        return Ok(response.with_metadata("source", "pending"));
    }
    let is_answer = |part: &&Part| {
        part.as_tool_response()
            .is_some_and(|given| given.name == request.name && given.reference == request.reference)
    };
    if let Some(answer) = resume.respond.iter().flatten().find(is_answer) {
        return Ok(answer.clone());
    }
    let is_restart = |part: &&Part| {
        part.as_tool_request()
            .is_some_and(|given| given.name == request.name && given.reference == request.reference)
    };
    if let Some(restart) = resume.restart.iter().flatten().find(is_restart) {
        return match run_one(restart.clone(), tools, stack).await? {
            Outcome::Answer(Some(answer)) => Ok(answer),
            Outcome::Answer(None) => Ok(empty_response(request)),
            Outcome::Interrupted(_) => Err(Status::failed_precondition(
                "One or more tools triggered an interrupt during a restarted execution.",
            )),
        };
    }
    let reference =
        request.reference.as_ref().map(|reference| format!("#{reference}")).unwrap_or_default();
    Err(Status::invalid_argument(format!(
        "Unresolved tool request '{}{reference}' was not handled by the 'resume' argument. You must supply replies or restarts for all interrupted tool requests.",
        request.name
    )))
}

fn empty_response(request: &ToolRequest) -> Part {
    let mut response = Part::tool_response(&request.name, request.reference.clone(), Value::Null);
    if let PartKind::ToolResponse(response) = &mut response.kind {
        response.output = None;
    }
    response
}

fn note_resolved(part: &mut Part) {
    let metadata: &mut JsonObject = part.metadata.get_or_insert_default();
    metadata.shift_remove("pendingOutput");
    if let Some(interrupt) = metadata.shift_remove("interrupt") {
        metadata.insert("resolvedInterrupt".into(), interrupt);
    }
    if metadata.is_empty() {
        part.metadata = None;
    }
}
