//! The builder in front of the loop.

mod output;

use std::fmt;
use std::future::IntoFuture;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;

use async_trait::async_trait;
use oxikit_core::ports::PromptOrigin;
use oxikit_core::{ActionContext, Context, Emitter, Result, Status, Step, StepKind};
use oxikit_wire::{
    Document, GenerateActionOptions, GenerateResponse, GenerateResponseChunk, JsonObject, Message,
    MiddlewareRef, OutputOptions, Part, ResumeOptions, Role, ToolChoice,
};
use serde::Serialize;
use serde_json::Value;

use super::overlay::overlay;
use super::request::format_of;
use super::turn::{AddedMessages, GenerateCall, run_loop};
use super::{GenerateStream, ModelRef, Reply};
use crate::middleware::Middleware;
use crate::{Oxikit, Tool};

/// A generate call that is being built; `.await` it, or read it by
/// [`stream`](Self::stream). `T` is the type of the output.
///
/// Nothing is sent before that, and mistakes in the options are reported only then. The options
/// of a [prompt](Oxikit::prompt) come first; options that are set here override them.
///
/// ```
/// # use oxikit::prelude::*;
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<()> {
/// # let ai = Oxikit::builder().plugin(Offline).build()?;
/// let reply = ai
///     .generate()
///     .model("offline/demo")
///     .config(json!({ "temperature": 0.2 }))
///     .system("Answer from the documents only.")
///     .docs(["The library opens at nine."])
///     .prompt("When does the library open?")
///     .await?;
/// println!("{}", reply.text());
/// # Ok(()) }
/// ```
#[must_use = "a generate call does nothing until it is awaited or streamed"]
pub struct Generate<T = Value> {
    ai: Oxikit,
    /// Rendered first; what is set here goes on top of it.
    prompt_template: Option<Box<dyn PromptTemplate>>,
    /// The prompt that was rendered.
    origin: Option<PromptOrigin>,
    options: GenerateActionOptions,
    system: Vec<Part>,
    prompt: Vec<Part>,
    tools: Vec<Tool>,
    middleware: Vec<Arc<dyn Middleware>>,
    context: Option<ActionContext>,
    added: AddedMessages,
    /// The first mistake made while building; reported by the call.
    mistake: Option<Status>,
    output: PhantomData<fn() -> T>,
}

/// A defined prompt that a call begins with. The prompts implement it, so that this module
/// does not depend on them.
#[async_trait]
pub(crate) trait PromptTemplate: Send + Sync {
    /// The prompt's name, with its variant.
    fn name(&self) -> &str;

    /// Renders the prompt as a step of the trace.
    async fn render(
        self: Box<Self>,
        ai: &Oxikit,
        context: ActionContext,
        history: Vec<Arc<Message>>,
    ) -> Result<RenderedPrompt>;
}

/// A prompt that was rendered.
pub(crate) struct RenderedPrompt {
    pub(crate) options: GenerateActionOptions,
    /// What the spans of the model calls record.
    pub(crate) origin: PromptOrigin,
}

impl Oxikit {
    /// Begins a call of a model: the default one unless another is named.
    ///
    /// ```
    /// # use oxikit::prelude::*;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<()> {
    /// let ai = Oxikit::builder().plugin(Offline).default_model("offline/demo").build()?;
    /// let reply = ai.generate().system("Be brief.").prompt("What is Rust?").await?;
    /// println!("{}", reply.text());
    /// # Ok(()) }
    /// ```
    pub fn generate(&self) -> Generate {
        Generate::new(self.clone())
    }
}

/// Starts generate calls from the [`Context`] of an action, so that a flow or tool needs no
/// handle of the application. The call is a child of the action in the trace, has its caller,
/// and is cancelled with it.
///
/// ```
/// use oxikit::prelude::*;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<()> {
/// let ai = Oxikit::builder().plugin(Offline).default_model("offline/demo").build()?;
/// let translate = ai.define_flow("translate", |text: String, ctx: Context| async move {
///     Ok(ctx.generate().system("Translate to French.").prompt(text).await?.text())
/// });
/// translate.run("Good morning").await?;
/// # Ok(()) }
/// ```
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
            prompt_template: None,
            origin: None,
            options: GenerateActionOptions::default(),
            system: Vec::new(),
            prompt: Vec::new(),
            tools: Vec::new(),
            middleware: Vec::new(),
            context: None,
            added: AddedMessages::default(),
            mistake: None,
            output: PhantomData,
        }
    }

    pub(crate) fn from_prompt(ai: Oxikit, template: impl PromptTemplate + 'static) -> Self {
        Self { prompt_template: Some(Box::new(template)), ..Self::new(ai) }
    }
}

