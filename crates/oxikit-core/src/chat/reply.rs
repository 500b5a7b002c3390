//! What a turn answers.

use std::sync::Arc;

use oxikit_wire::{
    AgentFinishReason, AgentOutput, Artifact, Message, Part, RuntimeError, ToolRequest,
    ToolResponse,
};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{Result, Status, StatusCode};

/// The answer of a turn that went well.
#[derive(Debug, Clone)]
pub struct ChatReply {
    output: AgentOutput,
}

impl ChatReply {
    /// The answer; a turn that failed is the error it failed with.
    pub(super) fn new(output: AgentOutput) -> Result<Self> {
        match output.finish_reason {
            Some(AgentFinishReason::Failed) => Err(failure(output.error)),
            _ => Ok(Self { output }),
        }
    }

    /// All text of the answer.
    pub fn text(&self) -> String {
        self.message().map(Message::text).unwrap_or_default()
    }

    /// The answer as a message, if there is one.
    pub fn message(&self) -> Option<&Message> {
        self.output.message.as_deref()
    }

    /// Why the turn ended, if the agent says so.
    pub fn finish_reason(&self) -> Option<AgentFinishReason> {
        self.output.finish_reason
    }

    /// The tools that wait for an answer; go on with
    /// [`Chat::resume`](super::Chat::resume).
    pub fn interrupts(&self) -> Vec<ToolInterrupt> {
        self.message().map(interrupts_of).unwrap_or_default()
    }

    /// What the agent has made.
    pub fn artifacts(&self) -> &[Arc<Artifact>] {
        self.output.artifacts.as_deref().unwrap_or_default()
    }

    /// All that is known, as the agent said it.
    pub fn output(&self) -> &AgentOutput {
        &self.output
    }
}

/// A tool that waits for an answer from outside.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolInterrupt {
    request: ToolRequest,
    metadata: Option<Value>,
}

impl ToolInterrupt {
    /// The tool.
    pub fn name(&self) -> &str {
        &self.request.name
    }

    /// What the tool was asked.
    pub fn request(&self) -> &ToolRequest {
        &self.request
    }

    /// What the tool was asked, as its type.
    pub fn input<T: DeserializeOwned>(&self) -> Result<T> {
        Ok(T::deserialize(self.request.input.as_ref().unwrap_or(&Value::Null))?)
    }

    /// What the tool says about the interrupt, if anything.
    pub fn metadata(&self) -> Option<&Value> {
        self.metadata.as_ref()
    }

    /// Answers in place of the tool.
    pub fn respond(&self, output: impl Into<Value>) -> Part {
        Part::from(ToolResponse {
            name: self.request.name.clone(),
            reference: self.request.reference.clone(),
            output: Some(output.into()),
            content: None,
        })
    }

    /// Lets the tool run again.
    pub fn restart(&self) -> Part {
        self.restart_with(true)
    }

    /// Lets the tool run again, and tells it this.
    pub fn restart_with(&self, resumed: impl Into<Value>) -> Part {
        Part::from(self.request.clone()).with_metadata("resumed", resumed)
    }
}

/// The tool requests of a message that wait for an answer.
pub(super) fn interrupts_of(message: &Message) -> Vec<ToolInterrupt> {
    let interrupted = message.content.iter().filter_map(|part| {
        let request = part.as_tool_request()?;
        let metadata = match part.metadata("interrupt")? {
            Value::Null | Value::Bool(false) => return None,
            Value::Bool(true) => None,
            said => Some(said.clone()),
        };
        Some(ToolInterrupt { request: request.clone(), metadata })
    });
    interrupted.collect()
}

/// Why a turn or detached work failed. Not public: it was written for the user
/// of the agent, and nobody knows whether our own callers may read it.
pub(super) fn failure(error: Option<RuntimeError>) -> Status {
    let Some(RuntimeError { status, message, details }) = error else {
        return Status::new(StatusCode::Unknown, "the agent failed and did not say why");
    };
    let code = status.and_then(|name| name.parse().ok()).unwrap_or(StatusCode::Unknown);
    // Official servers put the code before the message.
    let message = match message.strip_prefix(code.name()).and_then(|rest| rest.strip_prefix(": ")) {
        Some(rest) => rest.to_owned(),
        None => message,
    };
    let status = Status::new(code, message);
    match details {
        Some(details) => status.with_details(details),
        None => status,
    }
}
