//! Agents: listed, and what they have kept.

use std::sync::Arc;

use oxikit_mcp::Effect;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::desk::Desk;
use super::length::{RESULT_LENGTH, cut};
use super::toolbox::{Answer, Toolbox};
use crate::cli::client::{Client, encoded, query};

pub(super) fn add(toolbox: Toolbox) -> Toolbox {
    toolbox
        .tool(
            Effect::Reads,
            "list_agents",
            "Lists the agents of the application, and whether they keep their sessions.",
            list_agents,
        )
        .tool(
            Effect::Reads,
            "list_sessions",
            "Lists the sessions that an agent has kept.",
            list_sessions,
        )
        .tool(
            Effect::Reads,
            "get_session",
            "Shows a session that an agent has kept: its messages, its state and its snapshots.",
            get_session,
        )
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ListAgents {
    /// The runtime to ask, by its id of list_runtimes; else the current one.
    runtime_id: Option<String>,
}

async fn list_agents(desk: Arc<Desk>, args: ListAgents) -> Answer {
    let list = read(&desk.client()?, "/api/agents", args.runtime_id.as_ref(), &[]).await?;
    let agents = list["agents"].as_object().into_iter().flatten();
    let agent = |(name, agent): (&String, &Value)| {
        json!({
            "name": name,
            "description": agent["description"],
            "keepsSessions": agent["hasStore"],
        })
    };
    Ok(json!({"agents": agents.map(agent).collect::<Vec<_>>()}))
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ListSessions {
    /// The name of the agent, as list_agents says it.
    agent_name: String,
    /// Only those where a turn still runs, `active`, or none does, `completed`.
    status: Option<String>,
    /// At most so many, up to 200; 20 if nothing is said.
    #[serde(default, deserialize_with = "oxikit_wire::number::optional_integer")]
    limit: Option<u32>,
    /// Go on behind the answer that said this.
    continuation_token: Option<String>,
    /// The runtime to ask, by its id of list_runtimes; else the current one.
    runtime_id: Option<String>,
}

async fn list_sessions(desk: Arc<Desk>, args: ListSessions) -> Answer {
    let path = format!("/api/agents/{}/sessions", encoded(&args.agent_name));
    let limit = args.limit.unwrap_or(20).to_string();
    let page = [
        ("limit", Some(&limit)),
        ("status", args.status.as_ref()),
        ("continuationToken", args.continuation_token.as_ref()),
    ];
    read(&desk.client()?, &path, args.runtime_id.as_ref(), &page).await
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct GetSession {
    /// The name of the agent, as list_agents says it.
    agent_name: String,
    /// The id of the session.
    session_id: String,
    /// The runtime to ask, by its id of list_runtimes; else the current one.
    runtime_id: Option<String>,
    /// Cut each message, and the state, behind so many characters; 20000 if nothing is
    /// said.
    #[serde(default, deserialize_with = "oxikit_wire::number::optional_integer")]
    max_length: Option<usize>,
}

async fn get_session(desk: Arc<Desk>, args: GetSession) -> Answer {
    let (agent, session) = (encoded(&args.agent_name), encoded(&args.session_id));
    let path = format!("/api/agents/{agent}/sessions/{session}");
    let mut details = read(&desk.client()?, &path, args.runtime_id.as_ref(), &[]).await?;
    let max = args.max_length.unwrap_or(RESULT_LENGTH);
    for thread in details["threads"].as_object_mut().into_iter().flatten() {
        for message in thread.1.as_array_mut().into_iter().flatten() {
            *message = cut(message.take(), max);
        }
    }
    details["state"] = cut(details["state"].take(), max);
    Ok(details)
}

/// Reads of a runtime, named or not.
async fn read(
    client: &Client,
    path: &str,
    runtime: Option<&String>,
    more: &[(&str, Option<&String>)],
) -> Answer {
    let query = query(&[&[("runtime", runtime)], more].concat());
    match client.get(&format!("{path}?{query}")).await {
        Ok(answer) => Ok(answer),
        Err(failure) => Err(client.explain(failure, runtime.map(String::as_str)).await.into()),
    }
}
