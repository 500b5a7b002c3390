//! What a generate call answers.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use oxikit_core::{Result, Status};
use oxikit_wire::{
    FinishReason, GenerateResponse, Media, Message, Operation, Part, PartKind, ToolRequest, Usage,
};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::request::format_of;
use crate::format::Format;

/// The answer of a generate call. `T` is the type of its output.
pub struct Reply<T = Value> {
    response: GenerateResponse,
    output: PhantomData<fn() -> T>,
}

impl<T> Reply<T> {
    pub(crate) fn new(response: GenerateResponse) -> Self {
        Self { response, output: PhantomData }
    }

    /// All text of the answer.
    pub fn text(&self) -> String {
        self.message().map(Message::text).unwrap_or_default()
    }

    /// What a thinking model thought.
    pub fn reasoning(&self) -> String {
        let thoughts = self.parts().iter().filter_map(|part| match &part.kind {
            PartKind::Reasoning(text) => Some(text.as_str()),
            _ => None,
        });
        thoughts.collect()
    }

    /// The first picture, sound or file of the answer.
    pub fn media(&self) -> Option<&Media> {
        self.message()?.media()
    }

    /// The answer as a message. None if the model answered with an operation.
    pub fn message(&self) -> Option<&Message> {
        self.response.message.as_deref()
    }

    /// The whole conversation, the answer last: the history of the next call.
    pub fn messages(&self) -> Vec<Arc<Message>> {
        let asked = self.response.request.iter().flat_map(|request| &request.messages);
        asked.chain(&self.response.message).cloned().collect()
    }

    /// Tool requests that were not run.
    pub fn tool_requests(&self) -> impl Iterator<Item = &ToolRequest> {
        self.parts().iter().filter_map(Part::as_tool_request)
    }

    /// The tool request parts that wait for an answer from outside.
    pub fn interrupts(&self) -> impl Iterator<Item = &Part> {
        self.parts().iter().filter(|part| part.metadata("interrupt").is_some())
    }

    /// Why the model stopped.
    pub fn finish_reason(&self) -> Option<FinishReason> {
        self.response.finish_reason
    }

    /// What the last model call used.
    pub fn usage(&self) -> Usage {
        self.response.usage.clone().unwrap_or_default()
    }

    /// The operation to ask about later, if the model works in the background.
    pub fn operation(&self) -> Option<&Operation> {
        self.response.operation.as_ref()
    }

    /// All that is known, as it is sent on.
    pub fn response(&self) -> &GenerateResponse {
        &self.response
    }

    /// All that is known, as it is sent on.
    pub fn into_response(self) -> GenerateResponse {
        self.response
    }

    fn parts(&self) -> &[Part] {
        self.message().map(|message| message.content.as_slice()).unwrap_or_default()
    }
}

impl<T: DeserializeOwned> Reply<T> {
    /// The output, read in the format that was asked for.
    pub fn output(&self) -> Result<T> {
        let message = self
            .message()
            .ok_or_else(|| Status::failed_precondition("the model has not answered yet"))?;
        let output = parse_output(self.format(), message);
        serde_json::from_value(output).map_err(|error| {
            Status::failed_precondition(format!(
                "the model's answer is not what was asked for: {error}"
            ))
            .with_hint(misfit(message))
            .caused_by(error)
        })
    }

    fn format(&self) -> Option<Format> {
        let output = self.response.request.as_ref()?.output.as_ref()?;
        format_of(&oxikit_wire::OutputOptions {
            format: output.format.clone(),
            json_schema: output.schema.clone(),
            ..Default::default()
        })
    }
}

/// The output of a message: what the format reads, else its data, else the JSON
/// in its text.
pub(crate) fn parse_output(format: Option<Format>, message: &Message) -> Value {
    let text = message.text();
    if let Some(format) = format {
        let output = format.parse(&text);
        if !output.is_null() {
            return output;
        }
    }
    let data = message.content.iter().find_map(|part| match &part.kind {
        PartKind::Data(data) => Some(data.clone()),
        _ => None,
    });
    data.unwrap_or_else(|| if format.is_none() { Format::Json.parse(&text) } else { Value::Null })
}

/// What a developer wants to know when an answer does not fit: the answer.
pub(crate) fn misfit(message: &Message) -> String {
    /// The model's words are cut after this many characters.
    const MAX_CHARACTERS: usize = 500;
    let said = message.text();
    match said.char_indices().nth(MAX_CHARACTERS) {
        None if said.is_empty() => "the model's answer has no text".to_owned(),
        None => format!("the model said: {said}"),
        Some((end, _)) => format!("the model said: {}…", &said[..end]),
    }
}

impl<T> Clone for Reply<T> {
    fn clone(&self) -> Self {
        Self::new(self.response.clone())
    }
}

impl<T> fmt::Debug for Reply<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Reply").field(&self.response).finish()
    }
}
