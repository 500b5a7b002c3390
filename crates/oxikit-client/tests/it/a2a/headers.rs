//! Headers of requests: credentials, tenants, trace context.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use oxikit_client::StatusCode;
use oxikit_client::a2a::Refusal;
use oxikit_core::{Action, ActionKind, Call, Context};
use serde_json::{Value, json};

use super::kit::{agent, body_of, card, header_of, json_reply, result};
use crate::peer::{Reply, peer};

fn task() -> Value {
    json!({ "id": "t", "contextId": "c", "status": { "state": "TASK_STATE_WORKING" } })
}

fn refusal(http: u16) -> Reply {
    let error = json!({ "code": -32600, "message": "who are you?" });
    json_reply(http, &json!({ "jsonrpc": "2.0", "id": null, "error": error }))
        .header("www-authenticate", "Bearer realm=\"x\"")
}

#[tokio::test]
async fn a_refused_call_is_tried_once_more_with_new_headers() {
    let replies = [json_reply(200, &card(&["1.0"])), refusal(401), result(task()), result(task())];
    let peer = peer(replies).await;
    let client = agent(&peer)
        .header("x-api-key", "key")
        .bearer("old")
        .on_refusal(|refusal: Refusal| async move {
            assert_eq!((refusal.http, &*refusal.challenge.unwrap()), (401, "Bearer realm=\"x\""));
            Ok(Some([("authorization", "Bearer new")]))
        })
        .connect()
        .await
        .unwrap();
    client.get_task("t", None).await.unwrap();
    client.get_task("t", None).await.unwrap();
    let requests = peer.requests().await;
    let tokens: Vec<_> = requests.iter().map(|it| header_of(it, "authorization")).collect();
    let expected = ["Bearer old", "Bearer old", "Bearer new", "Bearer new"].map(Some);
    assert_eq!(tokens, expected);
    assert!(requests.iter().all(|it| header_of(it, "x-api-key") == Some("key")));
    assert!(!format!("{client:?}").contains("Bearer"));
}

#[tokio::test]
async fn a_second_refusal_is_the_result() {
    let replies = [json_reply(200, &card(&["1.0"])), refusal(403), refusal(403)];
    let peer = peer(replies).await;
    let calls = Arc::new(AtomicU32::new(0));
    let counted = calls.clone();
    let client = agent(&peer)
        .on_refusal(move |_| {
            counted.fetch_add(1, Ordering::Relaxed);
            async { Ok(Some([("x-api-key", "other")])) }
        })
        .connect()
        .await
        .unwrap();
    let status = client.send("hello").await.unwrap_err();
    assert_eq!(status.code(), StatusCode::PermissionDenied);
    assert_eq!(status.message(), "who are you?");
    assert_eq!(calls.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn the_tenant_of_the_card_is_in_every_request() {
    let mut card = card(&["1.0"]);
    card["supportedInterfaces"][0]["tenant"] = json!("acme");
    let peer = peer([json_reply(200, &card), result(json!({ "task": task() }))]).await;
    agent(&peer).connect().await.unwrap().send("hello").await.unwrap();
    assert_eq!(body_of(&peer.requests().await[1])["params"]["tenant"], "acme");
}

#[tokio::test]
async fn a_call_inside_an_action_has_its_trace_context() {
    let replies = [json_reply(200, &card(&["1.0"])), result(task()), result(task())];
    let peer = peer(replies).await;
    let client = agent(&peer).connect().await.unwrap();
    client.get_task("t", None).await.unwrap();
    let action = Action::builder(ActionKind::Flow, "calls").handler(move |(): (), ctx: Context| {
        let client = client.clone();
        async move {
            client.get_task("t", None).await?;
            Ok(format!("00-{}-{}-01", ctx.trace_id(), ctx.span_id()))
        }
    });
    let expected: String = action.run(Call::new(())).await.unwrap().parse().unwrap();
    let requests = peer.requests().await;
    assert_eq!(header_of(&requests[1], "traceparent"), None);
    assert_eq!(header_of(&requests[2], "traceparent"), Some(&*expected));
    assert_eq!(expected.len(), 55);
}
