//! Converts answers of models to parts and back, and keeps the data that only their
//! provider understands: signatures, ids, encrypted thoughts.
//!
//! Such an item is in the part's metadata under `native`, with a
//! fingerprint of the part; a part that was changed since is sent without it.
//! The message's metadata names the model under `origin`: an item is sent back only to the model
//! that made it.

use oxikit_ai::wire::{JsonObject, Media, PartKind, ToolRequest};
use oxikit_ai::{Message, Part, Result, Status};
use rig_core::message::{
    AssistantContent, AssistantMessage, CallId, Native, Opaque, Origin, Reasoning, Text, ToolCall,
    ToolFunction, ToolName,
};
use serde_json::{Value, json};

use crate::media;

/// Part metadata: the provider's own item.
const NATIVE: &str = "native";
/// Message metadata: the model that made the message.
const ORIGIN: &str = "origin";
/// Tool request metadata: the provider sent no id, so that `ref` was made here.
const LOCAL_REF: &str = "localRef";
/// Reasoning metadata: the provider does not show the text.
const REDACTED: &str = "redacted";
/// Member of a custom part that only the provider understands.
const OPAQUE: &str = "opaque";

/// One piece of an answer, as a part.
pub(crate) fn to_part(content: &AssistantContent) -> Part {
    match content {
        AssistantContent::Text(text) => with_native(Part::text(&text.text), text.native.as_ref()),
        AssistantContent::Reasoning(reasoning) => {
            let part = Part::reasoning(&reasoning.text);
            let part = with_native(part, reasoning.native.as_ref());
            if reasoning.redacted { part.with_metadata(REDACTED, true) } else { part }
        }
        AssistantContent::ToolCall(call) => tool_request(call),
        AssistantContent::Image(image) => {
            let media = media::made(image).unwrap_or_default();
            with_native(Part::from(media), image.native.as_ref())
        }
        AssistantContent::Opaque(opaque) => custom(opaque),
        // Later versions of rig may have new kinds. They must not fail the whole answer.
        other => Part::data(json!(other)),
    }
}

/// A tool call as a part. Its id becomes the `ref`, by which the response finds its request.
fn tool_request(call: &ToolCall) -> Part {
    // Invalid arguments are passed on as text. The tool's schema then refuses them; a part of
    // them could be accepted by mistake.
    let input = match &call.function.invalid_arguments {
        Some(text) => Value::String(text.clone()),
        None => call.function.arguments_value(),
    };
    let name = call.function.name.as_str();
    let part = Part::tool_request(name, Some(call.id.to_string()), input);
    let part = with_native(part, call.native.as_ref());
    if call.id.is_local() { part.with_metadata(LOCAL_REF, true) } else { part }
}

/// An item that only the provider understands, such as a web search, as a custom part.
fn custom(opaque: &Opaque) -> Part {
    Part::new(PartKind::Custom(JsonObject::from_iter([
        (OPAQUE.to_owned(), opaque.item.clone()),
        ("replay".to_owned(), Value::Bool(opaque.replay)),
    ])))
}

/// Adds the provider's own item to the metadata, if it has more information than the part.
fn with_native(part: Part, native: Option<&Native>) -> Part {
    match native {
        Some(native) if says_more(&native.item) => part.with_metadata(NATIVE, json!(native)),
        _ => part,
    }
}

/// Whether the item contains anything that the part does not.
fn says_more(item: &Value) -> bool {
    const KNOWN: [&str; 3] = ["type", "text", "thought"];
    let is_empty = |value: &Value| match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        _ => false,
    };
    match item {
        Value::Object(members) => {
            members.iter().any(|(name, value)| !KNOWN.contains(&name.as_str()) && !is_empty(value))
        }
        Value::String(_) | Value::Null => false,
        _ => true,
    }
}

/// The message of these parts, with the model that made it.
pub(crate) fn to_message(content: &[AssistantContent], origin: &Origin) -> Message {
    let parts = content.iter().map(to_part).collect();
    Message::new(oxikit_ai::Role::Model, parts).with_metadata(ORIGIN, json!(origin))
}

/// A message of a model for rig; `None` if it has no content.
pub(crate) fn to_assistant(message: &Message) -> Result<Option<AssistantMessage>> {
    let mut content = Vec::with_capacity(message.content.len());
    for part in &message.content {
        content.extend(to_content(part)?);
    }
    let origin: Option<Origin> =
        message.metadata(ORIGIN).and_then(|origin| serde_json::from_value(origin.clone()).ok());
    let is_empty = content.is_empty();
    Ok((!is_empty).then(|| AssistantMessage::new(content).with_origin(origin)))
}

