//! Converts Genkit's requests to those of rig.

use oxikit_ai::wire::{GenerateRequest, ToolChoice, ToolDefinition};
use oxikit_ai::{Result, Status};
use rig_core::completion::{
    CompletionRequest, GenerationOptions, ReplayTarget, ToolDefinition as SentTool,
};
use rig_core::message::{Message, ToolChoice as SentChoice};
use rig_core::schemars::Schema;
use serde_json::Value;

use crate::config::Config;
use crate::native::tool_name;
use crate::{history, media, schema};

/// A provider's own support for output schemas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Constrains {
    /// The provider enforces any schema.
    Anything,
    /// The provider enforces only schemas of objects; others are described to the model in a
    /// system message.
    Objects,
    /// The provider enforces none: every schema is described in a system message.
    Nothing,
}

/// The part of a request that is the same for all providers.
pub(crate) fn convert(
    request: &GenerateRequest,
    config: &Config,
    target: &dyn ReplayTarget,
    constrains: Constrains,
) -> Result<CompletionRequest> {
    let mut history = history::convert(&request.messages)?;
    if history.is_empty() {
        return Err(Status::invalid_argument("there is no message to answer"));
    }
    let model = config.version.as_deref().unwrap_or(target.model());
    media::refuse_unsendable(target, model, &history)?;

    let output_schema = wanted_schema(request);
    let is_native = |schema: &Value| match constrains {
        Constrains::Anything => true,
        Constrains::Objects => schema::is_object(schema),
        Constrains::Nothing => false,
    };
    if let Some(schema) = output_schema.as_ref().filter(|schema| !is_native(schema)) {
        history.insert(0, explain(schema));
    }

    // rig requires a prompt to make a request. It is empty, because the history has all messages.
    let mut sent = CompletionRequest::new("");
    sent.chat_history = history;
    sent.model = config.version.clone();
    sent.tools = tools(request.tools.as_deref().unwrap_or_default())?;
    if !sent.tools.is_empty() && !target.accepts(model).tools {
        // rig would silently leave the tools out.
        return Err(Status::invalid_argument(format!("`{model}` takes no tools")));
    }
    // Without tools a choice means nothing, and some providers refuse it.
    sent.tool_choice =
        request.tool_choice.filter(|_| !sent.tools.is_empty()).map(|choice| match choice {
            ToolChoice::Auto => SentChoice::Auto,
            ToolChoice::Required => SentChoice::Required,
            ToolChoice::None => SentChoice::None,
        });
    sent.temperature = config.temperature;
    sent.max_tokens = config.max_output_tokens;
    sent.output_schema =
        output_schema.filter(is_native).and_then(|schema| Schema::try_from(schema).ok());
    sent.options = options(config);
    Ok(sent)
}

fn options(config: &Config) -> GenerationOptions {
    let options = GenerationOptions::new().stop(config.stop_sequences.clone());
    match config.top_p {
        Some(top_p) => options.top_p(top_p),
        None => options,
    }
}

/// The definitions of tools for rig. A tool whose input is not an object is refused: models send
/// only objects.
fn tools(tools: &[ToolDefinition]) -> Result<Vec<SentTool>> {
    tools
        .iter()
        .map(|tool| {
            let parameters = schema::arguments(tool.input_schema.as_ref()).ok_or_else(|| {
                Status::invalid_argument(format!(
                    "models can call only tools that take an object, and `{}` does not",
                    tool.name
                ))
            })?;
            Ok(SentTool::new(tool_name(&tool.name)?, &tool.description, parameters))
        })
        .collect()
}

/// The output schema that the provider should enforce; `None` if the request does not want that.
fn wanted_schema(request: &GenerateRequest) -> Option<Value> {
    let output = request.output.as_ref()?;
    if output.constrained == Some(false) {
        return None;
    }
    output.schema.as_ref().map(schema::cleaned)
}

/// Whether the request wants JSON without a schema.
pub(crate) fn wants_any_json(request: &GenerateRequest) -> bool {
    request.output.as_ref().is_some_and(|output| {
        let is_json = output.format.as_deref() == Some("json")
            || output.content_type.as_deref() == Some("application/json");
        is_json && output.schema.is_none() && output.constrained != Some(false)
    })
}

/// The system message that describes a schema which the provider cannot enforce. The wording is
/// that of the official runtimes.
fn explain(schema: &Value) -> Message {
    Message::system(format!(
        "Output should be in JSON format and conform to the following schema:\n\n```\n{schema}\n```\n"
    ))
}
