//! `oxikit agent chat`: a conversation with an agent, and with the tools that ask for
//! an approval.

use std::io::{self, BufRead, IsTerminal};
use std::sync::Arc;
use std::time::Duration;

use oxikit_core::chat::{Chat, ChatReply, ToolInterrupt};
use oxikit_core::{Status, StatusCode};
use oxikit_wire::{AgentFinishReason, Part};
use serde_json::{Value, json};

use super::agent_door::ManagedAgent;
use super::approval::{self, ANSWERS, Decision};
use super::args::ChatArgs;
use super::client::Client;
use super::failure::Failure;
use super::output::Output;
use super::run::context_argument;
use crate::terminal::{self, Text};

pub(super) async fn run(
    args: ChatArgs,
    client: Client,
    output: &mut Output,
) -> Result<(), Failure> {
    let context = context_argument(args.caller.context.as_deref())?;
    let ChatArgs { name, message, session, snapshot, approve, answer, timeout, target, .. } = args;
    let has_answers = approve || !answer.is_empty();
    if has_answers && session.is_none() && snapshot.is_none() {
        let message = "--approve and --answer need the conversation: name it with --session";
        return Err(Failure::usage(message));
    }
    let again = again(&name, context.is_some());
    let (asked, tools, runtime) = (name.clone(), client.clone(), target.runtime.clone());
    let agent = Arc::new(ManagedAgent { client, target, name, context });
    let chat = match (session, snapshot) {
        (Some(session), _) => agent.in_session(session).await,
        (None, Some(snapshot)) => agent.from_snapshot(snapshot).await,
        (None, None) => Ok(Chat::new(agent)),
    };
    let chat = chat.map_err(failure_of)?;
    let mut conversation = Conversation { chat, timeout, output, again, is_told: false };
    let done = match message {
        _ if has_answers => conversation.answer_by(approve, &answer).await,
        Some(message) => conversation.say_once(message).await,
        None => conversation.go_on().await,
    };
    match done {
        Err(failure) if failure.is_not_found() => {
            Err(failure.advised(tools.advise_agent(&asked, runtime.as_deref()).await))
        }
        done => done,
    }
}

/// The command that goes on with the conversation, up to the id of its session.
fn again(name: &str, has_context: bool) -> String {
    let context = if has_context { " --context …" } else { "" };
    format!("oxikit agent chat {name}{context} --session")
}

/// What the user sends next.
enum Turn {
    Message(String),
    /// Answers to the tools that wait, in their order.
    Answers(Vec<Part>),
}

/// A conversation, shown.
struct Conversation<'a> {
    chat: Chat,
    timeout: Option<Duration>,
    output: &'a mut Output,
    /// The command that goes on with it, up to the id of the session.
    again: String,
    /// The session was named.
    is_told: bool,
}

