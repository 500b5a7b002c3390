//! The builder in front of the loop.

use std::fmt;
use std::future::IntoFuture;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;

use oxikit_core::{
    Action, ActionContext, Context, Emitter, Result, Schema, Status, Step, StepKind,
};
use oxikit_wire::{
    Document, GenerateActionOptions, GenerateResponse, GenerateResponseChunk, Instructions,
    JsonObject, Message, MiddlewareRef, OutputOptions, Part, ResumeOptions, Role, ToolChoice,
};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::request::format_of;
use super::turn::{GenerateCall, Said, begin_turn};
use super::{GenerateStream, Reply};
use crate::middleware::{self, Middleware, Turn};
use crate::prompt::PromptSource;
use crate::{Model, Oxikit, Tool};

/// A generate call in the making; `.await` it, or read it by
/// [`stream`](Self::stream). `T` is the type of the output.
#[must_use = "a generate call does nothing until it is awaited or streamed"]
pub struct Generate<T = Value> {
    ai: Oxikit,
    /// Rendered first; what is set here goes on top of it.
    prompt_source: Option<PromptSource>,
    options: GenerateActionOptions,
    system: Vec<Part>,
    prompt: Vec<Part>,
    tools: Vec<Tool>,
    middleware: Vec<Arc<dyn Middleware>>,
    context: Option<ActionContext>,
    said: Said,
    /// The first mistake made while building; reported by the call.
    mistake: Option<Status>,
    output: PhantomData<fn() -> T>,
}

/// A model by name, with a configuration that belongs to it.
#[derive(Debug, Clone)]
pub struct ModelRef {
    name: String,
    config: Option<JsonObject>,
}

impl ModelRef {
    /// The model of this name.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), config: None }
    }

    /// Asks for a version of the model.
    #[must_use]
    pub fn version(self, version: impl Into<String>) -> Self {
        self.option("version", version.into())
    }

    pub(crate) fn into_parts(self) -> (String, Option<JsonObject>) {
        (self.name, self.config)
    }

    /// Sets one member of the configuration.
    #[must_use]
    pub fn option(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.config.get_or_insert_default().insert(key.into(), value.into());
        self
    }
}

impl From<&str> for ModelRef {
    fn from(name: &str) -> Self {
        Self::new(name)
    }
}

impl From<String> for ModelRef {
    fn from(name: String) -> Self {
        Self::new(name)
    }
}

impl From<&Model> for ModelRef {
    fn from(model: &Model) -> Self {
        Self::new(model.name())
    }
}

impl Oxikit {
    /// Begins a call of a model: the default one unless another is named.
    ///
    /// ```
    /// # use oxikit::prelude::*;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<()> {
    /// let ai = Oxikit::builder().plugin(Offline).default_model("offline/demo").build();
    /// let reply = ai.generate().system("Be brief.").prompt("What is Rust?").await?;
    /// println!("{}", reply.text());
    /// # Ok(()) }
    /// ```
    pub fn generate(&self) -> Generate {
        Generate::new(self.clone())
    }
}

/// What an action's code can begin from its [`Context`].
pub trait GenerateExt {
    /// Begins a call of a model, in the application that the action belongs to.
    fn generate(&self) -> Generate;
}

impl GenerateExt for Context {
    fn generate(&self) -> Generate {
        Generate::new(Oxikit::of(self.registry()))
    }
}

impl Generate {
    pub(crate) fn new(ai: Oxikit) -> Self {
        Self {
            ai,
            prompt_source: None,
            options: GenerateActionOptions::default(),
            system: Vec::new(),
            prompt: Vec::new(),
            tools: Vec::new(),
            middleware: Vec::new(),
            context: None,
            said: Said::default(),
            mistake: None,
            output: PhantomData,
        }
    }

    pub(crate) fn from_prompt(ai: Oxikit, source: PromptSource) -> Self {
        Self { prompt_source: Some(source), ..Self::new(ai) }
    }
}

impl<T> Generate<T> {
    /// Which model to ask.
    pub fn model(mut self, model: impl Into<ModelRef>) -> Self {
        let ModelRef { name, config } = model.into();
        self.options.model = Some(name);
        if let Some(config) = config {
            self.merge_config(config, false);
        }
        self
    }

