//! What an action is called with.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use oxikit_wire::JsonObject;
use serde::Serialize;

use crate::{ActionContext, Context, InputSender, Inputs, Payload, Registry};

/// A call: the input and what goes with it.
///
/// Made inside a running action, it belongs to that action: same caller, same
/// trace, and it is cancelled with it, also in a task of its own.
pub struct Call {
    pub(crate) inputs: Inputs,
    pub(crate) init: Option<Payload>,
    pub(crate) context: Option<ActionContext>,
    pub(crate) labels: Option<JsonObject>,
    pub(crate) registry: Option<Registry>,
    pub(crate) parent: Option<Context>,
    pub(crate) extra: Option<Extra>,
    pub(crate) is_independent: bool,
    pub(crate) is_unrecorded: bool,
    pub(crate) chunks: WantedChunks,
}

/// What the reader of a run does with chunks.
pub(crate) enum WantedChunks {
    /// Nothing.
    None,
    /// Takes them as they are.
    Typed,
    /// Sends them out of the process.
    Json,
}

/// Something for the action that no protocol can send.
pub(crate) type Extra = Arc<dyn Any + Send + Sync>;

impl Call {
    /// A call with this input. A [`Payload`] is passed on as it is.
    pub fn new<T: Serialize + Send + Sync + 'static>(input: T) -> Self {
        Self::with_inputs(Inputs::one(Some(Payload::of(input))))
    }

    /// A call without input.
    pub fn empty() -> Self {
        Self::with_inputs(Inputs::one(None))
    }

    /// A call whose inputs are sent while it runs.
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
            extra: None,
            is_independent: false,
            is_unrecorded: false,
            chunks: WantedChunks::Typed,
        }
    }

    /// What a conversation starts with, such as the session of an agent.
    #[must_use]
    pub fn with_init(mut self, init: Payload) -> Self {
        self.init = Some(init);
        self
    }

    /// Nobody will read chunks, so they need not be made.
    #[must_use]
    pub fn without_chunks(mut self) -> Self {
        self.chunks = WantedChunks::None;
        self
    }

    /// Chunks go out of the process: they are written as JSON at once, so that
    /// what waits for a slow reader is bounded in bytes.
    #[must_use]
    pub fn for_wire(mut self) -> Self {
        self.chunks = WantedChunks::Json;
        self
    }

    /// Who calls. Without it, the running action's caller calls.
    #[must_use]
    pub fn with_context(mut self, context: ActionContext) -> Self {
        self.context = Some(context);
        self
    }

    /// Labels of the span.
    #[must_use]
    pub fn with_labels(mut self, labels: JsonObject) -> Self {
        self.labels = Some(labels);
        self
    }

    /// Where the action finds others. Without it, where the running action does.
    #[must_use]
    pub fn in_registry(mut self, registry: &Registry) -> Self {
        self.registry = Some(registry.clone());
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

    /// Hands something to the action that no protocol can send; it is found
    /// again by [`Context::extra`].
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
