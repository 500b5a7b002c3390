//! Failures of providers, and the status for each.

use std::time::Duration;

use oxikit::StatusCode;
use oxikit_providers::ProviderFailure;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::server::{Reply, Server};
use crate::support::*;

const MODEL: &str = "acme/m";

async fn check(status: u16, expected: StatusCode) {
    let body = json!({"error": {"message": "no, thank you", "code": "some_code"}});
    let reply = || Reply::error(status, body.clone()).header("x-request-id", "req_9");
    let server = Server::start([reply(), reply()]).await;
    let whole = ask(compatible(&server), MODEL, hello()).await.unwrap_err();
    let (_, streamed) = stream(compatible(&server), MODEL, hello()).await;
    for failed in [whole, streamed.unwrap_err()] {
        assert_eq!(failed.code(), expected, "{status}");
        assert!(!failed.is_public());
        assert!(failed.message().contains("no, thank you"), "{failed}");
        assert_eq!(failed.outgoing().message, expected.standard_message());
        let failure = failed.cause::<ProviderFailure>().unwrap();
        assert_eq!(failure.http_status(), Some(status));
        assert_eq!(failure.code(), Some("some_code"));
        assert_eq!(failure.request_id(), Some("req_9"));
        assert_eq!(failed.details().unwrap()["requestId"], "req_9");
    }
}

#[tokio::test]
async fn http_errors_have_the_code_to_act_on() {
    check(400, StatusCode::InvalidArgument).await;
    check(401, StatusCode::Unauthenticated).await;
    check(403, StatusCode::PermissionDenied).await;
    check(404, StatusCode::NotFound).await;
    check(408, StatusCode::DeadlineExceeded).await;
    check(409, StatusCode::Aborted).await;
    check(413, StatusCode::InvalidArgument).await;
    check(422, StatusCode::InvalidArgument).await;
    check(429, StatusCode::ResourceExhausted).await;
    check(500, StatusCode::Internal).await;
    check(502, StatusCode::Unavailable).await;
    check(503, StatusCode::Unavailable).await;
    check(504, StatusCode::DeadlineExceeded).await;
    check(529, StatusCode::Unavailable).await;
}

#[tokio::test]
async fn a_rate_limit_says_when_to_come_back() {
    let limit = || Reply::error(429, json!({"error": {"message": "slow down"}}));
    let server = Server::start([
        limit().header("retry-after", "7"),
        limit().header("retry-after", "7").header("retry-after-ms", "250"),
        limit().header("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT"),
        limit(),
    ])
    .await;
    for expected in
        [Some(Duration::from_secs(7)), Some(Duration::from_millis(250)), Some(Duration::ZERO), None]
    {
        let failed = ask(compatible(&server), MODEL, hello()).await.unwrap_err();
        assert_eq!(failed.retry_after(), expected);
    }
}

