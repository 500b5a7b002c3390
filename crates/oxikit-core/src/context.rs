//! The context of a running action: its caller, its registry and span, its cancellation.
//!
//! The context is both passed to the function of an action and kept in a thread-local variable
//! while its future is polled. So code below it finds the context without passing it through every
//! function. The variable is set for each single poll, because the next poll may be on another
//! thread.

use std::cell::RefCell;
use std::fmt;
use std::sync::Arc;

use oxikit_wire::JsonObject;
use serde::Serialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::call::Extra;
use crate::span::Span;
use crate::{Registry, Result, SpanId, Step, StepKind, TraceId, TraceParent, redact};

/// The data of a caller: its identity, and whatever else the application
/// wants its actions to know. The member `auth` is the caller's identity; `auth`,
/// `secrets` and members named like a credential never appear in a trace or log.
///
/// Servers fill it from the request; other callers set it by
/// [`Call::with_context`](crate::Call::with_context). Calls that an action makes inherit it.
/// Cheap to clone.
///
/// ```
/// use oxikit_core::ActionContext;
/// use serde_json::json;
///
/// let caller = ActionContext::default()
///     .with("auth", json!({ "uid": "ada" }))
///     .with("language", "en");
/// assert_eq!(caller.auth().unwrap()["uid"], "ada");
/// assert_eq!(caller.get("language").unwrap(), "en");
/// // The identity does not appear in logs.
/// assert!(!format!("{caller:?}").contains("ada"));
/// ```
#[derive(Clone, Default)]
pub struct ActionContext(Option<Arc<JsonObject>>);

impl ActionContext {
    /// Adds a member; it replaces a member of the same name.
    #[must_use]
    pub fn with(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        Arc::make_mut(self.0.get_or_insert_default()).insert(key.into(), value.into());
        self
    }

