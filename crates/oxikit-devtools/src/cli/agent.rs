//! `oxikit agent`: agents of runtimes, and conversations with them.

use std::io::{self, BufRead, IsTerminal};
use std::sync::Arc;
use std::time::Duration;

use oxikit_core::chat::{Chat, ChatReply, ToolInterrupt};
use oxikit_core::{Status, StatusCode};
use oxikit_wire::Part;
use serde_json::{Value, json};

use super::action;
use super::agent_door::ManagedAgent;
use super::args::{AgentArgs, AgentCommand, Target};
use super::client::Client;
use super::failure::Failure;
use super::output::Output;
use super::run::context_argument;
use crate::terminal::{self, Text};

pub(super) async fn run(
    args: AgentArgs,
    client: Client,
    output: &mut Output,
) -> Result<(), Failure> {
    match args.command {
        AgentCommand::List { target } => list(&client, &target, output).await,
        AgentCommand::Chat { name, message, session, snapshot, caller, timeout, target } => {
            let context = context_argument(caller.context.as_deref())?;
            let chat = Chat::new(Arc::new(ManagedAgent { client, target, name, context }));
            let chat = match (session, snapshot) {
                (Some(session), _) => chat.in_session(session),
                (None, Some(snapshot)) => chat.from_snapshot(snapshot),
                (None, None) => chat,
            };
            let mut conversation = Conversation { chat, timeout, output };
            match message {
                Some(message) => conversation.say(Turn::Message(message)).await.map(drop),
                None => conversation.go_on().await,
            }
        }
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
            Some("server") => "keeps sessions",
            _ => "keeps nothing",
        };
        vec![text(&agent["name"]), kept.to_owned(), text(&agent["description"])]
    };
    output.table(&agents.iter().map(row).collect::<Vec<_>>(), &[0])
}

/// What is said next.
enum Turn {
    Message(String),
    /// To the tools that wait.
    Answers(Vec<Part>),
}

/// A conversation, shown.
struct Conversation<'a> {
    chat: Chat,
    timeout: Option<Duration>,
    output: &'a mut Output,
}

impl Conversation<'_> {
    /// Each line of the standard input is a message, until it ends.
    async fn go_on(&mut self) -> Result<(), Failure> {
        let is_person = io::stdin().is_terminal();
        if is_person {
            self.output.remark("each line is a message; Ctrl-D ends");
        }
        while let Some(line) = ask("> ").await? {
            let mut turn = Turn::Message(line);
            loop {
                let waiting = match self.say(turn).await {
                    Ok(waiting) => waiting,
                    // A person sees it and goes on.
                    Err(failure @ Failure::Told { .. }) if is_person => {
                        failure.report(self.output);
                        break;
                    }
                    Err(failure) => return Err(failure),
                };
                if waiting.is_empty() {
                    break;
                }
                match answers(&waiting).await? {
                    Some(answers) => turn = Turn::Answers(answers),
                    None => return Ok(()),
                }
            }
        }
        Ok(())
    }

    /// One turn; the tools that wait for an answer.
    async fn say(&mut self, turn: Turn) -> Result<Vec<ToolInterrupt>, Failure> {
        let (is_json, output) = (self.output.is_json(), &mut *self.output);
        let turn = async {
            let mut running = match turn {
                Turn::Message(message) => self.chat.send_stream(message).await?,
                Turn::Answers(answers) => self.chat.resume_stream(answers).await?,
            };
            while let Some(chunk) = running.next().await {
                if !is_json && output.text(Text::new().lines(chunk.to_text())).is_err() {
                    return Ok(None);
                }
            }
            running.reply().await.map(Some)
        };
        let reply = match self.timeout {
            Some(within) => tokio::time::timeout(within, turn).await.unwrap_or_else(|_| {
                let message = "the turn took longer than --timeout allows; it was cancelled";
                Err(Status::public(StatusCode::DeadlineExceeded, message))
            }),
            None => turn.await,
        };
        let reply = reply.map_err(failure_of)?.ok_or(Failure::Unread)?;
        self.show(&reply)?;
        Ok(reply.interrupts())
    }

    fn show(&mut self, reply: &ChatReply) -> Result<(), Failure> {
        let session = self.chat.session_id();
        if self.output.is_json() {
            let waiting = reply.interrupts();
            let waiting = waiting.iter().map(ToolInterrupt::request).collect::<Vec<_>>();
            return self.output.value(&json!({
                "ok": true,
                "text": reply.text(),
                "sessionId": session,
                "snapshotId": self.chat.snapshot_id(),
                "finishReason": reply.finish_reason(),
                "interrupts": waiting,
            }));
        }
        self.output.line("")?;
        for waiting in reply.interrupts() {
            let (name, request) = (waiting.name(), waiting.request());
            let input = request.input.as_ref().map(Value::to_string).unwrap_or_default();
            let text = Text::new().yellow("waits for an answer:");
            self.output.line(text.plain(format!(" {name} {input}")))?;
        }
        Ok(())
    }
}

/// What somebody answers to the tools that wait: JSON, or a text. Nothing if they
/// leave.
async fn answers(waiting: &[ToolInterrupt]) -> Result<Option<Vec<Part>>, Failure> {
    let mut answers = Vec::with_capacity(waiting.len());
    for tool in waiting {
        let Some(line) = ask(&format!("{}> ", tool.name())).await? else { return Ok(None) };
        let answer = serde_json::from_str(&line).unwrap_or(Value::String(line));
        answers.push(tool.respond(answer));
    }
    Ok(Some(answers))
}

/// The next line that is not empty; none when there are no more.
async fn ask(prompt: &str) -> Result<Option<String>, Failure> {
    let prompt = io::stdin().is_terminal().then(|| prompt.to_owned());
    let read = move || -> io::Result<Option<String>> {
        loop {
            if let Some(prompt) = &prompt {
                terminal::write_err(&prompt.as_str().into());
            }
            let mut line = String::new();
            if io::stdin().lock().read_line(&mut line)? == 0 {
                return Ok(None);
            }
            if !line.trim().is_empty() {
                return Ok(Some(line.trim().to_owned()));
            }
        }
    };
    Ok(tokio::task::spawn_blocking(read).await.map_err(io::Error::other)??)
}

fn failure_of(status: Status) -> Failure {
    match status.code() {
        StatusCode::Unavailable => Failure::nobody_there(status.message()),
        code => Failure::failed(code.name(), status.message()),
    }
}
