//! A model without intelligence and without network, to try an application
//! with: in demonstrations and in tests.
//!
//! [`Offline`] brings the model `offline/demo` and the embedder of
//! [`offline_embedder`](crate::offline_embedder). The model says plainly what it
//! is, repeats what it was asked, calls a tool when the user names it, and fills
//! any output schema with valid values. The same request always gets the same
//! answer.
//!
//! ```
//! use oxikit::Oxikit;
//! use oxikit::offline::{DEMO_MODEL, Offline};
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> oxikit::Result<()> {
//! let ai = Oxikit::builder().plugin(Offline).default_model(DEMO_MODEL).build()?;
//! let reply = ai.generate().prompt("hello").await?;
//! assert_eq!(reply.text(), "This is offline/demo: no model was asked. You said: hello");
//! # Ok(()) }
//! ```

mod answer;
mod fill;
mod hints;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use oxikit_core::{Emitter, Result, Status};
use oxikit_wire::{
    ConstrainedSupport, FinishReason, GenerateRequest, GenerateResponse, GenerateResponseChunk,
    Message, ModelInfo, ModelSupports, Part, PartKind, Role, Usage,
};
use serde_json::{Value, json};

use crate::{Model, Oxikit, Plugin};

/// The name of the demo model.
pub const DEMO_MODEL: &str = "offline/demo";

/// The plugin that brings the offline demo model.
#[derive(Debug, Clone, Copy, Default)]
pub struct Offline;

impl Plugin for Offline {
    fn install(&self, ai: &Oxikit) -> Result<()> {
        ai.define_model(demo_model());
        ai.registry().register(crate::offline_embedder().into());
        Ok(())
    }
}

fn demo_model() -> Model {
    Model::builder(DEMO_MODEL)
        .info(ModelInfo {
            label: Some("Offline demo (no intelligence)".to_owned()),
            supports: Some(supports()),
            custom_options: Some(json!({
                "type": "object",
                "properties": {
                    "delayMs": {
                        "type": "integer",
                        "minimum": 0,
                        "description": "Milliseconds to wait before each streamed piece.",
                    },
                },
            })),
            ..ModelInfo::default()
        })
        .handler(|request, _, out| async move { respond(&request, &out).await })
}

fn supports() -> ModelSupports {
    ModelSupports {
        multiturn: Some(true),
        media: Some(true),
        tools: Some(true),
        system_role: Some(true),
        output: Some(vec!["text".to_owned(), "json".to_owned()]),
        constrained: Some(ConstrainedSupport::All),
        tool_choice: Some(true),
        ..ModelSupports::default()
    }
}

async fn respond(
    request: &GenerateRequest,
    out: &Emitter<GenerateResponseChunk>,
) -> Result<GenerateResponse> {
    let delay = delay(request.config.as_ref())?;
    let content = answer::answer(request);
    if out.is_wanted() {
        for piece in pieces(&content) {
            if !delay.is_zero() {
                tokio::time::sleep(delay).await;
            }
            out.send(piece).await?;
        }
    }
    Ok(GenerateResponse {
        usage: Some(usage(request, &content)),
        message: Some(Arc::new(Message::new(Role::Model, content))),
        finish_reason: Some(FinishReason::Stop),
        ..GenerateResponse::default()
    })
}

fn delay(config: Option<&Value>) -> Result<Duration> {
    match config.and_then(|config| config.get("delayMs")) {
        None | Some(Value::Null) => Ok(Duration::ZERO),
        Some(delay) => delay.as_u64().map(Duration::from_millis).ok_or_else(|| {
            Status::invalid_argument("the config member `delayMs` is a number of milliseconds")
        }),
    }
}

/// The chunks of an answer: text word by word, tool requests in one piece.
fn pieces(content: &[Part]) -> Vec<GenerateResponseChunk> {
    let is_text = |part: &Part| part.as_text().is_some();
    let mut chunks: Vec<_> = content
        .iter()
        .filter_map(Part::as_text)
        .flat_map(words)
        .map(GenerateResponseChunk::text)
        .collect();
    let others: Vec<_> = content.iter().filter(|part| !is_text(part)).collect();
    if !others.is_empty() {
        let others: Vec<Part> = others.into_iter().cloned().collect();
        chunks.push(GenerateResponseChunk::from(others));
    }
    chunks
}

/// The words of a text, each with the white space behind it. Compact JSON is cut
/// after commas and colons.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut start = 0;
    let mut chars = text.char_indices().peekable();
    while let Some((at, char)) = chars.next() {
        let is_followed_by_space = chars.peek().is_some_and(|(_, next)| next.is_whitespace());
        let is_end = char.is_whitespace() || matches!(char, ',' | ':');
        if is_end && !is_followed_by_space {
            let end = at + char.len_utf8();
            words.push(&text[start..end]);
            start = end;
        }
    }
    if start < text.len() {
        words.push(&text[start..]);
    }
    words
}

/// Counts characters, and words for tokens.
fn usage(request: &GenerateRequest, content: &[Part]) -> Usage {
    fn count<'p>(parts: impl Iterator<Item = &'p Part>) -> (u64, u64) {
        parts.fold((0, 0), |(characters, tokens), part| {
            let text = match &part.kind {
                PartKind::Text(text) | PartKind::Reasoning(text) => text.clone(),
                PartKind::ToolRequest(request) => json!(request.input).to_string(),
                PartKind::ToolResponse(response) => json!(response.output).to_string(),
                PartKind::Data(data) => data.to_string(),
                PartKind::Media(_)
                | PartKind::Custom(_)
                | PartKind::Resource(_)
                | PartKind::Empty => return (characters, tokens),
            };
            (
                characters + text.chars().count() as u64,
                tokens + text.split_whitespace().count() as u64,
            )
        })
    }
    let (input_characters, input_tokens) =
        count(request.messages.iter().flat_map(|message| &message.content));
    let (output_characters, output_tokens) = count(content.iter());
    Usage {
        input_tokens: Some(input_tokens),
        output_tokens: Some(output_tokens),
        total_tokens: Some(input_tokens + output_tokens),
        input_characters: Some(input_characters),
        output_characters: Some(output_characters),
        ..Usage::default()
    }
}
