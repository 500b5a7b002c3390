//! Messages and parts of A2A as those of oxikit agents, and back.

use oxikit_wire::a2a::{self, PartContent};
use oxikit_wire::{Media, Message, Part, PartKind, ToolRequest};
use serde_json::{Value, json};

/// The member of a data part with the tool requests that wait for an answer.
const INTERRUPTS: &str = "interrupts";

/// A message of the client as one of the user.
pub(super) fn user_message(message: &a2a::Message) -> Message {
    let mut made = Message::user("");
    made.content = message.parts.iter().map(part_of).collect();
    made
}

fn part_of(part: &a2a::Part) -> Part {
    match &part.content {
        PartContent::Text(text) => Part::text(text),
        PartContent::Url(url) => media(url.clone(), part.media_type.clone()),
        PartContent::Raw(base64) => {
            let media_type = part.media_type.as_deref().unwrap_or("application/octet-stream");
            let url = format!("data:{media_type};base64,{base64}");
            media(url, Some(media_type.to_owned()))
        }
        PartContent::Data(data) => Part::data(data.clone()),
    }
}

fn media(url: String, content_type: Option<String>) -> Part {
    Media { url, content_type }.into()
}

/// The part of an agent's content that clients may see: text, media and data. Reasoning and tool calls
/// stay inside.
pub(super) fn agent_parts(content: &[Part]) -> Vec<a2a::Part> {
    content.iter().filter_map(shown).collect()
}

fn shown(part: &Part) -> Option<a2a::Part> {
    match &part.kind {
        PartKind::Text(text) if !text.is_empty() => Some(a2a::Part::text(text)),
        PartKind::Media(media) => Some(media_part(media)),
        PartKind::Data(data) => Some(a2a::Part::data(data.clone())),
        _ => None,
    }
}

fn media_part(media: &Media) -> a2a::Part {
    let inline = media.url.strip_prefix("data:").and_then(|data| data.split_once(";base64,"));
    let part = match inline {
        Some((_, base64)) => a2a::Part::raw(base64),
        None => a2a::Part::url(&media.url),
    };
    let inline_type = inline.map(|(media_type, _)| media_type.to_owned());
    a2a::Part { media_type: media.content_type.clone().or(inline_type), ..part }
}

/// The content of an interrupted turn: what the client may see, and a data part with the tool
/// requests that wait. A client that shows text only is told of them in a sentence.
pub(super) fn a2a_parts(content: &[Part]) -> Vec<a2a::Part> {
    let mut parts = agent_parts(content);
    let waiting = |part: &&Part| part.metadata("interrupt").is_some();
    let request = |part: &Part| {
        let request = part.as_tool_request()?;
        Some(json!({
            "name": request.name,
            "ref": request.reference,
            "input": request.input,
            "metadata": part.metadata("interrupt"),
        }))
    };
    let requests: Vec<Value> = content.iter().filter(waiting).filter_map(request).collect();
    if !requests.is_empty() {
        if parts.is_empty() {
            parts.push(a2a::Part::text(question(&requests)));
        }
        parts.push(a2a::Part::data(json!({ INTERRUPTS: requests })));
    }
    parts
}

fn question(requests: &[Value]) -> String {
    let call = |request: &Value| {
        let name = request["name"].as_str().unwrap_or_default();
        match &request["input"] {
            Value::Null => format!("`{name}`"),
            input => format!("`{name}` with {input}"),
        }
    };
    let calls: Vec<_> = requests.iter().map(call).collect();
    format!("The agent waits for an answer to {}.", calls.join(" and "))
}

/// The tool requests that a message of the agent says wait for an answer.
pub(super) fn interrupts_of(message: &a2a::Message) -> Vec<ToolRequest> {
    let requests = message.parts.iter().find_map(|part| match &part.content {
        PartContent::Data(data) => data.get(INTERRUPTS)?.as_array(),
        _ => None,
    });
    let request = |request: &Value| {
        Some(ToolRequest {
            name: request.get("name")?.as_str()?.to_owned(),
            reference: request.get("ref").and_then(Value::as_str).map(ToOwned::to_owned),
            input: request.get("input").cloned(),
            partial: None,
        })
    };
    requests.into_iter().flatten().filter_map(request).collect()
}
