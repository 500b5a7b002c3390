//! Callers, tenants, extensions and traces.

use std::sync::Arc;

use oxikit::prelude::*;
use oxikit_core::ActionContext;
use oxikit_core::ports::memory::MemoryTasks;
use oxikit_serve::a2a::{A2aAgent, AgentExtension, AgentSkill};
use oxikit_serve::context_from;
use serde_json::{Value, json};

use super::kit::{App, Reply, app, app_with, message, serve};

/// Calls a method with these headers.
async fn call(app: &App, agent: &str, headers: &str, method: &str, params: Value) -> Value {
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let answer = app.raw(agent, headers, &body.to_string()).await;
    serde_json::from_slice(&answer.body).unwrap()
}

#[tokio::test]
async fn the_task_of_another_caller_is_not_there() {
    let by_name = context_from(|request| {
        let name = request.header("x-user").ok_or_else(|| Status::unauthenticated("who?"))?;
        Ok(ActionContext::default().with("auth", json!({ "uid": name })))
    });
    let app = app_with(|server| server.auth(by_name)).await;
    let params = json!({ "message": message("ask") });
    let made = call(&app, "script", "x-user: ada\r\n", "SendMessage", params).await;
    let id = &made["result"]["task"]["id"];
    let mut more = message("more");
    more["taskId"] = id.clone();
    for (method, params) in [
        ("GetTask", json!({ "id": id })),
        ("CancelTask", json!({ "id": id })),
        ("SubscribeToTask", json!({ "id": id })),
        ("SendMessage", json!({ "message": more })),
        ("tasks/get", json!({ "id": id })),
    ] {
        let refused = call(&app, "script", "x-user: bob\r\n", method, params).await;
        assert_eq!(refused["error"]["code"], -32001, "{method} {refused}");
    }
    let listed = call(&app, "script", "x-user: bob\r\n", "ListTasks", json!({})).await;
    assert_eq!(listed["result"]["totalSize"], 0);
    let own = call(&app, "script", "x-user: ada\r\n", "GetTask", json!({ "id": id })).await;
    assert_eq!(own["result"]["id"], *id);
    let other_agent = call(&app, "reply", "x-user: ada\r\n", "GetTask", json!({ "id": id })).await;
    assert_eq!(other_agent["error"]["code"], -32001);
}

#[tokio::test]
async fn tasks_of_one_tenant_are_not_there_for_another() {
    let app = app().await;
    let params = json!({ "tenant": "acme", "message": message("hello") });
    let made = app.call("SendMessage", params).await;
    let id = &made["result"]["task"]["id"];
    let get = async |params: Value| app.call("GetTask", params).await["error"]["code"].clone();
    assert_eq!(get(json!({ "id": id })).await, -32001);
    assert_eq!(get(json!({ "id": id, "tenant": "other" })).await, -32001);
    assert_eq!(get(json!({ "id": id, "tenant": "acme" })).await, Value::Null);
    let path = format!("/a2a/script/acme/tasks/{}", id.as_str().unwrap());
    assert_eq!(app.request("GET", &path, "", "").await.status, 200);
}

#[tokio::test]
async fn extensions_are_named_and_required_ones_asked_for() {
    let extension = |uri: &str, required| AgentExtension {
        uri: uri.to_owned(),
        required,
        ..AgentExtension::default()
    };
    let agent = A2aAgent::with_executor("picky", Reply)
        .extension(extension("urn:needed", true))
        .extension(extension("urn:nice", false));
    let app = app_with(|server| server.a2a(agent)).await;
    let send = async |headers: &str, method: &str, message: Value| {
        let params = json!({ "message": message });
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        app.raw("picky", headers, &body.to_string()).await
    };
    let refused = send("", "SendMessage", message("hi")).await;
    assert!(refused.text().contains("-32008"), "{}", refused.text());
    let headers = "A2A-Extensions: urn:needed, urn:unknown\r\n";
    let accepted = send(headers, "SendMessage", message("hi")).await;
    assert_eq!(accepted.header("a2a-extensions"), Some("urn:needed"), "{}", accepted.text());
    let headers = "X-A2A-Extensions: urn:nice\r\n";
    let old = send(headers, "message/send", super::kit::message_v0_3("hi")).await;
    assert_eq!(old.header("x-a2a-extensions"), Some("urn:nice"), "{}", old.text());
    let card = app.request("GET", "/a2a/picky/.well-known/agent-card.json", "", "").await;
    assert!(card.text().contains("urn:nice"));
}

#[tokio::test]
async fn the_card_for_known_callers_has_more_skills() {
    let skill = AgentSkill { id: "secret".to_owned(), ..AgentSkill::default() };
    let agent = A2aAgent::with_executor("rich", Reply).extended_skill(skill);
    let app = app_with(|server| server.a2a(agent)).await;
    let public = app.request("GET", "/a2a/rich/.well-known/agent-card.json", "", "").await;
    let public: Value = serde_json::from_slice(&public.body).unwrap();
    assert_eq!(public["capabilities"]["extendedAgentCard"], true);
    assert_eq!(public["supportsAuthenticatedExtendedCard"], true);
    assert_eq!(public["skills"].as_array().unwrap().len(), 1);
    for method in ["GetExtendedAgentCard", "agent/getAuthenticatedExtendedCard"] {
        let card = app.call_agent("rich", method, json!({})).await;
        assert_eq!(card["result"]["skills"][1]["id"], "secret", "{method} {card}");
    }
}

/// One trace shows the client and the agent that it calls.
#[tokio::test]
async fn the_trace_of_the_client_goes_on_in_the_agent() {
    let ai = Oxikit::builder().plugin(Offline).default_model("offline/demo").build().unwrap();
    let seen = Arc::new(std::sync::Mutex::new(None));
    let tell = seen.clone();
    ai.as_ref().add_exporter(Arc::new(Spans(tell)));
    let agent = ai.define_agent(Agent::builder("shop").system("You sell tea.")).unwrap();
    let a2a = A2aAgent::new(&agent);
    let app = serve(Arc::new(MemoryTasks::default()), ai.as_ref(), |server| server.a2a(a2a)).await;
    let headers = "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\n";
    let params = json!({ "message": message("hello") });
    call(&app, "shop", headers, "SendMessage", params).await;
    let span = seen.lock().unwrap().take().unwrap();
    let expected = ("4bf92f3577b34da6a3ce929d0e0e4736".to_owned(), "00f067aa0ba902b7".to_owned());
    assert_eq!(span, expected);
}

/// Keeps the trace and the parent of the span of the agent.
pub(super) struct Spans(pub(super) Arc<std::sync::Mutex<Option<(String, String)>>>);

impl oxikit_core::SpanExporter for Spans {
    fn start(&self, _: &oxikit_core::OpenSpan) {}

    fn end(&self, span: oxikit_core::SpanRecord) {
        if span.name == "shop" {
            let parent = span.parent_span_id.unwrap();
            *self.0.lock().unwrap() = Some((span.trace_id.to_string(), parent.to_string()));
        }
    }
}
