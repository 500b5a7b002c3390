//! The arguments of a call: input, caller, registry, and which chunks are wanted.
//!
//! A [`Call`] only collects them. [`Action::start`](crate::Action::start) and
//! [`Action::run`](crate::Action::run) decide what is inherited from the running action.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use oxikit_wire::JsonObject;
use serde::Serialize;

use crate::{ActionContext, Context, InputSender, Inputs, Payload, Registry, TraceParent};

/// The arguments of one call: the input, and on whose behalf and how it runs.
///
/// A call that is made inside a running action belongs to that action: it has the same caller and
/// the same trace, and it is cancelled with it, also if it runs in a task of its own. "Inside"
/// means where the call is made, not where it is started.
///
/// ```
/// use oxikit_core::{Action, ActionContext, ActionKind, Call, Context, Result};
/// use serde_json::json;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<()> {
/// let greet = Action::builder(ActionKind::Flow, "greet").handler(|_: (), ctx: Context| async move {
///     let name = ctx.auth().and_then(|auth| auth["name"].as_str()).unwrap_or("stranger").to_owned();
///     Ok(format!("Hello, {name}!"))
/// });
/// let caller = ActionContext::default().with("auth", json!({ "name": "Ada" }));
/// let greeting = greet.run(Call::empty().with_context(caller)).await?;
/// assert_eq!(greeting.parse::<String>()?, "Hello, Ada!");
/// # Ok(()) }
/// ```
pub struct Call {
    pub(crate) inputs: Inputs,
    pub(crate) init: Option<Payload>,
    /// The caller; `None` inherits it from the parent.
    pub(crate) context: Option<ActionContext>,
    pub(crate) labels: Option<JsonObject>,
    /// The registry for further lookups; `None` inherits it from the parent.
    pub(crate) registry: Option<Registry>,
    /// The action that was running when the call was made.
    pub(crate) parent: Option<Context>,
    /// The span of another process that the call belongs to.
    pub(crate) remote_parent: Option<TraceParent>,
    pub(crate) extra: Option<Extra>,
    /// Whether the call goes on when its parent is cancelled.
    pub(crate) is_independent: bool,
    /// Whether the action gets no span of its own.
    pub(crate) is_unrecorded: bool,
    pub(crate) chunks: WantedChunks,
}

/// The form in which the reader of a run wants its chunks.
pub(crate) enum WantedChunks {
    /// No chunks: the action has an emitter without a reader.
    None,
    /// Typed values, for a reader in this process.
    Typed,
    /// JSON text, for a reader that sends them out of the process.
    Json,
}

/// A value for the action that no protocol can send, such as a channel.
pub(crate) type Extra = Arc<dyn Any + Send + Sync>;

impl Call {
    /// A call with this input. A [`Payload`] is passed on as it is, other values stay typed: an
    /// action that takes the same type gets the value without any JSON in between.
    pub fn new<T: Serialize + Send + Sync + 'static>(input: T) -> Self {
        Self::with_inputs(Inputs::one(Some(Payload::of(input))))
    }

    /// A call without input, for actions that take `()` or an `Option`.
    pub fn empty() -> Self {
        Self::with_inputs(Inputs::one(None))
    }

    /// A call whose inputs are sent while it runs. The inputs end when all clones of the sender
    /// are dropped. See [`ActionBuilder::bidi`](crate::ActionBuilder::bidi) for an example.
    pub fn streaming() -> (InputSender, Self) {
        let (sender, inputs) = Inputs::stream();
        (sender, Self::with_inputs(inputs))
    }

    fn with_inputs(inputs: Inputs) -> Self {
        Self {
            inputs,
            init: None,
            context: None,
            labels: None,
            registry: None,
            parent: Context::current(),
            remote_parent: None,
            extra: None,
            is_independent: false,
            is_unrecorded: false,
            chunks: WantedChunks::Typed,
        }
    }

    /// Sets the value that a conversation starts with, such as the session of an agent.
    #[must_use]
    pub fn with_init(mut self, init: Payload) -> Self {
        self.init = Some(init);
        self
    }

    /// Declares that no chunks will be read, so that the action need not produce them.
    #[must_use]
    pub fn without_chunks(mut self) -> Self {
        self.chunks = WantedChunks::None;
        self
    }

    /// Declares that chunks leave the process. They are written as JSON when they are sent, so
    /// that the queue for a slow reader is bounded in bytes, and not only in their number.
    #[must_use]
    pub fn for_wire(mut self) -> Self {
        self.chunks = WantedChunks::Json;
        self
    }

    /// Sets the caller. The default is the caller of the running action.
    #[must_use]
    pub fn with_context(mut self, context: ActionContext) -> Self {
        self.context = Some(context);
        self
    }

    /// Sets the labels of the span, by which traces can be filtered.
    #[must_use]
    pub fn with_labels(mut self, labels: JsonObject) -> Self {
        self.labels = Some(labels);
        self
    }

    /// Sets the registry that the action finds others in. The default is the registry of the
    /// running action.
    #[must_use]
    pub fn in_registry(mut self, registry: &Registry) -> Self {
        self.registry = Some(registry.clone());
        self
    }

    /// Lets the call continue the trace of another process. It has no effect inside a running
    /// action, whose trace the call continues.
    #[must_use]
    pub fn below(mut self, parent: Option<TraceParent>) -> Self {
        self.remote_parent = parent;
        self
    }

    /// Lets the call go on when the running action is cancelled. Caller and trace
    /// stay the same.
    #[must_use]
    pub fn independent(mut self) -> Self {
        self.is_independent = true;
        self
    }

    /// Records no span of the action: for calls that only look at something, such as
    /// one that shows a session, and would fill the list of traces. Its steps and the
    /// actions that it calls are recorded as usual.
    ///
    /// ```
    /// # use oxikit_core::{Action, ActionKind, Call, Context, Registry, Result};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<()> {
    /// # let app = Registry::default();
    /// let count = Action::builder(ActionKind::Flow, "count")
    ///     .handler(|words: String, _: Context| async move { Ok(words.split(' ').count()) });
    /// let call = Call::new("a b c".to_owned()).in_registry(&app).unrecorded();
    /// assert_eq!(count.run(call).await?.parse::<usize>()?, 3);
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn unrecorded(mut self) -> Self {
        self.is_unrecorded = true;
        self
    }

    /// Passes a value to the action that no protocol can send, such as a channel. The action reads
    /// it by [`Context::extra`]; calls that it makes do not inherit it.
    #[must_use]
    pub fn with_extra<T: Send + Sync + 'static>(mut self, extra: T) -> Self {
        self.extra = Some(Arc::new(extra));
        self
    }
}

impl fmt::Debug for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Call").field("inputs", &self.inputs).finish_non_exhaustive()
    }
}
