//! What a running action knows: its caller, its place, its end.

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

use oxikit_wire::JsonObject;
use serde::Serialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::call::Extra;
use crate::span::Span;
use crate::{Registry, Result, SpanId, Step, StepKind, TraceId, redact};

/// What a caller brings along: who it is, and whatever else the application
/// wants its actions to know. The member `auth` is the caller's identity; `auth`,
/// `secrets` and members named like a credential never appear in a trace or log.
#[derive(Clone, Default)]
pub struct ActionContext(Option<Arc<JsonObject>>);

impl ActionContext {
    /// One more member.
    #[must_use]
    pub fn with(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        Arc::make_mut(self.0.get_or_insert_default()).insert(key.into(), value.into());
        self
    }

    /// One member.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.as_ref()?.get(key)
    }

    /// The caller's identity.
    pub fn auth(&self) -> Option<&Value> {
        self.get("auth")
    }

    /// Whether nothing was brought along.
    pub fn is_empty(&self) -> bool {
        self.0.as_ref().is_none_or(|members| members.is_empty())
    }

    /// All members, as prompts see them by `@name`.
    pub fn to_object(&self) -> JsonObject {
        self.0.as_deref().cloned().unwrap_or_default()
    }

    /// As traces and logs show it.
    pub(crate) fn redacted(&self) -> Value {
        let mut members = Value::Object(self.to_object());
        redact::value_and(&mut members, &["auth", "secrets"]);
        members
    }
}

impl fmt::Debug for ActionContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.redacted())
    }
}

impl From<JsonObject> for ActionContext {
    fn from(members: JsonObject) -> Self {
        Self(Some(Arc::new(members)))
    }
}

/// The running action, as its own code sees it.
///
/// It is handed to the action's function, and found again by
/// [`Context::current`] anywhere below it, so that a call made inside an action
/// is traced below it, knows its caller, and ends with it. A task started with
/// `tokio::spawn` has no current context; pass it along with
/// [`scope`](Self::scope).
#[derive(Clone)]
pub struct Context(Arc<Inner>);

struct Inner {
    data: ActionContext,
    registry: Registry,
    cancellation: CancellationToken,
    span: Span,
    extra: Option<Extra>,
    /// Unlike `extra`, all calls made below have it too.
    ambient: Option<Extra>,
}

thread_local! {
    static CURRENT: RefCell<Option<Context>> = const { RefCell::new(None) };
}

impl Context {
    pub(crate) fn new(
        data: ActionContext,
        registry: Registry,
        cancellation: CancellationToken,
        span: Span,
        extra: Option<Extra>,
        ambient: Option<Extra>,
    ) -> Self {
        Self(Arc::new(Inner { data, registry, cancellation, span, extra, ambient }))
    }

    /// The same place in the trace, for work that may outlive the action: with a
    /// token of its own, and with something that all calls made below find by
    /// [`ambient`](Self::ambient).
    #[must_use]
    pub fn fork<T: Send + Sync + 'static>(&self, ambient: T) -> Self {
        let Inner { data, registry, span, extra, .. } = &*self.0;
        let (data, registry, span) = (data.clone(), registry.clone(), span.as_parent());
        let ambient: Extra = Arc::new(ambient);
        Self::new(data, registry, CancellationToken::new(), span, extra.clone(), Some(ambient))
    }

    /// The context of the action that runs here, if one does.
    pub fn current() -> Option<Self> {
        CURRENT.with_borrow(Clone::clone)
    }

    /// What the caller brought along.
    pub fn data(&self) -> &ActionContext {
        &self.0.data
    }

    /// The caller's identity.
    pub fn auth(&self) -> Option<&Value> {
        self.0.data.auth()
    }

    /// The registry that the action was called through.
    pub fn registry(&self) -> &Registry {
        &self.0.registry
    }

    /// Fires when the work is no longer wanted. User code is dropped at its next
    /// await then; tasks it has started itself watch this token.
    pub fn cancellation(&self) -> &CancellationToken {
        &self.0.cancellation
    }

    /// The trace of this run.
    pub fn trace_id(&self) -> TraceId {
        self.0.span.trace_id
    }

    /// The span of this run.
    pub fn span_id(&self) -> SpanId {
        self.0.span.span_id
    }

    /// Adds an attribute to the span.
    pub fn set_attribute(&self, key: &str, value: impl Into<Value>) {
        self.0.span.set_attribute(key, value.into());
    }

    /// What the caller handed over by [`Call::with_extra`](crate::Call::with_extra),
    /// if it is a `T`.
    pub fn extra<T: 'static>(&self) -> Option<&T> {
        self.0.extra.as_deref()?.downcast_ref()
    }

    /// What an action above has put around all calls below it by
    /// [`fork`](Self::fork), if it is a `T`.
    pub fn ambient<T: 'static>(&self) -> Option<&T> {
        self.0.ambient.as_deref()?.downcast_ref()
    }

    pub(crate) fn ambient_any(&self) -> Option<Extra> {
        self.0.ambient.clone()
    }

    /// Runs a part of the work as a step of its own in the trace.
    ///
    /// ```
    /// # use oxikit_core::{Action, ActionKind, Call, Context};
    /// # let _ =
    /// Action::builder(ActionKind::Flow, "report").handler(|id: u32, ctx: Context| async move {
    ///     let rows = ctx.step("load", async { Ok(vec![id]) }).await?;
    ///     Ok(rows.len())
    /// })
    /// # ;
    /// ```
    pub async fn step<T: Serialize>(
        &self,
        name: &str,
        work: impl Future<Output = Result<T>> + Send,
    ) -> Result<T> {
        Step::new(StepKind::FlowStep, name).below(self).run(|_| work).await
    }

    /// Runs a future with this context as the current one.
    pub async fn scope<F: Future>(&self, work: F) -> F::Output {
        let mut work = Box::pin(work);
        std::future::poll_fn(|cx| {
            let _entered = self.enter();
            work.as_mut().poll(cx)
        })
        .await
    }

    pub(crate) fn span_ref(&self) -> &Span {
        &self.0.span
    }

    /// Makes this the current context until the guard is dropped.
    pub(crate) fn enter(&self) -> Entered {
        Entered(CURRENT.replace(Some(self.clone())))
    }
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("trace_id", &self.trace_id())
            .field("span_id", &self.span_id())
            .finish_non_exhaustive()
    }
}

/// Puts the former context back when dropped, also when user code panics.
pub(crate) struct Entered(Option<Context>);

impl Drop for Entered {
    fn drop(&mut self) {
        // Not `set`: the former value must be dropped after the cell is released,
        // as its destructor may ask for the current context.
        drop(CURRENT.replace(self.0.take()));
    }
}
