//! `oxikit agent chat`: a conversation with an agent, including the answers to its tools that
//! ask for approval.

use std::io::{self, BufRead, IsTerminal};
use std::sync::Arc;
use std::time::Duration;

use oxikit_core::chat::{Chat, ChatReply, ToolInterrupt};
use oxikit_core::{Status, StatusCode};
use oxikit_wire::{AgentFinishReason, Part};
use serde_json::{Value, json};

use super::approval::{self, ANSWERS, Decision};
use super::args::ChatArgs;
use super::chat_transport::ChatTransport;
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
        let message = "--approve and --answer need a conversation: pass --session or --snapshot";
        return Err(Failure::usage(message));
    }
    let continue_command = continue_command(&name, context.is_some());
    let (asked, tools, runtime) = (name.clone(), client.clone(), target.runtime.clone());
    let agent = Arc::new(ChatTransport { client, target, name, context });
    let chat = match (session, snapshot) {
        (Some(session), _) => agent.in_session(session).await,
        (None, Some(snapshot)) => agent.from_snapshot(snapshot).await,
        (None, None) => Ok(Chat::new(agent)),
    };
    let chat = chat.map_err(|status| Failure::of_status(&status))?;
    let mut conversation =
        Conversation { chat, timeout, output, continue_command, is_session_shown: false };
    let done = match message {
        _ if has_answers => conversation.answer_from_arguments(approve, &answer).await,
        Some(message) => conversation.send_one(message).await,
        None => conversation.run_lines().await,
    };
    match done {
        Err(failure) if failure.is_not_found() => {
            Err(failure.with_advice(tools.advise_agent(&asked, runtime.as_deref()).await))
        }
        done => done,
    }
}

/// The command that continues the conversation, up to the id of its session.
fn continue_command(name: &str, has_context: bool) -> String {
    let context = if has_context { " --context …" } else { "" };
    format!("oxikit agent chat {name}{context} --session")
}

/// The input of one turn.
enum Turn {
    Message(String),
    /// Answers to the waiting tools, in their order.
    Answers(Vec<Part>),
}

/// A conversation and the output that shows it.
struct Conversation<'a> {
    chat: Chat,
    timeout: Option<Duration>,
    output: &'a mut Output,
    /// The command that continues it, up to the id of the session.
    continue_command: String,
    /// Whether the id of the session was shown.
    is_session_shown: bool,
}

