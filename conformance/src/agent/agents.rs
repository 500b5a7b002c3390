//! The agents that the tests talk to, and the model behind them.

use std::sync::{Arc, Mutex, PoisonError};

use oxikit::{
    Agent, AgentBuilder, Context, Model, Oxikit, Result, Status, StatusCode, Tool, ToolContext,
    Turn, TurnReply, interrupt,
};
use oxikit_core::ports::SessionStore;
use oxikit_wire::{Artifact, GenerateResponse, GenerateResponseChunk, Part};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

const MODEL: &str = "programmableModel";

/// What the model says at each call of a step.
#[derive(Clone, Default)]
pub(super) struct Script(Arc<Mutex<Lines>>);

#[derive(Default)]
struct Lines {
    calls: usize,
    chunks: Vec<Vec<GenerateResponseChunk>>,
    responses: Vec<GenerateResponse>,
}

impl Script {
    /// Begins anew with these lines.
    pub(super) fn set(&self, chunks: &[Vec<Value>], responses: &[Value]) -> Result<()> {
        let chunks = serde_json::from_value(json!(chunks))?;
        let responses = serde_json::from_value(json!(responses))?;
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) =
            Lines { calls: 0, chunks, responses };
        Ok(())
    }

    fn next(&self) -> (Vec<GenerateResponseChunk>, Option<GenerateResponse>) {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let call = lines.calls;
        lines.calls += 1;
        let chunks = lines.chunks.get(call).cloned().unwrap_or_default();
        (chunks, lines.responses.get(call).cloned())
    }
}

/// An application with the agent of this name.
pub(super) fn application(
    name: &str,
    store: Arc<dyn SessionStore>,
    script: Script,
) -> Result<(Oxikit, Agent)> {
    let ai = Oxikit::builder().build()?;
    ai.define_model(Model::builder(MODEL).handler(move |_, _, out| {
        let (chunks, response) = script.next();
        async move {
            for chunk in chunks {
                out.send(chunk).await?;
            }
            response.ok_or_else(|| Status::internal("the script is over"))
        }
    }));
    let agent = ai.define_agent(agent(name, store)?)?;
    Ok((ai, agent))
}

fn agent(name: &str, store: Arc<dyn SessionStore>) -> Result<AgentBuilder> {
    let plain = Agent::builder(name);
    let by_prompt = Agent::builder(name).model(MODEL).config(json!({ "temperature": 1 }));
    Ok(match name {
        "promptAgent" => by_prompt,
        "promptAgentWithStore" => by_prompt.shared_store(store),
        "promptAgentWithTools" => by_prompt.tool(test_tool()),
        "promptAgentWithInterrupt" => by_prompt.tool(interrupt_tool()).shared_store(store),
        "promptAgentWithRestartTool" => by_prompt.tool(restart_tool()).shared_store(store),
        "customAgentBlocking" => plain.turn(wait_for_abort).shared_store(store),
        "customAgentFailing" => plain.turn(fail).shared_store(store),
        "customAgentWithArtifacts" => plain.turn(make_three_artifacts),
        "customAgentWithArtifactsStore" => plain.turn(make_next_artifact).shared_store(store),
        "customAgentWithCustomState" => plain.turn(count),
        "customAgentWithCustomStateStore" => plain.turn(count).shared_store(store),
        "customAgentWithMultiCustomState" => plain.turn(change_three_times),
        _ => return Err(Status::internal(format!("there is no test agent `{name}`"))),
    })
}

fn test_tool() -> Tool {
    Tool::new("testTool", "description", |_: Value| async { Ok("tool called") })
}

#[derive(Deserialize, JsonSchema)]
struct Query {
    #[expect(dead_code, reason = "only its schema is of use")]
    query: String,
}

fn interrupt_tool() -> Tool {
    Tool::interrupt::<Query>("interruptTool", "description")
}

#[derive(Deserialize, JsonSchema)]
struct Action {
    action: String,
}

fn restart_tool() -> Tool {
    Tool::new("restartTool", "description", |input: Action, ctx: Context| async move {
        if ctx.resumed().is_none() {
            return Err(interrupt(json!({ "requiresConfirmation": true })));
        }
        Ok(json!({ "result": format!("confirmed: {}", input.action) }))
    })
}

async fn wait_for_abort(turn: Turn) -> Result<TurnReply> {
    turn.context().cancellation().cancelled().await;
    Ok(TurnReply::text("unblocked"))
}

async fn fail(_: Turn) -> Result<TurnReply> {
    Err(Status::public(StatusCode::Internal, "intentional failure"))
}

async fn make_three_artifacts(turn: Turn) -> Result<TurnReply> {
    for (name, text) in [("doc1", "v1"), ("doc1", "v2"), ("doc2", "other")] {
        turn.add_artifact(artifact(name, text)).await?;
    }
    Ok(TurnReply::text("done").with_artifacts(turn.session().artifacts()))
}

async fn make_next_artifact(turn: Turn) -> Result<TurnReply> {
    let number = turn.session().artifacts().len() + 1;
    turn.add_artifact(artifact(&format!("doc{number}"), &format!("content{number}"))).await?;
    Ok(TurnReply::text("done").with_artifacts(turn.session().artifacts()))
}

fn artifact(name: &str, text: &str) -> Artifact {
    Artifact { name: Some(name.to_owned()), parts: vec![Part::text(text)], metadata: None }
}

#[derive(Default, Serialize, Deserialize, JsonSchema)]
struct Counter {
    counter: u32,
}

async fn count(turn: Turn<Counter>) -> Result<TurnReply> {
    turn.update(|state| state.counter += 1).await?;
    Ok(TurnReply::text("done"))
}

#[derive(Default, Serialize, Deserialize, JsonSchema)]
struct Progress {
    counter: u32,
    status: String,
}

async fn change_three_times(turn: Turn<Progress>) -> Result<TurnReply> {
    turn.update(|state| *state = Progress { counter: 1, status: "working".to_owned() }).await?;
    turn.update(|state| state.counter = 2).await?;
    turn.update(|state| "done".clone_into(&mut state.status)).await?;
    Ok(TurnReply::text("done"))
}
