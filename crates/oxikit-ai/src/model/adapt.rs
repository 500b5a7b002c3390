//! Adapts requests to the abilities of a model. Every model call goes through here.

use std::fmt::Write;
use std::sync::Arc;

use oxikit_wire::{
    ConstrainedSupport, Document, GenerateRequest, JsonObject, ModelSupports, OutputConfig, Part,
    Role,
};
use serde_json::Value;

use crate::format::{Format, inject_instructions};

/// Writes documents and output schemas out for models that have no place for
/// them.
pub(super) fn to_model(mut request: GenerateRequest, supports: &ModelSupports) -> GenerateRequest {
    if supports.context != Some(true) {
        write_out_docs(&mut request);
    }
    let has_tools = request.tools.as_ref().is_some_and(|tools| !tools.is_empty());
    if !is_constrained(supports, has_tools) {
        write_out_schema(&mut request);
    }
    request
}

fn is_constrained(supports: &ModelSupports, has_tools: bool) -> bool {
    match supports.constrained {
        Some(ConstrainedSupport::All) => true,
        Some(ConstrainedSupport::NoTools) => !has_tools,
        Some(ConstrainedSupport::None) | None => false,
    }
}

/// The documents go into the last user message: in place of a part that waits
/// for them, or at the end. A message that has them already stays as it is.
fn write_out_docs(request: &mut GenerateRequest) {
    let Some(docs) = request.docs.as_deref().filter(|docs| !docs.is_empty()) else { return };
    let Some(message) =
        request.messages.iter_mut().rev().find(|message| message.role == Role::User)
    else {
        return;
    };
    let place = message.content.iter().position(|part| part.purpose() == Some("context"));
    if place.is_some_and(|place| !message.content[place].is_pending()) {
        return;
    }
    let part = Part::text(docs_text(docs)).with_metadata("purpose", "context");
    let content = &mut Arc::make_mut(message).content;
    match place {
        Some(place) => content[place] = part,
        None => content.push(part),
    }
}

fn docs_text(docs: &[Document]) -> String {
    let mut text = String::from("\n\nUse the following information to complete your task:\n\n");
    for (index, doc) in docs.iter().enumerate() {
        let citation =
            doc.metadata.as_ref().and_then(citation).unwrap_or_else(|| index.to_string());
        // Writing to a string cannot fail.
        let _ = writeln!(text, "- [{citation}]: {}", doc.to_text());
    }
    text.push('\n');
    text
}

fn citation(metadata: &JsonObject) -> Option<String> {
    ["ref", "id"].into_iter().find_map(|key| match metadata.get(key)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    })
}

/// A schema that the model cannot be held to is explained to it.
fn write_out_schema(request: &mut GenerateRequest) {
    let Some(OutputConfig { constrained: Some(true), schema: schema @ Some(_), .. }) =
        &request.output
    else {
        return;
    };
    if let Some(text) = Format::Json.instructions(schema.as_ref()) {
        inject_instructions(&mut request.messages, &text);
    }
    request.output = Some(OutputConfig { constrained: Some(false), ..Default::default() });
}
