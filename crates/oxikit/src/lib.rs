//! Build AI flows, tools, prompts and agents: Genkit for Rust.

mod app;
mod flow;
mod format;
mod model;
mod plugin;

pub use app::{Builder, Oxikit};
pub use flow::Flow;
pub use model::{Model, ModelBuilder};
pub use oxikit_core::{
    Action, ActionContext, ActionKind, Call, Context, Emitter, Event, Payload, Registry, Result,
    ResultExt, Run, Schema, Secret, Status, StatusCode,
};
pub use oxikit_wire as wire;
pub use oxikit_wire::{Document, Message, Part, Role};
pub use plugin::Plugin;
