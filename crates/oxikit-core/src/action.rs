//! [`Action`]: something that can be called by its key, and the builder that defines one.
//!
//! Only the outer shell ([`ActionBuilder::handler`], [`ActionBuilder::bidi`]) is generic. It turns
//! a typed function into one boxed closure over [`Payload`]s, so that everything behind it is
//! compiled once, and every protocol sees the same type. This module starts runs; the polling, the
//! panic guard and the cancellation are in `execution`.

use std::any::TypeId;
use std::fmt;
use std::sync::Arc;

use oxikit_wire::{ActionDescriptor, JsonObject};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::call::WantedChunks;
use crate::check::Check;
use crate::emitter::Sink;
use crate::execution::{BoxFuture, Execution};
use crate::queue;
use crate::run::show_payload;
use crate::span::{Span, SpanSpec};
use crate::{
    ActionInput, ActionKind, ActionOutput, Call, Context, Emitter, Handler, Inputs, Payload,
    Result, Run, Schema, StepKind,
};

/// Something that can be called by its key: a flow, a model, a tool, a prompt,
/// an agent. Cheap to clone.
///
/// An action is defined by [`builder`](Self::builder), and called by [`run`](Self::run) if only
/// the output matters or by [`start`](Self::start) if its chunks are read too. It need not be in
/// a [`Registry`](crate::Registry) to be called.
///
/// ```
/// use oxikit_core::{Action, ActionKind, Call, Context, Result};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<()> {
/// let double = Action::builder(ActionKind::Flow, "double")
///     .description("Doubles a number")
///     .handler(|number: u32, _: Context| async move { Ok(number * 2) });
/// assert_eq!(double.key(), "/flow/double");
/// assert_eq!(double.run(Call::new(21)).await?.parse::<u32>()?, 42);
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Action(Arc<Inner>);

struct Inner {
    kind: ActionKind,
    key: String,
    descriptor: ActionDescriptor,
    takes_tree: bool,
    prepare: Prepare,
}

/// Checks the input of a call and makes the work that is to be run. An error refuses the call
/// before a span is opened.
type Prepare = Box<dyn Fn(Invocation) -> Result<Prepared> + Send + Sync>;
/// The work of a call whose input was accepted. It is called with the context once the span of
/// the call exists.
type Prepared = Box<dyn FnOnce(Context) -> BoxFuture<'static, Result<Payload>> + Send>;

/// The parts of a [`Call`] that the typed function itself receives.
struct Invocation {
    inputs: Inputs,
    init: Option<Payload>,
    chunks: Option<Sink>,
}

impl Action {
    /// Begins the definition of an action. Its key becomes `/kind/name`.
    ///
    /// The name may contain slashes, as in `acme/fast`. It is not checked here, and the action is
    /// not registered: pass the result to [`Registry::register`](crate::Registry::register).
    pub fn builder(kind: ActionKind, name: impl Into<String>) -> ActionBuilder {
        let name = name.into();
        let descriptor = ActionDescriptor {
            key: format!("/{kind}/{name}"),
            name,
            action_type: Some(kind.as_str().to_owned()),
            ..ActionDescriptor::default()
        };
        ActionBuilder {
            kind,
            descriptor,
            input: None,
            output: None,
            init: None,
            stream: None,
            listed_input: None,
            takes_tree: false,
        }
    }

    /// Whether both are clones of one action.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The kind: the first part of the key.
    pub fn kind(&self) -> ActionKind {
        self.0.kind
    }

    /// The name without its kind.
    pub fn name(&self) -> &str {
        &self.0.descriptor.name
    }

    /// The full key, `/kind/name`.
    pub fn key(&self) -> &str {
        &self.0.key
    }

    /// The entry of this action in the lists of the developer tools: name, description, schemas
    /// and metadata.
    pub fn descriptor(&self) -> &ActionDescriptor {
        &self.0.descriptor
    }

    /// Whether the function of this action takes a [`serde_json::Value`].
    ///
    /// A server that reads requests then parses the body to a tree itself: the action would parse
    /// the text once more otherwise. For all other input types, text is the cheaper form.
    pub fn takes_tree(&self) -> bool {
        self.0.takes_tree
    }

