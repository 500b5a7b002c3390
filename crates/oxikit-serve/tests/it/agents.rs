//! Agents, and what is served beside them.

use std::net::SocketAddr;

use oxikit::prelude::*;
use oxikit_core::{Action, ActionKind, Inputs, Registry};
use oxikit_serve::{Expose, Server, context_from};
use oxikit_wire::{
    AgentAbortRequest, AgentAbortResponse, AgentFinishReason, AgentInit, AgentInput, AgentOutput,
    AgentStreamChunk, GenerateResponseChunk, GetSnapshotRequest, SessionSnapshot, SnapshotStatus,
    TurnEnd,
};

use crate::kit::{Answer, Client, post};

/// An agent that says where it starts from.
fn define(registry: &Registry, name: &str, has_store: bool) {
    registry.register(Action::builder(ActionKind::Agent, name).bidi(
        |init: AgentInit,
         mut inputs: Inputs<AgentInput>,
         _: Context,
         out: Emitter<AgentStreamChunk>| async move {
            inputs.next().await?;
            let from = init.snapshot_id.unwrap_or_else(|| "nothing".into());
            let finish_reason = Some(AgentFinishReason::Stop);
            let model_chunk = Some(GenerateResponseChunk::text(&from));
            out.send(AgentStreamChunk { model_chunk, ..AgentStreamChunk::default() }).await?;
            let turn_end = Some(TurnEnd { snapshot_id: Some("2".into()), finish_reason });
            out.send(AgentStreamChunk { turn_end, ..AgentStreamChunk::default() }).await?;
            Ok(AgentOutput {
                session_id: Some("s".into()),
                snapshot_id: Some("2".into()),
                message: Some(Message::model(from).into()),
                finish_reason,
                ..AgentOutput::default()
            })
        },
    ));
    if !has_store {
        return;
    }
    registry.register(Action::builder(ActionKind::AgentSnapshot, name).handler(
        |request: GetSnapshotRequest| async move {
            let snapshot_id = request.snapshot_id.filter(|id| id == "2");
            Ok(SessionSnapshot {
                snapshot_id: snapshot_id.ok_or_else(|| Status::not_found("no such snapshot"))?,
                created_at: "2026-11-15T06:32:35.495Z".into(),
                status: Some(SnapshotStatus::Completed),
                ..SessionSnapshot::default()
            })
        },
    ));
    registry.register(Action::builder(ActionKind::AgentAbort, name).handler(
        |request: AgentAbortRequest| async move {
            Ok(AgentAbortResponse { snapshot_id: request.snapshot_id, status: None })
        },
    ));
}

fn application() -> Registry {
    let registry = Registry::default();
    define(&registry, "guide", true);
    define(&registry, "plain", false);
    registry
}

async fn served(server: Server) -> SocketAddr {
    let server = server.port(0).bind().await.unwrap();
    let address = server.local_addr().unwrap();
    tokio::spawn(server.run(std::future::pending()));
    address
}

async fn ask(address: SocketAddr, path: &str, headers: &str, body: &str) -> Answer {
    let mut client = Client::connect(address).await;
    client.send(post(path, headers, body)).await;
    client.answer().await.unwrap()
}

const STREAM: &str = "accept: text/event-stream\r\n";

#[tokio::test]
async fn a_turn_is_streamed_with_the_members_of_the_protocol_and_no_others() {
    let address = served(Server::new(&application())).await;
    let body = r#"{"data":{"message":{"role":"user","content":[{"text":"hi"}]}},"init":{"snapshotId":"1"}}"#;
    assert_eq!(
        ask(address, "/guide", STREAM, body).await.text(),
        concat!(
            r#"data: {"message":{"modelChunk":{"content":[{"text":"1"}]}}}"#,
            "\n\n",
            r#"data: {"message":{"turnEnd":{"snapshotId":"2","finishReason":"stop"}}}"#,
            "\n\n",
            r#"data: {"result":{"sessionId":"s","snapshotId":"2","message":{"role":"model","content":[{"text":"1"}]},"finishReason":"stop"}}"#,
            "\n\n",
        )
    );
}

