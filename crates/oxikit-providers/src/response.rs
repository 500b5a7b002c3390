//! Converts answers of models to Genkit's types.

use std::collections::HashSet;
use std::sync::Arc;

use oxikit_ai::Part;
use oxikit_ai::wire::{FinishReason, GenerateResponse, JsonObject, Usage};
use rig_core::completion::{CompletionResponse, FinishReason as SentReason, Usage as SentUsage};
use rig_core::message::AssistantContent;
use rig_core::streaming::{Item, StreamEvent};
use serde_json::{Value, json};

use crate::native::{to_message, to_part};

/// The whole answer.
pub(crate) fn convert(response: CompletionResponse) -> GenerateResponse {
    let (finish_reason, mut finish_message) = finish(response.finish_reason());
    // The explanation of a refusal is more helpful than its code.
    finish_message = response.error.clone().or(finish_message);
    GenerateResponse {
        message: Some(Arc::new(to_message(&response.choice, &response.origin))),
        finish_reason: Some(finish_reason),
        finish_message,
        usage: Some(usage(&response.usage)),
        custom: Some(custom(&response)),
        raw: Some(response.raw).filter(|raw| !raw.is_null()),
        ..GenerateResponse::default()
    }
}

/// The answer to a prompt that the provider refused to pass to the model.
pub(crate) fn blocked(message: String) -> GenerateResponse {
    GenerateResponse {
        finish_reason: Some(FinishReason::Blocked),
        finish_message: Some(message),
        ..GenerateResponse::default()
    }
}

/// The finish reason in Genkit's terms, and a message where the reason needs one. A request for
/// tools is a normal stop in Genkit.
fn finish(reason: Option<SentReason>) -> (FinishReason, Option<String>) {
    match reason {
        Some(SentReason::Stop | SentReason::ToolCalls) => (FinishReason::Stop, None),
        Some(SentReason::Length) => (FinishReason::Length, None),
        Some(SentReason::ContentFilter) => {
            (FinishReason::Blocked, Some("the provider filtered the answer".to_owned()))
        }
        Some(SentReason::Other(reason)) => (FinishReason::Other, Some(reason)),
        Some(_) => (FinishReason::Other, None),
        None => (FinishReason::Unknown, None),
    }
}

/// The usage, counted alike for all providers: thoughts are part of the output tokens, cached
/// tokens part of the input tokens.
fn usage(usage: &SentUsage) -> Usage {
    let counted = [
        ("cacheCreationTokens", usage.cache_creation_input_tokens),
        ("toolUsePromptTokens", usage.tool_use_prompt_tokens),
    ];
    let custom: JsonObject = counted
        .into_iter()
        .filter_map(|(name, count)| Some((name.to_owned(), Value::from(count?))))
        .collect();
    Usage {
        input_tokens: usage.input_tokens,
        output_tokens: usage.output_tokens,
        total_tokens: usage.total_tokens,
        thoughts_tokens: usage.reasoning_tokens,
        cached_content_tokens: usage.cached_input_tokens,
        custom: (!custom.is_empty()).then_some(custom),
        ..Usage::default()
    }
}

/// Facts about the call for which Genkit's response has no member: model and ids.
fn custom(response: &CompletionResponse) -> Value {
    let members = [
        ("model", response.model()),
        ("responseId", response.response_id()),
        ("requestId", response.provider_request_id.as_deref()),
    ];
    let members =
        members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), json!(value?))));
    Value::Object(members.collect())
}

/// Turns the events of a stream into the parts of chunks.
#[derive(Default)]
pub(crate) struct Chunks {
    /// The parts whose text was streamed piece by piece: their end repeats it and is skipped.
    grown: HashSet<usize>,
}

impl Chunks {
    /// The part to send for this event; `None` if the event has nothing new.
    pub(crate) fn part(&mut self, item: Item<StreamEvent>) -> Option<Part> {
        let Item::Event(event) = item else {
            return None;
        };
        let index = event.part().index();
        match event {
            StreamEvent::Text { text, .. } => {
                self.grown.insert(index);
                (!text.is_empty()).then(|| Part::text(text))
            }
            StreamEvent::Reasoning { text, .. } => {
                self.grown.insert(index);
                (!text.is_empty()).then(|| Part::reasoning(text))
            }
            // A tool call is complete only at its end.
            StreamEvent::Start { .. } | StreamEvent::Arguments { .. } => None,
            StreamEvent::End { content, .. } => match &content {
                AssistantContent::Text(_) | AssistantContent::Reasoning(_)
                    if self.grown.contains(&index) =>
                {
                    None
                }
                AssistantContent::Text(text) if text.text.is_empty() => None,
                AssistantContent::Reasoning(reasoning) if reasoning.text.is_empty() => None,
                AssistantContent::Opaque(_) => None,
                content => Some(to_part(content)),
            },
        }
    }
}