    /// Starts a run whose chunks are read.
    ///
    /// A call that does not fit the schemas is refused here: it never becomes a
    /// run, and leaves no trace. The action makes progress only while the run is polled.
    ///
    /// ```
    /// use oxikit_core::{Action, ActionKind, Call, Context, Emitter, Result};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<()> {
    /// let spell = Action::builder(ActionKind::Flow, "spell").handler(
    ///     |word: String, _: Context, out: Emitter<char>| async move {
    ///         for letter in word.chars() {
    ///             out.send(letter).await?;
    ///         }
    ///         Ok(word.len())
    ///     },
    /// );
    /// let run = spell.start(Call::new("tea".to_owned()))?;
    /// assert_eq!(run.finish().await?.parse::<usize>()?, 3);
    ///
    /// // A number is not a word: there is no run.
    /// assert!(spell.start(Call::new(7)).is_err());
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// `INVALID_ARGUMENT` if the call does not fit the schemas. A later failure is an event of
    /// the run.
    pub fn start(&self, call: Call) -> Result<Run> {
        let (sender, chunks) = match call.chunks {
            WantedChunks::None => (None, None),
            WantedChunks::Typed | WantedChunks::Json => {
                let (sender, chunks) = queue::channel(matches!(call.chunks, WantedChunks::Json));
                (Some(Sink::new(sender)), Some(chunks))
            }
        };
        Ok(Run::new(self.execute(call, sender)?, chunks))
    }

    /// Runs the action to its end and returns the output. Its emitter has no reader, so that
    /// chunks are not even encoded.
    ///
    /// Dropping the future cancels the work.
    ///
    /// # Errors
    ///
    /// `INVALID_ARGUMENT` if the call does not fit the schemas; else the status with which the
    /// action failed.
    pub async fn run(&self, call: Call) -> Result<Payload> {
        self.execute(call, None)?.await
    }

    /// Runs the action to its end and passes its chunks on to this emitter.
    ///
    /// An action that only wraps another one streams this way: the chunks go straight into the
    /// queue of the outer run, without a task or a second queue.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run).
    pub async fn run_into<C>(&self, call: Call, out: &Emitter<C>) -> Result<Payload> {
        self.execute(call, out.sink())?.await
    }

    fn execute(&self, call: Call, chunks: Option<Sink>) -> Result<Execution<'static, Payload>> {
        let Call {
            inputs,
            init,
            context,
            labels,
            registry,
            parent,
            remote_parent,
            extra,
            is_independent,
            is_unrecorded,
            ..
        } = call;
        // A call inside a running action inherits from it what it does not set itself.
        let data = match context {
            Some(context) => context,
            None => parent.as_ref().map(|parent| parent.data().clone()).unwrap_or_default(),
        };
        let registry = registry
            .or_else(|| parent.as_ref().map(|parent| parent.registry().clone()))
            .unwrap_or_default();
        let exporter = registry.exporter().filter(|_| !is_unrecorded);
        // Recorded before the input is moved into the action, and only if spans are recorded at all.
        let shown_input = exporter.as_ref().and_then(|_| inputs.peek()).and_then(show_payload);
        let shown_init = exporter.as_ref().and(init.as_ref()).and_then(show_payload);

        // Before the span is started: a refused call leaves no trace.
        let prepared = (self.0.prepare)(Invocation { inputs, init, chunks })?;

        let spec = SpanSpec {
            kind: StepKind::Action,
            name: self.name(),
            action: Some((self.0.kind.as_str(), &self.0.key)),
            labels: labels.as_ref(),
            context: &data,
            input: Some(&|| shown_input.clone()),
            init: Some(&|| shown_init.clone()),
            secrets: registry.secrets(),
        };
        let remote = remote_parent.map(|above| Span::remote(above.trace_id, above.span_id));
        let span_above = parent.as_ref().map(Context::span_ref).or(remote.as_ref());
        let span = Span::start(spec, span_above, exporter);
        // A child token, so that cancelling the parent cancels this call, and not the reverse.
        let above = parent.as_ref().filter(|_| !is_independent);
        let cancellation = above.map(|parent| parent.cancellation().child_token());
        let belongs_to_parent = cancellation.is_some();
        let ambient = parent.as_ref().and_then(Context::ambient_any);
        let cancellation = cancellation.unwrap_or_default();
        let ctx = Context::new(data, registry, cancellation, span, extra, ambient);
        let body = prepared(ctx.clone());
        let mut execution = Execution::new(ctx, body, show_payload);
        if belongs_to_parent {
            execution.watch_cancellation();
        }
        Ok(execution)
    }
}

