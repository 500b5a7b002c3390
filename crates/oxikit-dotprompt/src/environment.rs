//! The environment of prompts: helpers, partials, schemas, tools and limits that they share.

use std::fmt;
use std::sync::Arc;

use oxikit_wire::{JsonObject, ToolDefinition};
use serde_json::Value;

use crate::compiled::Compiled;
use crate::error::{Position, Result};
use crate::helper::Helper;
use crate::limits::Limits;
use crate::metadata::{InputSpec, Metadata, OutputSpec};
use crate::picoschema;
use crate::prompt::Prompt;
use crate::shared::Shared;

/// Compiles prompts. Cheap to clone; a compiled prompt keeps the environment
/// as it was.
///
/// ```
/// use oxikit_dotprompt::{Environment, Prompt, RenderInput};
/// use serde_json::json;
///
/// let environment = Environment::new()
///     .partial("sign", "Yours, {{from}}")
///     .helper("shout", |args, _| Ok::<_, String>(args[0].as_str().unwrap_or("").to_uppercase()));
/// let prompt = Prompt::parse("---\ninput:\n  schema:\n    name: string\n---\n\
///     {{role \"system\"}}Be kind.{{role \"user\"}}Hi {{shout name}}! {{> sign from=\"Bob\"}}")?;
///
/// let compiled = environment.compile(&prompt)?;
/// let input = json!({ "name": "Ann" });
/// let rendered = compiled.render(&RenderInput::new(input.as_object().unwrap()))?;
/// assert_eq!(rendered.messages.len(), 2);
/// assert_eq!(rendered.messages[1].text(), "Hi ANN! Yours, Bob");
/// # Ok::<(), oxikit_dotprompt::Error>(())
/// ```
#[derive(Debug, Clone, Default)]
pub struct Environment {
    shared: Arc<Shared>,
}

impl Environment {
    /// An environment with the helpers of Handlebars and Dotprompt only.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a helper: a function of its arguments and its `key=value` arguments.
    ///
    /// `{{name a b k=v}}` prints the value that it returns. As a block,
    /// `{{#name a}}…{{else}}…{{/name}}` takes the first branch when it returns a truthy value that
    /// is not empty. A helper of the same name as a built-in one replaces it. An `Err` fails the
    /// render with the message and the position of the call.
    ///
    /// ```
    /// use oxikit_dotprompt::{Environment, RenderInput};
    ///
    /// let environment = Environment::new().helper("repeat", |args, hash| {
    ///     let count = hash.get("times").and_then(|times| times.as_u64()).unwrap_or(1);
    ///     match args {
    ///         [text] => Ok(text.as_str().unwrap_or_default().repeat(count as usize)),
    ///         _ => Err("`repeat` takes one argument"),
    ///     }
    /// });
    /// let template = environment.compile_template("{{repeat 'ha' times=3}}")?;
    /// assert_eq!(template.render_text(&RenderInput::default())?, "hahaha");
    /// # Ok::<(), oxikit_dotprompt::Error>(())
    /// ```
    #[must_use]
    pub fn helper<F, V, E>(mut self, name: impl Into<String>, helper: F) -> Self
    where
        F: Fn(&[Value], &JsonObject) -> Result<V, E> + Send + Sync + 'static,
        V: Into<Value>,
        E: fmt::Display,
    {
        let helper: Helper = Arc::new(move |args, hash| match helper(args, hash) {
            Ok(value) => Ok(value.into()),
            Err(error) => Err(error.to_string()),
        });
        self.shared_mut().helpers.insert(name.into(), helper);
        self
    }

    /// Adds a partial for `{{> name}}`. It is parsed when a prompt that uses it is compiled, so a
    /// syntax error is reported there. A later partial of the same name replaces it.
    #[must_use]
    pub fn partial(mut self, name: impl Into<String>, source: impl Into<Arc<str>>) -> Self {
        self.shared_mut().partials.insert(name.into(), source.into());
        self
    }

    /// Removes a partial that was added by name. Prompts that were compiled before keep it.
    ///
    /// ```
    /// use oxikit_dotprompt::Environment;
    ///
    /// let environment = Environment::new().partial("sign", "Bye").without_partial("sign");
    /// let template = environment.compile_template("{{> sign}}")?;
    /// assert!(template.missing_partials().contains("sign"));
    /// # Ok::<(), oxikit_dotprompt::Error>(())
    /// ```
    #[must_use]
    pub fn without_partial(mut self, name: &str) -> Self {
        self.shared_mut().partials.remove(name);
        self
    }

    /// Sets the source of partials that were not added by name, such as files.
    ///
    /// The resolver is called when a prompt is compiled, and while rendering for partials that were
    /// not found then or whose name is an expression; it must not block for long. `None` means
    /// that there is no such partial.
    #[must_use]
    pub fn partial_resolver(
        mut self,
        resolver: impl Fn(&str) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.shared_mut().partial_resolver = Some(Arc::new(resolver));
        self
    }

    /// Adds a JSON Schema that picoschema may refer to by name.
    ///
    /// ```
    /// use oxikit_dotprompt::{Environment, Prompt};
    /// use serde_json::json;
    ///
    /// let environment = Environment::new().schema("Person", json!({ "type": "object" }));
    /// let prompt = Prompt::parse("---\noutput:\n  schema: Person\n---\nInvent a person.")?;
    /// let output = environment.metadata(&prompt)?.output.unwrap();
    /// assert_eq!(output.schema, Some(json!({ "type": "object" })));
    /// # Ok::<(), oxikit_dotprompt::Error>(())
    /// ```
    #[must_use]
    pub fn schema(mut self, name: impl Into<String>, schema: Value) -> Self {
        self.shared_mut().schemas.insert(name.into(), schema);
        self
    }

