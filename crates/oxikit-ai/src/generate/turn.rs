//! The loop: ask the model, run the tools it wants, ask again.

use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use oxikit_core::ports::PromptOrigin;
use oxikit_core::{
    Action, ActionContext, Emitter, Result, Schema, Status, StatusCode, Step, StepKind,
};
use oxikit_wire::{
    FinishReason, GenerateActionOptions, GenerateRequest, GenerateResponse, GenerateResponseChunk,
    Message, OutputConfig, Role,
};
use serde_json::{Value, json};

use super::reply::{misfit, parse_output};
use super::{request, resume, tool_run};
use crate::Oxikit;
use crate::format::Format;
use crate::generate::tool_run::ToolRound;
use crate::middleware::{self, Middleware, ModelStream, NextModel, NextTurn, RunTurn, Stack, Turn};

/// Rounds of tools before the loop gives up, unless the caller says otherwise.
const MAX_TURNS: u64 = 5;

/// The data that all turns of one generate call share.
pub(crate) struct GenerateCall {
    pub(crate) ai: Oxikit,
    pub(crate) stack: Stack,
    /// Tools that were given by value.
    pub(crate) tools: Vec<Action>,
    pub(crate) context: Option<ActionContext>,
    pub(crate) out: Emitter<GenerateResponseChunk>,
    pub(crate) added: AddedMessages,
    /// The prompt that the call begins with. The spans of model calls record it.
    pub(crate) origin: Option<PromptOrigin>,
}

impl GenerateCall {
    /// A call without middleware, tools of its own and a prompt.
    pub(super) fn new(ai: Oxikit, out: Emitter<GenerateResponseChunk>) -> Self {
        Self {
            ai,
            stack: Stack::default(),
            tools: Vec::new(),
            context: None,
            out,
            added: AddedMessages::default(),
            origin: None,
        }
    }
}

/// The messages that a generate call adds to its conversation: model and tool messages, whatever
/// middleware makes of the request. After a resume, the first one replaces the message that was
/// resumed. By default nothing is collected.
#[derive(Debug, Clone, Default)]
pub(crate) struct AddedMessages(Option<Arc<Mutex<Vec<Arc<Message>>>>>);

impl AddedMessages {
    /// Collects the messages, for a caller that keeps the conversation.
    pub(crate) fn kept() -> Self {
        Self(Some(Arc::default()))
    }

    pub(crate) fn take(&self) -> Vec<Arc<Message>> {
        self.lock().map(|mut added| std::mem::take(&mut *added)).unwrap_or_default()
    }

    fn is_kept(&self) -> bool {
        self.0.is_some()
    }

    /// Removes the messages of a turn that is run again, for example by a retry of middleware.
    fn rewind(&self, length: usize) {
        if let Some(mut added) = self.lock() {
            added.truncate(length);
        }
    }

    fn add<const N: usize>(&self, messages: [&Arc<Message>; N]) -> usize {
        let Some(mut added) = self.lock() else { return 0 };
        added.extend(messages.map(Arc::clone));
        added.len()
    }

    fn lock(&self) -> Option<MutexGuard<'_, Vec<Arc<Message>>>> {
        Some(self.0.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Runs the loop with this middleware and that which the options name.
pub(super) async fn run_loop(
    mut call: GenerateCall,
    mut options: GenerateActionOptions,
    middleware: Vec<Arc<dyn Middleware>>,
) -> Result<GenerateResponse> {
    let named = options.middleware.as_deref().unwrap_or_default();
    let mut stack = middleware::resolve(call.ai.registry(), named)?;
    // Middleware that is named comes first and so is outside of that which is given by value.
    stack.extend(middleware);
    for tool in stack.iter().flat_map(|middleware| middleware.tools()) {
        options.tools.get_or_insert_default().push(tool.action().key().to_owned());
        call.tools.push(tool.action().clone());
    }
    call.stack = stack.into();
    begin_turn(&call, Turn { options, number: 0, message_index: 0, added: 0 }).await
}

/// Runs a turn and all that follow it, as one step of the trace.
fn begin_turn<'a>(
    call: &'a GenerateCall,
    turn: Turn,
) -> Pin<Box<dyn Future<Output = Result<GenerateResponse>> + Send + 'a>> {
    Box::pin(async move {
        let name = turn.options.step_name.clone();
        let mut step = Step::new(StepKind::Util, name.as_deref().unwrap_or("generate"))
            .in_registry(call.ai.registry())
            .input(&turn.options);
        if let Some(context) = &call.context {
            step = step.with_context(context.clone());
        }
        step.run(|_| async move { NextTurn { rest: &call.stack, call }.run(turn).await }).await
    })
}

#[async_trait]
impl RunTurn for GenerateCall {
    async fn run_turn(&self, turn: Turn) -> Result<GenerateResponse> {
        run_turn(self, turn).await
    }
}