impl fmt::Debug for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Action").field(&self.0.key).finish()
    }
}

/// The definition of an action; ended by [`handler`](Self::handler) or
/// [`bidi`](Self::bidi).
///
/// The schemas come from the types of the function. Set one by hand only if it says more than the
/// type, such as a range or a format: values are then checked by it in addition to being parsed.
///
/// ```
/// use oxikit_core::{Action, ActionKind, Call, Context, Schema};
/// use serde_json::json;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> oxikit_core::Result<()> {
/// let percent = Schema::from_json(json!({ "type": "integer", "minimum": 0, "maximum": 100 }))?;
/// let dim = Action::builder(ActionKind::Tool, "dim")
///     .description("Sets the brightness of the lights")
///     .metadata("room", "kitchen")
///     .input_schema(percent)
///     .handler(|level: u32, _: Context| async move { Ok(format!("{level} %")) });
///
/// assert_eq!(dim.run(Call::new(30)).await?.parse::<String>()?, "30 %");
/// assert!(dim.run(Call::new(300)).await.is_err());
/// # Ok(()) }
/// ```
#[derive(Debug)]
#[must_use = "an action is made by `handler` or `bidi`"]
pub struct ActionBuilder {
    kind: ActionKind,
    descriptor: ActionDescriptor,
    input: Option<Schema>,
    output: Option<Schema>,
    init: Option<Schema>,
    stream: Option<Schema>,
    listed_input: Option<Schema>,
    takes_tree: bool,
}

