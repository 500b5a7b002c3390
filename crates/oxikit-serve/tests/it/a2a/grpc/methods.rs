//! Each method, in both versions.

use std::sync::{Arc, Mutex};

use oxikit::prelude::*;
use oxikit_a2a_grpc::Encode;
use oxikit_core::ports::memory::MemoryTasks;
use oxikit_serve::a2a::{A2aAgent, AgentSkill};
use oxikit_wire::a2a::{
    AgentCard, CancelTaskRequest, ExtendedCardRequest, GetTaskRequest, ListTasksRequest,
    ListTasksResponse, Operation, Part, SendConfiguration, StreamResponse, Task, TaskState,
    Version,
};
use serde_json::json;

use super::client::Grpc;
use super::{BOTH, begin, get, send, send_to, subscribe};
use crate::a2a::kit::{Reply, app, app_with, serve};
use crate::a2a::scope::Spans;

#[tokio::test]
async fn a_message_is_answered_by_its_task_and_the_task_can_be_read() {
    let app = app().await;
    for version in BOTH {
        let client = Grpc::connect(app.address, version).await;
        let task = client.task(send("hello")).await;
        assert_eq!(task.status.state, TaskState::Completed);
        assert!(task.status.timestamp.is_some());
        assert_eq!(task.artifacts[0].parts, [Part::text("hello")]);
        let read: Task = client.call(Operation::GetTask, &get(&task.id)).await.unwrap();
        assert_eq!(read, task);
        // The bindings show one task.
        let json = app.task(&json!(task.id)).await;
        assert_eq!(json, serde_json::to_value(&task).unwrap());
    }
}

#[tokio::test]
async fn the_history_is_as_long_as_the_client_asks() {
    let app = app().await;
    let client = Grpc::connect(app.address, Version::V1_0).await;
    let task = client.task(send("hello")).await;
    let history = async |client: &Grpc, length| {
        let request = GetTaskRequest { history_length: length, ..get(&task.id) };
        let task: Task = client.call(Operation::GetTask, &request).await.unwrap();
        task.history.len()
    };
    assert_eq!(history(&client, None).await, 1);
    assert_eq!(history(&client, Some(0)).await, 0);
    // In version 0.3 the number 0 is the same as none.
    let old = Grpc::connect(app.address, Version::V0_3).await;
    assert_eq!(history(&old, Some(0)).await, 1);
}

#[tokio::test]
async fn clients_wait_as_their_version_says() {
    let app = app().await;
    for version in BOTH {
        let client = Grpc::connect(app.address, version).await;
        let task = client.task(begin("wait")).await;
        assert!(!task.status.state.is_terminal());
        app.gate.notify_one();
        let mut stream = client.stream(Operation::SubscribeToTask, &subscribe(&task.id)).await;
        while stream.message().await.is_some() {}
    }
    // No configuration: the client waits. One without `blocking` is a false one in protobuf.
    let old = Grpc::connect(app.address, Version::V0_3).await;
    let with_configuration = send("hello").encode(Version::V0_3);
    let message_only = &with_configuration[..usize::from(with_configuration[1]) + 2];
    let answer: StreamResponse =
        old.call(Operation::SendMessage, &Raw(message_only)).await.unwrap();
    let StreamResponse::Task(task) = answer else { panic!("{answer:?}") };
    assert_eq!(task.status.state, TaskState::Completed);
    let mut without_blocking = message_only.to_vec();
    without_blocking.extend([0x12, 0]);
    let answer: StreamResponse =
        old.call(Operation::SendMessage, &Raw(&without_blocking)).await.unwrap();
    let StreamResponse::Task(task) = answer else { panic!("{answer:?}") };
    assert_eq!(task.status.state, TaskState::Submitted);
}

/// A message as it is on the wire.
struct Raw<'a>(&'a [u8]);

impl Encode for Raw<'_> {
    fn encode(&self, _: Version) -> Vec<u8> {
        self.0.to_vec()
    }
}

#[tokio::test]
async fn an_agent_asks_and_is_answered() {
    let app = app().await;
    for version in BOTH {
        let client = Grpc::connect(app.address, version).await;
        let asked = client.task(send("ask")).await;
        assert_eq!(asked.status.state, TaskState::InputRequired);
        assert_eq!(asked.status.message.as_ref().unwrap().text(), "what next?");
        let done = client.task(send_to(&asked, "hello")).await;
        assert_eq!((&done.id, done.status.state), (&asked.id, TaskState::Completed));
        assert_eq!(done.history.len(), 3);
    }
}

