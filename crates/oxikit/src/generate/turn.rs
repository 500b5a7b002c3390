//! The loop: ask the model, run the tools it wants, ask again.

use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use oxikit_core::{
    Action, ActionContext, Emitter, Result, Schema, Status, StatusCode, Step, StepKind,
};
use oxikit_wire::{
    FinishReason, GenerateRequest, GenerateResponse, GenerateResponseChunk, Message, OutputConfig,
    Role,
};
use serde_json::{Value, json};

use super::reply::{misfit, parse_output};
use super::{request, resume, tool_run};
use crate::Oxikit;
use crate::format::Format;
use crate::generate::tool_run::ToolRound;
use crate::middleware::{ModelStream, NextModel, NextTurn, Stack, Turn};

/// Rounds of tools before the loop gives up, unless the caller says otherwise.
const MAX_TURNS: u64 = 5;

/// What stays the same through all turns of one generate call.
pub(crate) struct GenerateCall {
    pub(crate) ai: Oxikit,
    pub(crate) stack: Stack,
    /// Tools that were given by value.
    pub(crate) tools: Vec<Action>,
    pub(crate) context: Option<ActionContext>,
    pub(crate) out: Emitter<GenerateResponseChunk>,
    pub(crate) said: Said,
}

/// What a generate call adds to its conversation, for those who keep it: model
/// and tool messages as they are said, whatever middleware makes of the request.
/// After a resume, the first one stands in place of the message that was resumed.
#[derive(Debug, Clone, Default)]
pub(crate) struct Said(Option<Arc<Mutex<Vec<Arc<Message>>>>>);

impl Said {
    /// Somebody keeps the conversation.
    pub(crate) fn kept() -> Self {
        Self(Some(Arc::default()))
    }

    pub(crate) fn take(&self) -> Vec<Arc<Message>> {
        self.lock().map(|mut said| std::mem::take(&mut *said)).unwrap_or_default()
    }

    fn is_kept(&self) -> bool {
        self.0.is_some()
    }

    /// A turn that is run again has said nothing yet.
    fn rewind(&self, length: usize) {
        if let Some(mut said) = self.lock() {
            said.truncate(length);
        }
    }

    fn add<const N: usize>(&self, messages: [&Arc<Message>; N]) -> usize {
        let Some(mut said) = self.lock() else { return 0 };
        said.extend(messages.map(Arc::clone));
        said.len()
    }

    fn lock(&self) -> Option<MutexGuard<'_, Vec<Arc<Message>>>> {
        Some(self.0.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Runs a turn and all that follow it, as one step of the trace.
pub(crate) fn begin_turn<'a>(
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

/// One turn, inside of all middleware.
pub(crate) async fn run_turn(call: &GenerateCall, turn: Turn) -> Result<GenerateResponse> {
    let Turn { mut options, number, message_index, said } = turn;
    call.said.rewind(said);
    let model = call.ai.resolve_model(options.model.as_deref()).await?;
    let names = options.tools.as_deref().unwrap_or_default();
    let tools = request::resolve_tools(&call.ai, names, &call.tools).await?;
    if let Some(resume) = options.resume.take() {
        let [resolved, answers] = resume::resolve(&options, resume, &tools, &call.stack).await?;
        options.messages.pop();
        emit_tool_message(call, &answers, message_index).await?;
        let said = call.said.add([&resolved, &answers]);
        options.messages.extend([resolved, answers]);
        let message_index = message_index + 1;
        return begin_turn(call, Turn { options, number, message_index, said }).await;
    }
    request::replace_resources(&call.ai, &mut options.messages).await?;
    let request = request::build(&mut options, &tools)?;
    let stream = ModelStream::new(&call.out, message_index);
    let next = NextModel { rest: &call.stack, model: model.action().clone(), stream: &stream };
    let asked = if call.said.is_kept() { without_messages(&request) } else { request.clone() };
    let response = finish(next.run(request).await?, asked)?;

    let Some(message) = response.message.clone() else { return Ok(response) };
    let wants_tools = message.tool_requests().next().is_some();
    if !wants_tools {
        check_output(&response, &message)?;
    }
    if !wants_tools || options.return_tool_requests == Some(true) {
        call.said.add([&message]);
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
            call.said.add([&message]);
            return Ok(interrupted(response, message));
        }
    };
    let answers = tool_run::tool_message(responses);
    let message_index = message_index + u64::from(stream.has_begun.load(Ordering::Relaxed));
    emit_tool_message(call, &answers, message_index).await?;
    let said = call.said.add([&message, &answers]);
    options.messages.extend([message, answers]);
    let (number, message_index) = (number + 1, message_index + 1);
    begin_turn(call, Turn { options, number, message_index, said }).await
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

/// Whoever keeps the conversation needs no second copy of it.
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

/// A key that was given for one call is not handed out with the answer.
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

/// Holds the final answer against the schema that was asked for.
fn check_output(response: &GenerateResponse, message: &Message) -> Result<()> {
    let output = response.request.as_ref().and_then(|request| request.output.as_ref());
    let Some(OutputConfig { schema: Some(schema), format, .. }) = output else { return Ok(()) };
    let Some(format) = format.as_deref().and_then(Format::named) else { return Ok(()) };
    let output = parse_output(Some(format), message);
    let checked = Schema::from_json(schema.clone())?.validate(&output);
    checked.map_err(|status| status.with_hint(misfit(message)))
}