/// Runs a turn, inside of all middleware: one model call, the tools that it asks for, and then
/// the next turn. Turns are nested and not a loop, so that middleware around a turn sees the
/// result of all that follow, and so that the trace shows them as children.
async fn run_turn(call: &GenerateCall, turn: Turn) -> Result<GenerateResponse> {
    let Turn { mut options, number, message_index, added } = turn;
    // Middleware may run a turn again; the messages of the first attempt do not count then.
    call.added.rewind(added);
    let model = call.ai.resolve_model(options.model.as_deref()).await?;
    let names = options.tools.as_deref().unwrap_or_default();
    let tools = request::resolve_tools(&call.ai, names, &call.tools).await?;
    if let Some(resume) = options.resume.take() {
        let [resolved, answers] = resume::resolve(&options, resume, &tools, &call.stack).await?;
        options.messages.pop();
        emit_tool_message(call, &answers, message_index).await?;
        let added = call.added.add([&resolved, &answers]);
        options.messages.extend([resolved, answers]);
        let message_index = message_index + 1;
        return begin_turn(call, Turn { options, number, message_index, added }).await;
    }
    request::replace_resources(&call.ai, &mut options.messages).await?;
    let request = request::build(&mut options, &tools)?;
    let stream = ModelStream::new(&call.out, message_index);
    let next = NextModel {
        rest: &call.stack,
        model: model.action().clone(),
        origin: call.origin.as_ref(),
        stream: &stream,
    };
    // A caller that collects the messages does not need them in the response, and a copy of a
    // long conversation is expensive.
    let asked = if call.added.is_kept() { without_messages(&request) } else { request.clone() };
    let response = finish(next.run(request).await?, asked)?;

    let Some(message) = response.message.clone() else { return Ok(response) };
    let wants_tools = message.tool_requests().next().is_some();
    if !wants_tools {
        check_output(&response, &message)?;
    }
    if !wants_tools || options.return_tool_requests == Some(true) {
        call.added.add([&message]);
        return Ok(response);
    }
    let max_turns = options.max_turns.unwrap_or(MAX_TURNS);
    if number >= max_turns {
        return Err(Status::public(
            StatusCode::Aborted,
            format!("Exceeded maximum tool call iterations ({max_turns})"),
        ));
    }
    let responses = match tool_run::run_tools(&message, &tools, &call.stack).await? {
        ToolRound::Answered(responses) => responses,
        ToolRound::Interrupted(message) => {
            let message = Arc::new(message);
            call.added.add([&message]);
            return Ok(interrupted(response, message));
        }
    };
    let answers = tool_run::tool_message(responses);
    // Indexes count streamed messages, so an answer without chunks does not take one.
    let message_index = message_index + u64::from(stream.has_begun.load(Ordering::Relaxed));
    emit_tool_message(call, &answers, message_index).await?;
    let added = call.added.add([&message, &answers]);
    options.messages.extend([message, answers]);
    let (number, message_index) = (number + 1, message_index + 1);
    begin_turn(call, Turn { options, number, message_index, added }).await
}

async fn emit_tool_message(call: &GenerateCall, message: &Message, index: u64) -> Result<()> {
    if !call.out.is_wanted() {
        return Ok(());
    }
    let chunk = GenerateResponseChunk {
        role: Some(Role::Tool),
        index: Some(index),
        content: message.content.clone(),
        ..Default::default()
    };
    call.out.send(chunk).await
}

/// Refuses an unusable answer, and fills in what every result has.
fn finish(mut response: GenerateResponse, request: GenerateRequest) -> Result<GenerateResponse> {
    if response.finish_reason == Some(FinishReason::Blocked) {
        let why = response.finish_message.unwrap_or_default();
        return Err(Status::failed_precondition(format!("Generation blocked: {why}")));
    }
    if response.message.is_none() && response.operation.is_none() {
        let reason = response.finish_reason.map(|reason| json!(reason)).unwrap_or_default();
        let reason = reason.as_str().unwrap_or("unknown").to_owned();
        let why = response.finish_message.map(|why| format!(": {why}")).unwrap_or_default();
        return Err(Status::failed_precondition(format!(
            "Model did not generate a message. Finish reason: '{reason}'{why}"
        )));
    }
    if let (Some(message), Some(output)) = (&mut response.message, &request.output)
        && (output.format.is_some() || output.content_type.is_some())
    {
        let metadata = Arc::make_mut(message).metadata.get_or_insert_default();
        metadata.insert("generate".into(), json!({ "output": requested_output(output) }));
    }
    response.usage.get_or_insert_default();
    response.custom.get_or_insert_with(|| json!({}));
    response.request = Some(Box::new(without_key(request)));
    Ok(response)
}

/// A copy without the messages, for callers that keep the conversation themselves.
fn without_messages(request: &GenerateRequest) -> GenerateRequest {
    let GenerateRequest { messages: _, config, tools, tool_choice, output, docs } = request;
    GenerateRequest {
        messages: Vec::new(),
        config: config.clone(),
        tools: tools.clone(),
        tool_choice: *tool_choice,
        output: output.clone(),
        docs: docs.clone(),
    }
}

/// Removes the API key of the call: the request is part of the response, which may be sent to
/// clients and is stored in traces.
fn without_key(mut request: GenerateRequest) -> GenerateRequest {
    if let Some(Value::Object(config)) = &mut request.config {
        config.shift_remove("apiKey");
    }
    request
}

fn requested_output(output: &OutputConfig) -> Value {
    json!(OutputConfig {
        content_type: output.content_type.clone(),
        format: output.format.clone(),
        ..Default::default()
    })
}

fn interrupted(response: GenerateResponse, message: Arc<Message>) -> GenerateResponse {
    GenerateResponse {
        message: Some(message),
        finish_reason: Some(FinishReason::Interrupted),
        finish_message: Some("One or more tool calls resulted in interrupts.".into()),
        ..response
    }
}

/// Checks the final answer against the schema of the request. Answers with tool requests are
/// not checked: they are not the final one.
fn check_output(response: &GenerateResponse, message: &Message) -> Result<()> {
    let output = response.request.as_ref().and_then(|request| request.output.as_ref());
    let Some(OutputConfig { schema: Some(schema), format, .. }) = output else { return Ok(()) };
    let Some(format) = format.as_deref().and_then(Format::named) else { return Ok(()) };
    let output = parse_output(Some(format), message);
    let checked = Schema::from_json(schema.clone())?.validate(&output);
    checked.map_err(|status| status.with_hint(misfit(message)))
}