impl<T> Generate<T> {
    /// Sets the model, by name or as a [`ModelRef`] with a configuration of its own. Members
    /// that [`config`](Self::config) has set before take precedence over that configuration.
    pub fn model(mut self, model: impl Into<ModelRef>) -> Self {
        let (name, config) = model.into().into_parts();
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

    /// Adds instructions for the model. They become the first message, of the role `system`;
    /// each further call adds a part to it.
    pub fn system(mut self, part: impl Into<Part>) -> Self {
        self.system.push(part.into());
        self
    }

    /// Sets the question. Each further call adds a part, such as a picture after a text.
    pub fn prompt(mut self, part: impl Into<Part>) -> Self {
        self.prompt.push(part.into());
        self
    }

    /// Adds the conversation so far. It comes after the system message and before the prompt.
    ///
    /// ```
    /// # use oxikit::prelude::*;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<()> {
    /// # let ai = Oxikit::builder().plugin(Offline).default_model("offline/demo").build()?;
    /// let first = ai.generate().prompt("My name is Ada.").await?;
    /// let second = ai.generate().messages(first.messages()).prompt("What is my name?").await?;
    /// assert_eq!(second.messages().len(), 4);
    /// # Ok(()) }
    /// ```
    pub fn messages<M: Into<Arc<Message>>>(
        mut self,
        messages: impl IntoIterator<Item = M>,
    ) -> Self {
        self.options.messages.extend(messages.into_iter().map(Into::into));
        self
    }

    /// Adds a document to answer from. A model that does not take documents gets their texts in
    /// the last message of the user.
    pub fn doc(mut self, doc: impl Into<Document>) -> Self {
        self.options.docs.get_or_insert_default().push(doc.into());
        self
    }

    /// Adds documents to answer from, such as the result of [`Oxikit::retrieve`].
    pub fn docs<D: Into<Document>>(self, docs: impl IntoIterator<Item = D>) -> Self {
        docs.into_iter().fold(self, Self::doc)
    }

    /// Adds a tool that the model may ask for. It need not be defined in the application.
    pub fn tool(mut self, tool: Tool) -> Self {
        self.options.tools.get_or_insert_default().push(tool.action().key().to_owned());
        self.tools.push(tool);
        self
    }

    /// Adds several tools that the model may ask for.
    pub fn tools(self, tools: impl IntoIterator<Item = Tool>) -> Self {
        tools.into_iter().fold(self, Self::tool)
    }

    /// Adds a defined tool by its name. An unknown name fails the call with `NOT_FOUND`.
    pub fn tool_named(mut self, name: impl Into<String>) -> Self {
        self.options.tools.get_or_insert_default().push(name.into());
        self
    }

    /// Sets whether the model may, must or must not ask for tools. Without this, the model
    /// decides.
    pub fn tool_choice(mut self, choice: ToolChoice) -> Self {
        self.options.tool_choice = Some(choice);
        self
    }

    /// Returns tool requests instead of running them: [`Reply::tool_requests`] lists them, and
    /// the application decides what to do.
    pub fn return_tool_requests(mut self) -> Self {
        self.options.return_tool_requests = Some(true);
        self
    }

    /// Sets the maximum number of rounds of tools; 5 unless set. A model that asks for more
    /// fails the call with `ABORTED`.
    pub fn max_turns(mut self, max_turns: u64) -> Self {
        self.options.max_turns = Some(max_turns);
        self
    }

    /// Wraps the call in middleware. The first one is the outermost; middleware that is named,
    /// here or by a prompt, is outside of all that is given by value.
    pub fn middleware(mut self, middleware: impl Middleware + 'static) -> Self {
        self.middleware.push(Arc::new(middleware));
        self
    }

    /// Wraps the call in middleware that was defined by
    /// [`Oxikit::define_middleware`], or in one of the built-in `retry`, `fallback`, `logging`
    /// and `cache`.
    ///
    /// ```
    /// # use oxikit::prelude::*;
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<()> {
    /// # let ai = Oxikit::builder().plugin(Offline).default_model("offline/demo").build()?;
    /// let retry = json!({ "maxRetries": 5 });
    /// ai.generate().prompt("Hello").middleware_named("retry", Some(retry)).await?;
    /// # Ok(()) }
    /// ```
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

    /// Sets the caller that tools and prompts see. The default is the caller of the running action.
    pub fn context(mut self, context: ActionContext) -> Self {
        self.context = Some(context);
        self
    }

    /// Also collects there the messages that the call adds to its conversation.
    pub(crate) fn added(mut self, added: AddedMessages) -> Self {
        self.added = added;
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

    /// Starts the call and reads its chunks while it runs. The call makes progress only while
    /// the stream is polled.
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
    ///
    /// # Errors
    ///
    /// A mistake that was made while building the call; `NOT_FOUND` if there is no such prompt;
    /// `INVALID_ARGUMENT` if the prompt is broken, its input does not fit, or there is no
    /// message.
    pub async fn render(mut self) -> Result<GenerateActionOptions> {
        self.resolve().await?;
        Ok(self.options)
    }

    /// Runs the call; one that begins with a prompt is a step of that name.
    pub(crate) async fn run(self, out: Emitter<GenerateResponseChunk>) -> Result<GenerateResponse> {
        let Some(name) = self.prompt_template.as_ref().map(|it| it.name().to_owned()) else {
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
        let Self { ai, options, middleware, tools, context, added, origin, .. } = self;
        let tools = tools.iter().map(|tool| tool.action().clone()).collect();
        let call = GenerateCall { tools, context, added, origin, ..GenerateCall::new(ai, out) };
        run_loop(call, options, middleware).await
    }

    /// Reports a mistake, renders the prompt and puts the messages in order.
    async fn resolve(&mut self) -> Result<()> {
        if let Some(mistake) = self.mistake.take() {
            return Err(mistake);
        }
        if let Some(template) = self.prompt_template.take() {
            let history = std::mem::take(&mut self.options.messages);
            let context = self.context.clone().or_else(|| Some(Context::current()?.data().clone()));
            let rendered = template.render(&self.ai, context.unwrap_or_default(), history).await?;
            self.options = overlay(rendered.options, std::mem::take(&mut self.options));
            self.origin = Some(rendered.origin);
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

    /// Adds members to the configuration; `wins` decides about members that are already there.
    fn merge_config(&mut self, config: JsonObject, wins: bool) {
        let known = self.options.config.get_or_insert_with(|| Value::Object(JsonObject::new()));
        let Value::Object(known) = known else { return };
        for (key, value) in config {
            if wins || !known.contains_key(&key) {
                known.insert(key, value);
            }
        }
    }

    fn resume(&mut self) -> &mut ResumeOptions {
        self.options.resume.get_or_insert_default()
    }

    /// Notes a mistake of the caller. The first one is reported when the call is awaited, so
    /// that the methods of the builder need not return results.
    fn fail(&mut self, mistake: Status) {
        self.mistake.get_or_insert(mistake);
    }

    fn retype<U>(self) -> Generate<U> {
        let Self {
            ai,
            prompt_template,
            origin,
            options,
            system,
            prompt,
            tools,
            middleware,
            context,
            added,
            mistake,
            ..
        } = self;
        let output = PhantomData;
        Generate {
            ai,
            prompt_template,
            origin,
            options,
            system,
            prompt,
            tools,
            middleware,
            context,
            added,
            mistake,
            output,
        }
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
