//! `oxikit agent`: lists agents. Conversations are in `agent_chat`.

use serde_json::{Value, json};

use super::args::{AgentArgs, AgentCommand, Target};
use super::client::Client;
use super::failure::Failure;
use super::output::Output;
use super::{action, agent_chat};

pub(super) async fn run(
    args: AgentArgs,
    client: Client,
    output: &mut Output,
) -> Result<(), Failure> {
    match args.command {
        AgentCommand::List { target } => list(&client, &target, output).await,
        AgentCommand::Chat(args) => agent_chat::run(args, client, output).await,
    }
}

async fn list(client: &Client, target: &Target, output: &mut Output) -> Result<(), Failure> {
    let list = action::list(client, target, Some("agent")).await?;
    let agents = list["actions"].as_object().into_iter().flatten();
    let agents = agents.map(|(key, agent)| {
        json!({
            "name": key.strip_prefix("/agent/").unwrap_or(key),
            "description": agent["description"],
            "stateManagement": agent["metadata"]["agent"]["stateManagement"],
        })
    });
    let agents: Vec<Value> = agents.collect();
    if output.is_json() {
        return output.value(&agents);
    }
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let row = |agent: &Value| {
        let kept = match agent["stateManagement"].as_str() {
            Some("server") => "stores sessions",
            _ => "no sessions",
        };
        vec![text(&agent["name"]), kept.to_owned(), text(&agent["description"])]
    };
    output.table(&agents.iter().map(row).collect::<Vec<_>>(), &[0])
}
