use serde_json::{Value, json};

use crate::server::{Reply, Server};
use crate::support::*;

const MODEL: &str = "anthropic/claude-sonnet-4-5";

fn answer(content: Value, stop_reason: &str) -> Value {
    json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5-20250929",
        "content": content, "stop_reason": stop_reason, "stop_sequence": null,
        "usage": {"input_tokens": 10, "output_tokens": 5, "cache_read_input_tokens": 2,
            "cache_creation_input_tokens": 3},
    })
}

#[tokio::test]
async fn a_chat_is_answered_with_thoughts_usage_and_request_id() {
    let content = json!([
        {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"},
        {"type": "text", "text": "Hi!"},
    ]);
    let reply = Reply::json(answer(content, "end_turn")).header("request-id", "req_1");
    let server = Server::start([reply]).await;
    let mut request = hello();
    request["config"] = json!({"temperature": 1.0, "topK": 5, "stopSequences": ["END"],
        "thinking": {"type": "enabled", "budget_tokens": 2048}});
    let response = ask(anthropic(&server), MODEL, request).await.unwrap();

    assert_eq!(plain(&response), [json!({"reasoning": "Hm."}), json!({"text": "Hi!"})]);
    let response = serde_json::to_value(response).unwrap();
    assert_eq!(response["finishReason"], "stop");
    assert_eq!(
        response["usage"],
        json!({"inputTokens": 15, "outputTokens": 5, "totalTokens": 20, "cachedContentTokens": 2,
            "custom": {"cacheCreationTokens": 3}})
    );
    assert_eq!(response["custom"]["requestId"], "req_1");

    let seen = server.only();
    assert_eq!(seen.path, "/v1/messages");
    assert_eq!(seen.header("x-api-key"), Some(KEY));
    assert!(seen.header("anthropic-version").is_some());
    assert_eq!(seen.body["max_tokens"], 8192 + 2048);
    assert_eq!(seen.body["top_k"], 5);
    assert_eq!(seen.body["stop_sequences"], json!(["END"]));
    assert_eq!(seen.body["thinking"]["budget_tokens"], 2048);
}

fn streamed() -> Vec<Value> {
    vec![
        json!({"type": "message_start", "message": {
            "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5",
            "content": [], "stop_reason": null, "stop_sequence": null,
            "usage": {"input_tokens": 10, "output_tokens": 1}}}),
        json!({"type": "content_block_start", "index": 0,
            "content_block": {"type": "thinking", "thinking": "", "signature": ""}}),
        json!({"type": "content_block_delta", "index": 0,
            "delta": {"type": "thinking_delta", "thinking": "Hm."}}),
        json!({"type": "content_block_delta", "index": 0,
            "delta": {"type": "signature_delta", "signature": "c2ln"}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "content_block_start", "index": 1,
            "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 1,
            "delta": {"type": "text_delta", "text": "Let me "}}),
        json!({"type": "content_block_delta", "index": 1,
            "delta": {"type": "text_delta", "text": "see."}}),
        json!({"type": "content_block_stop", "index": 1}),
        json!({"type": "content_block_start", "index": 2,
            "content_block": {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {}}}),
        json!({"type": "content_block_delta", "index": 2,
            "delta": {"type": "input_json_delta", "partial_json": "{\"city\":"}}),
        json!({"type": "content_block_delta", "index": 2,
            "delta": {"type": "input_json_delta", "partial_json": " \"Oslo\"}"}}),
        json!({"type": "content_block_stop", "index": 2}),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use", "stop_sequence": null},
            "usage": {"output_tokens": 20}}),
        json!({"type": "message_stop"}),
    ]
}