    /// The model's configuration: an object such as `json!({"temperature": 0.2})`
    /// or a struct that serialises to one. Later members win.
    pub fn config(mut self, config: impl Serialize) -> Self {
        match serde_json::to_value(config) {
            Ok(Value::Object(config)) => self.merge_config(config, true),
            Ok(_) => {
                self.fail(Status::invalid_argument("the configuration of a model is an object"))
            }
            Err(error) => self.fail(Status::from(error)),
        }
        self
    }

    /// Instructions for the model.
    pub fn system(mut self, part: impl Into<Part>) -> Self {
        self.system.push(part.into());
        self
    }

    /// What to ask. Called again, it adds a part: text, then a picture.
    pub fn prompt(mut self, part: impl Into<Part>) -> Self {
        self.prompt.push(part.into());
        self
    }

    /// The conversation so far: it comes after the system message and before the
    /// prompt.
    pub fn messages<M: Into<Arc<Message>>>(
        mut self,
        messages: impl IntoIterator<Item = M>,
    ) -> Self {
        self.options.messages.extend(messages.into_iter().map(Into::into));
        self
    }

    /// A document to answer from.
    pub fn doc(mut self, doc: impl Into<Document>) -> Self {
        self.options.docs.get_or_insert_default().push(doc.into());
        self
    }

    /// Documents to answer from.
    pub fn docs<D: Into<Document>>(self, docs: impl IntoIterator<Item = D>) -> Self {
        docs.into_iter().fold(self, Self::doc)
    }

    /// A tool that the model may ask for.
    pub fn tool(mut self, tool: Tool) -> Self {
        self.options.tools.get_or_insert_default().push(tool.action().key().to_owned());
        self.tools.push(tool);
        self
    }

    /// Tools that the model may ask for.
    pub fn tools(self, tools: impl IntoIterator<Item = Tool>) -> Self {
        tools.into_iter().fold(self, Self::tool)
    }

    /// A defined tool, by name.
    pub fn tool_named(mut self, name: impl Into<String>) -> Self {
        self.options.tools.get_or_insert_default().push(name.into());
        self
    }

    /// Whether the model may, must or must not ask for tools.
    pub fn tool_choice(mut self, choice: ToolChoice) -> Self {
        self.options.tool_choice = Some(choice);
        self
    }

    /// Returns tool requests instead of running them.
    pub fn return_tool_requests(mut self) -> Self {
        self.options.return_tool_requests = Some(true);
        self
    }

    /// How many rounds of tools are run before giving up; 5 unless set.
    pub fn max_turns(mut self, max_turns: u64) -> Self {
        self.options.max_turns = Some(max_turns);
        self
    }

