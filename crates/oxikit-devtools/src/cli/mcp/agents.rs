//! Agents: listed, talked to, and what they have kept.

use std::sync::Arc;

use oxikit_core::chat::{Chat, ChatReply, ToolInterrupt};
use oxikit_core::{Status, StatusCode};
use oxikit_mcp::Effect;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::desk::Desk;
use super::length::{RESULT_LENGTH, cut};
use super::runs::seconds;
use super::toolbox::{Answer, Toolbox};
use crate::cli::agent_door::ManagedAgent;
use crate::cli::args::Target;
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
            Effect::Acts,
            "chat",
            "One turn with an agent. Answers {\"text\",\"sessionId\",\"finishReason\",\"interrupts\"}; give the sessionId to go on. Tools that wait stand in `interrupts`: call again with `answers`.",
            chat,
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
struct ChatTurn {
    /// The name of the agent, as list_agents says it.
    agent_name: String,
    /// What to say.
    message: Option<String>,
    /// Instead of a message: what the tools that wait are to get as their output, one
    /// for each, in their order.
    answers: Option<Vec<Value>>,
    /// The session to go on with, or to begin; else a new one.
    session_id: Option<String>,
    /// The runtime to ask, by its id of list_runtimes; else the current one.
    runtime_id: Option<String>,
    /// Give up, and cancel the turn, after so many seconds.
    timeout_seconds: Option<f64>,
}

async fn chat(desk: Arc<Desk>, args: ChatTurn) -> Answer {
    let within = args.timeout_seconds.map(seconds).transpose()?;
    let turn = take_turn(&desk, args);
    match within {
        None => turn.await,
        Some(within) => tokio::time::timeout(within, turn).await.unwrap_or_else(|_| {
            let message = "the turn took longer than `timeoutSeconds` allows; it was cancelled";
            Err(Status::public(StatusCode::DeadlineExceeded, message))
        }),
    }
}

async fn take_turn(desk: &Desk, args: ChatTurn) -> Answer {
    let name = args.agent_name;
    let target = Target { runtime: args.runtime_id };
    let agent = Arc::new(ManagedAgent { client: desk.client()?, target, name, context: None });
    let kept = args.session_id.as_deref().and_then(|session| desk.conversations.get(session));
    let (mut chat, reply) = match (args.message, args.answers, args.session_id) {
        (Some(message), None, session) => {
            let mut chat = match (kept, session) {
                (Some(chat), _) => chat,
                (None, Some(session)) => Chat::new(agent).in_session(session),
                (None, None) => Chat::new(agent),
            };
            let reply = chat.send(message).await.map_err(told)?;
            (chat, reply)
        }
        (None, Some(answers), Some(session)) => {
            let mut chat = match kept {
                Some(chat) => chat,
                None => Chat::load_session(agent, session).await.map_err(told)?,
            };
            let waiting = chat.interrupts();
            if waiting.len() != answers.len() {
                let (waiting, given) = (waiting.len(), answers.len());
                let message = format!("{waiting} tools wait for an answer, {given} are given");
                return Err(Status::invalid_argument(message));
            }
            let parts = waiting.iter().zip(answers).map(|(tool, answer)| tool.respond(answer));
            let reply = chat.resume(parts.collect::<Vec<_>>()).await.map_err(told)?;
            (chat, reply)
        }
        _ => {
            return Err(Status::invalid_argument(
                "say a `message`, or give the `answers` of the tools that wait in a `sessionId`",
            ));
        }
    };
    let session = session_of(desk, &mut chat);
    Ok(shown(&reply, &session, chat.snapshot_id()))
}

/// The session of a conversation. Of an agent that keeps none it is kept here.
fn session_of(desk: &Desk, chat: &mut Chat) -> String {
    let named = chat.session_id().map(str::to_owned);
    let session = named.unwrap_or_else(|| Uuid::new_v4().to_string());
    if chat.snapshot_id().is_none() {
        desk.conversations.keep(session.clone(), chat.clone());
    }
    session
}

fn shown(reply: &ChatReply, session: &str, snapshot: Option<&str>) -> Value {
    let waiting = reply.interrupts();
    let waiting = waiting.iter().map(|tool: &ToolInterrupt| {
        json!({"name": tool.name(), "input": tool.request().input, "metadata": tool.metadata()})
    });
    json!({
        "text": reply.text(),
        "sessionId": session,
        "snapshotId": snapshot,
        "finishReason": reply.finish_reason(),
        "interrupts": waiting.collect::<Vec<_>>(),
    })
}

/// It is the developer who reads: all that is known.
fn told(status: Status) -> Status {
    let public = Status::public(status.code(), status.message());
    match status.details() {
        Some(details) => public.with_details(details.clone()),
        None => public,
    }
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
