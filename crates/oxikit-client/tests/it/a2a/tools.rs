//! Agents as tools.

use std::sync::{Arc, Mutex};

use oxikit::offline::Offline;
use oxikit::prelude::*;
use oxikit_client::StatusCode;
use oxikit_client::a2a::{Binding, ListTasksRequest, Version};
use oxikit_core::{Action, ActionKind, Call, Context, Registry};
use oxikit_serve::Server;
use oxikit_serve::a2a::A2aAgent;
use serde_json::{Value, json};

use super::kit::{app, builder};

#[tokio::test]
async fn an_agent_is_a_tool() {
    let app = app().await;
    let agent = app.client((Binding::JsonRpc, Version::V1_0)).await;
    let tool = agent.tool().unwrap();
    assert_eq!(tool.key(), "/tool/the_script");
    assert_eq!(agent.tool_named("helper").key(), "/tool/helper");
    let call = |message: &str| Call::new(json!({ "message": message }));
    let text: String = tool.run(call("hello")).await.unwrap().parse().unwrap();
    assert_eq!(text, "hello");
    let status = tool.run(call("reject")).await.unwrap_err();
    assert_eq!(status.code(), StatusCode::FailedPrecondition);
    assert!(status.message().contains("not here"), "{status:?}");
    let status = tool.run(Call::new(json!({ "text": "hello" }))).await.unwrap_err();
    assert_eq!(status.code(), StatusCode::InvalidArgument);
}

/// Runs the tool as an agent does in this session.
async fn in_session(tool: &Action, session_id: &'static str, input: Value) -> Value {
    let tool = tool.clone();
    let agent = Action::builder(ActionKind::Flow, "agent").handler(move |(): (), ctx: Context| {
        let (tool, input) = (tool.clone(), input.clone());
        let work = async move { tool.run(Call::new(input)).await?.parse::<Value>() };
        async move { ctx.fork_session(session_id, ()).scope(work).await }
    });
    agent.run(Call::new(())).await.unwrap().parse().unwrap()
}

#[tokio::test]
async fn the_calls_of_a_session_are_one_conversation() {
    let app = app().await;
    let agent = app.client((Binding::HttpJson, Version::V1_0)).await;
    let tool = agent.tool().unwrap();
    for (session, text) in [("s1", "one"), ("s2", "other"), ("s1", "two")] {
        let output = in_session(&tool, session, json!({ "message": text })).await;
        assert_eq!(output, text);
    }
    tool.run(Call::new(json!({ "message": "alone" }))).await.unwrap();
    let request = ListTasksRequest { include_artifacts: Some(true), ..ListTasksRequest::default() };
    let tasks = agent.list_tasks(request).await.unwrap().tasks;
    let context_of = |text: &str| {
        let is_it =
            |task: &&oxikit_client::a2a::Task| task.artifacts[0].parts[0].as_text() == Some(text);
        tasks.iter().find(is_it).unwrap().context_id.clone()
    };
    assert_eq!(context_of("one"), context_of("two"));
    let mut contexts = ["one", "other", "alone"].map(context_of).to_vec();
    contexts.sort();
    contexts.dedup();
    assert_eq!(contexts.len(), 3);
}

#[tokio::test]
async fn a_question_is_answered_by_a_further_call() {
    let app = app().await;
    let agent = app.client((Binding::JsonRpc, Version::V0_3)).await;
    let tool = agent.tool().unwrap();
    let asked = in_session(&tool, "s", json!({ "message": "ask" })).await;
    assert_eq!(
        (&asked["question"], &asked["state"]),
        (&json!("what next?"), &json!("input-required"))
    );
    let answer = json!({ "message": "go on", "taskId": asked["taskId"] });
    assert_eq!(in_session(&tool, "s", answer).await, "go on");
    let task = agent.get_task(asked["taskId"].as_str().unwrap(), None).await.unwrap();
    assert_eq!(task.status.state, oxikit_client::a2a::TaskState::Completed);
}

/// Keeps the traces of the spans with their names.
struct Spans(Mutex<Vec<(String, String)>>);

impl oxikit_core::SpanExporter for Spans {
    fn start(&self, _: &oxikit_core::OpenSpan) {}

    fn end(&self, span: oxikit_core::SpanRecord) {
        self.0.lock().unwrap().push((span.name.to_string(), span.trace_id.to_string()));
    }
}

#[tokio::test]
async fn one_trace_shows_the_tool_and_the_remote_agent() {
    let ai = Oxikit::builder().plugin(Offline).default_model("offline/demo").build().unwrap();
    let spans = Arc::new(Spans(Mutex::default()));
    ai.as_ref().add_exporter(spans.clone());
    let shop = ai.define_agent(Agent::builder("shop").system("You sell tea.")).unwrap();
    let server = Server::new(&ai).a2a(A2aAgent::new(&shop)).port(0).bind().await.unwrap();
    let url = format!("http://{}/a2a/shop", server.local_addr().unwrap());
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let running = tokio::spawn(server.run(async { drop(stopped.await) }));
    let tool = builder(&url).connect().await.unwrap().tool_named("remote");
    // The caller is another program: its registry has its own exporters.
    let caller = Registry::default();
    let own = Arc::new(Spans(Mutex::default()));
    caller.add_exporter(own.clone());
    let call = Call::new(json!({ "message": "hello" })).in_registry(&caller);
    tool.run(call).await.unwrap();
    drop(stop);
    running.await.unwrap();
    let trace = own.0.lock().unwrap().iter().find(|(name, _)| name == "remote").unwrap().1.clone();
    let spans = spans.0.lock().unwrap();
    let (_, remote) = spans.iter().find(|(name, _)| name == "shop").unwrap();
    assert_eq!(*remote, trace);
}
