//! Actions that call an MCP server.

use oxikit_core::{Action, ActionKind, Result, Schema};
use oxikit_wire::{GenerateActionOptions, JsonObject};
use rmcp::model::{Prompt, Resource, Tool};
use serde_json::{Value, json};

use super::McpClient;

/// A tool of the server.
pub(super) fn tool(client: &McpClient, tool: Tool) -> Result<Action> {
    let client = client.clone();
    let name = tool.name.into_owned();
    let schema = Schema::from_json(Value::Object((*tool.input_schema).clone()))?;
    let hints = tool.annotations.unwrap_or_default();
    let mut action = Action::builder(ActionKind::Tool, &name)
        .description(tool.description.unwrap_or_default())
        .metadata("type", "tool")
        .input_schema(schema);
    if hints.read_only_hint == Some(true) {
        // As `ToolBuilder::read_only` of `oxikit-ai` sets it.
        action = action.metadata("tool", json!({ "readOnly": true }));
    }
    let action = action.metadata("mcp", json!(hints));
    Ok(action.handler(move |input: Value| {
        let (client, name) = (client.clone(), name.clone());
        async move { client.call_tool(&name, members(input)).await }
    }))
}

/// A prompt of the server, as an executable prompt.
pub(super) fn prompt(client: &McpClient, prompt: Prompt) -> Result<Action> {
    let client = client.clone();
    let name = prompt.name.clone();
    let schema = Schema::from_json(schema_of(&prompt))?;
    let action = Action::builder(ActionKind::ExecutablePrompt, &name)
        .description(prompt.description.unwrap_or_default())
        .metadata("type", "executablePrompt")
        .input_schema(schema);
    Ok(action.handler(move |input: Value| {
        let (client, name) = (client.clone(), name.clone());
        async move {
            let messages = client.prompt(&name, members(input)).await?;
            let messages = messages.into_iter().map(Into::into).collect();
            Ok(GenerateActionOptions { messages, ..GenerateActionOptions::default() })
        }
    }))
}

/// The arguments of a prompt are texts.
fn schema_of(prompt: &Prompt) -> Value {
    let arguments = prompt.arguments.as_deref().unwrap_or_default();
    let property = |name: &str, description: &Option<String>| {
        let description = description.clone().unwrap_or_default();
        (name.to_owned(), json!({ "type": "string", "description": description }))
    };
    let properties: JsonObject =
        arguments.iter().map(|it| property(&it.name, &it.description)).collect();
    let required: Vec<_> =
        arguments.iter().filter(|it| it.required == Some(true)).map(|it| &it.name).collect();
    json!({ "type": "object", "properties": properties, "required": required })
}

/// A resource of the server, which is found by its URI.
pub(super) fn resource(client: &McpClient, resource: Resource) -> Action {
    let client = client.clone();
    let uri = resource.uri.clone();
    Action::builder(ActionKind::Resource, &resource.name)
        .description(resource.description.unwrap_or_default())
        .metadata("type", "resource")
        .metadata("resource", json!({ "uri": resource.uri }))
        .metadata("dynamic", false)
        .handler(move |_: Value| {
            let (client, uri) = (client.clone(), uri.clone());
            async move {
                let content = client.read_resource(&uri).await?;
                Ok(json!({ "content": content }))
            }
        })
}

fn members(input: Value) -> JsonObject {
    match input {
        Value::Object(members) => members,
        _ => JsonObject::new(),
    }
}
