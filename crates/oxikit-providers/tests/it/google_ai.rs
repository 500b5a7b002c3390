use serde_json::{Value, json};

use crate::server::{Reply, Server};
use crate::support::*;

const MODEL: &str = "googleai/gemini-2.5-flash";

fn answer(parts: Value, finish_reason: &str) -> Value {
    json!({
        "candidates": [{
            "content": {"role": "model", "parts": parts},
            "finishReason": finish_reason,
            "index": 0,
        }],
        "usageMetadata": {
            "promptTokenCount": 5, "candidatesTokenCount": 3, "thoughtsTokenCount": 2,
            "totalTokenCount": 10, "cachedContentTokenCount": 1,
        },
        "modelVersion": "gemini-2.5-flash-001",
        "responseId": "r1",
    })
}

#[tokio::test]
async fn a_chat_is_answered_with_thoughts_usage_and_finish_reason() {
    let parts = json!([{"text": "Hm.", "thought": true}, {"text": "Hi!"}]);
    let server = Server::start([Reply::json(answer(parts, "STOP"))]).await;
    let request = json!({
        "messages": [
            {"role": "system", "content": [{"text": "Be kind."}]},
            {"role": "user", "content": [{"text": "Hello?"}]},
        ],
        "config": {
            "temperature": 0.5, "maxOutputTokens": 100, "topK": 40, "topP": 0.9,
            "stopSequences": ["END"], "thinkingConfig": {"includeThoughts": true},
            "safetySettings": [], "googleSearchRetrieval": true,
        },
    });
    let response = ask(google_ai(&server), MODEL, request).await.unwrap();

    assert_eq!(plain(&response), [json!({"reasoning": "Hm."}), json!({"text": "Hi!"})]);
    let response = serde_json::to_value(response).unwrap();
    assert_eq!(response["finishReason"], "stop");
    assert_eq!(
        response["usage"],
        json!({"inputTokens": 5, "outputTokens": 5, "totalTokens": 10, "thoughtsTokens": 2,
            "cachedContentTokens": 1})
    );
    assert_eq!(response["custom"], json!({"model": "gemini-2.5-flash-001", "responseId": "r1"}));

    let seen = server.only();
    assert_eq!(seen.path, "/v1beta/models/gemini-2.5-flash:generateContent");
    assert_eq!(seen.header("x-goog-api-key"), Some(KEY));
    assert_eq!(seen.body["systemInstruction"]["parts"][0]["text"], "Be kind.");
    assert_eq!(seen.body["contents"][0]["parts"][0]["text"], "Hello?");
    assert_eq!(seen.body["safetySettings"], json!([]));
    assert_eq!(seen.body["tools"], json!([{"googleSearch": {}}]));
    assert_eq!(
        seen.body["generationConfig"],
        json!({"temperature": 0.5, "maxOutputTokens": 100, "topP": 0.9, "stopSequences": ["END"],
            "thinkingConfig": {"includeThoughts": true}, "topK": 40})
    );
}

#[tokio::test]
async fn a_streamed_chat_sends_pieces_and_then_the_whole() {
    let chunk =
        |parts: Value| json!({"candidates": [{"content": {"role": "model", "parts": parts}}]});
    let server = Server::start([Reply::sse(&[
        chunk(json!([{"text": "Hm.", "thought": true}])),
        chunk(json!([{"text": "Good "}])),
        answer(json!([{"text": "day.", "thoughtSignature": "c2ln"}]), "STOP"),
    ])])
    .await;
    let (pieces, response) = stream(google_ai(&server), MODEL, hello()).await;
    let response = response.unwrap();

    let pieces: Vec<Value> = pieces.iter().map(plain_part).collect();
    assert_eq!(
        pieces,
        [json!({"reasoning": "Hm."}), json!({"text": "Good "}), json!({"text": "day."})]
    );
    assert_eq!(response.message.as_ref().unwrap().text(), "Good day.");
    assert_eq!(response.usage.unwrap().thoughts_tokens, Some(2));
    let path = server.only().path;
    assert_eq!(path, "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse");
}

#[tokio::test]
async fn a_tool_call_goes_round_with_its_signature() {
    let call = json!({"functionCall": {"name": "weather", "args": {"city": "Oslo"}},
        "thoughtSignature": "c2ln"});
    let server = Server::start([
        Reply::json(answer(json!([call]), "STOP")),
        Reply::json(answer(json!([{"text": "21 degrees."}]), "STOP")),
    ])
    .await;
    let mut request = hello();
    request["tools"] = json!([weather_tool()]);
    request["toolChoice"] = json!("required");
    let response = ask(google_ai(&server), MODEL, request.clone()).await.unwrap();
    let asked = response.message.as_ref().unwrap();
    let asked = asked.tool_requests().next().unwrap();
    assert_eq!(asked.input, Some(json!({"city": "Oslo"})));
    assert!(asked.reference.is_some(), "rig's own id, for Gemini sends none");

    let next = with_tool_response(&request, &response);
    let response = ask(google_ai(&server), MODEL, next).await.unwrap();
    assert_eq!(plain(&response), [json!({"text": "21 degrees."})]);

    let [first, second] = <[_; 2]>::try_from(server.seen()).unwrap();
    let declared = &first.body["tools"][0]["functionDeclarations"][0];
    assert_eq!(declared["name"], "weather");
    assert_eq!(declared["parametersJsonSchema"].get("$schema"), None);
    assert_eq!(first.body["toolConfig"]["functionCallingConfig"]["mode"], "ANY");
    let contents = &second.body["contents"];
    assert_eq!(contents[1]["parts"][0]["thoughtSignature"], "c2ln");
    assert_eq!(contents[1]["parts"][0]["functionCall"]["name"], "weather");
    let answered = &contents[2]["parts"][0]["functionResponse"];
    assert_eq!(answered["name"], "weather");
    assert_eq!(answered["response"], json!({"result": {"degrees": 21}}));
}

