//! An agent as a tool of a model.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use oxikit_core::{Action, ActionKind, Context, Result, Schema, Status, StatusCode};
use oxikit_wire::a2a::{AgentCard, TaskState};
use serde::Deserialize;
use serde_json::{Value, json};

use super::{A2aClient, A2aReply, OutgoingMessage};

/// Maximum length of the name of a tool. Models refuse longer ones.
const MAX_NAME: usize = 64;

/// Maximum number of sessions whose conversation a tool remembers. Beyond it, the one that has not
/// been used for the longest time begins a new conversation.
const MAX_SESSIONS: usize = 10_000;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Input {
    message: String,
    task_id: Option<String>,
}

/// The conversations with the agent, by the session of the agent that calls the tool.
#[derive(Default)]
struct Conversations(Mutex<Known>);

#[derive(Default)]
struct Known {
    by_session: HashMap<String, Conversation>,
    uses: u64,
}

struct Conversation {
    context_id: String,
    last_use: u64,
}

impl Conversations {
    fn get(&self, session_id: &str) -> Option<String> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.by_session.get(session_id).map(|it| it.context_id.clone())
    }

    fn put(&self, session_id: &str, context_id: &str) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.uses += 1;
        let conversation = Conversation { context_id: context_id.into(), last_use: known.uses };
        known.by_session.insert(session_id.into(), conversation);
        if known.by_session.len() > MAX_SESSIONS {
            let oldest = known.by_session.iter().min_by_key(|(_, it)| it.last_use);
            if let Some(id) = oldest.map(|(id, _)| id.clone()) {
                known.by_session.remove(&id);
            }
        }
    }
}

impl A2aClient {
    /// The agent as a tool that a model may call. Its name and description are from the card; its
    /// input is `{"message"}`, its output the text of the answer. Register it in the application,
    /// and name it in prompts and agents.
    ///
    /// All calls in one session of an agent are one conversation (`contextId`) with the remote
    /// agent; outside of agents, each call begins a new one. If the remote agent asks something,
    /// the output is `{"question", "state", "taskId"}`, and the model answers by a further call
    /// with this `taskId`: it may know the answer, or ask its own user. A task that fails, or that
    /// the agent rejects, is an error of the tool.
    ///
    /// ```no_run
    /// use oxikit::prelude::*;
    /// use oxikit_client::a2a::A2aClient;
    ///
    /// # async fn example(ai: Oxikit) -> Result<()> {
    /// let coder = A2aClient::connect("https://agents.example/a2a/coder").await?.tool()?;
    /// let name = coder.name().to_owned();
    /// ai.registry().register(coder);
    /// let reply = ai.generate().prompt("Sort a list in Rust").tool_named(name).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    ///
    /// `INVALID_ARGUMENT` if the name of the agent has no letter or digit; use
    /// [`tool_named`](Self::tool_named).
    pub fn tool(&self) -> Result<Action> {
        let card = self.card();
        let name = tool_name(&card.name);
        if name.is_empty() {
            let message = "the name of the agent has no letter or digit: name the tool yourself";
            return Err(Status::new(StatusCode::InvalidArgument, message));
        }
        Ok(self.tool_named(name))
    }

    /// The same with another name than that of the card.
    pub fn tool_named(&self, name: impl Into<String>) -> Action {
        let agent = self.clone();
        let conversations = Arc::new(Conversations::default());
        Action::builder(ActionKind::Tool, name)
            .description(description(&self.card()))
            .metadata("type", "tool")
            .input_schema(input_schema())
            .handler(move |input: Value, ctx: Context| {
                let (agent, conversations) = (agent.clone(), conversations.clone());
                async move {
                    let input: Input = serde_json::from_value(input)?;
                    agent.call_as_tool(input, ctx.session_id(), &conversations).await
                }
            })
    }

    async fn call_as_tool(
        &self,
        input: Input,
        session_id: Option<&str>,
        conversations: &Conversations,
    ) -> Result<Value> {
        let mut message = OutgoingMessage::new(input.message);
        match (&input.task_id, session_id.and_then(|id| conversations.get(id))) {
            // The task is in a conversation already.
            (Some(task_id), _) => message = message.for_task(task_id),
            (None, Some(context_id)) => message = message.in_context(context_id),
            (None, None) => {}
        }
        let reply = self.send(message).await?;
        if let (Some(session_id), Some(context_id)) = (session_id, reply.context_id()) {
            conversations.put(session_id, context_id);
        }
        answer_of(&reply)
    }
}

fn input_schema() -> Schema {
    let message = json!({ "type": "string", "description": "What to ask the agent" });
    let task_id = json!({
        "type": "string",
        "description": "Only to answer a question of the agent: the taskId that came with it",
    });
    Schema::from_json(json!({
        "type": "object",
        "properties": { "message": message, "taskId": task_id },
        "required": ["message"],
        "additionalProperties": false,
    }))
    .expect("the schema above is valid")
}

fn answer_of(reply: &A2aReply) -> Result<Value> {
    match (reply.state(), reply.task()) {
        (Some(state @ (TaskState::Failed | TaskState::Rejected | TaskState::Canceled)), _) => {
            let message = format!("the agent's task is {state}: {}", reply.text());
            Err(Status::new(StatusCode::FailedPrecondition, message))
        }
        (Some(state), Some(task)) if state.is_interrupted() => {
            let question = task.status.message.as_ref().map(|it| it.text()).unwrap_or_default();
            Ok(json!({ "question": question, "state": state.to_string(), "taskId": task.id }))
        }
        _ => Ok(reply.text().into()),
    }
}

/// The name in the characters that models accept.
fn tool_name(name: &str) -> String {
    let words = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let mut name = words.collect::<Vec<_>>().join("_").to_ascii_lowercase();
    name.truncate(MAX_NAME);
    name
}

/// The description by which the model decides: the purpose of the agent and its skills.
fn description(card: &AgentCard) -> String {
    let mut text = card.description.clone();
    for skill in &card.skills {
        text.push_str(&format!("\n- {}: {}", skill.name, skill.description));
    }
    text
}