    /// Sets the source of schemas that were not added by name. `None` means that there is no such
    /// schema, which fails [`compile`](Self::compile).
    #[must_use]
    pub fn schema_resolver(
        mut self,
        resolver: impl Fn(&str) -> Option<Value> + Send + Sync + 'static,
    ) -> Self {
        self.shared_mut().schema_resolver = Some(Arc::new(resolver));
        self
    }

    /// Adds a tool that prompts may name. Names of unknown tools are not an error here: they stay
    /// in [`Metadata::tools`] for the application.
    #[must_use]
    pub fn tool(mut self, tool: ToolDefinition) -> Self {
        self.shared_mut().tools.insert(tool.name.clone(), tool);
        self
    }

    /// Sets the source of tools that were not added. `None` means that there is no such tool.
    #[must_use]
    pub fn tool_resolver(
        mut self,
        resolver: impl Fn(&str) -> Option<ToolDefinition> + Send + Sync + 'static,
    ) -> Self {
        self.shared_mut().tool_resolver = Some(Arc::new(resolver));
        self
    }

    /// Sets the model whose [`model_config`](Self::model_config) prompts without a model get. It
    /// does not become the prompt's model.
    #[must_use]
    pub fn default_model(mut self, model: impl Into<String>) -> Self {
        self.shared_mut().default_model = Some(model.into());
        self
    }

    /// Sets the configuration that every prompt for `model` starts from. Members of the front
    /// matter's `config` have precedence.
    #[must_use]
    pub fn model_config(mut self, model: impl Into<String>, config: JsonObject) -> Self {
        self.shared_mut().model_configs.insert(model.into(), config);
        self
    }

    /// Replaces the limits of parsing and rendering.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.shared_mut().limits = limits;
        self
    }

    /// Parses a prompt's template and the partials it names, and resolves its
    /// metadata.
    ///
    /// # Errors
    ///
    /// When the template is malformed or calls a helper that does not exist, or
    /// when a schema cannot be resolved. A partial that does not exist is only
    /// an error once it is rendered.
    pub fn compile(&self, prompt: &Prompt) -> Result<Compiled> {
        let metadata = self.metadata(prompt)?;
        Compiled::new(&self.shared, prompt.template(), prompt.start(), metadata)
    }

    /// Compiles a bare template, such as a `system` text in code.
    ///
    /// ```
    /// # use oxikit_dotprompt::{Environment, RenderInput};
    /// let template = Environment::new().compile_template("Hi {{name}}")?;
    /// let input = serde_json::json!({ "name": "Ann" });
    /// let input = RenderInput::new(input.as_object().unwrap());
    /// assert_eq!(template.render_text(&input)?, "Hi Ann");
    /// # Ok::<(), oxikit_dotprompt::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`compile`](Self::compile).
    pub fn compile_template(&self, template: &str) -> Result<Compiled> {
        Compiled::new(&self.shared, template, Position::START, Metadata::default())
    }

    /// The prompt's metadata with schemas expanded and known tools resolved.
    ///
    /// # Errors
    ///
    /// When a schema cannot be resolved.
    pub fn metadata(&self, prompt: &Prompt) -> Result<Metadata> {
        self.metadata_with(prompt, &JsonObject::new())
    }

    /// As [`metadata`](Self::metadata), with the front matter overridden by `options`, which have
    /// the same keys. `config` is merged member by member, other members are replaced.
    ///
    /// # Errors
    ///
    /// When a schema cannot be resolved or an option has the wrong type.
    pub fn metadata_with(&self, prompt: &Prompt, options: &JsonObject) -> Result<Metadata> {
        let mut metadata = prompt.metadata.clone();
        metadata.merge(options)?;
        let model = metadata.model.as_ref().or(self.shared.default_model.as_ref());
        if let Some(defaults) = model.and_then(|model| self.shared.model_configs.get(model)) {
            let mut config = defaults.clone();
            config.extend(std::mem::take(&mut metadata.config));
            metadata.config = config;
        }
        self.resolve_tools(&mut metadata);
        if let Some(InputSpec { schema, .. }) = &mut metadata.input {
            self.expand_schema(schema)?;
        }
        if let Some(OutputSpec { schema, .. }) = &mut metadata.output {
            self.expand_schema(schema)?;
        }
        Ok(metadata)
    }

    /// Moves the tools that the environment knows from names to definitions. `tools` stays
    /// present, perhaps empty, as in the reference.
    fn resolve_tools(&self, metadata: &mut Metadata) {
        let Some(names) = metadata.tools.take() else {
            return;
        };
        let definitions = metadata.tool_defs.get_or_insert_default();
        let mut unknown = Vec::new();
        for name in names {
            match self.shared.find_tool(&name) {
                Some(tool) => definitions.push(tool),
                None => unknown.push(name),
            }
        }
        metadata.tools = Some(unknown);
    }

    /// Replaces picoschema by JSON Schema; an empty schema becomes absent.
    fn expand_schema(&self, schema: &mut Option<Value>) -> Result<()> {
        if let Some(short) = schema {
            *schema = picoschema::expand(short, &|name| self.shared.find_schema(name))?;
        }
        Ok(())
    }

    /// The settings for a change. They are copied first if a compiled prompt shares them, which
    /// keeps its own.
    fn shared_mut(&mut self) -> &mut Shared {
        Arc::make_mut(&mut self.shared)
    }
}
