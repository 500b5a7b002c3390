//! The one operation: something that can be called by its key.

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
#[derive(Clone)]
pub struct Action(Arc<Inner>);

struct Inner {
    kind: ActionKind,
    key: String,
    descriptor: ActionDescriptor,
    takes_tree: bool,
    prepare: Prepare,
}

/// Checks the input of a call and makes the work that is to be run.
type Prepare = Box<dyn Fn(Invocation) -> Result<Prepared> + Send + Sync>;
type Prepared = Box<dyn FnOnce(Context) -> BoxFuture<'static, Result<Payload>> + Send>;

struct Invocation {
    inputs: Inputs,
    init: Option<Payload>,
    chunks: Option<Sink>,
}

impl Action {
    /// Begins the definition of an action.
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

    /// What it is.
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

    /// How the developer tools list it.
    pub fn descriptor(&self) -> &ActionDescriptor {
        &self.0.descriptor
    }

    /// Whether it reads its input as a JSON tree, so that a caller who holds text
    /// may as well make one.
    pub fn takes_tree(&self) -> bool {
        self.0.takes_tree
    }

    /// Starts a run whose chunks are read.
    ///
    /// A call that does not fit the schemas is refused here: it never becomes a
    /// run, and leaves no trace.
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

    /// Runs it to the end and answers the output; chunks are not even made.
    ///
    /// Dropping the future cancels the work.
    pub async fn run(&self, call: Call) -> Result<Payload> {
        self.execute(call, None)?.await
    }

    /// Runs it to the end; its chunks go where this emitter sends them.
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
            extra,
            is_independent,
            is_unrecorded,
            ..
        } = call;
        let data = match context {
            Some(context) => context,
            None => parent.as_ref().map(|parent| parent.data().clone()).unwrap_or_default(),
        };
        let registry = registry
            .or_else(|| parent.as_ref().map(|parent| parent.registry().clone()))
            .unwrap_or_default();
        let exporter = registry.exporter().filter(|_| !is_unrecorded);
        // Written before the input is handed over, and only if somebody listens.
        let shown_input = exporter.as_ref().and_then(|_| inputs.peek()).and_then(show_payload);
        let shown_init = exporter.as_ref().and(init.as_ref()).and_then(show_payload);

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
        let span = Span::start(spec, parent.as_ref().map(Context::span_ref), exporter);
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
    /// What it does, for people and models.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.descriptor.description = Some(description.into());
        self
    }

    /// One more metadata member.
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.descriptor.metadata.get_or_insert_default().insert(key.into(), value.into());
        self
    }

    /// All of these metadata members.
    pub fn metadata_from(mut self, metadata: JsonObject) -> Self {
        self.descriptor.metadata.get_or_insert_default().extend(metadata);
        self
    }

    /// Checks inputs by this schema instead of the type's.
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

    /// Checks the output by this schema instead of the type's.
    pub fn output_schema(mut self, schema: Schema) -> Self {
        self.output = Some(schema);
        self
    }

    /// Checks the init by this schema instead of the type's.
    pub fn init_schema(mut self, schema: Schema) -> Self {
        self.init = Some(schema);
        self
    }

    /// Lists this schema for chunks instead of the type's.
    pub fn stream_schema(mut self, schema: Schema) -> Self {
        self.stream = Some(schema);
        self
    }

    /// Makes an action that takes one input.
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

    /// Makes an action that takes an init and a stream of inputs.
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
        // A missing init is an empty one, as official clients differ here, unless
        // the type says itself what is meant by none.
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
        // One `null` here, and the official manager refuses the whole list.
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