/// One part of a model's message for rig; `None` for an empty part.
fn to_content(part: &Part) -> Result<Option<AssistantContent>> {
    let native: Option<Native> =
        part.metadata(NATIVE).and_then(|native| serde_json::from_value(native.clone()).ok());
    Ok(Some(match &part.kind {
        PartKind::Text(text) => AssistantContent::Text(text_with(text, native)),
        PartKind::Data(data) => AssistantContent::Text(text_with(&data.to_string(), native)),
        PartKind::Reasoning(text) => AssistantContent::Reasoning(Reasoning {
            text: text.clone(),
            redacted: part.metadata(REDACTED) == Some(&Value::Bool(true)),
            native,
        }),
        PartKind::ToolRequest(request) => {
            let function = ToolFunction::new(
                tool_name(&request.name)?,
                request.input.clone().unwrap_or_default(),
            );
            let mut call = ToolCall::new(call_id(part, request), function);
            call.native = native;
            AssistantContent::ToolCall(call)
        }
        PartKind::Media(media) => picture(media, native)?,
        PartKind::Custom(custom) => match custom.get(OPAQUE) {
            Some(item) => AssistantContent::Opaque(Opaque {
                item: item.clone(),
                replay: custom.get("replay") == Some(&Value::Bool(true)),
            }),
            None => return Err(not_for_models("custom")),
        },
        PartKind::Empty => return Ok(None),
        PartKind::Resource(_) => return Err(not_for_models("resource")),
        PartKind::ToolResponse(_) => {
            return Err(Status::invalid_argument("a message of the model holds a tool response"));
        }
    }))
}

fn text_with(text: &str, native: Option<Native>) -> Text {
    let mut text = Text::new(text);
    text.native = native;
    text
}

fn picture(media: &Media, native: Option<Native>) -> Result<AssistantContent> {
    let mut image = media::picture(media)?;
    image.native = native;
    Ok(AssistantContent::Image(image))
}

/// The id of a tool request, as rig knew it.
pub(crate) fn call_id(part: &Part, request: &ToolRequest) -> CallId {
    // Without a `ref` the tool's name is the id, for the request and for its response.
    let reference = request.reference.as_deref().unwrap_or(&request.name);
    let is_local = part.metadata(LOCAL_REF) == Some(&Value::Bool(true));
    is_local
        .then(|| serde_json::from_value(json!({ "local": reference })).ok())
        .flatten()
        .unwrap_or_else(|| CallId::from_wire(reference))
}

pub(crate) fn tool_name(name: &str) -> Result<ToolName> {
    ToolName::new(name).map_err(|_| Status::invalid_argument("a tool has no name"))
}

pub(crate) fn not_for_models(kind: &str) -> Status {
    Status::invalid_argument(format!("a `{kind}` part cannot be sent to this model"))
}

#[cfg(test)]
mod tests {
    use rig_core::message::LocalCallId;

    use super::*;

    #[track_caller]
    fn check_round_trip(content: AssistantContent) {
        let origin = Origin::new("test.chat", "test", "test-1");
        let message = to_message(std::slice::from_ref(&content), &origin);
        let stored = serde_json::to_string(&message).unwrap();
        let message: Message = serde_json::from_str(&stored).unwrap();
        let back = to_assistant(&message).unwrap().unwrap();
        assert_eq!(back.origin, Some(origin));
        assert_eq!(back.content, [content]);
        let had_item = message.content[0].metadata(NATIVE).is_some();
        assert_eq!(back.content[0].native_item().is_some(), had_item);
    }

    #[test]
    fn what_a_model_said_comes_back_with_its_provider_items() {
        check_round_trip(AssistantContent::text("hi"));
        check_round_trip(
            AssistantContent::reasoning("hm")
                .with_native(json!({"thinking": "hm", "signature": "c2ln"})),
        );
        let name = ToolName::new("weather").unwrap();
        let function = ToolFunction::new(name.clone(), json!({"city": "Oslo"}));
        for id in [CallId::from_wire("call_1"), CallId::Local(LocalCallId::new())] {
            let call = ToolCall::new(id, function.clone());
            check_round_trip(
                AssistantContent::ToolCall(call).with_native(json!({"thoughtSignature": "c2ln"})),
            );
        }
        let broken = ToolFunction::parse(name, r#"{"city": "Os"#);
        check_round_trip(AssistantContent::ToolCall(ToolCall::from_wire("c", broken)));
        check_round_trip(AssistantContent::Opaque(Opaque {
            item: json!({"type": "web_search_call", "id": "ws_1"}),
            replay: true,
        }));
    }

    #[test]
    fn an_item_that_says_no_more_than_its_part_is_not_kept() {
        let text = AssistantContent::text("hi").with_native(json!({"text": "hi", "citations": []}));
        assert_eq!(to_part(&text), Part::text("hi"));
    }
}
