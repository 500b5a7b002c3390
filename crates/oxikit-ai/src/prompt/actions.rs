//! `/prompt/<name>` and `/executable-prompt/<name>`.

use std::sync::Arc;

use oxikit_core::{Action, ActionBuilder, ActionKind, Context, Registry, Result};
use oxikit_wire::GenerateActionOptions;
use serde_json::{Value, json};

use super::definition::Definition;
use crate::Oxikit;
use crate::generate::request;

/// Registers both actions of a prompt, in the place of those that it had before.
pub(super) fn register(registry: &Registry, definition: &Arc<Definition>) {
    let (plain, executable) = (definition.clone(), definition.clone());
    registry.replace(begin(ActionKind::Prompt, definition).handler(
        move |input: Value, ctx: Context| {
            let definition = plain.clone();
            async move { model_request(&definition, input, &ctx).await }
        },
    ));
    registry.replace(begin(ActionKind::ExecutablePrompt, definition).handler(
        move |input: Value, ctx: Context| {
            let definition = executable.clone();
            async move { executable_options(&definition, input, &ctx).await }
        },
    ));
}

/// Takes both actions out.
pub(super) fn remove(registry: &Registry, name: &str) {
    for kind in [ActionKind::Prompt, ActionKind::ExecutablePrompt] {
        registry.remove(&format!("/{kind}/{name}"));
    }
}

/// The definition checks the input itself, after its defaults are in; the schema
/// is only listed here.
fn begin(kind: ActionKind, definition: &Definition) -> ActionBuilder {
    let builder =
        Action::builder(kind, &definition.name).metadata_from(definition.metadata.clone());
    let builder = match &definition.input {
        Some(schema) => builder.listed_input_schema(schema.clone()),
        None => builder,
    };
    match &definition.description {
        Some(description) => builder.description(description),
        None => builder,
    }
}

/// The request that a model would get.
async fn model_request(definition: &Definition, input: Value, ctx: &Context) -> Result<Value> {
    definition.record_origin(ctx);
    let options = definition.render(input, ctx.data(), Vec::new())?;
    let names = options.tools.as_deref().unwrap_or_default();
    let tools = request::resolve_tools(&Oxikit::of(ctx.registry()), names, &[]).await?;
    let asked = request::without_instructions(&options, &tools)?;
    let mut asked = json!(asked);
    asked["resources"] = json!(options.resources.unwrap_or_default());
    if let Some(schema) = options.output.and_then(|output| output.json_schema) {
        asked["output"]["jsonSchema"] = schema;
    }
    Ok(asked)
}

/// The options of a generate call, with tools by their keys.
async fn executable_options(
    definition: &Definition,
    input: Value,
    ctx: &Context,
) -> Result<GenerateActionOptions> {
    definition.record_origin(ctx);
    let mut options = definition.render(input, ctx.data(), Vec::new())?;
    let ai = Oxikit::of(ctx.registry());
    for name in options.tools.iter_mut().flatten() {
        *name = ai.resolve_tool(name).await?.key().to_owned();
    }
    Ok(options)
}
