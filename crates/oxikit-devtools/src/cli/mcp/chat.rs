//! Turns with agents, and answers to the tools that wait for one.

use std::sync::Arc;

use oxikit_core::chat::{Chat, ChatReply, ToolInterrupt};
use oxikit_core::{Status, StatusCode};
use oxikit_mcp::Effect;
use oxikit_wire::Part;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::desk::Desk;
use super::runs::seconds;
use super::toolbox::{Answer, Toolbox};
use crate::cli::agent_door::ManagedAgent;
use crate::cli::approval::{self, Decision};
use crate::cli::args::Target;

pub(super) fn add(toolbox: Toolbox) -> Toolbox {
    toolbox.tool(
        Effect::Acts,
        "chat",
        "One turn with an agent. Answers {\"text\",\"sessionId\",\"finishReason\",\"interrupts\"}; give the sessionId to go on. `interrupts` are tools that wait for an answer, with their question in `metadata`: ask the user, then call again with the sessionId and `approve` (the tools run) or `answers` (outputs in their place). Until then a `message` is refused.",
        chat,
    )
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ChatTurn {
    /// The name of the agent, as list_agents says it.
    agent_name: String,
    /// What to say.
    message: Option<String>,
    /// Instead of a message: the outputs of the tools that wait, in the order of
    /// `interrupts`; the tools do not run. With `approve` too, a tool whose output is null
    /// runs.
    answers: Option<Vec<Value>>,
    /// Instead of a message: true runs the tools that wait. Any other value but false and
    /// null does too, and is passed to them, such as {"status":"APPROVED"}.
    approve: Option<Value>,
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
    let ChatTurn { agent_name: name, message, answers, approve, session_id, .. } = args;
    let target = Target { runtime: args.runtime_id };
    let agent = Arc::new(ManagedAgent { client: desk.client()?, target, name, context: None });
    let kept = session_id.as_deref().and_then(|session| desk.conversations.get(session));
    let is_new = session_id.is_none();
    let mut chat = match (kept, session_id) {
        (Some(chat), _) => chat,
        (None, Some(session)) => agent.in_session(session).await.map_err(told)?,
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
                "say a `message`; or answer the tools that wait in a `sessionId`, by `approve` or `answers`",
            ));
        }
    };
    let reply = reply.map_err(told)?;
    let session = session_of(desk, &chat);
    Ok(shown(&reply, &session, chat.snapshot_id()))
}

/// While a tool waits the conversation cannot go on.
fn check_nothing_waits(waiting: &[ToolInterrupt]) -> Result<(), Status> {
    if waiting.is_empty() {
        return Ok(());
    }
    let message = format!(
        "{}; no `message` is taken before: call chat with `approve` or `answers`",
        approval::list(waiting)
    );
    let interrupts: Vec<_> = waiting.iter().map(approval::told).collect();
    Err(Status::failed_precondition(message).with_details(json!({"interrupts": interrupts})))
}

/// The parts that resume the turn, one for each tool.
fn decide(
    waiting: &[ToolInterrupt],
    answers: Option<Vec<Value>>,
    approve: Option<Value>,
) -> Result<Vec<Part>, Status> {
    if waiting.is_empty() {
        let message = "no tool waits for an answer in this session: say a `message`";
        return Err(Status::failed_precondition(message));
    }
    let approval = approve.filter(|value| !matches!(value, Value::Null | Value::Bool(false)));
    let answers = match (answers, &approval) {
        (Some(answers), _) => answers,
        (None, Some(_)) => vec![Value::Null; waiting.len()],
        (None, None) => {
            return Err(Status::invalid_argument(
                "`approve` is false: say by `answers` what the tools are to answer instead, such as [\"The user declined.\"]",
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

/// The session of a conversation. Of an agent that keeps none it is kept here.
fn session_of(desk: &Desk, chat: &Chat) -> String {
    let named = chat.session_id().map(str::to_owned);
    let session = named.unwrap_or_else(|| Uuid::new_v4().to_string());
    if chat.snapshot_id().is_none() {
        desk.conversations.keep(session.clone(), chat.clone());
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
        "interrupts": waiting.iter().map(approval::told).collect::<Vec<_>>(),
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
