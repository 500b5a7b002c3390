//! The run of a tool for a tool request of a model.

use oxikit_core::{Action, ActionKind, Call, Context, Result, Status};
use oxikit_wire::{
    GenerateRequest, MultipartToolResponse, Part, PartKind, ToolRequest, ToolResponse,
};

use super::ToolCall;

/// Runs a tool and makes the response part out of its output.
pub(crate) async fn run_tool(tool: &Action, request: Part, ctx: &Context) -> Result<Part> {
    let PartKind::ToolRequest(ToolRequest { name, reference, input, .. }) = request.kind else {
        return Err(Status::internal("only tool requests can be run"));
    };
    let call = match input {
        Some(input) => Call::new(input),
        None => Call::empty(),
    };
    let tool_call =
        ToolCall { name: name.clone(), reference: reference.clone(), metadata: request.metadata };
    let call = call.in_registry(ctx.registry()).with_extra(tool_call);
    let output = tool.run(call).await?;
    let mut metadata = None;
    let response = match tool.kind() {
        ActionKind::ToolV2 => {
            let answer: MultipartToolResponse = output.parse()?;
            metadata = answer.metadata;
            ToolResponse { name, reference, output: answer.output, content: answer.content }
        }
        // A prompt as a tool answers with what it would ask a model.
        ActionKind::Prompt => {
            let request: GenerateRequest = output.parse()?;
            let messages = serde_json::to_value(request.messages)?;
            ToolResponse { name, reference, output: Some(messages), content: None }
        }
        _ => {
            let output = output.to_value()?;
            let is_nothing = output.is_null() && tool.descriptor().output_schema.is_none();
            ToolResponse { name, reference, output: (!is_nothing).then_some(output), content: None }
        }
    };
    Ok(Part { kind: PartKind::ToolResponse(response), metadata })
}
