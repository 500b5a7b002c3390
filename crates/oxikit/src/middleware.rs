//! Middleware: code around generate calls, model calls and tool runs.

mod cache;
mod fallback;
mod history;
mod logging;
mod registered;
mod retry;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use oxikit_core::{Action, Context, Emitter, Result};
use oxikit_wire::{
    GenerateActionOptions, GenerateRequest, GenerateResponse, GenerateResponseChunk, Part,
};

use crate::Tool;
use crate::generate::{model_call, tool_run, turn};

pub use cache::Cache;
pub use fallback::Fallback;
pub use history::{SummarizeHistory, TrimHistory};
pub use logging::Logging;
pub(crate) use registered::resolve;
pub use retry::Retry;

/// Code around the parts of a generate call. Every hook may change what it
/// passes on, call `next` several times, or not at all.
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
#[async_trait]
pub trait Middleware: Send + Sync {
    /// Around each turn of the loop: one model call, the tools it asked for, and
    /// all turns that follow.
    async fn generate(&self, turn: Turn, next: NextTurn<'_>) -> Result<GenerateResponse> {
        next.run(turn).await
    }

    /// Around each call of a model.
    async fn model(
        &self,
        request: GenerateRequest,
        next: NextModel<'_>,
    ) -> Result<GenerateResponse> {
        next.run(request).await
    }

    /// Around each run of a tool. `request` is a tool request part; the answer is
    /// its response part, or `None` for no response at all.
    async fn tool(&self, request: Part, next: NextTool<'_>) -> Result<Option<Part>> {
        next.run(request).await
    }

    /// Tools that come with the middleware.
    fn tools(&self) -> Vec<Tool> {
        Vec::new()
    }
}

/// The middleware of one generate call, outermost first.
pub(crate) type Stack = Arc<[Arc<dyn Middleware>]>;

/// One turn of the generate loop.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Turn {
    /// What is asked for, with the whole conversation up to this turn.
    pub options: GenerateActionOptions,
    /// Counts the rounds of tools, from 0.
    pub number: u64,
    /// Index of the next streamed message.
    pub message_index: u64,
    /// How many messages were said before this turn.
    pub(crate) said: usize,
}

/// Goes on with the turn.
#[derive(Clone, Copy)]
pub struct NextTurn<'a> {
    pub(crate) rest: &'a [Arc<dyn Middleware>],
    pub(crate) call: &'a turn::GenerateCall,
}

impl NextTurn<'_> {
    /// Runs the turn and all that follow.
    pub async fn run(&self, turn: Turn) -> Result<GenerateResponse> {
        match self.rest.split_first() {
            Some((first, rest)) => first.generate(turn, NextTurn { rest, ..*self }).await,
            None => turn::run_turn(self.call, turn).await,
        }
    }
}

/// Goes on with the call of the model.
#[derive(Clone)]
pub struct NextModel<'a> {
    pub(crate) rest: &'a [Arc<dyn Middleware>],
    pub(crate) model: Action,
    pub(crate) stream: &'a ModelStream,
}

/// Where the pieces of a model's answer go.
#[derive(Debug)]
pub(crate) struct ModelStream {
    pub(crate) out: Emitter<GenerateResponseChunk>,
    pub(crate) has_begun: Arc<AtomicBool>,
}

impl NextModel<'_> {
    /// Calls the model.
    pub async fn run(&self, request: GenerateRequest) -> Result<GenerateResponse> {
        match self.rest.split_first() {
            Some((first, rest)) => first.model(request, NextModel { rest, ..self.clone() }).await,
            None => model_call::call_model(&self.model, request, self.stream).await,
        }
    }

    /// The model that would be called.
    pub fn model_name(&self) -> &str {
        self.model.name()
    }

    /// The same with another model.
    #[must_use]
    pub fn with_model(&self, model: &crate::Model) -> Self {
        Self { model: model.action().clone(), ..self.clone() }
    }

    /// Whether the reader has already got a piece of the answer. Then it is too
    /// late to begin again: the reader would get the same words twice.
    pub fn has_streamed(&self) -> bool {
        self.stream.has_begun.load(Ordering::Relaxed)
    }

    /// Sends a piece of the answer, for middleware that answers by itself.
    pub async fn emit(&self, chunk: GenerateResponseChunk) -> Result<()> {
        self.stream.out.send(chunk).await
    }
}

/// Goes on with the run of the tool.
#[derive(Clone, Copy)]
pub struct NextTool<'a> {
    pub(crate) rest: &'a [Arc<dyn Middleware>],
    pub(crate) tool: &'a Action,
    pub(crate) ctx: &'a Context,
}

impl NextTool<'_> {
    /// Runs the tool.
    pub async fn run(&self, request: Part) -> Result<Option<Part>> {
        match self.rest.split_first() {
            Some((first, rest)) => first.tool(request, NextTool { rest, ..*self }).await,
            None => tool_run::run_tool(self.tool, request, self.ctx).await.map(Some),
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