#[tokio::test]
async fn a_streamed_tool_call_goes_round_with_its_signed_thoughts() {
    let server = Server::start([
        Reply::sse(&streamed()),
        Reply::json(answer(json!([{"type": "text", "text": "21 degrees."}]), "end_turn")),
    ])
    .await;
    let mut request = hello();
    request["tools"] = json!([weather_tool()]);
    request["config"] = json!({"thinking": {"type": "enabled", "budget_tokens": 2048}});
    let (pieces, response) = stream(anthropic(&server), MODEL, request.clone()).await;
    let response = response.unwrap();
    let asked =
        json!({"toolRequest": {"name": "weather", "ref": "toolu_1", "input": {"city": "Oslo"}}});
    let pieces: Vec<Value> = pieces.iter().map(plain_part).collect();
    assert_eq!(
        pieces,
        [
            json!({"reasoning": "Hm."}),
            json!({"text": "Let me "}),
            json!({"text": "see."}),
            asked.clone()
        ]
    );
    assert_eq!(
        plain(&response),
        [json!({"reasoning": "Hm."}), json!({"text": "Let me see."}), asked]
    );
    assert_eq!(response.usage.as_ref().unwrap().output_tokens, Some(20));

    let next = with_tool_response(&request, &response);
    ask(anthropic(&server), MODEL, next).await.unwrap();
    let [first, second] = <[_; 2]>::try_from(server.seen()).unwrap();
    assert_eq!(first.body["stream"], true);
    assert_eq!(first.body["tools"][0]["input_schema"]["required"], json!(["city"]));
    let messages = &second.body["messages"];
    let thought = &messages[1]["content"][0];
    assert_eq!(thought["thinking"], "Hm.");
    assert_eq!(thought["signature"], "c2ln");
    assert_eq!(messages[1]["content"][2]["id"], "toolu_1");
    assert_eq!(messages[2]["role"], "user");
    assert_eq!(messages[2]["content"][0]["type"], "tool_result");
    assert_eq!(messages[2]["content"][0]["tool_use_id"], "toolu_1");
}

#[tokio::test]
async fn structured_output_is_native_for_objects_and_explained_for_the_rest() {
    let good = || Reply::json(answer(json!([{"type": "text", "text": "[]"}]), "end_turn"));
    let server = Server::start([good(), good()]).await;
    let mut request = hello();
    request["output"] = json!({"format": "json", "constrained": true,
        "schema": {"type": "object", "properties": {"a": {"type": "integer"}}}});
    ask(anthropic(&server), MODEL, request.clone()).await.unwrap();
    request["output"]["schema"] = json!({"type": "array", "items": {"type": "string"}});
    ask(anthropic(&server), MODEL, request).await.unwrap();

    let [object, list] = <[_; 2]>::try_from(server.seen()).unwrap();
    let format = &object.body["output_config"]["format"];
    assert_eq!(format["type"], "json_schema");
    assert_eq!(format["schema"]["properties"]["a"]["type"], "integer");
    assert_eq!(list.body.get("output_config"), None);
    let system = list.body["system"].to_string();
    assert!(system.contains("conform to the following schema"), "{system}");
}

#[tokio::test]
async fn a_picture_goes_in_and_a_sound_is_refused() {
    let server = Server::start([Reply::json(answer(
        json!([{"type": "text", "text": "A cat."}]),
        "end_turn",
    ))])
    .await;
    let with =
        |url: &str| json!({"messages": [{"role": "user", "content": [{"media": {"url": url}}]}]});
    let picture = with("data:image/png;base64,iVBORw0KGgo=");
    ask(anthropic(&server), MODEL, picture).await.unwrap();
    assert_eq!(
        server.only().body["messages"][0]["content"][0]["source"],
        json!({"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="})
    );
    let sound = with("data:audio/wav;base64,AAAA");
    let refused = ask(anthropic(&server), MODEL, sound).await.unwrap_err();
    assert_eq!(refused.code(), oxikit::StatusCode::InvalidArgument);
    assert!(refused.message().contains("cannot take this sound"), "{refused}");
}

#[tokio::test]
async fn finish_reasons_are_genkits() {
    for (sent, expected) in [
        ("end_turn", "stop"),
        ("tool_use", "stop"),
        ("max_tokens", "length"),
        ("refusal", "blocked"),
        ("something_new", "other"),
    ] {
        let content = json!([{"type": "text", "text": "Hi"}]);
        let server = Server::start([Reply::json(answer(content, sent))]).await;
        let response = ask(anthropic(&server), MODEL, hello()).await.unwrap();
        let response = serde_json::to_value(response).unwrap();
        assert_eq!(response["finishReason"], expected, "{sent}");
    }
}

#[tokio::test]
async fn an_error_inside_of_a_stream_has_its_own_code() {
    let overloaded =
        json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
    let events = [&streamed()[..7], &[overloaded]].concat();
    let server = Server::start([Reply::sse(&events)]).await;
    let (pieces, failed) = stream(anthropic(&server), MODEL, hello()).await;
    assert_eq!(pieces.len(), 2);
    let failed = failed.unwrap_err();
    assert_eq!(failed.code(), oxikit::StatusCode::Unavailable);
    assert!(failed.message().contains("Overloaded"), "{failed}");
}
