//! The one operation of oxikit, and the ports around it.
//!
//! Three types hold everything together:
//! - [`Action`]: something that can be called by key: a flow, a model, a tool, a
//!   prompt, an agent. Inside every action is bidirectional: an init, a stream
//!   of inputs, a stream of chunks, one output. Unary is the case of one input.
//! - [`Run`]: one running of it: chunks, then an output or a [`Status`]. Dropping
//!   it cancels the work.
//! - [`Status`]: the one error, and what of it may leave the process.
//!
//! Values travel between them as [`Payload`]s: JSON text or a typed value, and
//! nothing is parsed or written before it is needed.
//!
//! This crate knows no HTTP, no database and no model provider.
//!
//! ```
//! use oxikit_core::{Action, ActionKind, Call, Context, Emitter, Event};
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), oxikit_core::Status> {
//! let countdown = Action::builder(ActionKind::Flow, "countdown").handler(
//!     |from: u32, _: Context, out: Emitter<u32>| async move {
//!         for n in (1..=from).rev() {
//!             out.send(n).await?;
//!         }
//!         Ok("lift-off")
//!     },
//! );
//!
//! let mut run = countdown.start(Call::new(2))?;
//! let mut seen = Vec::new();
//! while let Some(event) = run.next().await {
//!     match event {
//!         Event::Chunk(chunk) => seen.push(chunk.parse::<u32>()?),
//!         Event::Done(output) => assert_eq!(output.parse::<String>()?, "lift-off"),
//!         Event::Failed(status) => return Err(status),
//!     }
//! }
//! assert_eq!(seen, [2, 1]);
//! # Ok(()) }
//! ```

// Says on docs.rs which feature an item needs.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![warn(clippy::missing_errors_doc, clippy::missing_panics_doc)]

mod action;
mod call;
mod causes;
pub mod chat;
mod check;
mod context;
mod emitter;
mod exact;
mod execution;
mod failure;
mod handler;
mod inputs;
pub mod json_patch;
mod kind;
#[doc(hidden)]
pub mod near;
pub mod notice;
mod panic_text;
mod payload;
pub mod ports;
mod queue;
mod random_id;
pub mod redact;
mod registry;
mod run;
mod schema;
mod secret;
mod span;
mod status;
mod step;
pub mod timestamp;
mod tree;

pub use action::{Action, ActionBuilder};
pub use call::Call;
pub use causes::Causes;
pub use context::{ActionContext, Context};
pub use emitter::Emitter;
pub use exact::check_exact;
pub use handler::{ActionInput, ActionOutput, Handler};
pub use inputs::{InputSender, Inputs};
pub use kind::ActionKind;
pub use oxikit_wire::StatusCode;
pub use panic_text::panic_text;
pub use payload::Payload;
pub use queue::Chunks;
pub use random_id::random_id;
pub use registry::{ActionResolver, Registry, WeakRegistry};
pub use run::{Canceller, Event, Run};
pub use schema::{Schema, model_schema_of};
pub use secret::Secret;
pub use span::{
    OpenSpan, SpanError, SpanExporter, SpanId, SpanRecord, SpanStatus, StepKind, TraceId,
    TraceParent,
};
pub use status::{OutgoingStatus, ResultExt, Status};
pub use step::Step;

/// The result of functions of an application.
pub type Result<T, E = Status> = std::result::Result<T, E>;
