//! A model that repeats its input, and requests a tool if the input says so.

use oxikit::prelude::*;
use oxikit::wire::{
    FinishReason, GenerateRequest, GenerateResponse, GenerateResponseChunk, ModelInfo,
    ModelSupports, Usage,
};
use oxikit::{Model, Role, Schema};

pub(crate) const NAME: &str = "echo/model";

#[derive(JsonSchema)]
struct Options {
    #[expect(dead_code, reason = "an echo has no temperature")]
    temperature: Option<f64>,
}

pub(crate) fn echo() -> Model {
    let supports = ModelSupports {
        multiturn: Some(true),
        system_role: Some(true),
        tools: Some(true),
        media: Some(false),
        output: Some(vec!["text".to_owned(), "json".to_owned()]),
        ..ModelSupports::default()
    };
    let info = ModelInfo {
        label: Some("Echo model".to_owned()),
        versions: Some(vec!["echo-1".to_owned()]),
        supports: Some(supports),
        custom_options: Some(Schema::of::<Options>().as_json().clone()),
        ..ModelInfo::default()
    };
    Model::builder(NAME).info(info).handler(|request, _, out| answer(request, out))
}

async fn answer(
    request: GenerateRequest,
    out: Emitter<GenerateResponseChunk>,
) -> Result<GenerateResponse> {
    let last = request.messages.last().ok_or_else(|| Status::invalid_argument("say something"))?;
    let response = last.content.iter().find_map(Part::as_tool_response);
    let tool = request.tools.iter().flatten().next();
    if let (true, Some(tool), None) = (last.text().starts_with("use-tool"), tool, response) {
        let input = json!({ "a": 2, "b": 3 });
        return Ok(reply(Part::tool_request(&tool.name, Some("r1".to_owned()), input)));
    }
    let text = match response {
        Some(response) => format!("tool said {}", json!(response.output)),
        None => format!("Echo: {}", last.text()),
    };
    for word in text.split(' ') {
        out.send(GenerateResponseChunk::text(format!("{word} "))).await?;
    }
    let usage = Usage {
        input_tokens: Some(3),
        output_tokens: Some(4),
        total_tokens: Some(7),
        ..Usage::default()
    };
    Ok(GenerateResponse { usage: Some(usage), ..reply(Part::text(text)) })
}

fn reply(part: Part) -> GenerateResponse {
    GenerateResponse {
        message: Some(Message::new(Role::Model, vec![part]).into()),
        finish_reason: Some(FinishReason::Stop),
        ..GenerateResponse::default()
    }
}