impl Conversation<'_> {
    /// One message, if no tool waits for an answer.
    async fn say_once(&mut self, message: String) -> Result<(), Failure> {
        let waiting = self.chat.interrupts();
        if !waiting.is_empty() {
            return Err(Failure::failed(
                StatusCode::FailedPrecondition.name(),
                format!(
                    "{}; no message is taken before: answer with --approve, or --answer ({ANSWERS})",
                    approval::list(&waiting)
                ),
            ));
        }
        let waiting = self.say(Turn::Message(message)).await?;
        self.tell_how_to_answer(&waiting);
        Ok(())
    }

    /// The answers of the command line, one for each tool that waits.
    async fn answer_by(&mut self, approve: bool, answers: &[String]) -> Result<(), Failure> {
        let waiting = self.chat.interrupts();
        if waiting.is_empty() {
            let message = "no tool waits for an answer there: say a message";
            return Err(Failure::failed(StatusCode::FailedPrecondition.name(), message));
        }
        let decisions = match approve {
            true => vec![Decision::Approve(Value::Bool(true)); waiting.len()],
            false => answers.iter().map(|text| read(text)).collect::<Result<_, _>>()?,
        };
        if decisions.len() != waiting.len() {
            return Err(Failure::usage(format!(
                "{}; give --answer once for each, in this order",
                approval::list(&waiting)
            )));
        }
        let answers = waiting.iter().zip(decisions).map(|(tool, it)| it.resume(tool)).collect();
        let waiting = self.say(Turn::Answers(answers)).await?;
        self.tell_how_to_answer(&waiting);
        Ok(())
    }

    /// Each line of the standard input is a message, or answers a tool that waits, until
    /// it ends.
    async fn go_on(&mut self) -> Result<(), Failure> {
        let is_person = io::stdin().is_terminal();
        if is_person {
            self.output.remark("each line is a message; Ctrl-D ends");
        }
        let mut waiting = self.chat.interrupts();
        if !waiting.is_empty() {
            self.show_waiting(&waiting)?;
        }
        loop {
            let turn = match waiting.is_empty() {
                true => ask("> ").await?.map(Turn::Message),
                false => self.ask_answers(&waiting, is_person).await?.map(Turn::Answers),
            };
            let Some(turn) = turn else { break };
            waiting = match self.say(turn).await {
                Ok(waiting) => waiting,
                // A person sees it and goes on, from the last good turn.
                Err(failure @ Failure::Told { .. }) if is_person => {
                    failure.report(self.output);
                    self.chat.interrupts()
                }
                Err(failure) => return Err(failure),
            };
        }
        self.tell_how_to_answer(&waiting);
        Ok(())
    }

    /// What is typed for each tool that waits; nothing if the input ends before.
    async fn ask_answers(
        &mut self,
        waiting: &[ToolInterrupt],
        is_person: bool,
    ) -> Result<Option<Vec<Part>>, Failure> {
        let mut answers = Vec::with_capacity(waiting.len());
        for tool in waiting {
            let decision = loop {
                let prompt = format!("{} (yes, no, JSON)> ", tool.name());
                let Some(line) = ask(&prompt).await? else { return Ok(None) };
                match read(&line) {
                    Ok(decision) => break decision,
                    Err(failure) if is_person => _ = failure.report(self.output),
                    Err(failure) => return Err(failure),
                }
            };
            answers.push(decision.resume(tool));
        }
        Ok(Some(answers))
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
        let waiting = reply.interrupts();
        if self.output.is_json() {
            return self.show_json(&reply.text(), reply.finish_reason(), &waiting);
        }
        self.output.line("")?;
        self.show_questions(&waiting)?;
        if !std::mem::replace(&mut self.is_told, true) {
            self.tell_session();
        }
        Ok(())
    }

    /// Tools that have waited since an earlier command.
    fn show_waiting(&mut self, waiting: &[ToolInterrupt]) -> Result<(), Failure> {
        match self.output.is_json() {
            true => self.show_json("", Some(AgentFinishReason::Interrupted), waiting),
            false => self.show_questions(waiting),
        }
    }

    fn show_json(
        &mut self,
        text: &str,
        finish_reason: Option<AgentFinishReason>,
        waiting: &[ToolInterrupt],
    ) -> Result<(), Failure> {
        self.output.value(&json!({
            "ok": true,
            "text": text,
            "sessionId": self.chat.session_id(),
            "snapshotId": self.chat.snapshot_id(),
            "finishReason": finish_reason,
            "interrupts": waiting.iter().map(approval::told).collect::<Vec<_>>(),
        }))
    }

    fn show_questions(&mut self, waiting: &[ToolInterrupt]) -> Result<(), Failure> {
        for tool in waiting {
            let text = Text::new().yellow("waits for an answer:");
            self.output.line(text.plain(format!(" {}", approval::question(tool))))?;
        }
        if !waiting.is_empty() && io::stdin().is_terminal() {
            self.output.remark(ANSWERS);
        }
        Ok(())
    }

    /// Which session it is, once it is known, and how to go on with it later.
    fn tell_session(&mut self) {
        let Some(session) = self.chat.session_id() else { return };
        let text = match self.chat.snapshot_id() {
            Some(_) => format!("session {session}; go on later: {} {session}", self.again),
            None => "this agent keeps no sessions: the conversation ends with this command".into(),
        };
        self.output.remark(text);
    }

    /// What to type when the command ends and a tool still waits.
    fn tell_how_to_answer(&mut self, waiting: &[ToolInterrupt]) {
        if waiting.is_empty() || self.output.is_json() {
            return;
        }
        let text = match (self.chat.session_id(), self.chat.snapshot_id()) {
            (Some(session), Some(_)) => format!(
                "answer: {} {session} --approve (or --answer: {ANSWERS})",
                self.again
            ),
            _ => "the agent keeps no sessions, so the answer has to be in the same command: leave the message out and type line by line".to_owned(),
        };
        self.output.remark(text);
    }
}

/// An answer as it is typed.
fn read(text: &str) -> Result<Decision, Failure> {
    Decision::read(text).ok_or_else(|| {
        Failure::failed(
            StatusCode::FailedPrecondition.name(),
            format!("a tool waits for an answer, and `{text}` is none: {ANSWERS}"),
        )
    })
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
        code => {
            let failure = Failure::failed(code.name(), status.message());
            failure.with_details(status.details().cloned())
        }
    }
}
