//! Middleware: code around generate calls, model calls and tool runs.
//!
//! | middleware | does |
//! | --- | --- |
//! | [`Retry`] | repeats a model call that failed with a temporary error |
//! | [`Fallback`] | calls other models when one fails |
//! | [`Cache`] | answers repeated requests from memory |
//! | [`Logging`] | logs model calls and tool runs |
//! | [`TrimHistory`], [`SummarizeHistory`] | shorten long conversations |
//!
//! Middleware is added to a call by value ([`Generate::middleware`](crate::Generate::middleware))
//! or by name ([`Generate::middleware_named`](crate::Generate::middleware_named)). The first one
//! is the outermost. It wraps generate calls only, not flows or other actions.
//!
//! ```
//! use oxikit::middleware::{Logging, Retry};
//! use oxikit::prelude::*;
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<()> {
//! let ai = Oxikit::builder().plugin(Offline).default_model("offline/demo").build()?;
//! // The log has one line for the call with all of its retries.
//! let call = ai.generate().middleware(Logging::default()).middleware(Retry::default());
//! call.prompt("Hello").await?;
//! # Ok(()) }
//! ```

mod cache;
mod fallback;
mod history;
mod logging;
mod model_call;
mod registered;
mod retry;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use async_trait::async_trait;
use oxikit_core::ports::PromptOrigin;
use oxikit_core::{Action, Context, Result};
use oxikit_wire::{
    GenerateActionOptions, GenerateRequest, GenerateResponse, GenerateResponseChunk, Part,
};

use crate::Tool;
use crate::tool::run_tool;

pub use cache::Cache;
pub use fallback::Fallback;
pub use history::{SummarizeHistory, TrimHistory};
pub use logging::Logging;
pub(crate) use model_call::ModelStream;
pub(crate) use registered::resolve;
pub use retry::Retry;

/// Code around the parts of a generate call. Every hook may change what it
/// passes on, call `next` several times, or not at all. The default of each hook only calls
/// `next`.
///
/// One value may serve several calls at the same time, so state in it needs a lock.
///
/// ```
/// use oxikit::middleware::{Middleware, NextModel};
/// use oxikit::prelude::*;
/// use oxikit::wire::{GenerateRequest, GenerateResponse};
///
/// /// Keeps every answer short.
/// struct Brief;
///
/// #[oxikit::async_trait]
/// impl Middleware for Brief {
///     async fn model(&self, mut request: GenerateRequest, next: NextModel<'_>) -> Result<GenerateResponse> {
///         request.messages.push(Message::system("One sentence.").into());
///         next.run(request).await
///     }
/// }
/// ```
///
/// Around tools, for example to ask for the approval of a person:
///
/// ```
/// use oxikit::middleware::{Middleware, NextTool};
/// use oxikit::prelude::*;
///
/// /// Lets no tool run before a person has approved it.
/// struct Approval;
///
/// #[oxikit::async_trait]
/// impl Middleware for Approval {
///     async fn tool(&self, request: Part, next: NextTool<'_>) -> Result<Option<Part>> {
///         if request.metadata("resumed").is_none() {
///             return Err(interrupt(json!({ "approve": next.tool_name() })));
///         }
///         next.run(request).await
///     }
/// }
/// ```
#[async_trait]
pub trait Middleware: Send + Sync {
    /// Wraps each turn of the loop: one model call, the tools it asked for, and all turns that
    /// follow. The wrapper of the first turn is around the whole call.
    ///
    /// # Errors
    ///
    /// An error that is returned here ends the generate call.
    async fn generate(&self, turn: Turn, next: NextTurn<'_>) -> Result<GenerateResponse> {
        next.run(turn).await
    }

    /// Wraps each call of a model. The request is what the model gets: with resolved tools,
    /// resources and instructions.
    ///
    /// # Errors
    ///
    /// An error that is returned here ends the generate call.
    async fn model(
        &self,
        request: GenerateRequest,
        next: NextModel<'_>,
    ) -> Result<GenerateResponse> {
        next.run(request).await
    }

    /// Wraps each run of a tool. `request` is a tool request part; the result is
    /// its response part, or `None` for no response at all. Tools of one message run
    /// concurrently, so this may be called again before it returns.
    ///
    /// # Errors
    ///
    /// An error that is returned here ends the generate call; that of
    /// [`interrupt`](crate::interrupt) ends it with the tool request.
    async fn tool(&self, request: Part, next: NextTool<'_>) -> Result<Option<Part>> {
        next.run(request).await
    }

    /// Tools that are offered to the model in every call with this middleware, such as one that
    /// looks up what the middleware has left out.
    fn tools(&self) -> Vec<Tool> {
        Vec::new()
    }
}

/// The middleware of one generate call, outermost first.
pub(crate) type Stack = Arc<[Arc<dyn Middleware>]>;

/// A turn of the generate loop.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Turn {
    /// The options, with the whole conversation up to this turn.
    pub options: GenerateActionOptions,
    /// Number of rounds of tools before this turn. It is 0 for the first turn of a call.
    pub number: u64,
    /// Index of the next streamed message.
    pub message_index: u64,
    /// Number of messages that the call had added to its conversation before this turn.
    pub(crate) added: usize,
}

