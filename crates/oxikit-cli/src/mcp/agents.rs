//! Tools that list agents and show their stored sessions.

use std::sync::Arc;

use oxikit_mcp::Effect;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::length::{RESULT_LENGTH, cut};
use super::state::McpState;
use super::tool_registry::{ToolRegistry, ToolResult};
use crate::client::{Client, encoded, query};

pub(super) fn add(registry: ToolRegistry) -> ToolRegistry {
    registry
        .tool(
            Effect::Reads,
            "list_agents",
            "Lists the agents of the application, and whether they store their sessions.",
            list_agents,
        )
        .tool(
            Effect::Reads,
            "list_sessions",
            "Lists the stored sessions of an agent.",
            list_sessions,
        )
        .tool(
            Effect::Reads,
            "get_session",
            "Shows a stored session of an agent: its messages, its state and its snapshots.",
            get_session,
        )
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ListAgents {
    /// The id of the runtime, as list_runtimes returns it. Default: the current runtime.
    runtime_id: Option<String>,
}

async fn list_agents(state: Arc<McpState>, args: ListAgents) -> ToolResult {
    let list = read(&state.client()?, "/api/agents", args.runtime_id.as_ref(), &[]).await?;
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
    /// The name of the agent, as list_agents returns it.
    agent_name: String,
    /// `active`: only sessions where a turn runs or a tool waits for an answer;
    /// `completed`: only the others.
    status: Option<String>,
    /// Maximum number of sessions, up to 200. Default: 20.
    #[serde(default, deserialize_with = "oxikit_wire::number::optional_integer")]
    limit: Option<u32>,
    /// Return the next page: the `continuationToken` of the previous result.
    continuation_token: Option<String>,
    /// The id of the runtime, as list_runtimes returns it. Default: the current runtime.
    runtime_id: Option<String>,
}

async fn list_sessions(state: Arc<McpState>, args: ListSessions) -> ToolResult {
    let path = format!("/api/agents/{}/sessions", encoded(&args.agent_name));
    let limit = args.limit.unwrap_or(20).to_string();
    let page = [
        ("limit", Some(&limit)),
        ("status", args.status.as_ref()),
        ("continuationToken", args.continuation_token.as_ref()),
    ];
    read(&state.client()?, &path, args.runtime_id.as_ref(), &page).await
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct GetSession {
    /// The name of the agent, as list_agents returns it.
    agent_name: String,
    /// The id of the session.
    session_id: String,
    /// The id of the runtime, as list_runtimes returns it. Default: the current runtime.
    runtime_id: Option<String>,
    /// Maximum number of characters of each message and of the state. Longer ones are cut.
    /// Default: 20000.
    #[serde(default, deserialize_with = "oxikit_wire::number::optional_integer")]
    max_length: Option<usize>,
}

async fn get_session(state: Arc<McpState>, args: GetSession) -> ToolResult {
    let (agent, session) = (encoded(&args.agent_name), encoded(&args.session_id));
    let path = format!("/api/agents/{agent}/sessions/{session}");
    let mut details = read(&state.client()?, &path, args.runtime_id.as_ref(), &[]).await?;
    let max = args.max_length.unwrap_or(RESULT_LENGTH);
    for thread in details["threads"].as_object_mut().into_iter().flatten() {
        for message in thread.1.as_array_mut().into_iter().flatten() {
            *message = cut(message.take(), max);
        }
    }
    details["state"] = cut(details["state"].take(), max);
    Ok(details)
}

/// Reads from the developer tools, for the named runtime or the current one.
async fn read(
    client: &Client,
    path: &str,
    runtime: Option<&String>,
    more: &[(&str, Option<&String>)],
) -> ToolResult {
    let query = query(&[&[("runtime", runtime)], more].concat());
    match client.get(&format!("{path}?{query}")).await {
        Ok(answer) => Ok(answer),
        Err(failure) => Err(client.explain(failure, runtime.map(String::as_str)).await.into()),
    }
}
