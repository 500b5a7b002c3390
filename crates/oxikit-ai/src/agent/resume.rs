//! Checks the answers to interrupts, which come from a client, against the tool requests that
//! the model made.

use std::sync::Arc;

use oxikit_core::{Result, Status};
use oxikit_wire::{AgentResume, Message, Part, Role, ToolRequest};
use serde_json::Value;

/// Refuses answers and restarts that do not belong to a tool request of the last
/// model message, and restarts with another input. Older requests do not count:
/// their references may come again, with other inputs.
pub(super) fn check(resume: &AgentResume, history: &[Arc<Message>]) -> Result<()> {
    let last = history.iter().rev().find(|message| message.role == Role::Model);
    let find = |name: &str, reference: &Option<String>| {
        let asked = last.into_iter().flat_map(|message| message.tool_requests());
        asked.into_iter().find(|asked| asked.name == name && asked.reference == *reference)
    };
    for answer in resume.respond.iter().flatten() {
        let Some(answer) = answer.as_tool_response() else {
            return Err(Status::invalid_argument("`resume.respond` takes tool responses"));
        };
        if find(&answer.name, &answer.reference).is_none() {
            return Err(unknown("respond", &answer.name, &answer.reference));
        }
    }
    for restart in resume.restart.iter().flatten() {
        let Some(ToolRequest { name, reference, input, .. }) = restart.as_tool_request() else {
            return Err(Status::invalid_argument("`resume.restart` takes tool requests"));
        };
        let Some(asked) = find(name, reference) else {
            return Err(unknown("restart", name, reference));
        };
        if asked.input != *input {
            return Err(Status::invalid_argument(format!(
                "resume.restart: the tool request '{}' has modified inputs",
                named(name, reference)
            )));
        }
    }
    Ok(())
}

/// The restart with the metadata `resumed`, which tells the tool that it is restarted. Clients
/// may leave it out.
pub(super) fn mark_resumed(restart: &Part) -> Part {
    match restart.metadata("resumed") {
        Some(_) => restart.clone(),
        None => restart.clone().with_metadata("resumed", Value::Bool(true)),
    }
}

fn unknown(member: &str, name: &str, reference: &Option<String>) -> Status {
    Status::invalid_argument(format!(
        "resume.{member}: the tool request '{}' was not found in session history",
        named(name, reference)
    ))
}

fn named(name: &str, reference: &Option<String>) -> String {
    match reference {
        Some(reference) => format!("{name}#{reference}"),
        None => name.to_owned(),
    }
}