impl Conversation<'_> {
    /// Sends one message, if no tool waits for an answer.
    async fn send_one(&mut self, message: String) -> Result<(), Failure> {
        let waiting = self.chat.interrupts();
        if !waiting.is_empty() {
            return Err(Failure::failed(
                StatusCode::FailedPrecondition.name(),
                format!(
                    "{}; until then no message is accepted: answer with --approve, or --answer ({ANSWERS})",
                    approval::list(&waiting)
                ),
            ));
        }
        let waiting = self.take_turn(Turn::Message(message)).await?;
        self.show_how_to_answer(&waiting);
        Ok(())
    }

    /// Sends the answers of the command line, one for each waiting tool.
    async fn answer_from_arguments(
        &mut self,
        approve: bool,
        answers: &[String],
    ) -> Result<(), Failure> {
        let waiting = self.chat.interrupts();
        if waiting.is_empty() {
            let message =
                "no tool waits for an answer in this conversation: send a message instead";
            return Err(Failure::failed(StatusCode::FailedPrecondition.name(), message));
        }
        let decisions = match approve {
            true => vec![Decision::Approve(Value::Bool(true)); waiting.len()],
            false => answers.iter().map(|text| parse_answer(text)).collect::<Result<_, _>>()?,
        };
        if decisions.len() != waiting.len() {
            return Err(Failure::usage(format!(
                "{}; pass --answer once for each, in this order",
                approval::list(&waiting)
            )));
        }
        let answers = waiting.iter().zip(decisions).map(|(tool, it)| it.resume(tool)).collect();
        let waiting = self.take_turn(Turn::Answers(answers)).await?;
        self.show_how_to_answer(&waiting);
        Ok(())
    }

    /// Sends each line of the standard input, as a message or as the answer to a waiting tool,
    /// until the input ends.
    async fn run_lines(&mut self) -> Result<(), Failure> {
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
                true => read_line("> ").await?.map(Turn::Message),
                false => self.ask_answers(&waiting, is_person).await?.map(Turn::Answers),
            };
            let Some(turn) = turn else { break };
            waiting = match self.take_turn(turn).await {
                Ok(waiting) => waiting,
                // A person sees the error and can continue from the last successful turn.
                Err(failure @ Failure::Error { .. }) if is_person => {
                    self.output.report(&failure);
                    self.chat.interrupts()
                }
                Err(failure) => return Err(failure),
            };
        }
        self.show_how_to_answer(&waiting);
        Ok(())
    }

    /// Reads an answer for each waiting tool; `None` if the input ends before.
    async fn ask_answers(
        &mut self,
        waiting: &[ToolInterrupt],
        is_person: bool,
    ) -> Result<Option<Vec<Part>>, Failure> {
        let mut answers = Vec::with_capacity(waiting.len());
        for tool in waiting {
            let decision = loop {
                let prompt = format!("{} (yes, no, JSON)> ", tool.name());
                let Some(line) = read_line(&prompt).await? else { return Ok(None) };
                match parse_answer(&line) {
                    Ok(decision) => break decision,
                    Err(failure) if is_person => _ = self.output.report(&failure),
                    Err(failure) => return Err(failure),
                }
            };
            answers.push(decision.resume(tool));
        }
        Ok(Some(answers))
    }

    /// Runs one turn and shows it. Returns the tools that now wait for an answer.
    async fn take_turn(&mut self, turn: Turn) -> Result<Vec<ToolInterrupt>, Failure> {
        let (is_json, output) = (self.output.is_json(), &mut *self.output);
        let turn = async {
            let mut running = match turn {
                Turn::Message(message) => self.chat.send_stream(message).await?,
                Turn::Answers(answers) => self.chat.resume_stream(answers).await?,
            };
            while let Some(chunk) = running.next().await {
                if !is_json && output.text(Text::new().lines(chunk?.to_text())).is_err() {
                    return Ok(None);
                }
            }
            running.finish().await.map(Some)
        };
        // On timeout the future is dropped, which cancels the turn.
        let reply = match self.timeout {
            Some(within) => tokio::time::timeout(within, turn).await.unwrap_or_else(|_| {
                let message =
                    "the turn took longer than --timeout and was cancelled: set a higher timeout";
                Err(Status::public(StatusCode::DeadlineExceeded, message))
            }),
            None => turn.await,
        };
        let reply =
            reply.map_err(|status| Failure::of_status(&status))?.ok_or(Failure::OutputClosed)?;
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
        if !std::mem::replace(&mut self.is_session_shown, true) {
            self.show_session();
        }
        Ok(())
    }

    /// Shows tools that wait since an earlier command.
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
            "interrupts": waiting.iter().map(approval::to_json).collect::<Vec<_>>(),
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

    /// Shows the id of the session and how to continue it later.
    fn show_session(&mut self) {
        let Some(session) = self.chat.session_id() else { return };
        let text = match self.chat.snapshot_id() {
            Some(_) => {
                format!("session {session}; continue later: {} {session}", self.continue_command)
            }
            None => "this agent stores no sessions: the conversation ends with this command".into(),
        };
        self.output.remark(text);
    }

    /// Shows how to answer when the command ends while a tool still waits.
    fn show_how_to_answer(&mut self, waiting: &[ToolInterrupt]) {
        if waiting.is_empty() || self.output.is_json() {
            return;
        }
        let text = match (self.chat.session_id(), self.chat.snapshot_id()) {
            (Some(session), Some(_)) => format!(
                "answer: {} {session} --approve (or --answer: {ANSWERS})",
                self.continue_command
            ),
            _ => "the agent stores no sessions, so the answer must be given in the same command: run it without a message and type the lines".to_owned(),
        };
        self.output.remark(text);
    }
}

/// Parses a typed answer.
fn parse_answer(text: &str) -> Result<Decision, Failure> {
    Decision::read(text).ok_or_else(|| {
        Failure::failed(
            StatusCode::FailedPrecondition.name(),
            format!("a tool waits for an answer, and `{text}` is not a valid one: {ANSWERS}"),
        )
    })
}

/// The next line that is not empty; `None` at the end of the input.
pub(super) async fn read_line(prompt: &str) -> Result<Option<String>, Failure> {
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
