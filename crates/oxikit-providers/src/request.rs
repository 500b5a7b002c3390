//! What a model is asked, as rig sends it.

use oxikit::wire::{GenerateRequest, ToolChoice, ToolDefinition};
use oxikit::{Result, Status};
use rig_core::completion::{
    CompletionRequest, GenerationOptions, ReplayTarget, ToolDefinition as SentTool,
};
use rig_core::message::{Message, ToolChoice as SentChoice};
use rig_core::schemars::Schema;
use serde_json::Value;

use crate::config::Config;
use crate::native::tool_name;
use crate::{history, media, schema};

/// What a provider does with an output schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Constrains {
    /// It holds the model to any schema.
    Anything,
    /// It holds the model to the schema of an object; others are explained to
    /// the model in words.
    Objects,
    /// It does not: every schema is explained to the model in words.
    Nothing,
}

/// The request without what differs between providers.
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

    // rig has no way to begin with a whole conversation but through its prompt.
    let mut sent = CompletionRequest::new("");
    sent.chat_history = history;
    sent.model = config.version.clone();
    sent.tools = tools(request.tools.as_deref().unwrap_or_default())?;
    if !sent.tools.is_empty() && !target.accepts(model).tools {
        // rig would leave them out.
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

fn wanted_schema(request: &GenerateRequest) -> Option<Value> {
    let output = request.output.as_ref()?;
    if output.constrained == Some(false) {
        return None;
    }
    output.schema.as_ref().map(schema::cleaned)
}

/// Whether JSON is wanted, of whatever shape.
pub(crate) fn wants_any_json(request: &GenerateRequest) -> bool {
    request.output.as_ref().is_some_and(|output| {
        let is_json = output.format.as_deref() == Some("json")
            || output.content_type.as_deref() == Some("application/json");
        is_json && output.schema.is_none() && output.constrained != Some(false)
    })
}

fn explain(schema: &Value) -> Message {
    Message::system(format!(
        "Output should be in JSON format and conform to the following schema:\n\n```\n{schema}\n```\n"
    ))
}
