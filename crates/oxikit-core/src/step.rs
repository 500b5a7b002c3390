//! Parts of the work that show in the trace without being actions.

use bytes::Bytes;
use serde::Serialize;

use crate::execution::{Execution, guarded};
use crate::span::{Span, SpanSpec};
use crate::{ActionContext, Context, Registry, Result, StepKind};

/// A part of the work with a span of its own, below the action that runs here,
/// or at the root of a new trace.
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
    /// A step below the action that runs here.
    pub fn new(kind: StepKind, name: &'a str) -> Self {
        Self { kind, name, parent: Context::current(), registry: None, context: None, input: None }
    }

    /// Puts the step below this action.
    pub fn below(mut self, ctx: &Context) -> Self {
        self.parent = Some(ctx.clone());
        self
    }

    /// Where the work finds actions. Without it, where the running action does.
    pub fn in_registry(mut self, registry: &Registry) -> Self {
        self.registry = Some(registry.clone());
        self
    }

    /// Who calls. Without it, the running action's caller.
    pub fn with_context(mut self, context: ActionContext) -> Self {
        self.context = Some(context);
        self
    }

    /// What the trace shows as the input; nothing is written unless somebody
    /// listens.
    pub fn input(mut self, input: &impl Serialize) -> Self {
        if self.registry().is_some_and(|registry| registry.exporter().is_some()) {
            self.input = to_json(input);
        }
        self
    }

    fn registry(&self) -> Option<&Registry> {
        self.registry.as_ref().or_else(|| self.parent.as_ref().map(Context::registry))
    }

    /// Runs the work.
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
