//! OpenAI itself, by its Responses API.

use serde_json::{Value, json};

use crate::server::{Reply, Server};
use crate::support::*;

const MODEL: &str = "openai/gpt-5.2";

fn answer(output: Value, status: &str) -> Value {
    json!({
        "id": "resp_1", "object": "response", "created_at": 1, "status": status,
        "model": "gpt-5.2-2025-12-11", "output": output,
        "usage": {
            "input_tokens": 10, "input_tokens_details": {"cached_tokens": 2},
            "output_tokens": 5, "output_tokens_details": {"reasoning_tokens": 3},
            "total_tokens": 15,
        },
    })
}

fn assistant_message(text: &str) -> Value {
    json!({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": text, "annotations": []}]})
}

fn thought() -> Value {
    json!({"type": "reasoning", "id": "rs_1", "encrypted_content": "ZW5j",
        "summary": [{"type": "summary_text", "text": "Hm."}]})
}

fn called() -> Value {
    json!({"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "weather",
        "arguments": "{\"city\":\"Oslo\"}", "status": "completed"})
}

#[tokio::test]
async fn a_chat_is_answered_with_thoughts_usage_and_request_id() {
    let reply = Reply::json(answer(json!([thought(), assistant_message("Hi!")]), "completed"));
    let server = Server::start([reply.header("x-request-id", "req_1")]).await;
    let mut request = hello();
    request["config"] = json!({"maxOutputTokens": 100, "reasoningEffort": "low"});
    let response = ask(open_ai(&server), MODEL, request).await.unwrap();
    assert_eq!(plain(&response), [json!({"reasoning": "Hm."}), json!({"text": "Hi!"})]);
    let response = serde_json::to_value(response).unwrap();
    assert_eq!(response["finishReason"], "stop");
    assert_eq!(
        response["usage"],
        json!({"inputTokens": 10, "outputTokens": 5, "totalTokens": 15, "thoughtsTokens": 3,
            "cachedContentTokens": 2})
    );
    assert_eq!(
        response["custom"],
        json!({"model": "gpt-5.2-2025-12-11", "responseId": "resp_1", "requestId": "req_1"})
    );

    let seen = server.only();
    assert_eq!(seen.path, "/v1/responses");
    assert_eq!(seen.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    assert_eq!(seen.body["max_output_tokens"], 100);
    assert_eq!(seen.body["reasoning"]["effort"], "low");
}

#[tokio::test]
async fn a_streamed_tool_call_goes_round_with_its_encrypted_thoughts() {
    let created = json!({"type": "response.created", "sequence_number": 0,
        "response": answer(json!([]), "in_progress")});
    let item = |kind: &str, index: usize, item: Value| {
        json!({"type": kind, "sequence_number": 1,
        "output_index": index, "item": item})
    };
    let opened = json!({"type": "message", "id": "msg_1", "role": "assistant",
        "status": "in_progress", "content": []});
    let part = |kind: &str, text: &str| {
        json!({"type": kind, "sequence_number": 1, "item_id": "msg_1",
        "output_index": 1, "content_index": 0,
        "part": {"type": "output_text", "text": text, "annotations": []}})
    };
    let delta = |text: &str| {
        json!({"type": "response.output_text.delta", "sequence_number": 1,
        "item_id": "msg_1", "output_index": 1, "content_index": 0, "delta": text})
    };
    let events = [
        created,
        item(
            "response.output_item.added",
            0,
            json!({"type": "reasoning", "id": "rs_1", "summary": []}),
        ),
        json!({"type": "response.reasoning_summary_text.delta", "sequence_number": 1,
            "item_id": "rs_1", "output_index": 0, "summary_index": 0, "delta": "Hm."}),
        item("response.output_item.done", 0, thought()),
        item("response.output_item.added", 1, opened),
        part("response.content_part.added", ""),
        delta("Let me "),
        delta("see."),
        part("response.content_part.done", "Let me see."),
        item("response.output_item.done", 1, assistant_message("Let me see.")),
        item("response.output_item.added", 2, called()),
        item("response.output_item.done", 2, called()),
        json!({"type": "response.completed", "sequence_number": 9,
            "response": answer(json!([thought(), assistant_message("Let me see."), called()]), "completed")}),
    ];
    let server = Server::start([
        Reply::sse(&events),
        Reply::json(answer(json!([assistant_message("21 degrees.")]), "completed")),
    ])
    .await;
    let mut request = hello();
    request["tools"] = json!([weather_tool()]);
    let (pieces, response) = stream(open_ai(&server), MODEL, request.clone()).await;
    let response = response.unwrap();
    let asked =
        json!({"toolRequest": {"name": "weather", "ref": "call_1", "input": {"city": "Oslo"}}});
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
    assert_eq!(response.usage.as_ref().unwrap().thoughts_tokens, Some(3));

    let next = with_tool_response(&request, &response);
    ask(open_ai(&server), MODEL, next).await.unwrap();
    let [first, second] = <[_; 2]>::try_from(server.seen()).unwrap();
    assert_eq!(first.body["tools"][0]["name"], "weather");
    let input = second.body["input"].as_array().unwrap();
    let of_type = |kind: &str| input.iter().find(|item| item["type"] == kind).unwrap();
    assert_eq!(of_type("reasoning")["encrypted_content"], "ZW5j");
    assert_eq!(of_type("function_call")["call_id"], "call_1");
    assert_eq!(of_type("function_call_output")["call_id"], "call_1");
}

#[tokio::test]
async fn structured_output_is_strict() {
    let good = || Reply::json(answer(json!([assistant_message("{}")]), "completed"));
    let server = Server::start([good(), good()]).await;
    let mut request = hello();
    request["output"] = json!({"format": "json", "constrained": true,
        "schema": {"type": "object", "properties": {"a": {"type": "integer"}}}});
    ask(open_ai(&server), MODEL, request.clone()).await.unwrap();
    request["output"] = json!({"format": "json"});
    ask(open_ai(&server), MODEL, request).await.unwrap();
    let [constrained, any] = <[_; 2]>::try_from(server.seen()).unwrap();
    let format = &constrained.body["text"]["format"];
    assert_eq!(format["type"], "json_schema");
    assert_eq!(format["strict"], true);
    assert_eq!(format["schema"]["additionalProperties"], false);
    assert_eq!(any.body["text"]["format"], json!({"type": "json_object"}));
}

#[tokio::test]
async fn a_picture_goes_in() {
    let server =
        Server::start([Reply::json(answer(json!([assistant_message("A cat.")]), "completed"))])
            .await;
    let request = json!({"messages": [{"role": "user", "content": [
        {"media": {"url": "data:image/png;base64,iVBORw0KGgo="}}, {"text": "What is it?"}]}]});
    ask(open_ai(&server), MODEL, request).await.unwrap();
    let content = &server.only().body["input"][0]["content"];
    assert_eq!(content[0]["type"], "input_image");
    assert_eq!(content[0]["image_url"], "data:image/png;base64,iVBORw0KGgo=");
}

#[tokio::test]
async fn what_the_responses_api_cannot_do_is_refused_by_name() {
    let server = Server::start([]).await;
    let mut request = hello();
    request["config"] = json!({"stopSequences": ["END"]});
    let refused = ask(open_ai(&server), MODEL, request).await.unwrap_err();
    assert_eq!(refused.code(), oxikit::StatusCode::InvalidArgument);
    assert!(refused.message().contains("`stop`"), "{refused}");
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn an_answer_cut_by_its_limit_says_so() {
    let mut cut = answer(json!([assistant_message("Hi")]), "incomplete");
    cut["incomplete_details"] = json!({"reason": "max_output_tokens"});
    let server = Server::start([Reply::json(cut)]).await;
    let response = ask(open_ai(&server), MODEL, hello()).await.unwrap();
    assert_eq!(response.finish_reason, Some(oxikit::wire::FinishReason::Length));
}

#[tokio::test]
async fn texts_are_embedded_in_the_wanted_width() {
    let server = Server::start([Reply::json(json!({
        "object": "list", "model": "text-embedding-3-small",
        "data": [
            {"object": "embedding", "index": 0, "embedding": [0.5, 1.0]},
            {"object": "embedding", "index": 1, "embedding": [1.5, 2.0]},
        ],
        "usage": {"prompt_tokens": 2, "total_tokens": 2},
    }))])
    .await;
    let request = json!({"input": [{"content": [{"text": "tea"}]}, {"content": [{"text": "coffee"}]}],
        "options": {"dimensions": 2}});
    let name = "openai/text-embedding-3-small";
    let response = embed(open_ai(&server), name, request).await.unwrap();
    assert_eq!(response.embeddings[1].embedding, [1.5, 2.0]);
    let seen = server.only();
    assert_eq!(seen.path, "/v1/embeddings");
    assert_eq!(seen.body["input"], json!(["tea", "coffee"]));
    assert_eq!(seen.body["dimensions"], 2);
}
