//! Servers that speak OpenAI's Chat Completions.

use oxikit_providers::OpenAi;
use serde_json::{Value, json};

use crate::server::{Reply, Server};
use crate::support::*;

const MODEL: &str = "acme/org/model-1";

fn answer(message: Value, finish_reason: &str) -> Value {
    json!({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "model-1",
        "choices": [{"index": 0, "message": message, "finish_reason": finish_reason}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15,
            "prompt_tokens_details": {"cached_tokens": 2},
            "completion_tokens_details": {"reasoning_tokens": 3}},
    })
}

fn assistant_message(text: &str) -> Value {
    json!({"role": "assistant", "content": text})
}

#[tokio::test]
async fn a_server_without_a_key_is_sent_none() {
    let message = json!({"role": "assistant", "content": "Hi!", "reasoning_content": "Hm."});
    let server = Server::start([Reply::json(answer(message, "stop"))]).await;
    let mut request = hello();
    request["config"] = json!({"temperature": 0.5, "maxOutputTokens": 100, "topP": 0.9, "topK": 40,
        "stopSequences": ["END"], "frequencyPenalty": 0.1});
    let response = ask(compatible(&server), MODEL, request).await.unwrap();
    assert_eq!(plain(&response), [json!({"reasoning": "Hm."}), json!({"text": "Hi!"})]);
    let usage = serde_json::to_value(response.usage).unwrap();
    assert_eq!(
        usage,
        json!({"inputTokens": 10, "outputTokens": 5, "totalTokens": 15, "thoughtsTokens": 3,
            "cachedContentTokens": 2})
    );

    let seen = server.only();
    assert_eq!(seen.path, "/v1/chat/completions");
    assert_eq!(seen.header("authorization"), None);
    assert_eq!(
        seen.body,
        json!({"model": "org/model-1", "messages": [{"role": "user", "content": "Hello?"}],
            "temperature": 0.5, "max_tokens": 100, "top_p": 0.9, "stop": ["END"], "top_k": 40,
            "frequency_penalty": 0.1})
    );
}

#[tokio::test]
async fn a_key_is_read_from_the_variable_that_was_named() {
    let good = || Reply::json(answer(assistant_message("Hi"), "stop"));
    let server = Server::start([good()]).await;
    // A variable that is set everywhere.
    let plugin = compatible(&server).api_key_env("PATH");
    ask(plugin, MODEL, hello()).await.unwrap();
    let expected = format!("Bearer {}", std::env::var("PATH").unwrap().trim());
    assert_eq!(server.only().header("authorization"), Some(expected.as_str()));

    let plugin = compatible(&server).api_key_env("OXIKIT_TEST_NOBODY_SETS_THIS");
    let missing = ask(plugin, MODEL, hello()).await.unwrap_err();
    assert_eq!(missing.code(), oxikit::StatusCode::Internal);
    assert_eq!(
        missing.message(),
        "no API key is set for `acme`: set `OXIKIT_TEST_NOBODY_SETS_THIS`"
    );
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn a_streamed_tool_call_goes_round() {
    let chunk = |delta: Value, finish_reason: Value| {
        json!({
            "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "model-1",
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}],
        })
    };
    let call = |arguments: &str| json!({"tool_calls": [{"index": 0, "function": {"arguments": arguments}}]});
    let opened = json!({"tool_calls": [{"index": 0, "id": "call_1", "type": "function",
        "function": {"name": "weather", "arguments": ""}}]});
    let usage = json!({"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1,
        "model": "model-1", "choices": [],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}});
    let events = [
        chunk(json!({"role": "assistant", "content": "Let me "}), Value::Null),
        chunk(json!({"content": "see."}), Value::Null),
        chunk(opened, Value::Null),
        chunk(call("{\"city\":"), Value::Null),
        chunk(call("\"Oslo\"}"), Value::Null),
        chunk(json!({}), json!("tool_calls")),
        usage,
    ];
    let server = Server::start([
        Reply::sse(&events).then("data: [DONE]\n\n"),
        Reply::json(answer(assistant_message("21 degrees."), "stop")),
    ])
    .await;
    let mut request = hello();
    request["tools"] = json!([weather_tool()]);
    request["toolChoice"] = json!("auto");
    let (pieces, response) = stream(compatible(&server), MODEL, request.clone()).await;
    let response = response.unwrap();
    let asked =
        json!({"toolRequest": {"name": "weather", "ref": "call_1", "input": {"city": "Oslo"}}});
    let pieces: Vec<Value> = pieces.iter().map(plain_part).collect();
    assert_eq!(pieces, [json!({"text": "Let me "}), json!({"text": "see."}), asked.clone()]);
    assert_eq!(plain(&response), [json!({"text": "Let me see."}), asked]);
    assert_eq!(response.usage.as_ref().unwrap().total_tokens, Some(15));

    let next = with_tool_response(&request, &response);
    ask(compatible(&server), MODEL, next).await.unwrap();
    let [first, second] = <[_; 2]>::try_from(server.seen()).unwrap();
    assert_eq!(first.body["stream"], true);
    assert_eq!(first.body["stream_options"]["include_usage"], true);
    assert_eq!(first.body["tools"][0]["function"]["name"], "weather");
    assert_eq!(first.body["tool_choice"], "auto");
    let messages = &second.body["messages"];
    assert_eq!(messages[1]["tool_calls"][0]["id"], "call_1");
    assert_eq!(messages[2]["role"], "tool");
    assert_eq!(messages[2]["tool_call_id"], "call_1");
}

