//! Agents, beyond what the published conformance suite asks.

mod busy;
mod detached;
mod history;
mod sessions;
mod state;

use std::sync::Arc;

use oxikit::prelude::*;
use oxikit::wire::{AgentInit, AgentInput, AgentOutput};
use oxikit::{Call, MemorySessions, Payload};

use crate::generate::{Script, app, asks, fails, says};

/// An application whose model answers `one`, `two`, `three`, `four`.
fn counting() -> (Oxikit, Script) {
    app(["one", "two", "three", "four"].map(says))
}

fn store() -> Arc<MemorySessions> {
    Arc::default()
}

fn user(text: &str) -> AgentInput {
    AgentInput { message: Some(Message::user(text).into()), ..Default::default() }
}

/// One invocation with one input, as a server makes it.
async fn invoke(
    ai: &Oxikit,
    agent: &Agent,
    init: AgentInit,
    input: AgentInput,
) -> Result<AgentOutput> {
    let call = Call::new(input).with_init(Payload::of(init)).in_registry(ai.registry());
    agent.action().run(call).await?.parse()
}

fn in_session(session: &str) -> AgentInit {
    AgentInit { session_id: Some(session.to_owned()), ..Default::default() }
}

fn caller(uid: &str) -> ActionContext {
    ActionContext::default().with("auth", json!({ "uid": uid }))
}