#[tokio::test]
async fn structured_output_is_asked_for_by_schema_or_as_any_json() {
    let good = || Reply::json(answer(json!([{"text": "{\"a\":1}"}]), "STOP"));
    let server = Server::start([good(), good()]).await;
    let mut request = hello();
    request["output"] = json!({"format": "json", "constrained": true, "schema":
        {"type": "object", "properties": {"a": {"type": "integer", "format": "uint8"}}}});
    ask(google_ai(&server), MODEL, request.clone()).await.unwrap();
    request["output"] = json!({"format": "json"});
    ask(google_ai(&server), MODEL, request).await.unwrap();

    let [constrained, any] = <[_; 2]>::try_from(server.seen()).unwrap();
    assert_eq!(
        constrained.body["generationConfig"],
        json!({"responseMimeType": "application/json", "responseJsonSchema":
            {"type": "object", "properties": {"a": {"type": "integer"}}}})
    );
    let any = &any.body["generationConfig"];
    assert_eq!(any, &json!({"responseMimeType": "application/json"}));
}

#[tokio::test]
async fn pictures_go_in_as_data_and_by_link() {
    let server = Server::start([Reply::json(answer(json!([{"text": "A cat."}]), "STOP"))]).await;
    let request = json!({"messages": [{"role": "user", "content": [
        {"media": {"url": "data:image/png;base64,iVBORw0KGgo="}},
        {"media": {"url": "https://example.com/cat", "contentType": "image/jpeg"}},
        {"text": "What is it?"},
    ]}]});
    ask(google_ai(&server), MODEL, request).await.unwrap();
    let parts = &server.only().body["contents"][0]["parts"];
    assert_eq!(parts[0]["inlineData"], json!({"mimeType": "image/png", "data": "iVBORw0KGgo="}));
    assert_eq!(
        parts[1]["fileData"],
        json!({"mimeType": "image/jpeg", "fileUri": "https://example.com/cat"})
    );
}

#[tokio::test]
async fn finish_reasons_are_genkits() {
    for (sent, expected, message) in [
        ("STOP", "stop", Value::Null),
        ("MAX_TOKENS", "length", Value::Null),
        ("SAFETY", "blocked", json!("the provider filtered the answer")),
        ("RECITATION", "other", json!("RECITATION")),
    ] {
        let server = Server::start([Reply::json(answer(json!([{"text": "Hi"}]), sent))]).await;
        let response = ask(google_ai(&server), MODEL, hello()).await.unwrap();
        let response = serde_json::to_value(response).unwrap();
        assert_eq!(response["finishReason"], expected, "{sent}");
        assert_eq!(response["finishMessage"], message, "{sent}");
    }
}

#[tokio::test]
async fn a_blocked_prompt_is_an_answer_without_a_message() {
    let blocked = json!({"promptFeedback": {"blockReason": "SAFETY"}});
    let server = Server::start([Reply::json(blocked)]).await;
    let response = ask(google_ai(&server), MODEL, hello()).await.unwrap();
    assert_eq!(response.message, None);
    assert_eq!(response.finish_reason, Some(oxikit::wire::FinishReason::Blocked));
    assert!(response.finish_message.unwrap().contains("SAFETY"));
}

#[tokio::test]
async fn texts_are_embedded_in_batches_with_their_options() {
    let batch = |count: usize| {
        Reply::json(json!({"embeddings": vec![json!({"values": [0.5, 1.0]}); count]}))
    };
    let server = Server::start([batch(100), batch(1)]).await;
    let documents = vec![json!({"content": [{"text": "tea"}]}); 101];
    let request = json!({"input": documents,
        "options": {"taskType": "RETRIEVAL_QUERY", "outputDimensionality": 2}});
    let response = embed(google_ai(&server), "googleai/gemini-embedding-001", request).await;
    let response = response.unwrap();
    assert_eq!(response.embeddings.len(), 101);
    assert_eq!(response.embeddings[100].embedding, [0.5, 1.0]);

    let [_, second] = <[_; 2]>::try_from(server.seen()).unwrap();
    assert_eq!(second.path, "/v1beta/models/gemini-embedding-001:batchEmbedContents");
    assert_eq!(second.header("x-goog-api-key"), Some(KEY));
    assert_eq!(
        second.body,
        json!({"requests": [{"taskType": "RETRIEVAL_QUERY", "outputDimensionality": 2,
            "model": "models/gemini-embedding-001", "content": {"parts": [{"text": "tea"}]}}]})
    );
}

#[tokio::test]
async fn a_call_may_bring_its_own_key_and_version() {
    let server = Server::start([Reply::json(answer(json!([{"text": "Hi"}]), "STOP"))]).await;
    let mut request = hello();
    request["config"] = json!({"apiKey": "of-the-caller", "version": "gemini-2.5-flash-lite"});
    ask(google_ai(&server), MODEL, request).await.unwrap();
    let seen = server.only();
    assert_eq!(seen.header("x-goog-api-key"), Some("of-the-caller"));
    assert_eq!(seen.path, "/v1beta/models/gemini-2.5-flash-lite:generateContent");
    assert!(!seen.body.to_string().contains("of-the-caller"));
}
