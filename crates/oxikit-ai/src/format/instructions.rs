//! The instructions about a format in a request, and their place in it.

use std::sync::Arc;

use oxikit_wire::{Message, Part, Role};
use serde_json::Value;

use super::Format;

/// The purpose of parts that tell about the output.
const OUTPUT: &str = "output";

/// The instruction text, the same as that of other Genkit runtimes down to its
/// white space.
pub(super) fn text(format: Format, schema: &Value) -> Option<String> {
    match format {
        Format::Text => None,
        Format::Json => Some(format!(
            "Output should be in JSON format and conform to the following schema:\n\n```\n{schema}\n```\n"
        )),
        Format::Array => Some(format!(
            "Output should be a JSON array conforming to the following schema:\n    \n```\n{schema}\n```\n    "
        )),
        Format::Jsonl => {
            let items = schema.get("items")?;
            Some(format!(
                "Output should be JSONL format, a sequence of JSON objects (one per line) separated by a newline `\\n` character. Each line should be a JSON object conforming to the following schema:\n\n```\n{items}\n```\n    "
            ))
        }
        Format::Enum => {
            let values = enum_values(schema)?.join("\n");
            Some(format!(
                "Output should be ONLY one of the following enum values. Do not output any additional information or add quotes.\n\n{values}"
            ))
        }
    }
}

/// The part that tells about the output.
pub(super) fn output_instructions_part(text: &str) -> Part {
    Part::text(text).with_metadata("purpose", OUTPUT)
}

/// Tells the model about the output: in the first system message, else in the
/// last user message, at the place kept for it there, else at the end.
///
/// Messages that already say it stay as they are, and so do messages with
/// neither a system nor a user message.
pub(crate) fn inject_instructions(messages: &mut [Arc<Message>], text: &str) {
    let is_output = |part: &Part| part.purpose() == Some(OUTPUT);
    let is_said = messages
        .iter()
        .flat_map(|message| &message.content)
        .any(|part| is_output(part) && !part.is_pending());
    if is_said {
        return;
    }
    let position = messages
        .iter()
        .position(|message| message.role == Role::System)
        .or_else(|| messages.iter().rposition(|message| message.role == Role::User));
    let Some(position) = position else {
        return;
    };
    let content = &mut Arc::make_mut(&mut messages[position]).content;
    let part = output_instructions_part(text);
    match content.iter_mut().find(|part| is_output(part)) {
        Some(pending) => *pending = part,
        None => content.push(part),
    }
}

/// The values of an enum, also of one that documents each value.
fn enum_values(schema: &Value) -> Option<Vec<String>> {
    let show = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    if let Some(values) = schema.get("enum") {
        return Some(values.as_array()?.iter().map(show).collect());
    }
    let variants = schema.get("oneOf").or_else(|| schema.get("anyOf"))?;
    let values: Vec<Vec<String>> = variants
        .as_array()?
        .iter()
        .map(|variant| match variant.get("const") {
            Some(value) => Some(vec![show(value)]),
            None => enum_values(variant),
        })
        .collect::<Option<_>>()?;
    Some(values.concat())
}
