//! The reply of a generate call.

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
///
/// It is the answer of the last model call; earlier ones, with their tool requests and
/// responses, are in [`messages`](Self::messages).
pub struct Reply<T = Value> {
    response: GenerateResponse,
    output: PhantomData<fn() -> T>,
}

impl<T> Reply<T> {
    pub(crate) fn new(response: GenerateResponse) -> Self {
        Self { response, output: PhantomData }
    }

    /// All text parts of the answer, joined; empty if there are none, such as after an interrupt.
    pub fn text(&self) -> String {
        self.message().map(Message::text).unwrap_or_default()
    }

    /// The reasoning of a thinking model, which is not part of [`text`](Self::text); empty for
    /// other models.
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

    /// Tool requests of the answer that were not run: after
    /// [`return_tool_requests`](crate::Generate::return_tool_requests) all of them, after an
    /// interrupt those that wait and those beside them.
    pub fn tool_requests(&self) -> impl Iterator<Item = &ToolRequest> {
        self.parts().iter().filter_map(Part::as_tool_request)
    }

    /// The tool request parts that wait for an answer from outside. They are answered by
    /// [`Generate::respond`](crate::Generate::respond) or
    /// [`Generate::restart`](crate::Generate::restart) in a further call.
    ///
    /// ```
    /// use oxikit::prelude::*;
    ///
    /// #[derive(Deserialize, JsonSchema)]
    /// struct Question {
    ///     text: String,
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<()> {
    /// let ai = Oxikit::builder().plugin(Offline).default_model("offline/demo").build()?;
    /// let ask = Tool::interrupt::<Question>("askUser", "Asks the user a question.");
    /// let reply = ai.generate().prompt("Please askUser something.").tool(ask.clone()).await?;
    /// let request = reply.interrupts().next().unwrap().as_tool_request().unwrap();
    /// let answer = respond_to(request, "Tea, please.");
    /// let reply = ai.generate().messages(reply.messages()).tool(ask).respond(answer).await?;
    /// assert!(reply.interrupts().next().is_none());
    /// # Ok(()) }
    /// ```
    pub fn interrupts(&self) -> impl Iterator<Item = &Part> {
        self.parts().iter().filter(|part| part.metadata("interrupt").is_some())
    }

    /// The reason why the model stopped; `Interrupted` if a tool waits for an answer.
    pub fn finish_reason(&self) -> Option<FinishReason> {
        self.response.finish_reason
    }

    /// The usage of the last model call. Calls before it, in rounds of tools, are not included;
    /// the trace has all of them.
    pub fn usage(&self) -> Usage {
        self.response.usage.clone().unwrap_or_default()
    }

    /// The operation to ask about later, if the model works in the background.
    pub fn operation(&self) -> Option<&Operation> {
        self.response.operation.as_ref()
    }

    /// The whole response with the request that led to it, as it is sent over the wire.
    pub fn response(&self) -> &GenerateResponse {
        &self.response
    }

    /// The same as [`response`](Self::response), by value.
    pub fn into_response(self) -> GenerateResponse {
        self.response
    }

    fn parts(&self) -> &[Part] {
        self.message().map(|message| message.content.as_slice()).unwrap_or_default()
    }
}

impl<T: DeserializeOwned> Reply<T> {
    /// The output, read in the format that was asked for.
    ///
    /// # Errors
    ///
    /// `FAILED_PRECONDITION` if the model has not answered, or its answer is not a `T`.
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

/// The answer of the model as a hint for the developer, when it does not fit the schema.
pub(crate) fn misfit(message: &Message) -> String {
    /// Maximum number of characters of the answer in the hint. The rest is cut off.
    const MAX_CHARACTERS: usize = 500;
    let text = message.text();
    match text.char_indices().nth(MAX_CHARACTERS) {
        None if text.is_empty() => "the model's answer has no text".to_owned(),
        None => format!("the model said: {text}"),
        Some((end, _)) => format!("the model said: {}…", &text[..end]),
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
