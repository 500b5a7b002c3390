//! A model that repeats its input, and executes a few commands in it.

use std::time::Duration;

use oxikit::wire::{
    FinishReason, GenerateRequest, GenerateResponse, GenerateResponseChunk, Message, Part, Role,
};
use oxikit::{Emitter, Model, Result, Status, StatusCode};
use serde_json::{Deserializer, Value, json};

pub(crate) const NAME: &str = "echo";

pub(crate) fn echo() -> Model {
    Model::builder(NAME).handler(|request, _, out| async move { answer(&request, out).await })
}

async fn answer(
    request: &GenerateRequest,
    out: Emitter<GenerateResponseChunk>,
) -> Result<GenerateResponse> {
    let said = request.messages.iter().filter(|message| message.role != Role::System);
    let Some(last) = request.messages.last() else { return speak(out, &["nothing"]).await };
    if last.role == Role::Tool {
        let outputs = last.content.iter().filter_map(Part::as_tool_response);
        let outputs: Vec<_> = outputs.map(|response| json!(response.output).to_string()).collect();
        return speak(out, &["tool said ", &outputs.join(",")]).await;
    }
    let text = last.text();
    let (command, rest) = text.split_once(' ').unwrap_or((&text, ""));
    match command {
        "/tool" => ask(vec![Part::text("calling"), tool_request(rest)?]),
        "/two" => ask(vec![
            Part::tool_request("getWeather", Some("w1".to_owned()), json!({ "city": "Oslo" })),
            Part::tool_request("confirm", Some("c1".to_owned()), json!({ "q": "sure?" })),
        ]),
        "/fail" => Err(Status::public(StatusCode::Unavailable, "model down")
            .with_details(json!({ "retry": true }))),
        "/boom" => Err(Status::internal("the password is hunter2")),
        "/slow" => count_slowly(out).await,
        _ => {
            let count = format!("echo({}): ", said.count());
            let words: Vec<&str> =
                std::iter::once(count.as_str()).chain(text.split_inclusive(' ')).collect();
            speak(out, &words).await
        }
    }
}

/// The words as chunks, and all of them as the answer.
async fn speak(out: Emitter<GenerateResponseChunk>, words: &[&str]) -> Result<GenerateResponse> {
    for word in words {
        out.send(GenerateResponseChunk::text(*word)).await?;
    }
    ask(vec![Part::text(words.concat())])
}

fn ask(content: Vec<Part>) -> Result<GenerateResponse> {
    Ok(GenerateResponse {
        message: Some(Message::new(Role::Model, content).into()),
        finish_reason: Some(FinishReason::Stop),
        ..GenerateResponse::default()
    })
}

/// `name json [ref]`.
fn tool_request(text: &str) -> Result<Part> {
    let wrong = || Status::invalid_argument("write `/tool name json ref`");
    let (name, rest) = text.split_once(' ').ok_or_else(wrong)?;
    let mut values = Deserializer::from_str(rest).into_iter::<Value>();
    let input = values.next().ok_or_else(wrong)??;
    let reference = rest[values.byte_offset()..].trim();
    let reference = if reference.is_empty() { "ref1" } else { reference };
    Ok(Part::tool_request(name, Some(reference.to_owned()), input))
}

async fn count_slowly(out: Emitter<GenerateResponseChunk>) -> Result<GenerateResponse> {
    for number in 0..100 {
        out.send(GenerateResponseChunk::text(format!("{number} "))).await?;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    ask(vec![Part::text("at last")])
}
