//! Prompts defined in code.

use oxikit_core::ports::PromptOrigin;
use oxikit_core::{Result, Schema};
use oxikit_dotprompt::Environment;
use oxikit_wire::{
    Document, GenerateActionOptions, JsonObject, MiddlewareRef, OutputOptions, ToolChoice,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

use super::definition::{Definition, Templates, broken};
use crate::{ModelRef, Tool};

/// The definition of a [`Prompt`](super::Prompt), completed by
/// [`Oxikit::define_prompt`](crate::Oxikit::define_prompt). Texts are templates in the language
/// of Dotprompt: `{{name}}` is a member of the input, `{{@auth.uid}}` of the caller's context.
///
/// ```
/// use oxikit::prelude::*;
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Order {
///     dish: String,
///     guests: u32,
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<()> {
/// let ai = Oxikit::builder().plugin(Offline).default_model("offline/demo").build()?;
/// let shopping = ai.define_prompt(
///     Prompt::builder("shopping")
///         .input::<Order>()
///         .default_input(json!({ "guests": 2 }))
///         .system("You write shopping lists.")
///         .prompt("{{dish}} for {{guests}}."),
/// )?;
/// let rendered = shopping.call(json!({ "dish": "Soup" })).render().await?;
/// assert_eq!(rendered.messages[1].text(), "Soup for 2.");
/// # Ok(()) }
/// ```
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

    /// Sets the variant. The prompt is then called by `name.variant`; prompts of one name and
    /// different variants do not replace each other.
    pub fn variant(mut self, variant: impl Into<String>) -> Self {
        self.variant = Some(variant.into());
        self
    }

    /// Sets the description, for the developer tools, and for models if the prompt is used as a
    /// tool.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.description = Some(description.into());
        self
    }

    /// Sets the type of the input. An input that does not fit its schema, after the defaults are
    /// added, is rejected with `INVALID_ARGUMENT`.
    pub fn input<T: JsonSchema>(mut self) -> Self {
        self.input = Some(Schema::of::<T>());
        self
    }

    /// Sets values for members of the input that the caller leaves out. A value that does not
    /// serialise to an object is ignored.
    pub fn default_input(mut self, defaults: impl Serialize) -> Self {
        if let Ok(Value::Object(defaults)) = serde_json::to_value(defaults) {
            self.default_input = Some(defaults);
        }
        self
    }

    /// Sets the template of the instructions for the model.
    pub fn system(mut self, template: impl Into<String>) -> Self {
        self.system = Some(template.into());
        self
    }

    /// Sets the template of a whole conversation, with `{{role "…"}}` between messages and
    /// `{{history}}` for the messages of the caller.
    pub fn messages(mut self, template: impl Into<String>) -> Self {
        self.messages = Some(template.into());
        self
    }

    /// Sets the template of the user message.
    pub fn prompt(mut self, template: impl Into<String>) -> Self {
        self.prompt = Some(template.into());
        self
    }

    /// Sets the model. The caller can override it; without either, the application's default
    /// model is used.
    pub fn model(mut self, model: impl Into<ModelRef>) -> Self {
        let (name, config) = model.into().into_parts();
        self.options.model = Some(name);
        match config {
            Some(config) => self.config(config),
            None => self,
        }
    }

    /// Sets the model's configuration. A value that does not serialise to an object is ignored.
    pub fn config(mut self, config: impl Serialize) -> Self {
        if let Ok(config @ Value::Object(_)) = serde_json::to_value(config) {
            self.options.config = Some(config);
        }
        self
    }

    /// Adds a tool by its name. It has to be defined when the prompt is called.
    pub fn tool(mut self, name: impl AsRef<str>) -> Self {
        self.options.tools.get_or_insert_default().push(name.as_ref().to_owned());
        self
    }

    /// Sets whether the model may, must or must not ask for tools.
    pub fn tool_choice(mut self, choice: ToolChoice) -> Self {
        self.options.tool_choice = Some(choice);
        self
    }

    /// Sets the maximum number of rounds of tools; 5 unless set.
    pub fn max_turns(mut self, max_turns: u64) -> Self {
        self.options.max_turns = Some(max_turns);
        self
    }

    /// Sets the documents to answer from, unless the caller passes others.
    pub fn docs<D: Into<Document>>(mut self, docs: impl IntoIterator<Item = D>) -> Self {
        self.options.docs = Some(docs.into_iter().map(Into::into).collect());
        self
    }

    /// Sets the type of the output. The answer of the model is checked against its schema.
    pub fn output<T: JsonSchema>(mut self) -> Self {
        let output = self.options.output.get_or_insert_with(OutputOptions::default);
        output.json_schema = Some(Schema::of::<T>().as_json().clone());
        self
    }

    /// Sets the format of the output: `text`, `json`, `array`, `jsonl` or `enum`.
    pub fn output_format(mut self, format: impl Into<String>) -> Self {
        self.options.output.get_or_insert_with(OutputOptions::default).format = Some(format.into());
        self
    }

    /// Wraps calls in middleware that was defined by name, with this configuration.
    pub fn middleware(mut self, name: impl Into<String>, config: Option<Value>) -> Self {
        let reference = MiddlewareRef { name: name.into(), config };
        self.options.middleware.get_or_insert_default().push(reference);
        self
    }

    /// Adds a member to the application's own metadata of the prompt.
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
            origin: PromptOrigin::new(self.full_name()),
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
