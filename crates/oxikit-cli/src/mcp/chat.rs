//! The tool `chat`: one turn with an agent, or the answers to its tools that wait for one.

use std::sync::Arc;

use oxikit_core::chat::{Chat, ChatReply, ToolInterrupt};
use oxikit_core::{Status, StatusCode};
use oxikit_mcp::Effect;
use oxikit_wire::Part;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::runs::seconds;
use super::state::McpState;
use super::tool_registry::{ToolRegistry, ToolResult};
use crate::approval::{self, Decision};
use crate::args::Target;
use crate::chat_transport::ChatTransport;

pub(super) fn add(registry: ToolRegistry) -> ToolRegistry {
    registry.tool(
        Effect::Acts,
        "chat",
        "Runs one turn with an agent. Returns {\"text\",\"sessionId\",\"finishReason\",\"interrupts\"}; pass the sessionId to continue. `interrupts` are tools that wait for an answer, with their question in `metadata`: ask the user, then call again with the sessionId and `approve` (the tools run) or `answers` (used as their outputs). Until then a `message` is rejected.",
        chat,
    )
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ChatTurn {
    /// The name of the agent, as list_agents returns it.
    agent_name: String,
    /// The message to send.
    message: Option<String>,
    /// Instead of a message: outputs for the tools that wait, in the order of `interrupts`.
    /// The tools do not run. If `approve` is also set, a tool whose output is null runs.
    answers: Option<Vec<Value>>,
    /// Instead of a message: true runs the tools that wait. So does any other value except
    /// false and null; the tools receive it, such as {"status":"APPROVED"}.
    approve: Option<Value>,
    /// The session to continue or to create. Default: a new session.
    session_id: Option<String>,
    /// The id of the runtime, as list_runtimes returns it. Default: the current runtime.
    runtime_id: Option<String>,
    /// Cancel the turn after this number of seconds.
    timeout_seconds: Option<f64>,
}

async fn chat(state: Arc<McpState>, args: ChatTurn) -> ToolResult {
    let within = args.timeout_seconds.map(seconds).transpose()?;
    let turn = take_turn(&state, args);
    match within {
        None => turn.await,
        Some(within) => tokio::time::timeout(within, turn).await.unwrap_or_else(|_| {
            let message = "the turn took longer than `timeoutSeconds` and was cancelled: call again with a higher value";
            Err(Status::public(StatusCode::DeadlineExceeded, message))
        }),
    }
}

async fn take_turn(state: &McpState, args: ChatTurn) -> ToolResult {
    let ChatTurn { agent_name: name, message, answers, approve, session_id, .. } = args;
    let target = Target { runtime: args.runtime_id };
    let agent = Arc::new(ChatTransport { client: state.client()?, target, name, context: None });
    let kept = session_id.as_deref().and_then(|session| state.conversations.get(session));
    let is_new = session_id.is_none();
    let mut chat = match (kept, session_id) {
        (Some(chat), _) => chat,
        (None, Some(session)) => agent.in_session(session).await.map_err(with_public_message)?,
        (None, None) => Chat::new(agent),
    };
    let waiting = chat.interrupts();
    let reply = match (message, answers, approve) {
        (Some(message), None, None) => {
            check_nothing_waits(&waiting)?;
            chat.send(message).await
        }
        (None, answers, approve) if !is_new && (answers.is_some() || approve.is_some()) => {
            chat.resume(decide(&waiting, answers, approve)?).await
        }
        _ => {
            return Err(Status::invalid_argument(
                "pass a `message`; or a `sessionId` with `approve` or `answers`, to answer the tools that wait in it",
            ));
        }
    };
    let reply = reply.map_err(with_public_message)?;
    let session = session_of(state, &chat);
    Ok(shown(&reply, &session, chat.snapshot_id()))
}

/// Fails if tools wait for an answer: the agent accepts no message before they have one.
fn check_nothing_waits(waiting: &[ToolInterrupt]) -> Result<(), Status> {
    if waiting.is_empty() {
        return Ok(());
    }
    let message = format!(
        "{}; until then no `message` is accepted: call chat with `approve` or `answers`",
        approval::list(waiting)
    );
    let interrupts: Vec<_> = waiting.iter().map(approval::to_json).collect();
    Err(Status::failed_precondition(message).with_details(json!({"interrupts": interrupts})))
}

/// The parts that resume the turn, one for each tool.
fn decide(
    waiting: &[ToolInterrupt],
    answers: Option<Vec<Value>>,
    approve: Option<Value>,
) -> Result<Vec<Part>, Status> {
    if waiting.is_empty() {
        let message = "no tool waits for an answer in this session: pass a `message`";
        return Err(Status::failed_precondition(message));
    }
    let approval = approve.filter(|value| !matches!(value, Value::Null | Value::Bool(false)));
    let answers = match (answers, &approval) {
        (Some(answers), _) => answers,
        (None, Some(_)) => vec![Value::Null; waiting.len()],
        (None, None) => {
            return Err(Status::invalid_argument(
                "`approve` is false: pass `answers` with the outputs to use instead, such as [\"The user declined.\"]",
            ));
        }
    };
    if waiting.len() != answers.len() {
        let message = format!("{}; `answers` has {}", approval::list(waiting), answers.len());
        return Err(Status::invalid_argument(message));
    }
    let decision = |answer: Value| match (answer, &approval) {
        (Value::Null, Some(approval)) => Decision::Approve(approval.clone()),
        (answer, _) => Decision::Respond(answer),
    };
    let parts = waiting.iter().zip(answers).map(|(tool, answer)| decision(answer).resume(tool));
    Ok(parts.collect())
}

/// The session id of a conversation. If the agent stores no sessions, the conversation is
/// kept in memory under a new id.
fn session_of(state: &McpState, chat: &Chat) -> String {
    let named = chat.session_id().map(str::to_owned);
    let session = named.unwrap_or_else(|| Uuid::new_v4().to_string());
    if chat.snapshot_id().is_none() {
        state.conversations.keep(session.clone(), chat.clone());
    }
    session
}

fn shown(reply: &ChatReply, session: &str, snapshot: Option<&str>) -> Value {
    let waiting = reply.interrupts();
    json!({
        "text": reply.text(),
        "sessionId": session,
        "snapshotId": snapshot,
        "finishReason": reply.finish_reason(),
        "interrupts": waiting.iter().map(approval::to_json).collect::<Vec<_>>(),
    })
}

/// Makes the message and the details public: the caller is the developer, so nothing is
/// hidden.
fn with_public_message(status: Status) -> Status {
    let public = Status::public(status.code(), status.message());
    match status.details() {
        Some(details) => public.with_details(details.clone()),
        None => public,
    }
}
