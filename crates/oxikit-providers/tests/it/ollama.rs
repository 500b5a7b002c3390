use serde_json::{Value, json};

use crate::server::{Reply, Server};
use crate::support::*;

const MODEL: &str = "ollama/qwen3:4b";

fn answer(message: Value, done_reason: &str) -> Value {
    json!({
        "model": "qwen3:4b", "created_at": "2026-01-01T00:00:00Z", "message": message,
        "done": true, "done_reason": done_reason, "prompt_eval_count": 10, "eval_count": 5,
    })
}

fn assistant_message(text: &str) -> Value {
    json!({"role": "assistant", "content": text})
}

#[tokio::test]
async fn a_chat_is_answered_with_thoughts_and_usage() {
    let message = json!({"role": "assistant", "content": "Hi!", "thinking": "Hm."});
    let server = Server::start([Reply::json(answer(message, "stop"))]).await;
    let mut request = hello();
    request["config"] = json!({"temperature": 0.5, "topK": 40, "topP": 0.9, "maxOutputTokens": 9,
        "stopSequences": ["END"], "numCtx": 4096, "keepAlive": "5m", "think": true});
    let response = ask(ollama(&server), MODEL, request).await.unwrap();
    assert_eq!(plain(&response), [json!({"reasoning": "Hm."}), json!({"text": "Hi!"})]);
    let usage = serde_json::to_value(response.usage).unwrap();
    assert_eq!(usage, json!({"inputTokens": 10, "outputTokens": 5, "totalTokens": 15}));

    let seen = server.only();
    assert_eq!(seen.path, "/api/chat");
    assert_eq!(seen.header("authorization"), None);
    assert_eq!(seen.body["model"], "qwen3:4b");
    assert_eq!(seen.body["stream"], false);
    assert_eq!(seen.body["think"], true);
    assert_eq!(seen.body["keep_alive"], "5m");
    assert_eq!(
        seen.body["options"],
        json!({"temperature": 0.5, "num_predict": 9, "top_p": 0.9, "stop": ["END"],
            "top_k": 40, "num_ctx": 4096})
    );
}

#[tokio::test]
async fn a_streamed_chat_sends_pieces_and_then_the_whole() {
    let piece = |message: Value| json!({"model": "qwen3:4b", "message": message, "done": false});
    let server = Server::start([Reply::ndjson(&[
        piece(json!({"role": "assistant", "content": "", "thinking": "Hm."})),
        piece(assistant_message("Good ")),
        piece(assistant_message("day.")),
        answer(assistant_message(""), "stop"),
    ])])
    .await;
    let (pieces, response) = stream(ollama(&server), MODEL, hello()).await;
    let response = response.unwrap();
    let pieces: Vec<Value> = pieces.iter().map(plain_part).collect();
    assert_eq!(
        pieces,
        [json!({"reasoning": "Hm."}), json!({"text": "Good "}), json!({"text": "day."})]
    );
    assert_eq!(plain(&response), [json!({"reasoning": "Hm."}), json!({"text": "Good day."})]);
    assert_eq!(response.usage.unwrap().total_tokens, Some(15));
}

#[tokio::test]
async fn a_tool_call_goes_round() {
    let call = json!({"role": "assistant", "content": "", "tool_calls":
        [{"function": {"name": "weather", "arguments": {"city": "Oslo"}}}]});
    let server = Server::start([
        Reply::json(answer(call, "stop")),
        Reply::json(answer(assistant_message("21 degrees."), "stop")),
    ])
    .await;
    let mut request = hello();
    request["tools"] = json!([weather_tool()]);
    let response = ask(ollama(&server), MODEL, request.clone()).await.unwrap();
    let asked = response.message.as_ref().unwrap();
    let asked = asked.tool_requests().next().unwrap();
    assert!(asked.reference.is_some(), "rig's own id, for Ollama sends none");
    let next = with_tool_response(&request, &response);
    ask(ollama(&server), MODEL, next).await.unwrap();

    let [first, second] = <[_; 2]>::try_from(server.seen()).unwrap();
    assert_eq!(first.body["tools"][0]["function"]["name"], "weather");
    let messages = &second.body["messages"];
    let id = &messages[1]["tool_calls"][0]["id"];
    assert!(id.is_string());
    assert_eq!(messages[2]["role"], "tool");
    assert_eq!(&messages[2]["tool_call_id"], id);
    assert_eq!(messages[2]["content"], "{\"degrees\":21}");
}

#[tokio::test]
async fn structured_output_is_a_format() {
    let good = || Reply::json(answer(assistant_message("{}"), "stop"));
    let server = Server::start([good(), good()]).await;
    let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}}});
    let mut request = hello();
    request["output"] = json!({"format": "json", "constrained": true, "schema": schema});
    ask(ollama(&server), MODEL, request.clone()).await.unwrap();
    request["output"] = json!({"format": "json"});
    ask(ollama(&server), MODEL, request).await.unwrap();
    let [constrained, any] = <[_; 2]>::try_from(server.seen()).unwrap();
    assert_eq!(constrained.body["format"], schema);
    assert_eq!(any.body["format"], "json");
}

#[tokio::test]
async fn a_picture_goes_in_as_data_and_a_link_is_refused() {
    let server = Server::start([Reply::json(answer(assistant_message("A cat."), "stop"))]).await;
    let with = |url: &str| {
        json!({"messages": [{"role": "user", "content":
        [{"text": "What is it?"}, {"media": {"url": url}}]}]})
    };
    ask(ollama(&server), MODEL, with("data:image/png;base64,iVBORw0KGgo=")).await.unwrap();
    assert_eq!(server.only().body["messages"][0]["images"], json!(["iVBORw0KGgo="]));
    let refused = ask(ollama(&server), MODEL, with("https://example.com/cat.png")).await;
    assert!(refused.unwrap_err().message().contains("`data:` URL"));
}

#[tokio::test]
async fn the_length_limit_is_a_finish_reason() {
    let server = Server::start([Reply::json(answer(assistant_message("Hi"), "length"))]).await;
    let response = ask(ollama(&server), MODEL, hello()).await.unwrap();
    assert_eq!(response.finish_reason, Some(oxikit::wire::FinishReason::Length));
}

#[tokio::test]
async fn texts_are_embedded() {
    let server = Server::start([Reply::json(
        json!({"model": "nomic-embed-text", "embeddings": [[0.5, 1.0], [1.5, 2.0]]}),
    )])
    .await;
    let request =
        json!({"input": [{"content": [{"text": "tea"}]}, {"content": [{"text": "coffee"}]}]});
    let response = embed(ollama(&server), "ollama/nomic-embed-text", request).await.unwrap();
    assert_eq!(response.embeddings[1].embedding, [1.5, 2.0]);
    let seen = server.only();
    assert_eq!(seen.path, "/api/embed");
    assert_eq!(seen.body["input"], json!(["tea", "coffee"]));
}

#[tokio::test]
async fn a_tool_choice_is_honoured_or_refused() {
    let server = Server::start([Reply::json(answer(assistant_message("Hi"), "stop"))]).await;
    let mut request = hello();
    request["tools"] = json!([weather_tool()]);
    request["toolChoice"] = json!("none");
    ask(ollama(&server), MODEL, request.clone()).await.unwrap();
    assert_eq!(server.only().body.get("tools"), None);
    request["toolChoice"] = json!("required");
    let refused = ask(ollama(&server), MODEL, request).await.unwrap_err();
    assert_eq!(refused.code(), oxikit::StatusCode::InvalidArgument);
}
