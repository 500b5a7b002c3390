//! The contents of MCP as values and parts of messages.

use oxikit_wire::{Media, Message, Part, Role};
use rmcp::model::{
    CallToolResult, ContentBlock, GetPromptResult, ReadResourceResult, ResourceContents,
    Role as McpRole,
};
use serde_json::{Value, json};

/// The output of a tool: its structured content, or its texts.
pub(super) fn output_of(result: &CallToolResult) -> Value {
    if let Some(structured) = &result.structured_content {
        return structured.clone();
    }
    let mut values: Vec<Value> = result.content.iter().map(value_of).collect();
    match values.len() {
        0 => Value::Null,
        1 => values.remove(0),
        _ => Value::Array(values),
    }
}

/// A text is the JSON in it, if it is an object or a list; otherwise it stays a text.
fn value_of(content: &ContentBlock) -> Value {
    match content {
        ContentBlock::Text(text) => match serde_json::from_str::<Value>(&text.text) {
            Ok(value @ (Value::Object(_) | Value::Array(_))) => value,
            _ => Value::String(text.text.clone()),
        },
        other => json!(other),
    }
}

/// The messages of a prompt.
pub(super) fn messages_of(prompt: GetPromptResult) -> Vec<Message> {
    let message = |message: rmcp::model::PromptMessage| {
        let role = match message.role {
            McpRole::User => Role::User,
            McpRole::Assistant => Role::Model,
        };
        Message::new(role, vec![part_of(message.content)])
    };
    prompt.messages.into_iter().map(message).collect()
}

fn part_of(content: ContentBlock) -> Part {
    match content {
        ContentBlock::Text(text) => Part::text(text.text),
        ContentBlock::Image(image) => media(&image.mime_type, &image.data),
        ContentBlock::Audio(audio) => media(&audio.mime_type, &audio.data),
        ContentBlock::Resource(embedded) => part_of_resource(embedded.resource),
        ContentBlock::ResourceLink(link) => Part::resource(link.uri),
        other => Part::data(json!(other)),
    }
}

/// The contents of a resource.
pub(super) fn parts_of(resource: ReadResourceResult) -> Vec<Part> {
    resource.contents.into_iter().map(part_of_resource).collect()
}

fn part_of_resource(contents: ResourceContents) -> Part {
    match contents {
        ResourceContents::TextResourceContents { text, .. } => Part::text(text),
        ResourceContents::BlobResourceContents { blob, mime_type, .. } => {
            media(mime_type.as_deref().unwrap_or("application/octet-stream"), &blob)
        }
        other => Part::data(json!(other)),
    }
}

fn media(media_type: &str, base64: &str) -> Part {
    let url = format!("data:{media_type};base64,{base64}");
    Media { url, content_type: Some(media_type.to_owned()) }.into()
}
