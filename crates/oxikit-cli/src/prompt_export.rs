//! `oxikit prompt render --label`: renders a prompt as an application gets it that uses the label.

use oxikit_dotprompt::{Environment, Error, Prompt, RenderInput, Rendered};
use oxikit_wire::JsonObject;
use oxikit_wire::prompts::{DocumentKind, Export, ExportedPrompt, Preview};
use serde_json::Value;

use super::client::query;
use super::failure::Failure;
use super::prompt_client::PromptClient;

/// Loads all prompts with the label, as applications do, and renders one of them.
pub(super) async fn render(
    label: &str,
    id: &str,
    variables: JsonObject,
    manager: &PromptClient,
) -> Result<Preview, Failure> {
    let members = [("label", Some(&label.to_owned()))];
    let export: Export = manager.get(&format!("export?{}", query(&members))).await?;
    let is_asked =
        |it: &&ExportedPrompt| it.kind == DocumentKind::Prompt && (it.id == id || it.name == id);
    let prompt = export.prompts.iter().find(is_asked).ok_or_else(|| {
        Failure::failed("NOT_FOUND", format!("no prompt `{id}` has the label `{label}`"))
            .with_advice(format!("`oxikit prompt label {id} {label}` sets it"))
    })?;
    Ok(preview(prompt, rendered(prompt, &export, &variables)))
}

fn rendered(
    prompt: &ExportedPrompt,
    export: &Export,
    variables: &JsonObject,
) -> Result<Rendered, Error> {
    let mut environment = Environment::new();
    for partial in export.prompts.iter().filter(|it| it.kind == DocumentKind::Fragment) {
        // Of a partial only the template counts.
        let template = Prompt::parse(&partial.source).map(|parsed| parsed.template().to_owned());
        environment =
            environment.partial(&partial.name, template.unwrap_or_else(|_| partial.source.clone()));
    }
    let compiled = environment.compile(&Prompt::parse(&prompt.source)?)?;
    compiled.render(&RenderInput::new(variables))
}

fn preview(prompt: &ExportedPrompt, rendered: Result<Rendered, Error>) -> Preview {
    let (rendered, error) = match rendered {
        Ok(rendered) => (Some(rendered), None),
        Err(error) => (None, Some(error.to_string())),
    };
    let metadata = rendered.as_ref().map(|rendered| rendered.metadata.clone());
    let config = metadata.as_ref().map(|metadata| metadata.config.clone());
    Preview {
        id: prompt.id.clone(),
        expanded: prompt.source.clone(),
        dependencies: prompt.fragments.keys().cloned().collect(),
        warnings: prompt.warnings.clone(),
        revs: prompt.fragments.clone(),
        spans: Vec::new(),
        messages: rendered.map(|rendered| rendered.messages),
        model: metadata.as_ref().and_then(|metadata| metadata.model.clone()),
        config: config.filter(|config| !config.is_empty()).map(Value::Object),
        variables: Vec::new(),
        error,
    }
}
