//! Agents: with a store, without one, and one whose turns are code.

use std::time::Duration;

use oxikit::prelude::*;
use oxikit::wire::{AgentFinishReason, Artifact, GenerateResponseChunk};
use oxikit::{MemorySessions, Role, Turn, TurnReply};

use crate::model;

pub(crate) fn define(ai: &Oxikit) -> Result<()> {
    let brief = |name, description| {
        Agent::builder(name).description(description).model(model::NAME).system("be brief")
    };
    ai.define_agent(
        brief("storeAgent", "agent with a server side store")
            .tool_named("add")
            .tool_named("askUser")
            .store(MemorySessions::default()),
    )?;
    ai.define_agent(brief("clientAgent", "agent without a store"))?;
    ai.define_agent(
        Agent::builder("customAgent")
            .description("custom agent with state and artifacts")
            .turn(acknowledge)
            .state::<Turns>()
            .store(MemorySessions::default()),
    )?;
    Ok(())
}

#[derive(Default, Serialize, Deserialize, JsonSchema)]
struct Turns {
    turns: u32,
}

/// Stores its inputs in its state. `fail` and `sleep MS` are commands.
async fn acknowledge(turn: Turn<Turns>) -> Result<TurnReply> {
    turn.update(|state| state.turns += 1).await?;
    let text = turn.text();
    if text == "fail" {
        return Err(Status::internal("turn failed"));
    }
    if let Some(ms) = text.strip_prefix("sleep ") {
        let ms = ms.parse().map_err(|_| Status::invalid_argument("sleep how long?"))?;
        tokio::time::sleep(Duration::from_millis(ms)).await;
    }
    let answer = format!("ack {text}");
    let role = Some(Role::Model);
    turn.emit(GenerateResponseChunk { role, ..GenerateResponseChunk::text(&answer) }).await?;
    let parts = vec![Part::text(text)];
    turn.add_artifact(Artifact { name: Some("note".to_owned()), parts, metadata: None }).await?;
    let artifacts = turn.session().artifacts();
    Ok(turn.answer(answer).with_artifacts(artifacts).because(AgentFinishReason::Stop))
}