#[tokio::test]
async fn no_init_is_a_new_session() {
    let address = served(Server::new(&application())).await;
    for body in [r#"{"data":{}}"#, r#"{"data":{},"init":{}}"#, r#"{"data":{},"init":null}"#] {
        let answer = ask(address, "/guide", "", body).await;
        assert_eq!(answer.json()["result"]["message"]["content"][0]["text"], "nothing", "{body}");
    }
}

#[tokio::test]
async fn snapshots_are_read_and_work_is_stopped_beside_the_agent() {
    let registry = application();
    let server = Server::new(&registry).path_prefix("api").without_operations();
    let paths = ["/api/guide", "/api/guide/abort", "/api/guide/getSnapshot", "/api/plain"];
    assert_eq!(server.paths(), paths);
    let address = served(server).await;
    let asked = |path: &'static str, id: &str| {
        let body = format!(r#"{{"data":{{"snapshotId":"{id}"}}}}"#);
        async move { ask(address, path, "", &body).await }
    };
    let found = asked("/api/guide/getSnapshot", "2").await;
    assert_eq!(
        found.text(),
        r#"{"result":{"snapshotId":"2","createdAt":"2026-11-15T06:32:35.495Z","status":"completed"}}"#
    );
    assert_eq!(asked("/api/guide/getSnapshot", "3").await.status, 404);
    let stopped = asked("/api/guide/abort", "3").await;
    assert_eq!((stopped.status, stopped.text()), (200, r#"{"result":{"snapshotId":"3"}}"#));
    let missing = asked("/api/plain/getSnapshot", "2").await;
    assert_eq!((missing.status, &missing.json()["status"]), (404, &json!("NOT_FOUND")));
}

#[tokio::test]
async fn who_may_not_call_the_agent_may_not_read_its_snapshots() {
    let registry = application();
    let guide = registry.get("/agent/guide").unwrap();
    let server = Server::new(&registry)
        .auth(context_from(|request| match request.header("authorization") {
            None if request.action == "/agent/guide" => Err(Status::unauthenticated("who?")),
            name => Ok(ActionContext::default().with("auth", json!(name))),
        }))
        .expose(Expose::new(guide).path("help/desk").policy(|context| match context.auth() {
            Some(name) if name == "ada" => Ok(()),
            _ => Err(Status::permission_denied("only Ada")),
        }));
    let address = served(server).await;
    for path in ["/help/desk", "/help/desk/getSnapshot", "/help/desk/abort"] {
        let status = async |headers| {
            ask(address, path, headers, r#"{"data":{"snapshotId":"2"}}"#).await.status
        };
        assert_eq!(status("").await, 401, "{path}");
        assert_eq!(status("authorization: bob\r\n").await, 403, "{path}");
        assert_eq!(status("authorization: ada\r\n").await, 200, "{path}");
    }
}

#[tokio::test]
async fn an_action_that_is_named_at_the_path_of_a_companion_stays() {
    let registry = application();
    let flow = Action::builder(ActionKind::Flow, "mine").handler(|_: Value| async { Ok("mine") });
    let server = Server::new(&registry)
        .expose(Expose::new(flow).path("guide/abort"))
        .expose(registry.get("/agent/guide").unwrap());
    let address = served(server).await;
    let answer = ask(address, "/guide/abort", "", r#"{"data":{}}"#).await;
    assert_eq!(answer.text(), r#"{"result":"mine"}"#);
}

#[tokio::test]
async fn the_description_has_the_agent_and_its_companions() {
    let address = served(Server::new(&application())).await;
    let mut client = Client::connect(address).await;
    client.send("GET /openapi.json HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    let document = client.answer().await.unwrap().json();
    for (path, tag) in [
        ("/guide", "agent"),
        ("/guide/getSnapshot", "agent-snapshot"),
        ("/guide/abort", "agent-abort"),
    ] {
        assert_eq!(document["paths"][path]["post"]["tags"], json!([tag]), "{path}");
    }
    let body = &document["paths"]["/guide"]["post"]["requestBody"]["content"]["application/json"];
    assert!(body["schema"]["properties"]["init"]["anyOf"][0]["$ref"].is_string());
}
