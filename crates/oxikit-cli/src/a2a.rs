//! `oxikit a2a`: calls agents of any program. The checks of cards are in `a2a_card`.

use std::io::{self, IsTerminal};

use oxikit_client::a2a::{
    A2aBuilder, A2aClient, A2aReply, OutgoingMessage, Part, StreamResponse, Task, TaskState,
    Version,
};
use oxikit_core::Status;
use serde_json::{Value, json};

use super::a2a_card;
use super::a2a_signature;
use super::agent_chat::read_line;
use super::args::{A2aArgs, A2aCommand, A2aMessage, A2aTarget};
use super::failure::{Exit, Failure};
use super::output::Output;
use crate::terminal::Text;

pub(super) async fn run(args: A2aArgs, output: &mut Output) -> Result<(), Failure> {
    match args.command {
        A2aCommand::Card { target, key, jwks, extended: false } => {
            let keys = a2a_signature::keys(&key, &jwks)?;
            let found = builder(&target)?.read_card().await.map_err(failed)?;
            let signed = a2a_signature::check(&found, keys.as_ref()).await?;
            a2a_card::show(&found, &signed, output)
        }
        A2aCommand::Card { target, extended: true, .. } => {
            let card = connect(&target).await?.extended_card().await.map_err(failed)?;
            a2a_card::show_extended(&card, output)
        }
        A2aCommand::Send(args) => {
            let agent = connect(&args.target).await?;
            let reply = agent.send(message(&args)).await.map_err(failed)?;
            if !output.is_json() {
                output.line(Text::new().lines(reply.text()))?;
            }
            show_end(&reply, output)
        }
        A2aCommand::Stream(args) => {
            let agent = connect(&args.target).await?;
            let reply = stream(&agent, message(&args), output.is_json(), output).await?;
            show_end(&reply, output)
        }
        A2aCommand::Chat { target, context } => chat(&target, context, output).await,
        A2aCommand::Task { target, id } => {
            let task = connect(&target).await?.get_task(&id, None).await.map_err(failed)?;
            show_task(task, output)
        }
        A2aCommand::Cancel { target, id } => {
            let task = connect(&target).await?.cancel(&id).await.map_err(failed)?;
            show_task(task, output)
        }
    }
}

fn failed(status: Status) -> Failure {
    Failure::of_status(&status)
}

async fn connect(target: &A2aTarget) -> Result<A2aClient, Failure> {
    builder(target)?.connect().await.map_err(failed)
}

fn builder(target: &A2aTarget) -> Result<A2aBuilder, Failure> {
    let mut builder = A2aClient::builder(&target.url);
    for header in &target.header {
        // The value may be a secret, so an invalid header is not repeated.
        let (name, value) = header
            .split_once(':')
            .ok_or_else(|| Failure::usage("--header needs a name and a value: `NAME: VALUE`"))?;
        builder = builder.header(name.trim(), value.trim());
    }
    for origin in &target.trust_origin {
        builder = builder.trust_origin(origin);
    }
    builder = match target.protocol.as_deref() {
        Some("0.3") => builder.version(Version::V0_3),
        Some(_) => builder.version(Version::V1_0),
        None => builder,
    };
    if let Some(binding) = target.binding {
        builder = builder.binding(binding);
    }
    Ok(match target.timeout {
        Some(timeout) => builder.timeout(timeout),
        None => builder,
    })
}

fn message(args: &A2aMessage) -> OutgoingMessage {
    let mut message = OutgoingMessage::new(&args.message);
    if let Some(context) = &args.context {
        message = message.in_context(context);
    }
    match &args.task {
        Some(task) => message.for_task(task),
        None => message,
    }
}

/// Sends a message and shows the events of its answer: as JSON if `has_events`, else the text.
async fn stream(
    agent: &A2aClient,
    message: OutgoingMessage,
    has_events: bool,
    output: &mut Output,
) -> Result<A2aReply, Failure> {
    let mut stream = agent.send_stream(message).await.map_err(failed)?;
    let mut has_text = false;
    while let Some(event) = stream.next().await {
        let event = event.map_err(failed)?;
        if has_events {
            output.value(&json!({ "event": event }))?;
        } else if !output.is_json() {
            has_text |= show_event(&event, output)?;
        }
    }
    if has_text {
        output.line("")?;
    }
    stream.finish().await.map_err(failed)
}

