//! Prompts defined in code.

use oxikit_core::{Result, Schema};
use oxikit_dotprompt::Environment;
use oxikit_wire::{
    Document, GenerateActionOptions, JsonObject, MiddlewareRef, OutputOptions, ToolChoice,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use super::definition::{Definition, Templates};
use super::library::broken;
use crate::{ModelRef, Tool};

/// The definition of a [`Prompt`](super::Prompt). Texts are templates.
#[derive(Debug, Clone)]
#[must_use = "a prompt is defined by `Oxikit::define_prompt`"]
pub struct PromptBuilder {
    name: String,
    variant: Option<String>,
    description: Option<String>,
    input: Option<Schema>,
    default_input: Option<JsonObject>,
    system: Option<String>,
    messages: Option<String>,
    prompt: Option<String>,
    metadata: Option<JsonObject>,
    options: GenerateActionOptions,
}

impl PromptBuilder {
    pub(super) fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            variant: None,
            description: None,
            input: None,
            default_input: None,
            system: None,
            messages: None,
            prompt: None,
            metadata: None,
            options: GenerateActionOptions::default(),
        }
    }

    /// Which of several prompts of one name this is.
    pub fn variant(mut self, variant: impl Into<String>) -> Self {
        self.variant = Some(variant.into());
        self
    }

    /// What it is for.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// The type of its input.
    pub fn input<T: JsonSchema>(mut self) -> Self {
        self.input = Some(Schema::of::<T>());
        self
    }

    /// Values for what the caller leaves out.
    pub fn default_input(mut self, defaults: impl Serialize) -> Self {
        if let Ok(Value::Object(defaults)) = serde_json::to_value(defaults) {
            self.default_input = Some(defaults);
        }
        self
    }

    /// Instructions for the model.
    pub fn system(mut self, template: impl Into<String>) -> Self {
        self.system = Some(template.into());
        self
    }

    /// A whole conversation as one template, with `{{role}}` and `{{history}}`.
    pub fn messages(mut self, template: impl Into<String>) -> Self {
        self.messages = Some(template.into());
        self
    }

    /// What to ask.
    pub fn prompt(mut self, template: impl Into<String>) -> Self {
        self.prompt = Some(template.into());
        self
    }

    /// Which model to ask.
    pub fn model(mut self, model: impl Into<ModelRef>) -> Self {
        let (name, config) = model.into().into_parts();
        self.options.model = Some(name);
        match config {
            Some(config) => self.config(config),
            None => self,
        }
    }

    /// The model's configuration.
    pub fn config(mut self, config: impl Serialize) -> Self {
        if let Ok(config @ Value::Object(_)) = serde_json::to_value(config) {
            self.options.config = Some(config);
        }
        self
    }

    /// A defined tool that the model may ask for.
    pub fn tool(mut self, name: impl AsRef<str>) -> Self {
        self.options.tools.get_or_insert_default().push(name.as_ref().to_owned());
        self
    }

    /// Whether the model may, must or must not ask for tools.
    pub fn tool_choice(mut self, choice: ToolChoice) -> Self {
        self.options.tool_choice = Some(choice);
        self
    }

    /// How many rounds of tools are run before giving up.
    pub fn max_turns(mut self, max_turns: u64) -> Self {
        self.options.max_turns = Some(max_turns);
        self
    }

    /// Documents to answer from.
    pub fn docs<D: Into<Document>>(mut self, docs: impl IntoIterator<Item = D>) -> Self {
        self.options.docs = Some(docs.into_iter().map(Into::into).collect());
        self
    }

    /// The type of its output.
    pub fn output<T: JsonSchema>(mut self) -> Self {
        let output = self.options.output.get_or_insert_with(OutputOptions::default);
        output.json_schema = Some(Schema::of::<T>().as_json().clone());
        self
    }

    /// The format of its output.
    pub fn output_format(mut self, format: impl Into<String>) -> Self {
        self.options.output.get_or_insert_with(OutputOptions::default).format = Some(format.into());
        self
    }

    /// Defined middleware around the call.
    pub fn middleware(mut self, name: impl Into<String>, config: Option<Value>) -> Self {
        let reference = MiddlewareRef { name: name.into(), config };
        self.options.middleware.get_or_insert_default().push(reference);
        self
    }

    /// One more metadata member.
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.metadata.get_or_insert_default().insert(key.into(), value.into());
        self
    }

    pub(super) fn full_name(&self) -> String {
        match &self.variant {
            Some(variant) => format!("{}.{variant}", self.name),
            None => self.name.clone(),
        }
    }

    pub(super) fn compile(&self, environment: &Environment) -> Result<Definition> {
        let compile = |template: &Option<String>| {
            let template = template.as_deref().map(|text| environment.compile_template(text));
            template.transpose().map_err(|error| broken(&self.full_name(), error))
        };
        let templates = Templates {
            system: compile(&self.system)?,
            messages: compile(&self.messages)?,
            prompt: compile(&self.prompt)?,
        };
        Ok(Definition {
            name: self.full_name(),
            description: self.description.clone(),
            input: self.input.clone(),
            default_input: self.default_input.clone(),
            metadata: self.action_metadata(),
            options: self.options.clone(),
            templates,
        })
    }

    fn action_metadata(&self) -> JsonObject {
        let GenerateActionOptions { model, config, tools, tool_choice, middleware, output, .. } =
            &self.options;
        let mut prompt = json!({
            "name": self.name,
            "input": self.input.as_ref().map_or(json!({}), |schema| json!({ "schema": schema.as_json() })),
            "tools": tools.clone().unwrap_or_default(),
            "use": middleware.clone().unwrap_or_default(),
        });
        let mut set = |key: &str, value: Value| {
            if !value.is_null() {
                prompt[key] = value;
            }
        };
        set("variant", json!(self.variant));
        set("model", json!(model));
        set("config", json!(config));
        set("toolChoice", json!(tool_choice));
        set("output", json!(output));
        let mut metadata = JsonObject::from_iter([
            ("type".to_owned(), json!("prompt")),
            ("prompt".to_owned(), prompt),
        ]);
        if let Some(own) = &self.metadata {
            metadata.insert("metadata".to_owned(), json!(own));
        }
        metadata
    }
}

impl AsRef<str> for Tool {
    fn as_ref(&self) -> &str {
        self.name()
    }
}
