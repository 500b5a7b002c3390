//! Builds the request of a model from the options of a generate call.

use std::sync::Arc;

use oxikit_core::{Action, Result, Status};
use oxikit_wire::{
    GenerateActionOptions, GenerateRequest, Instructions, Message, OutputConfig, OutputOptions,
    Part, PartKind,
};

use crate::format::{Format, inject_instructions};
use crate::{Oxikit, tool};

/// The request that a model gets for these options.
///
/// Without tools there is no further turn, so the messages are moved out of the options instead
/// of being copied.
pub(crate) fn build(
    options: &mut GenerateActionOptions,
    tools: &[Action],
) -> Result<GenerateRequest> {
    let messages = match tools {
        [] => std::mem::take(&mut options.messages),
        _ => options.messages.clone(),
    };
    let mut request = with_messages(messages, options, tools)?;
    if let Some(output) = &options.output
        && let Some(text) = instructions(format_of(output), output)
    {
        inject_instructions(&mut request.messages, &text);
    }
    Ok(request)
}

/// The same, before the format is explained in words.
pub(crate) fn without_instructions(
    options: &GenerateActionOptions,
    tools: &[Action],
) -> Result<GenerateRequest> {
    with_messages(options.messages.clone(), options, tools)
}

fn with_messages(
    messages: Vec<Arc<Message>>,
    options: &GenerateActionOptions,
    tools: &[Action],
) -> Result<GenerateRequest> {
    let output = options.output.clone().unwrap_or_default();
    let format = format_of(&output);
    if let Some(format) = format {
        format.check_schema(output.json_schema.as_ref())?;
    }
    Ok(GenerateRequest {
        messages,
        config: options.config.clone(),
        tools: Some(tools.iter().map(tool::definition).collect()),
        tool_choice: options.tool_choice,
        output: Some(output_config(format, output)),
        docs: options.docs.clone(),
    })
}

/// The format that is asked for; a schema alone asks for `json`. Unknown names
/// pass through unparsed.
pub(crate) fn format_of(output: &OutputOptions) -> Option<Format> {
    match &output.format {
        Some(name) => Format::named(name),
        None => output.json_schema.is_some().then_some(Format::Json),
    }
}

fn output_config(format: Option<Format>, output: OutputOptions) -> OutputConfig {
    let defaults = format.map(Format::defaults);
    OutputConfig {
        format: output.format.or_else(|| format.map(|format| format.name().to_owned())),
        schema: output.json_schema,
        constrained: output.constrained.or(defaults.and_then(|defaults| defaults.constrained)),
        content_type: output
            .content_type
            .or_else(|| defaults.map(|defaults| defaults.content_type.to_owned())),
    }
}

fn instructions(format: Option<Format>, output: &OutputOptions) -> Option<String> {
    let by_default = format.is_some_and(|format| format.defaults().default_instructions);
    match &output.instructions {
        Some(Instructions::Text(text)) => Some(text.clone()),
        Some(Instructions::Default(false)) => None,
        None if !by_default => None,
        Some(Instructions::Default(true)) | None => {
            format?.instructions(output.json_schema.as_ref())
        }
    }
}

/// Puts the content of resources in place of the parts that name them.
pub(crate) async fn replace_resources(ai: &Oxikit, messages: &mut [Arc<Message>]) -> Result<()> {
    let is_resource = |part: &Part| matches!(part.kind, PartKind::Resource(_));
    for message in messages {
        if !message.content.iter().any(is_resource) {
            continue;
        }
        let mut content = Vec::with_capacity(message.content.len());
        for part in &message.content {
            match &part.kind {
                PartKind::Resource(resource) => {
                    content.extend(ai.resolve_resource(&resource.uri).await?)
                }
                _ => content.push(part.clone()),
            }
        }
        Arc::make_mut(message).content = content;
    }
    Ok(())
}

/// The tool actions that the options name, and those that were given by value.
/// Two tools with the same short name are rejected, because models only know the short name.
pub(crate) async fn resolve_tools(
    ai: &Oxikit,
    named: &[String],
    given: &[Action],
) -> Result<Vec<Action>> {
    let mut tools = Vec::with_capacity(named.len() + given.len());
    for name in named {
        tools.push(match given.iter().find(|tool| tool.name() == name || tool.key() == name) {
            Some(tool) => tool.clone(),
            None => ai.resolve_tool(name).await?,
        });
    }
    for (index, tool) in tools.iter().enumerate() {
        let short = tool::short_name(tool.name());
        if let Some(other) =
            tools[..index].iter().find(|other| tool::short_name(other.name()) == short)
        {
            return Err(Status::invalid_argument(format!(
                "Cannot provide two tools with the same name: '{}' and '{}'",
                other.name(),
                tool.name()
            )));
        }
    }
    Ok(tools)
}
