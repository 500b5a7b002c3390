//! Flows, models, tools, prompts and agents: what an application is written with.
//!
//! Applications use this crate through the facade `oxikit`, which re-exports all of it, so the
//! examples here say `oxikit`. An application without the facade names this crate so:
//! `oxikit = { package = "oxikit-ai", version = "0.1" }`.
//!
//! An application is an [`Oxikit`]. What is defined on it becomes an
//! [`Action`]: checked by schema, traced, streamed and cancelled alike, whoever
//! calls it. [`prelude`] brings what most programs need.
//!
//! ```
//! use oxikit::prelude::*;
//!
//! /// Adds two numbers.
//! #[tool]
//! async fn add(a: f64, b: f64) -> f64 {
//!     a + b
//! }
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<()> {
//! let ai = Oxikit::builder().plugin(Offline).default_model("offline/demo").build()?;
//! let sum = ai.define_flow("sum", |question: String, ctx: Context| async move {
//!     Ok(ctx.generate().prompt(question).tool(add()).await?.text())
//! });
//! println!("{}", sum.run("What does add say about 2 and 3?").await?);
//! # Ok(()) }
//! ```
//!
//! | to | see |
//! | --- | --- |
//! | write the application's own work | [`Oxikit::define_flow`] |
//! | ask a model | [`Oxikit::generate`], [`Generate`] |
//! | let a model act | [`tool`], [`Tool`], [`interrupt`] |
//! | keep a conversation | [`Oxikit::define_agent`], [`Agent::chat`], [`Session`] |
//! | keep prompts in files | [`Oxikit::load_prompts`], [`Oxikit::prompt`] |
//! | load prompts from a prompt manager | [`Oxikit::load_prompts_from`], [`PromptSource`] |
//! | wrap calls: retry, fallback, cache, logging | [`middleware`] |
//! | answer from documents | [`Oxikit::embed`], [`Oxikit::retrieve`], [`MemoryVectorStore`] |
//! | judge results | [`Oxikit::evaluate`], [`Evaluator`] |
//! | run without a key | [`offline`] |

#![warn(clippy::missing_errors_doc, clippy::missing_panics_doc)]

mod agent;
mod answer;
mod app;
mod embed;
mod evaluate;
mod file_sessions;
mod flow;
mod format;
mod generate;
mod handle;
mod lookup;
pub mod middleware;
mod model;
pub mod offline;
mod offline_embed;
mod operation;
mod plugin;
mod prompt;
mod rerank;
mod resource;
mod retrieve;
mod tool;
mod vector_store;

pub use agent::{Agent, AgentBuilder, Session, SessionExt, Turn, TurnReply, WhileBusy};
pub use app::{Oxikit, OxikitBuilder};
pub use async_trait::async_trait;
pub use embed::{EmbedCall, EmbedManyCall, Embedder, EmbedderBuilder};
pub use evaluate::{EvaluateCall, Evaluator, EvaluatorBuilder};
pub use file_sessions::{FileLayout, FileSessions};
pub use flow::{Flow, FlowInput, FlowStream};
pub use generate::{Generate, GenerateExt, GenerateStream, ModelRef, Reply};
pub use model::{Model, ModelBuilder};
pub use offline_embed::offline_embedder;
pub use operation::{
    BackgroundAction, BackgroundActionBuilder, BackgroundModel, BackgroundModelBuilder,
    BackgroundStart,
};
pub use oxikit_core::chat::{Chat, ChatReply, ChatTurn, DetachedTurn, LocalAgent, ToolInterrupt};
pub use oxikit_core::ports::memory::MemorySessions;
pub use oxikit_core::ports::{
    PromptOrigin, PromptSource, PromptText, PromptTextKind, SessionStore, StreamStore, TaskStore,
};
pub use oxikit_core::{
    Action, ActionContext, ActionKind, Call, Context, Emitter, Event, OpenSpan, Payload, Registry,
    Result, ResultExt, Run, Schema, Secret, SpanExporter, SpanId, SpanRecord, Status, StatusCode,
    TraceId, TraceParent,
};
pub use oxikit_macros::tool;
pub use oxikit_wire as wire;
pub use oxikit_wire::{Document, Message, Part, Role};
pub use oxikit_wire::{
    EmbedRequest, EmbedResponse, Embedding, EvalDataPoint, EvalFnResponse, EvalStatus,
    IndexRequest, Operation, RankedDocument, RerankRequest, RerankResponse, RetrieveRequest,
    RetrieveResponse, Score, Scores,
};
pub use plugin::Plugin;
pub use prompt::{LoadedPrompts, Prompt, PromptBuilder, PromptExt};
pub use rerank::{RerankCall, Reranker};
pub use resource::{Resource, ResourceBuilder, ResourceContent, ResourceRequest};
pub use retrieve::{IndexCall, Indexer, RetrievalExt, RetrieveCall, Retriever, RetrieverBuilder};
pub use tool::{Tool, ToolBuilder, ToolContext, interrupt, respond_to, restart_of};
pub use vector_store::{MemoryVectorStore, MemoryVectorStoreOptions};

/// The items that most programs need: `use oxikit::prelude::*;`.
pub mod prelude {
    pub use crate::offline::Offline;
    pub use crate::{
        ActionContext, Agent, Context, Document, Emitter, GenerateExt, Message, Oxikit, Part,
        Prompt, PromptExt, Result, ResultExt, RetrievalExt, SessionExt, Status, StatusCode, Tool,
        ToolContext, interrupt, respond_to, restart_of, tool,
    };
    pub use schemars::JsonSchema;
    pub use serde::{Deserialize, Serialize};
    pub use serde_json::{Value, json};
}

/// For the code that macros write.
#[doc(hidden)]
pub mod __private {
    pub use {schemars, serde};
}

// Code that `#[tool]` writes names `::oxikit`, the crate that applications use. Inside of this
// crate that name has to mean this crate.
extern crate self as oxikit;
