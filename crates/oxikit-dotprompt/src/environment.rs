//! What prompts share: helpers, partials, schemas, tools and limits.

use std::collections::HashMap;
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

type Resolver<T> = Arc<dyn Fn(&str) -> Option<T> + Send + Sync>;

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

#[derive(Clone, Default)]
pub(crate) struct Shared {
    pub(crate) helpers: HashMap<String, Helper>,
    pub(crate) limits: Limits,
    partials: HashMap<String, Arc<str>>,
    partial_resolver: Option<Resolver<String>>,
    schemas: HashMap<String, Value>,
    schema_resolver: Option<Resolver<Value>>,
    tools: HashMap<String, ToolDefinition>,
    tool_resolver: Option<Resolver<ToolDefinition>>,
    default_model: Option<String>,
    model_configs: HashMap<String, JsonObject>,
}

impl Environment {
    /// An environment with the helpers of Handlebars and Dotprompt only.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a helper: a function of its arguments and its `key=value` arguments.
    ///
    /// `{{name a b k=v}}` prints what it returns. As a block, `{{#name a}}…{{else}}…{{/name}}`
    /// takes the first branch when it returns something true. A helper of the
    /// same name as a built-in one replaces it.
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

    /// Adds a partial for `{{> name}}`. It is parsed when a prompt uses it.
    #[must_use]
    pub fn partial(mut self, name: impl Into<String>, source: impl Into<Arc<str>>) -> Self {
        self.shared_mut().partials.insert(name.into(), source.into());
        self
    }

    /// Where partials come from that were not added by name.
    #[must_use]
    pub fn partial_resolver(
        mut self,
        resolver: impl Fn(&str) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.shared_mut().partial_resolver = Some(Arc::new(resolver));
        self
    }

    /// Adds a JSON Schema that picoschema may refer to by name.
    #[must_use]
    pub fn schema(mut self, name: impl Into<String>, schema: Value) -> Self {
        self.shared_mut().schemas.insert(name.into(), schema);
        self
    }

    /// Where schemas come from that were not added by name.
    #[must_use]
    pub fn schema_resolver(
        mut self,
        resolver: impl Fn(&str) -> Option<Value> + Send + Sync + 'static,
    ) -> Self {
        self.shared_mut().schema_resolver = Some(Arc::new(resolver));
        self
    }

    /// Adds a tool that prompts may name.
    #[must_use]
    pub fn tool(mut self, tool: ToolDefinition) -> Self {
        self.shared_mut().tools.insert(tool.name.clone(), tool);
        self
    }

    /// Where tools come from that were not added.
    #[must_use]
    pub fn tool_resolver(
        mut self,
        resolver: impl Fn(&str) -> Option<ToolDefinition> + Send + Sync + 'static,
    ) -> Self {
        self.shared_mut().tool_resolver = Some(Arc::new(resolver));
        self
    }

    /// The model whose configuration prompts without a model get.
    #[must_use]
    pub fn default_model(mut self, model: impl Into<String>) -> Self {
        self.shared_mut().default_model = Some(model.into());
        self
    }

    /// Configuration that every prompt for `model` starts from.
    #[must_use]
    pub fn model_config(mut self, model: impl Into<String>, config: JsonObject) -> Self {
        self.shared_mut().model_configs.insert(model.into(), config);
        self
    }

    /// Replaces the limits.
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

    /// As [`metadata`](Self::metadata), with `options` laid over the front matter;
    /// they have the front matter's keys.
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

    /// Moves the tools the environment knows from names to definitions.
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

    fn expand_schema(&self, schema: &mut Option<Value>) -> Result<()> {
        if let Some(short) = schema {
            *schema = picoschema::expand(short, &|name| self.shared.find_schema(name))?;
        }
        Ok(())
    }

    fn shared_mut(&mut self) -> &mut Shared {
        Arc::make_mut(&mut self.shared)
    }
}

impl Shared {
    pub(crate) fn partial_source(&self, name: &str) -> Option<Arc<str>> {
        self.partials
            .get(name)
            .cloned()
            .or_else(|| Some(self.partial_resolver.as_ref()?(name)?.into()))
    }

    fn find_tool(&self, name: &str) -> Option<ToolDefinition> {
        self.tools.get(name).cloned().or_else(|| self.tool_resolver.as_ref()?(name))
    }

    fn find_schema(&self, name: &str) -> Option<Value> {
        self.schemas.get(name).cloned().or_else(|| self.schema_resolver.as_ref()?(name))
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("helpers", &self.helpers.keys())
            .field("partials", &self.partials.keys())
            .field("schemas", &self.schemas.keys())
            .field("tools", &self.tools.keys())
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}