impl ActionBuilder {
    /// Sets the description. People read it in the developer tools, and a model that may call
    /// this action as a tool decides by it when to do so.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.descriptor.description = Some(description.into());
        self
    }

    /// Adds one metadata member; it replaces a member of the same name. A `null` is left out of
    /// the descriptor.
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.descriptor.metadata.get_or_insert_default().insert(key.into(), value.into());
        self
    }

    /// Adds all of these metadata members; they replace members of the same names.
    pub fn metadata_from(mut self, metadata: JsonObject) -> Self {
        self.descriptor.metadata.get_or_insert_default().extend(metadata);
        self
    }

    /// Checks inputs by this schema instead of the type's. The developer tools list it too.
    pub fn input_schema(mut self, schema: Schema) -> Self {
        self.input = Some(schema);
        self
    }

    /// Lists this schema for inputs without checking by it, for an action that
    /// completes its input before it checks.
    pub fn listed_input_schema(mut self, schema: Schema) -> Self {
        self.listed_input = Some(schema);
        self
    }

    /// Checks the output by this schema instead of the type's. An output that does not fit fails
    /// the run with `INVALID_ARGUMENT`, as in official runtimes.
    pub fn output_schema(mut self, schema: Schema) -> Self {
        self.output = Some(schema);
        self
    }

    /// Checks the init by this schema instead of the type's. Only [`bidi`](Self::bidi) has an
    /// init.
    pub fn init_schema(mut self, schema: Schema) -> Self {
        self.init = Some(schema);
        self
    }

    /// Lists this schema for chunks instead of the type's. Chunks are never checked.
    pub fn stream_schema(mut self, schema: Schema) -> Self {
        self.stream = Some(schema);
        self
    }

    /// Makes an action that takes one input.
    ///
    /// The function has one of the three shapes of [`Handler`]. A call without input gives it
    /// `null`, which suits `()` and `Option`; other types refuse it.
    pub fn handler<H, Args>(self, handler: H) -> Action
    where
        H: Handler<Args>,
        H::In: ActionInput,
        H::Out: ActionOutput,
        H::Chunk: ActionOutput,
    {
        let handler = Arc::new(handler);
        let input_check = Check::new::<H::In>(self.input.clone());
        let output_check = Check::new::<H::Out>(self.output.clone());
        let chunks = || H::STREAMS.then(Schema::of::<H::Chunk>);
        let stream = self.stream.clone().or_else(chunks);
        let checks = [&input_check, &output_check].map(|check| check.schema().cloned());
        let prepare = move |invocation: Invocation| -> Result<Prepared> {
            let input = invocation.inputs.into_first().unwrap_or_else(Payload::null);
            let input: H::In = input_check.decode(input)?;
            let (handler, output_check) = (handler.clone(), output_check.clone());
            let emitter = Emitter::new(invocation.chunks);
            Ok(Box::new(move |ctx| {
                Box::pin(
                    async move { output_check.encode(handler.call(input, ctx, emitter).await?) },
                )
            }))
        };
        let takes_tree = TypeId::of::<H::In>() == TypeId::of::<Value>();
        Self { takes_tree, ..self }.build(checks, stream, None, Box::new(prepare))
    }

    /// Makes an action that takes an init and a stream of inputs, such as an agent.
    ///
    /// A call without init gives the function `null` if the type accepts it, and else an empty
    /// object. The init is checked before the run starts, each input when it is read.
    ///
    /// ```
    /// use oxikit_core::{Action, ActionKind, Call, Context, Emitter, Inputs, Payload, Result};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<()> {
    /// let sum = Action::builder(ActionKind::Flow, "sum").bidi(
    ///     |start: Option<u32>, mut inputs: Inputs<u32>, _: Context, out: Emitter<u32>| async move {
    ///         let mut sum = start.unwrap_or(0);
    ///         while let Some(number) = inputs.next().await? {
    ///             sum += number;
    ///             out.send(sum).await?;
    ///         }
    ///         Ok(sum)
    ///     },
    /// );
    ///
    /// let (sender, call) = Call::streaming();
    /// let run = sum.start(call.with_init(Payload::of(10)))?;
    /// for number in [1, 2] {
    ///     sender.send(Payload::of(number)).await?;
    /// }
    /// drop(sender); // No further inputs.
    /// assert_eq!(run.finish().await?.parse::<u32>()?, 13);
    /// # Ok(()) }
    /// ```
    pub fn bidi<F, Fut, Init, In, Out, Chunk>(self, function: F) -> Action
    where
        F: Fn(Init, Inputs<In>, Context, Emitter<Chunk>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<Out>> + Send + 'static,
        Init: DeserializeOwned + JsonSchema + Send + 'static,
        In: DeserializeOwned + JsonSchema + Send + 'static,
        Out: Serialize + JsonSchema + Send + Sync + 'static,
        Chunk: Serialize + JsonSchema + Send + Sync + 'static,
    {
        let function = Arc::new(function);
        let input_check = Check::new::<In>(self.input.clone());
        let init_check = Check::new::<Init>(self.init.clone());
        let output_check = Check::new::<Out>(self.output.clone());
        let stream = self.stream.clone().or_else(|| Some(Schema::of::<Chunk>()));
        let checks = [&input_check, &output_check].map(|check| check.schema().cloned());
        let init = init_check.schema().cloned();
        // Official clients differ here: some send no init, some an empty object. Both mean the
        // same, so a missing init is an empty object, unless the type accepts `null` itself.
        let takes_null = init_check.decode::<Init>(Payload::null()).is_ok();
        let absent_init = if takes_null { Payload::null() } else { Payload::of(JsonObject::new()) };
        let prepare = move |invocation: Invocation| -> Result<Prepared> {
            let given = invocation.init.filter(|init| !init.is_null());
            let init: Init = init_check.decode(given.unwrap_or_else(|| absent_init.clone()))?;
            let inputs = invocation.inputs.typed(input_check.clone());
            let (function, output_check) = (function.clone(), output_check.clone());
            let emitter = Emitter::new(invocation.chunks);
            Ok(Box::new(move |ctx| {
                Box::pin(
                    async move { output_check.encode(function(init, inputs, ctx, emitter).await?) },
                )
            }))
        };
        self.metadata("bidi", true).build(checks, stream, init, Box::new(prepare))
    }

    fn build(
        self,
        [input, output]: [Option<Schema>; 2],
        stream: Option<Schema>,
        init: Option<Schema>,
        prepare: Prepare,
    ) -> Action {
        let json = |schema: Option<Schema>| schema.map(|schema| schema.as_json().clone());
        let mut descriptor = self.descriptor;
        // The official manager rejects the whole list of actions if one metadata member is `null`.
        if let Some(metadata) = &mut descriptor.metadata {
            metadata.retain(|_, value| !value.is_null());
        }
        descriptor.input_schema = json(self.listed_input.or(input));
        descriptor.output_schema = json(output);
        descriptor.stream_schema = json(stream);
        descriptor.init_schema = json(init);
        Action(Arc::new(Inner {
            kind: self.kind,
            key: descriptor.key.clone(),
            descriptor,
            takes_tree: self.takes_tree,
            prepare,
        }))
    }
}