    /// The member of this name.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.as_ref()?.get(key)
    }

    /// The caller's identity: the member `auth`. `None` for a caller that is not authenticated.
    pub fn auth(&self) -> Option<&Value> {
        self.get("auth")
    }

    /// Whether there are no members.
    pub fn is_empty(&self) -> bool {
        self.0.as_ref().is_none_or(|members| members.is_empty())
    }

    /// All members, as prompts see them by `@name`.
    pub fn to_object(&self) -> JsonObject {
        self.0.as_deref().cloned().unwrap_or_default()
    }

    /// The members as traces and logs show them: secrets are replaced.
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
///
/// ```
/// use oxikit_core::{Action, ActionKind, Call, Context, Result};
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<()> {
/// let flow = Action::builder(ActionKind::Flow, "trace").handler(|_: (), ctx: Context| async move {
///     // The same context, found without the argument.
///     let current = Context::current().expect("an action is running");
///     assert_eq!(current.span_id(), ctx.span_id());
///
///     // A task does not inherit it, so it is passed along.
///     let task = async move { ctx.scope(async { Context::current().is_some() }).await };
///     Ok(tokio::spawn(task).await?)
/// });
/// assert!(flow.run(Call::empty()).await?.parse::<bool>()?);
/// assert!(Context::current().is_none());
/// # Ok(()) }
/// ```
#[derive(Clone)]
pub struct Context(Arc<Inner>);

struct Inner {
    data: ActionContext,
    registry: Registry,
    cancellation: CancellationToken,
    span: Span,
    extra: Option<Extra>,
    /// Unlike `extra`, all calls made below have it too.
    ambient: Option<Ambient>,
}

/// The values that all calls below a context share.
#[derive(Clone)]
pub(crate) struct Ambient {
    value: Extra,
    session_id: Option<Arc<str>>,
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
        ambient: Option<Ambient>,
    ) -> Self {
        Self(Arc::new(Inner { data, registry, cancellation, span, extra, ambient }))
    }

    /// A context for work that may outlive the action. It has the same place in the trace and the
    /// same caller, but a cancellation token of its own. All calls made below it find the value
    /// by [`ambient`](Self::ambient).
    #[must_use]
    pub fn fork<T: Send + Sync + 'static>(&self, ambient: T) -> Self {
        let session_id = self.0.ambient.as_ref().and_then(|ambient| ambient.session_id.clone());
        self.fork_with(Ambient { value: Arc::new(ambient), session_id })
    }

    /// The same for the work of an agent: all calls made below it find the id of the session by
    /// [`session_id`](Self::session_id).
    #[must_use]
    pub fn fork_session<T: Send + Sync + 'static>(&self, session_id: &str, ambient: T) -> Self {
        self.fork_with(Ambient { value: Arc::new(ambient), session_id: Some(session_id.into()) })
    }

    fn fork_with(&self, ambient: Ambient) -> Self {
        let Inner { data, registry, span, extra, .. } = &*self.0;
        let (data, registry, span) = (data.clone(), registry.clone(), span.as_parent());
        Self::new(data, registry, CancellationToken::new(), span, extra.clone(), Some(ambient))
    }

    /// The context of the running action; `None` outside of actions, and in tasks that an action
    /// has spawned without [`scope`](Self::scope).
    pub fn current() -> Option<Self> {
        CURRENT.with_borrow(Clone::clone)
    }

    /// The data of the caller.
    pub fn data(&self) -> &ActionContext {
        &self.0.data
    }

    /// The caller's identity; short for `data().auth()`.
    pub fn auth(&self) -> Option<&Value> {
        self.0.data.auth()
    }

    /// The registry that the action was called through, to look up other actions.
    pub fn registry(&self) -> &Registry {
        &self.0.registry
    }

    /// The token that fires when this action is cancelled. The function of the action need not
    /// watch it, because its future is dropped at the next await. Tasks that it has spawned are
    /// not dropped: they must watch the token.
    pub fn cancellation(&self) -> &CancellationToken {
        &self.0.cancellation
    }

    /// The id of the trace of this run, for example for log lines.
    pub fn trace_id(&self) -> TraceId {
        self.0.span.trace_id
    }

    /// The id of the span of this run.
    pub fn span_id(&self) -> SpanId {
        self.0.span.span_id
    }

    /// The action's span, as calls to other processes name it.
    pub fn trace_parent(&self) -> TraceParent {
        TraceParent { trace_id: self.trace_id(), span_id: self.span_id() }
    }

    /// Adds an attribute to the span; it replaces one of the same name. Secrets in it are covered.
    /// Without an exporter, or after the span has ended, nothing happens.
    pub fn set_attribute(&self, key: &str, value: impl Into<Value>) {
        self.0.span.set_attribute(key, value.into());
    }

    /// The value that the caller passed by [`Call::with_extra`](crate::Call::with_extra),
    /// if it is a `T`.
    pub fn extra<T: 'static>(&self) -> Option<&T> {
        self.0.extra.as_deref()?.downcast_ref()
    }

    /// The value that an outer action has set for all calls below it by
    /// [`fork`](Self::fork), if it is a `T`.
    pub fn ambient<T: 'static>(&self) -> Option<&T> {
        self.0.ambient.as_ref()?.value.downcast_ref()
    }

    /// The id of the session of the agent that this code runs for; `None` outside of agents.
    ///
    /// ```
    /// use oxikit_core::{Action, ActionKind, Call, Context, Result};
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<()> {
    /// let tool = Action::builder(ActionKind::Tool, "where").handler(|_: (), ctx: Context| async move {
    ///     Ok(ctx.session_id().map(str::to_owned))
    /// });
    /// assert_eq!(tool.run(Call::empty()).await?.parse::<Option<String>>()?, None);
    /// # Ok(()) }
    /// ```
    pub fn session_id(&self) -> Option<&str> {
        self.0.ambient.as_ref()?.session_id.as_deref()
    }

    pub(crate) fn ambient_any(&self) -> Option<Ambient> {
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
    ///
    /// # Errors
    ///
    /// The status with which the work failed.
    pub async fn step<T: Serialize>(
        &self,
        name: &str,
        work: impl Future<Output = Result<T>> + Send,
    ) -> Result<T> {
        Step::new(StepKind::FlowStep, name).below(self).run(|_| work).await
    }

    /// Runs a future with this context as the current one, for code in a task of its own.
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

/// Puts the previous context back when dropped, also when user code panics.
pub(crate) struct Entered(Option<Context>);

impl Drop for Entered {
    fn drop(&mut self) {
        // Not `set`: the previous value must be dropped after the cell is released,
        // as its destructor may ask for the current context.
        drop(CURRENT.replace(self.0.take()));
    }
}