    /// Asks for an output of this type, and holds the model to its schema.
    ///
    /// ```
    /// # use oxikit::prelude::*;
    /// #[derive(Deserialize, JsonSchema)]
    /// struct Recipe {
    ///     title: String,
    ///     minutes: u32,
    /// }
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<()> {
    /// # let ai = Oxikit::builder().plugin(Offline).default_model("offline/demo").build();
    /// let recipe = ai.generate().prompt("A quick soup.").output::<Recipe>().await?.output()?;
    /// println!("{} in {} minutes", recipe.title, recipe.minutes);
    /// # Ok(()) }
    /// ```
    pub fn output<U: DeserializeOwned + JsonSchema>(mut self) -> Generate<U> {
        self.output_options().json_schema = Some(Schema::of::<U>().as_json().clone());
        self.retype()
    }

    /// Asks for an output of this JSON Schema.
    pub fn output_schema(mut self, schema: Value) -> Self {
        self.output_options().json_schema = Some(schema);
        self
    }

    /// Asks for a format: `text`, `json`, `array`, `jsonl` or `enum`.
    pub fn output_format(mut self, format: impl Into<String>) -> Self {
        self.output_options().format = Some(format.into());
        self
    }

    /// Explains the format to the model in these words, or not at all.
    pub fn output_instructions(mut self, instructions: Instructions) -> Self {
        self.output_options().instructions = Some(instructions);
        self
    }

    /// Whether the model itself is held to the schema, or only told about it.
    pub fn constrained(mut self, constrained: bool) -> Self {
        self.output_options().constrained = Some(constrained);
        self
    }

    /// Wraps the call; what is named first is outermost.
    pub fn middleware(mut self, middleware: impl Middleware + 'static) -> Self {
        self.middleware.push(Arc::new(middleware));
        self
    }

    /// Wraps the call by defined middleware.
    pub fn middleware_named(mut self, name: impl Into<String>, config: Option<Value>) -> Self {
        let reference = MiddlewareRef { name: name.into(), config };
        self.options.middleware.get_or_insert_default().push(reference);
        self
    }

    /// Answers an interrupted tool request of the last message; see
    /// [`respond_to`](crate::respond_to).
    pub fn respond(mut self, response: Part) -> Self {
        self.resume().respond.get_or_insert_default().push(response);
        self
    }

    /// Runs an interrupted tool request of the last message again; see
    /// [`restart_of`](crate::restart_of).
    pub fn restart(mut self, request: Part) -> Self {
        self.resume().restart.get_or_insert_default().push(request);
        self
    }

    /// Who calls, for tools and prompts. Without it, the running action's caller.
    pub fn context(mut self, context: ActionContext) -> Self {
        self.context = Some(context);
        self
    }

    /// Also says there what the call adds to its conversation.
    pub(crate) fn said(mut self, said: Said) -> Self {
        self.said = said;
        self
    }

    /// Middleware that is shared with other calls.
    pub(crate) fn shared_middleware(mut self, shared: &[Arc<dyn Middleware>]) -> Self {
        self.middleware.extend_from_slice(shared);
        self
    }

    /// Name of the call in the trace, instead of `generate`.
    pub fn step_name(mut self, name: impl Into<String>) -> Self {
        self.options.step_name = Some(name.into());
        self
    }

    /// Starts the call and reads its pieces as they come.
    pub fn stream(self) -> GenerateStream<T>
    where
        T: 'static,
    {
        let (out, chunks) = Emitter::channel();
        let format = format_of(self.options.output.as_ref().unwrap_or(&OutputOptions::default()));
        GenerateStream::new(self.run(out), chunks, format)
    }

    /// Renders the prompt and answers the options that the loop would get, as
    /// `/util/generate` takes them.
    pub async fn render(mut self) -> Result<GenerateActionOptions> {
        self.resolve().await?;
        Ok(self.options)
    }

    /// Runs the call; one that begins with a prompt is a step of that name.
    pub(crate) async fn run(self, out: Emitter<GenerateResponseChunk>) -> Result<GenerateResponse> {
        let Some(name) = self.prompt_source.as_ref().map(|source| source.name.clone()) else {
            return self.run_resolved(out).await;
        };
        let registry = self.ai.registry().clone();
        let step = Step::new(StepKind::Dotprompt, &name).in_registry(&registry);
        step.run(|_| self.run_resolved(out)).await
    }

    async fn run_resolved(
        mut self,
        out: Emitter<GenerateResponseChunk>,
    ) -> Result<GenerateResponse> {
        self.resolve().await?;
        let Self { ai, options, middleware, tools, context, said, .. } = self;
        run_loop(ai, options, middleware, tools, context, out, said).await
    }

    /// Reports a mistake, renders the prompt and puts the messages in order.
    async fn resolve(&mut self) -> Result<()> {
        if let Some(mistake) = self.mistake.take() {
            return Err(mistake);
        }
        if let Some(source) = self.prompt_source.take() {
            let history = std::mem::take(&mut self.options.messages);
            let context = self.context.clone().or_else(|| Some(Context::current()?.data().clone()));
            let rendered = source.render(&self.ai, context.unwrap_or_default(), history).await?;
            self.options = overlay(rendered, std::mem::take(&mut self.options));
        }
        let options = &mut self.options;
        if !self.system.is_empty() {
            let system = Message::new(Role::System, std::mem::take(&mut self.system));
            options.messages.insert(0, Arc::new(system));
        }
        if !self.prompt.is_empty() {
            let prompt = Message::new(Role::User, std::mem::take(&mut self.prompt));
            options.messages.push(Arc::new(prompt));
        }
        if options.messages.is_empty() {
            return Err(Status::invalid_argument(
                "at least one message is required in generate request",
            )
            .with_hint("call `prompt(…)` or `messages(…)` before the call is awaited"));
        }
        Ok(())
    }

    fn merge_config(&mut self, config: JsonObject, wins: bool) {
        let known = self.options.config.get_or_insert_with(|| Value::Object(JsonObject::new()));
        let Value::Object(known) = known else { return };
        for (key, value) in config {
            if wins || !known.contains_key(&key) {
                known.insert(key, value);
            }
        }
    }

    fn output_options(&mut self) -> &mut OutputOptions {
        self.options.output.get_or_insert_default()
    }

    fn resume(&mut self) -> &mut ResumeOptions {
        self.options.resume.get_or_insert_default()
    }

    fn fail(&mut self, mistake: Status) {
        self.mistake.get_or_insert(mistake);
    }

    fn retype<U>(self) -> Generate<U> {
        let Self {
            ai,
            prompt_source,
            options,
            system,
            prompt,
            tools,
            middleware,
            context,
            said,
            mistake,
            ..
        } = self;
        let output = PhantomData;
        Generate {
            ai,
            prompt_source,
            options,
            system,
            prompt,
            tools,
            middleware,
            context,
            said,
            mistake,
            output,
        }
    }
}

/// Runs the loop with all middleware, also that which the options name.
pub(super) async fn run_loop(
    ai: Oxikit,
    mut options: GenerateActionOptions,
    middleware: Vec<Arc<dyn Middleware>>,
    tools: Vec<Tool>,
    context: Option<ActionContext>,
    out: Emitter<GenerateResponseChunk>,
    said: Said,
) -> Result<GenerateResponse> {
    let mut stack =
        middleware::resolve(ai.registry(), options.middleware.as_deref().unwrap_or_default())?;
    stack.extend(middleware);
    let mut tools: Vec<Action> = tools.iter().map(|tool| tool.action().clone()).collect();
    for tool in stack.iter().flat_map(|middleware| middleware.tools()) {
        options.tools.get_or_insert_default().push(tool.action().key().to_owned());
        tools.push(tool.action().clone());
    }
    let call = GenerateCall { ai, stack: stack.into(), tools, context, out, said };
    begin_turn(&call, Turn { options, number: 0, message_index: 0, said: 0 }).await
}

/// What a prompt says, with what the caller says on top.
fn overlay(mut base: GenerateActionOptions, over: GenerateActionOptions) -> GenerateActionOptions {
    base.config = match (base.config, over.config) {
        (Some(Value::Object(mut base)), Some(Value::Object(over))) => {
            base.extend(over);
            Some(Value::Object(base))
        }
        (base, over) => over.or(base),
    };
    let join = |base: Option<Vec<_>>, over: Option<Vec<_>>| match (base, over) {
        (Some(mut base), Some(over)) => {
            base.extend(over);
            Some(base)
        }
        (base, over) => base.or(over),
    };
    GenerateActionOptions {
        model: over.model.or(base.model),
        tools: join(base.tools, over.tools),
        tool_choice: over.tool_choice.or(base.tool_choice),
        docs: over.docs.or(base.docs),
        output: over.output.or(base.output),
        resume: over.resume,
        return_tool_requests: over.return_tool_requests.or(base.return_tool_requests),
        max_turns: over.max_turns.or(base.max_turns),
        step_name: over.step_name.or(base.step_name),
        middleware: over.middleware.or(base.middleware),
        ..base
    }
}

impl<T: 'static> IntoFuture for Generate<T> {
    type Output = Result<Reply<T>>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { self.run(Emitter::discard()).await.map(Reply::new) })
    }
}

impl<T> fmt::Debug for Generate<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Generate").field("options", &self.options).finish_non_exhaustive()
    }
}