/// Runs a turn when all middleware around it has been passed. The generate loop implements
/// it, so that this module does not depend on that loop.
#[async_trait]
pub(crate) trait RunTurn: Send + Sync {
    async fn run_turn(&self, turn: Turn) -> Result<GenerateResponse>;
}

/// The rest of the turn: the middleware further inside, then the turn itself.
#[derive(Clone, Copy)]
pub struct NextTurn<'a> {
    pub(crate) rest: &'a [Arc<dyn Middleware>],
    pub(crate) call: &'a dyn RunTurn,
}

impl NextTurn<'_> {
    /// Runs the turn and all that follow. May be called again, for example after a failure.
    ///
    /// # Errors
    ///
    /// If the turn, or one that follows it, fails.
    pub async fn run(&self, turn: Turn) -> Result<GenerateResponse> {
        match self.rest.split_first() {
            Some((first, rest)) => first.generate(turn, NextTurn { rest, ..*self }).await,
            None => self.call.run_turn(turn).await,
        }
    }
}

/// The rest of the model call: the middleware further inside, then the model itself.
#[derive(Clone)]
pub struct NextModel<'a> {
    pub(crate) rest: &'a [Arc<dyn Middleware>],
    pub(crate) model: Action,
    /// The prompt that the generate call begins with. The span of the model call records it.
    pub(crate) origin: Option<&'a PromptOrigin>,
    pub(crate) stream: &'a ModelStream,
}

impl NextModel<'_> {
    /// Calls the model. May be called again, unless [`has_streamed`](Self::has_streamed).
    ///
    /// # Errors
    ///
    /// If the model fails.
    pub async fn run(&self, request: GenerateRequest) -> Result<GenerateResponse> {
        match self.rest.split_first() {
            Some((first, rest)) => first.model(request, NextModel { rest, ..self.clone() }).await,
            None => model_call::call_model(&self.model, request, self.origin, self.stream).await,
        }
    }

    /// The model that would be called.
    pub fn model_name(&self) -> &str {
        self.model.name()
    }

    /// The same call with another model, as [`Fallback`] makes it.
    #[must_use]
    pub fn with_model(&self, model: &crate::Model) -> Self {
        Self { model: model.action().clone(), ..self.clone() }
    }

    /// Whether the reader has already received a chunk of the answer. Then the call must not be
    /// repeated: the reader would get the same text twice.
    pub fn has_streamed(&self) -> bool {
        self.stream.has_begun.load(Ordering::Relaxed)
    }

    /// Sends a chunk of the answer, for middleware that answers without the model.
    ///
    /// # Errors
    ///
    /// `CANCELLED` if the reader of the stream has gone.
    pub async fn emit(&self, chunk: GenerateResponseChunk) -> Result<()> {
        self.stream.out.send(chunk).await
    }
}

/// The rest of the tool run: the middleware further inside, then the tool itself.
#[derive(Clone, Copy)]
pub struct NextTool<'a> {
    pub(crate) rest: &'a [Arc<dyn Middleware>],
    pub(crate) tool: &'a Action,
    pub(crate) ctx: &'a Context,
}

impl NextTool<'_> {
    /// Runs the tool.
    ///
    /// # Errors
    ///
    /// If the tool fails or [interrupts](crate::interrupt).
    pub async fn run(&self, request: Part) -> Result<Option<Part>> {
        match self.rest.split_first() {
            Some((first, rest)) => first.tool(request, NextTool { rest, ..*self }).await,
            None => run_tool(self.tool, request, self.ctx).await.map(Some),
        }
    }

    /// The tool that would be run.
    pub fn tool_name(&self) -> &str {
        self.tool.name()
    }
}

macro_rules! opaque_debug {
    ($($name:ident)*) => {$(
        impl std::fmt::Debug for $name<'_> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($name)).field("rest", &self.rest.len()).finish_non_exhaustive()
            }
        }
    )*};
}

opaque_debug!(NextTurn NextModel NextTool);
