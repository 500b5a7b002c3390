//! The reply of a turn: its message, interrupts and artifacts.
//!
//! A failed turn has no reply: its error becomes a [`Status`] here.

use std::sync::Arc;

use oxikit_wire::{
    AgentFinishReason, AgentOutput, Artifact, Message, Part, RuntimeError, ToolRequest,
    ToolResponse,
};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{Result, Status, StatusCode};

/// The reply of a successful turn.
///
/// A turn that was interrupted by a tool is successful too: its reply has
/// [`interrupts`](Self::interrupts), and the tools run once they are answered.
///
/// ```
/// # use oxikit_core::{Result, chat::Chat};
/// # async fn example(mut chat: Chat) -> Result<()> {
/// let mut reply = chat.send("Book a table for two.").await?;
/// while !reply.interrupts().is_empty() {
///     let answers: Vec<_> = reply.interrupts().iter().map(|tool| tool.restart()).collect();
///     reply = chat.resume(answers).await?;
/// }
/// println!("{}", reply.text());
/// # Ok(()) }
/// ```
#[derive(Debug, Clone)]
pub struct ChatReply {
    output: AgentOutput,
}

impl ChatReply {
    /// The reply of this output, or the error with which the turn failed.
    pub(super) fn new(output: AgentOutput) -> Result<Self> {
        match output.finish_reason {
            Some(AgentFinishReason::Failed) => Err(failure(output.error)),
            _ => Ok(Self { output }),
        }
    }

    /// The texts of all parts of the message, joined; empty if there is no message.
    pub fn text(&self) -> String {
        self.message().map(Message::text).unwrap_or_default()
    }

    /// The message of the agent. A detached turn has none yet.
    pub fn message(&self) -> Option<&Message> {
        self.output.message.as_deref()
    }

    /// Why the turn ended, if the agent says so.
    pub fn finish_reason(&self) -> Option<AgentFinishReason> {
        self.output.finish_reason
    }

    /// The tools that wait for an answer. Continue with [`Chat::resume`](super::Chat::resume).
    pub fn interrupts(&self) -> Vec<ToolInterrupt> {
        self.message().map(interrupts_of).unwrap_or_default()
    }

    /// The artifacts that this turn has made or changed.
    pub fn artifacts(&self) -> &[Arc<Artifact>] {
        self.output.artifacts.as_deref().unwrap_or_default()
    }

    /// The output of the agent as it was received, with the ids of session and snapshot.
    pub fn output(&self) -> &AgentOutput {
        &self.output
    }
}

/// A tool call that waits for an answer from outside, such as the consent of a user.
///
/// ```
/// # use oxikit_core::{Result, chat::Chat};
/// #[derive(serde::Deserialize)]
/// struct Transfer {
///     amount: f64,
/// }
///
/// # async fn example(mut chat: Chat) -> Result<()> {
/// let reply = chat.send("Send Bob his money.").await?;
/// let mut answers = Vec::new();
/// for tool in reply.interrupts() {
///     let transfer: Transfer = tool.input()?;
///     answers.push(match transfer.amount < 100.0 {
///         true => tool.restart(),
///         false => tool.respond("the user refused"),
///     });
/// }
/// chat.resume(answers).await?;
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct ToolInterrupt {
    request: ToolRequest,
    metadata: Option<Value>,
}

impl ToolInterrupt {
    /// The name of the tool.
    pub fn name(&self) -> &str {
        &self.request.name
    }

    /// The whole request of the model: name, reference and input.
    pub fn request(&self) -> &ToolRequest {
        &self.request
    }

    /// The input of the tool, parsed to its type.
    ///
    /// # Errors
    ///
    /// `INTERNAL` if the input is not a `T`.
    pub fn input<T: DeserializeOwned>(&self) -> Result<T> {
        Ok(T::deserialize(self.request.input.as_ref().unwrap_or(&Value::Null))?)
    }

    /// The metadata that the tool gave the interrupt, if any.
    pub fn metadata(&self) -> Option<&Value> {
        self.metadata.as_ref()
    }

    /// Answers in place of the tool: the model gets this output, and the tool does not run.
    pub fn respond(&self, output: impl Into<Value>) -> Part {
        Part::from(ToolResponse {
            name: self.request.name.clone(),
            reference: self.request.reference.clone(),
            output: Some(output.into()),
            content: None,
        })
    }

    /// Lets the tool run again with the same input. The tool sees that it is resumed.
    pub fn restart(&self) -> Part {
        self.restart_with(true)
    }

    /// Lets the tool run again with the same input, and passes this value to it.
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
            metadata => Some(metadata.clone()),
        };
        Some(ToolInterrupt { request: request.clone(), metadata })
    });
    interrupted.collect()
}

/// The error with which a turn or detached work failed. The status is not public: the agent
/// wrote its message for its own user, and the callers of this application may be others.
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
