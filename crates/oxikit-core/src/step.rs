//! Parts of the work that have a span in the trace without being actions.
//!
//! A step has no key, no schemas and no chunks. It runs in the same task as the code that calls
//! it; [`Context::step`] is the short form for flows.

use bytes::Bytes;
use serde::Serialize;

use crate::execution::{Execution, guarded};
use crate::span::{Span, SpanSpec};
use crate::{ActionContext, Context, Registry, Result, StepKind};

/// A part of the work with a span of its own, below the running action,
/// or at the root of a new trace.
///
/// ```
/// use oxikit_core::{Result, Step, StepKind};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<()> {
/// let words = "one two three";
/// let count = Step::new(StepKind::FlowStep, "count words")
///     .input(&words)
///     .run(|_| async { Ok(words.split(' ').count()) })
///     .await?;
/// assert_eq!(count, 3);
/// # Ok(()) }
/// ```
#[derive(Debug)]
#[must_use = "a step does nothing until it is run"]
pub struct Step<'a> {
    kind: StepKind,
    name: &'a str,
    parent: Option<Context>,
    registry: Option<Registry>,
    context: Option<ActionContext>,
    input: Option<Bytes>,
}

impl<'a> Step<'a> {
    /// A step below the running action. Nothing happens before [`run`](Self::run).
    pub fn new(kind: StepKind, name: &'a str) -> Self {
        Self { kind, name, parent: Context::current(), registry: None, context: None, input: None }
    }

    /// Puts the step below this action instead of the running one.
    pub fn below(mut self, ctx: &Context) -> Self {
        self.parent = Some(ctx.clone());
        self
    }

    /// Sets the registry that the step finds actions in. The default is the registry of the running
    /// action.
    pub fn in_registry(mut self, registry: &Registry) -> Self {
        self.registry = Some(registry.clone());
        self
    }

    /// Sets the caller. The default is the caller of the running action.
    pub fn with_context(mut self, context: ActionContext) -> Self {
        self.context = Some(context);
        self
    }

    /// Sets the input that the trace shows. It is serialised here, and only if an exporter
    /// is registered. Call it after [`in_registry`](Self::in_registry).
    pub fn input(mut self, input: &impl Serialize) -> Self {
        if self.registry().is_some_and(|registry| registry.exporter().is_some()) {
            self.input = to_json(input);
        }
        self
    }

    fn registry(&self) -> Option<&Registry> {
        self.registry.as_ref().or_else(|| self.parent.as_ref().map(Context::registry))
    }

    /// Runs the work. It is cancelled with the action above it; a panic becomes `INTERNAL`.
    ///
    /// # Errors
    ///
    /// The status with which the work failed.
    pub async fn run<T, Fut>(self, work: impl FnOnce(Context) -> Fut) -> Result<T>
    where
        T: Serialize,
        Fut: Future<Output = Result<T>> + Send,
    {
        let registry = self.registry().cloned().unwrap_or_default();
        let parent = self.parent.as_ref();
        let data = self.context.or_else(|| parent.map(|parent| parent.data().clone()));
        let data = data.unwrap_or_default();
        let spec = SpanSpec {
            kind: self.kind,
            name: self.name,
            action: None,
            labels: None,
            context: &data,
            input: Some(&|| self.input.clone()),
            init: None,
            secrets: registry.secrets(),
        };
        let span = Span::start(spec, parent.map(Context::span_ref), registry.exporter());
        let cancellation =
            parent.map(|parent| parent.cancellation().child_token()).unwrap_or_default();
        let ambient = parent.and_then(Context::ambient_any);
        let ctx = Context::new(data, registry, cancellation, span, None, ambient);
        let body = guarded(&ctx, || work(ctx.clone()));
        Execution::new(ctx, body, to_json).await
    }
}

fn to_json<T: Serialize>(value: &T) -> Option<Bytes> {
    serde_json::to_vec(value).ok().map(Bytes::from)
}