#[tokio::test]
async fn a_tenant_selects_an_agent_or_keeps_tasks_apart() {
    let app = app().await;
    let client = Grpc::connect(app.address, Version::V1_0).await;
    let mut request = send("hello");
    request.tenant = Some("reply".to_owned());
    let answer: StreamResponse = client.call(Operation::SendMessage, &request).await.unwrap();
    let StreamResponse::Message(reply) = answer else { panic!("{answer:?}") };
    assert_eq!(reply.text(), "re: hello");
    request.tenant = Some("acme".to_owned());
    let task = client.task(request).await;
    let refused = client.call::<Task>(Operation::GetTask, &get(&task.id)).await.unwrap_err();
    assert_eq!(refused.code.name(), "NOT_FOUND");
    let own = GetTaskRequest { tenant: Some("acme".to_owned()), ..get(&task.id) };
    assert_eq!(client.call::<Task>(Operation::GetTask, &own).await.unwrap().id, task.id);
}

#[tokio::test]
async fn tasks_are_listed_in_pages() {
    let app = app().await;
    let client = Grpc::connect(app.address, Version::V1_0).await;
    for _ in 0..3 {
        client.task(send("hello")).await;
    }
    client.task(send("ask")).await;
    let page = async |request: ListTasksRequest| {
        client.call::<ListTasksResponse>(Operation::ListTasks, &request).await.unwrap()
    };
    let first = page(ListTasksRequest { page_size: Some(3), ..Default::default() }).await;
    assert_eq!((first.tasks.len(), first.page_size, first.total_size), (3, 3, 4));
    assert!(first.tasks.iter().all(|task| task.artifacts.is_empty()));
    let page_token = Some(first.next_page_token);
    let rest = page(ListTasksRequest { page_token, ..Default::default() }).await;
    assert_eq!((rest.tasks.len(), rest.next_page_token.as_str()), (1, ""));
    let asking = ListTasksRequest {
        status: Some(TaskState::InputRequired),
        include_artifacts: Some(true),
        status_timestamp_after: Some("2020-01-01T00:00:00Z".to_owned()),
        ..Default::default()
    };
    assert_eq!(page(asking).await.total_size, 1);
}

#[tokio::test]
async fn a_task_is_canceled_and_a_second_time_as_the_version_says() {
    let app = app().await;
    for version in BOTH {
        let client = Grpc::connect(app.address, version).await;
        let task = client.task(begin("wait")).await;
        let cancel = CancelTaskRequest { id: task.id.clone(), ..Default::default() };
        let canceled: Task = client.call(Operation::CancelTask, &cancel).await.unwrap();
        assert_eq!(canceled.status.state, TaskState::Canceled);
        let again = client.call::<Task>(Operation::CancelTask, &cancel).await;
        match version {
            Version::V1_0 => assert_eq!(again.unwrap().status.state, TaskState::Canceled),
            Version::V0_3 => assert_eq!(again.unwrap_err().code.name(), "FAILED_PRECONDITION"),
        }
    }
}

#[tokio::test]
async fn authenticated_callers_read_the_extended_card() {
    let secret = AgentSkill { id: "secret".to_owned(), ..AgentSkill::default() };
    let agent = A2aAgent::with_executor("own", Reply).extended_skill(secret);
    let app = app_with(|server| server.a2a(agent)).await;
    let client = Grpc::connect(app.address, Version::V1_0).await;
    let request = ExtendedCardRequest { tenant: Some("own".to_owned()) };
    let card: AgentCard = client.call(Operation::GetExtendedCard, &request).await.unwrap();
    let skills: Vec<_> = card.skills.iter().map(|skill| skill.id.as_str()).collect();
    assert_eq!(skills, ["own", "secret"]);
    assert_eq!(card.capabilities.extended_agent_card, Some(true));
}

#[tokio::test]
async fn configuration_reaches_the_agent() {
    let app = app().await;
    for version in BOTH {
        let client = Grpc::connect(app.address, version).await;
        let mut request = send("ask");
        let asked = client.task(request.clone()).await;
        request.message.task_id = Some(asked.id);
        request.message.context_id = Some(asked.context_id);
        request.configuration =
            Some(SendConfiguration { history_length: Some(1), ..Default::default() });
        assert_eq!(client.task(request).await.history.len(), 1);
    }
}

#[tokio::test]
async fn the_trace_of_the_client_goes_on_in_the_agent() {
    let ai = Oxikit::builder().plugin(Offline).default_model("offline/demo").build().unwrap();
    let seen = Arc::new(Mutex::new(None));
    ai.as_ref().add_exporter(Arc::new(Spans(seen.clone())));
    let agent = ai.define_agent(Agent::builder("shop").system("You sell tea.")).unwrap();
    let agent = A2aAgent::new(&agent);
    let store = Arc::new(MemoryTasks::default());
    let app = serve(store, ai.as_ref(), |server| server.a2a(agent)).await;
    let (trace, span) = ("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7");
    let client = Grpc::connect(app.address, Version::V1_0).await;
    let mut request = send("hello");
    request.tenant = Some("shop".to_owned());
    client.with("traceparent", &format!("00-{trace}-{span}-01")).task(request).await;
    assert_eq!(seen.lock().unwrap().take(), Some((trace.to_owned(), span.to_owned())));
}