#[tokio::test]
async fn structured_output_and_pictures_have_the_usual_shape() {
    let good = || Reply::json(answer(assistant_message("{}"), "stop"));
    let server = Server::start([good(), good()]).await;
    let mut request = json!({"messages": [{"role": "user", "content": [
        {"text": "What is it?"}, {"media": {"url": "https://example.com/cat.png"}}]}]});
    request["output"] = json!({"format": "json", "constrained": true,
        "schema": {"title": "Cat", "type": "object", "properties": {"a": {"type": "integer"}}}});
    ask(compatible(&server), MODEL, request.clone()).await.unwrap();
    request["output"] = json!({"contentType": "application/json"});
    ask(compatible(&server), MODEL, request).await.unwrap();

    let [constrained, any] = <[_; 2]>::try_from(server.seen()).unwrap();
    let format = &constrained.body["response_format"];
    assert_eq!(format["type"], "json_schema");
    assert_eq!(format["json_schema"]["schema"]["properties"]["a"]["type"], "integer");
    let content = &constrained.body["messages"][0]["content"];
    assert_eq!(content[1]["image_url"]["url"], "https://example.com/cat.png");
    assert_eq!(any.body["response_format"], json!({"type": "json_object"}));
}

#[tokio::test]
async fn finish_reasons_are_genkits() {
    for (sent, expected) in [
        ("stop", "stop"),
        ("tool_calls", "stop"),
        ("length", "length"),
        ("content_filter", "blocked"),
        ("something_new", "other"),
    ] {
        let server = Server::start([Reply::json(answer(assistant_message("Hi"), sent))]).await;
        let response = ask(compatible(&server), MODEL, hello()).await.unwrap();
        let response = serde_json::to_value(response).unwrap();
        assert_eq!(response["finishReason"], expected, "{sent}");
    }
}

#[tokio::test]
async fn openai_itself_can_be_spoken_to_by_chat_completions() {
    let server = Server::start([Reply::json(answer(assistant_message("Hi"), "stop"))]).await;
    let mut request = hello();
    request["config"] = json!({"stopSequences": ["END"], "maxOutputTokens": 10});
    let plugin = open_ai(&server).chat_completions();
    ask(plugin, "openai/gpt-4o", request).await.unwrap();
    let seen = server.only();
    assert_eq!(seen.path, "/v1/chat/completions");
    assert_eq!(seen.body["stop"], json!(["END"]));
}

#[tokio::test]
async fn a_server_that_does_not_count_can_embed() {
    let server = Server::start([Reply::json(json!({
        "object": "list", "model": "m", "data": [{"object": "embedding", "index": 0, "embedding": [0.5]}],
    }))])
    .await;
    let request = json!({"input": [{"content": [{"text": "tea"}]}]});
    let response = embed(compatible(&server), "acme/m", request).await.unwrap();
    assert_eq!(response.embeddings[0].embedding, [0.5]);
}

#[tokio::test]
async fn headers_of_the_application_go_along() {
    let server = Server::start([Reply::json(answer(assistant_message("Hi"), "stop"))]).await;
    let plugin = OpenAi::compatible("openrouter", format!("{}/api/v1", server.url))
        .api_key(KEY)
        .header("x-title", "My app")
        .http_client(client());
    ask(plugin, "openrouter/meta/llama-3", hello()).await.unwrap();
    let seen = server.only();
    assert_eq!(seen.path, "/api/v1/chat/completions");
    assert_eq!(seen.header("x-title"), Some("My app"));
}

#[tokio::test]
async fn a_server_known_for_what_it_lacks_is_not_asked_for_it() {
    let server = Server::start([Reply::json(answer(assistant_message("{}"), "stop"))]).await;
    let plugin = || {
        let plugin = OpenAi::compatible("perplexity", format!("{}/v1", server.url));
        plugin.http_client(client())
    };
    let mut request = hello();
    request["output"] =
        json!({"format": "json", "constrained": true, "schema": {"type": "object"}});
    ask(plugin(), "perplexity/sonar", request.clone()).await.unwrap();
    let seen = server.only();
    assert_eq!(seen.body.get("response_format"), None);
    let explained = seen.body["messages"][0]["content"].to_string();
    assert!(explained.contains("conform to the following schema"), "{explained}");

    request["tools"] = json!([weather_tool()]);
    let refused = ask(plugin(), "perplexity/sonar", request).await.unwrap_err();
    assert_eq!(refused.message(), "`sonar` takes no tools");
}

#[tokio::test]
async fn a_wrong_base_url_is_refused_with_what_to_write() {
    let check = async |url: &str, expected: &str| {
        let plugin = OpenAi::compatible("acme", url).http_client(client());
        let refused = ask(plugin, MODEL, hello()).await.unwrap_err();
        assert!(refused.message().contains(expected), "{url}: {refused}");
        assert!(!refused.is_public());
    };
    check("localhost:8000/v1", "write `http://localhost:8000/v1` or").await;
    check("", "it has no scheme").await;
    check("ftp://127.0.0.1/v1", "must begin with `http://`").await;
    check("http://", "it names no host").await;
    check("http://127.0.0.1:9/v1/chat/completions", "must end before `/chat/completions`").await;
}

#[tokio::test]
async fn a_server_that_knows_no_such_path_may_want_v1() {
    let not_found = || Reply::error(404, json!({"error": {"message": "Not Found"}}));
    let server = Server::start([not_found(), not_found()]).await;
    let bare = OpenAi::compatible("acme", &server.url).http_client(client());
    let failed = ask(bare, MODEL, hello()).await.unwrap_err();
    let expected = format!("most servers that speak OpenAI's protocol want `{}/v1`", server.url);
    assert!(failed.to_string().contains(&expected), "{failed}");
    // With a path it is the model that is not found.
    let failed = ask(compatible(&server), MODEL, hello()).await.unwrap_err();
    assert!(!failed.to_string().contains("/v1`"), "{failed}");
}
