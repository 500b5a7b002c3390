//! Runs the tools that a model asked for in one message.

use std::sync::Arc;

use futures_util::future::try_join_all;
use oxikit_core::{Action, Context, Result, Status};
use oxikit_wire::{JsonObject, Message, Part, PartKind};
use serde_json::Value;

use crate::middleware::{NextTool, Stack};
use crate::tool::{Interrupt, short_name};

/// The results of the tool requests of one message.
pub(crate) enum ToolRound {
    /// All answered: the response parts in the order of the requests.
    Answered(Vec<Part>),
    /// At least one waits: the model message with what is known noted on it.
    Interrupted(Message),
}

/// The result of one tool request.
pub(crate) enum Outcome {
    Answer(Option<Part>),
    Interrupted(Value),
}

/// Runs all tools that the message asks for, at the same time. A tool that fails
/// fails the whole; the others are cancelled.
pub(crate) async fn run_tools(
    message: &Message,
    tools: &[Action],
    stack: &Stack,
) -> Result<ToolRound> {
    let requests =
        message.content.iter().enumerate().filter(|(_, part)| part.as_tool_request().is_some());
    let runs = requests.map(|(position, part)| async move {
        let outcome = run_one(part.clone(), tools, stack).await?;
        Ok::<_, Status>((position, outcome))
    });
    let outcomes = try_join_all(runs).await?;
    if outcomes.iter().any(|(_, outcome)| matches!(outcome, Outcome::Interrupted(_))) {
        return Ok(ToolRound::Interrupted(note_outcomes(message, outcomes)));
    }
    let answers = outcomes.into_iter().filter_map(|(_, outcome)| match outcome {
        Outcome::Answer(part) => part,
        Outcome::Interrupted(_) => None,
    });
    Ok(ToolRound::Answered(answers.collect()))
}

/// Runs one tool through the middleware.
pub(crate) async fn run_one(request: Part, tools: &[Action], stack: &Stack) -> Result<Outcome> {
    let name = request.as_tool_request().map_or("", |request| request.name.as_str()).to_owned();
    let tool = tools
        .iter()
        .find(|tool| short_name(tool.name()) == name || tool.name() == name)
        .ok_or_else(|| Status::not_found(format!("Tool {name} not found")))?;
    let ctx = Context::current()
        .ok_or_else(|| Status::internal("tools run inside of a generate call"))?;
    match (NextTool { rest: stack, tool, ctx: &ctx }).run(request).await {
        Ok(answer) => Ok(Outcome::Answer(answer)),
        Err(status) => match Interrupt::of(&status) {
            Some(interrupt) => Ok(Outcome::Interrupted(interrupt)),
            None => Err(status.with_hint(format!("in the tool `{name}`"))),
        },
    }
}

/// The model message of an interrupted round. The metadata of each tool request has either its
/// interrupt or its output, so that tools that have answered are not run again on resume.
fn note_outcomes(message: &Message, outcomes: Vec<(usize, Outcome)>) -> Message {
    let mut noted = message.clone();
    for (position, outcome) in outcomes {
        let metadata: &mut JsonObject = noted.content[position].metadata.get_or_insert_default();
        match outcome {
            Outcome::Interrupted(interrupt) => metadata.insert("interrupt".into(), interrupt),
            Outcome::Answer(answer) => metadata.insert("pendingOutput".into(), output_of(answer)),
        };
    }
    noted
}

fn output_of(answer: Option<Part>) -> Value {
    match answer.map(|part| part.kind) {
        Some(PartKind::ToolResponse(response)) => response.output.unwrap_or(Value::Null),
        _ => Value::Null,
    }
}

/// A tool message of these responses.
pub(crate) fn tool_message(responses: Vec<Part>) -> Arc<Message> {
    Arc::new(Message::tool(responses))
}