/// Shows the text of an event. Returns whether it is text without an end of the line.
fn show_event(event: &StreamResponse, output: &mut Output) -> Result<bool, Failure> {
    let parts = match event {
        StreamResponse::ArtifactUpdate(update) => &update.artifact.parts,
        StreamResponse::Message(message) => &message.parts,
        StreamResponse::StatusUpdate(update) => {
            let text = update.status.message.as_ref().map(|message| message.text());
            let text = text.filter(|text| !text.is_empty());
            output.remark(match text {
                Some(text) => format!("{}: {text}", update.status.state),
                None => update.status.state.to_string(),
            });
            return Ok(false);
        }
        StreamResponse::Task(_) => return Ok(false),
    };
    let text: String = parts.iter().filter_map(Part::as_text).collect();
    output.text(Text::new().lines(&text))?;
    Ok(!text.is_empty())
}

/// Sends each line of the standard input, all in one conversation.
async fn chat(
    target: &A2aTarget,
    context: Option<String>,
    output: &mut Output,
) -> Result<(), Failure> {
    let agent = connect(target).await?;
    if io::stdin().is_terminal() {
        output.remark(format!("{}: each line is a message; Ctrl-D ends", agent.card().name));
    }
    let mut last: Option<A2aReply> = None;
    while let Some(line) = read_line("> ").await? {
        let message = OutgoingMessage::new(line);
        let message = match (&last, &context) {
            (Some(reply), _) => message.follow(reply),
            (None, Some(context)) => message.in_context(context),
            (None, None) => message,
        };
        let reply = take_turn(&agent, message, output).await?;
        if output.is_json() {
            output.value(&reply_json(&reply))?;
        }
        last = Some(reply);
    }
    Ok(())
}

/// Sends a message, as a stream if the agent has streams.
async fn take_turn(
    agent: &A2aClient,
    message: OutgoingMessage,
    output: &mut Output,
) -> Result<A2aReply, Failure> {
    if agent.card().capabilities.streaming == Some(true) {
        return stream(agent, message, false, output).await;
    }
    let reply = agent.send(message).await.map_err(failed)?;
    if !output.is_json() {
        output.line(Text::new().lines(reply.text()))?;
    }
    Ok(reply)
}

/// Shows how an answer ended, and how to go on.
fn show_end(reply: &A2aReply, output: &mut Output) -> Result<(), Failure> {
    if output.is_json() {
        output.value(&reply_json(reply))?;
    } else if let Some(task) = reply.task() {
        output.remark(ids(task));
    }
    exit_of(reply.state())
}

fn show_task(task: Task, output: &mut Output) -> Result<(), Failure> {
    if output.is_json() {
        return output.value(&json!({ "ok": true, "task": task }));
    }
    output.line(Text::new().bold(task.status.state))?;
    let remark = ids(&task);
    let text = A2aReply::Task(task).text();
    if !text.is_empty() {
        output.line(Text::new().lines(text))?;
    }
    output.remark(remark);
    Ok(())
}

fn ids(task: &Task) -> String {
    format!("{}; task {}, context {}", task.status.state, task.id, task.context_id)
}

fn reply_json(reply: &A2aReply) -> Value {
    let (name, value) = match reply {
        A2aReply::Task(task) => ("task", json!(task)),
        A2aReply::Message(message) => ("message", json!(message)),
    };
    let is_ok = exit_of(reply.state()).is_ok();
    json!({ "ok": is_ok, "text": reply.text(), name: value })
}

fn exit_of(state: Option<TaskState>) -> Result<(), Failure> {
    match state {
        Some(TaskState::Failed | TaskState::Rejected | TaskState::Canceled) => {
            Err(Failure::AlreadyShown(Exit::Failed))
        }
        _ => Ok(()),
    }
}