#[tokio::test]
async fn gemini_says_when_to_come_back_in_the_body() {
    let body = json!({"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "quota",
        "details": [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.5s"}]}});
    let server = Server::start([Reply::error(429, body.clone()), Reply::error(429, body)]).await;
    let name = "googleai/gemini-2.5-flash";
    let whole = ask(google_ai(&server), name, hello()).await.unwrap_err();
    let (_, streamed) = stream(google_ai(&server), name, hello()).await;
    for failed in [whole, streamed.unwrap_err()] {
        assert_eq!(failed.code(), StatusCode::ResourceExhausted);
        assert_eq!(failed.retry_after(), Some(Duration::from_millis(34_500)));
        let failure = failed.cause::<ProviderFailure>().unwrap();
        assert_eq!(failure.code(), Some("RESOURCE_EXHAUSTED"));
    }
}

#[tokio::test]
async fn gemini_calls_a_bad_key_a_bad_argument_and_we_do_not() {
    let body = json!({"error": {"code": 400, "message": "API key not valid.",
        "status": "INVALID_ARGUMENT", "details": [{"reason": "API_KEY_INVALID"}]}});
    let server = Server::start([Reply::error(400, body)]).await;
    let failed = ask(google_ai(&server), "googleai/gemini-2.5-flash", hello()).await;
    assert_eq!(failed.unwrap_err().code(), StatusCode::Unauthenticated);
}

#[tokio::test]
async fn a_server_that_is_not_there_is_unavailable() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let plugin = oxikit_providers::Ollama::default().base_url(&url);
    let failed = ask(plugin.http_client(client()), "ollama/m", hello()).await.unwrap_err();
    assert_eq!(failed.code(), StatusCode::Unavailable);
    assert!(failed.message().contains(&format!("cannot connect to {url}")), "{failed}");
}

#[tokio::test]
async fn an_answer_that_is_no_answer_is_an_internal_failure() {
    let broken = || Reply::new(200, "application/json", vec!["{\"choices\": [".to_owned()]);
    let page = || Reply::new(200, "text/html", vec!["<html>hello</html>".to_owned()]);
    for name in [MODEL, "googleai/m", "anthropic/m", "ollama/m", "openai/m"] {
        let server = Server::start([broken(), page(), page()]).await;
        for is_streamed in [false, false, true] {
            let failed = match (name, is_streamed) {
                ("googleai/m", false) => ask(google_ai(&server), name, hello()).await,
                ("googleai/m", true) => stream(google_ai(&server), name, hello()).await.1,
                ("anthropic/m", false) => ask(anthropic(&server), name, hello()).await,
                ("anthropic/m", true) => stream(anthropic(&server), name, hello()).await.1,
                ("ollama/m", false) => ask(ollama(&server), name, hello()).await,
                ("ollama/m", true) => stream(ollama(&server), name, hello()).await.1,
                ("openai/m", false) => ask(open_ai(&server), name, hello()).await,
                ("openai/m", true) => stream(open_ai(&server), name, hello()).await.1,
                (_, false) => ask(compatible(&server), name, hello()).await,
                (_, true) => stream(compatible(&server), name, hello()).await.1,
            };
            let failed = failed.unwrap_err();
            assert_eq!(failed.code(), StatusCode::Internal, "{name} {is_streamed}: {failed}");
        }
    }
}

#[tokio::test]
async fn a_stream_that_ends_in_the_middle_is_unavailable() {
    let piece = json!({"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m",
        "choices": [{"index": 0, "delta": {"role": "assistant", "content": "Hel"}, "finish_reason": null}]});
    let cut = Reply::sse(std::slice::from_ref(&piece)).cut();
    let short = Reply::sse(&[piece]);
    let server = Server::start([cut, short]).await;
    for _ in 0..2 {
        let (pieces, failed) = stream(compatible(&server), MODEL, hello()).await;
        let pieces: Vec<Value> = pieces.iter().map(plain_part).collect();
        assert_eq!(pieces, [json!({"text": "Hel"})]);
        assert_eq!(failed.unwrap_err().code(), StatusCode::Unavailable);
    }
}

#[tokio::test]
async fn a_stream_without_its_end_is_unavailable_for_every_provider() {
    let gemini =
        json!({"candidates": [{"content": {"role": "model", "parts": [{"text": "Hel"}]}}]});
    let claude = json!({"type": "message_start", "message": {"id": "1", "type": "message",
        "role": "assistant", "model": "m", "content": [], "stop_reason": null,
        "stop_sequence": null, "usage": {"input_tokens": 1, "output_tokens": 1}}});
    let llama =
        json!({"model": "m", "message": {"role": "assistant", "content": "Hel"}, "done": false});
    let gpt = json!({"type": "response.created", "sequence_number": 0, "response":
        {"id": "1", "object": "response", "created_at": 1, "status": "in_progress", "model": "m", "output": []}});

    for is_cut in [false, true] {
        let end = |reply: Reply| if is_cut { reply.cut() } else { reply };
        let server = Server::start([
            end(Reply::sse(std::slice::from_ref(&gemini))),
            end(Reply::sse(std::slice::from_ref(&claude))),
            end(Reply::ndjson(std::slice::from_ref(&llama))),
            end(Reply::sse(std::slice::from_ref(&gpt))),
        ])
        .await;
        for failed in [
            stream(google_ai(&server), "googleai/m", hello()).await.1,
            stream(anthropic(&server), "anthropic/m", hello()).await.1,
            stream(ollama(&server), "ollama/m", hello()).await.1,
            stream(open_ai(&server), "openai/m", hello()).await.1,
        ] {
            let failed = failed.unwrap_err();
            assert_eq!(failed.code(), StatusCode::Unavailable, "{failed}");
        }
    }
}

#[tokio::test]
async fn an_embedder_fails_as_a_model_does() {
    let limit = || Reply::error(429, json!({"error": "slow down"})).header("retry-after", "3");
    let server = Server::start([limit(), limit(), limit()]).await;
    let request = json!({"input": [{"content": [{"text": "tea"}]}]});
    for failed in [
        embed(google_ai(&server), "googleai/e", request.clone()).await,
        embed(open_ai(&server), "openai/e", request.clone()).await,
        embed(ollama(&server), "ollama/e", request).await,
    ] {
        let failed = failed.unwrap_err();
        assert_eq!(failed.code(), StatusCode::ResourceExhausted);
        assert_eq!(failed.retry_after(), Some(Duration::from_secs(3)));
        assert!(failed.message().contains("slow down"), "{failed}");
    }
}

#[tokio::test]
async fn an_answer_whose_body_breaks_off_is_unavailable() {
    let reply = Reply::new(200, "application/json", vec!["{\"id\":".to_owned()]).cut();
    let server = Server::start([reply]).await;
    let failed = ask(compatible(&server), MODEL, hello()).await.unwrap_err();
    assert_eq!(failed.code(), StatusCode::Unavailable);
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let elsewhere = Server::start([]).await;
    let reply = Reply::error(307, json!({})).header("location", &elsewhere.url);
    let server = Server::start([reply]).await;
    // The crate's own client, not the tests'.
    let plugin = oxikit_providers::Ollama::default().base_url(&server.url);
    let failed = ask(plugin, "ollama/m", hello()).await.unwrap_err();
    assert_eq!(failed.code(), StatusCode::FailedPrecondition, "{failed}");
    assert!(elsewhere.seen().is_empty());
}

#[tokio::test]
async fn what_cannot_be_asked_is_refused_before_it_is_sent() {
    let server = Server::start([]).await;
    let text = json!([{"text": "Hello?"}]);
    for (request, expected) in [
        (json!({"messages": []}), "no message"),
        (
            json!({"messages": [{"role": "user", "content": [{"custom": {"x": 1}}]}]}),
            "`custom` part",
        ),
        (
            json!({"messages": [{"role": "user", "content": [{"resource": {"uri": "x:y"}}]}]}),
            "`resource` part",
        ),
        (
            json!({"messages": [{"role": "user", "content": text}], "config": {"temperature": "hot"}}),
            "`config.temperature`",
        ),
        (
            json!({"messages": [{"role": "user", "content": text}], "config": {"version": "../admin?x"}}),
            "`config.version`",
        ),
        (
            json!({"messages": [{"role": "user", "content": text}], "tools":
                [{"name": "t", "description": "", "inputSchema": {"type": "string"}}]}),
            "take an object",
        ),
    ] {
        let refused = ask(compatible(&server), MODEL, request).await.unwrap_err();
        assert_eq!(refused.code(), StatusCode::InvalidArgument);
        assert!(refused.message().contains(expected), "{refused}");
    }
    assert!(server.seen().is_empty());
}
