//! Each error of the protocol's table, and requests that are refused before it.

use oxikit::prelude::*;
use oxikit_core::ActionContext;
use oxikit_serve::a2a::{A2aAgent, AgentExtension};
use oxikit_serve::{ApiKey, context_from};
use oxikit_wire::a2a::{
    AgentCard, CancelTaskRequest, ErrorKind, ExtendedCardRequest, ListPushConfigsRequest,
    ListTasksRequest, ListTasksResponse, Operation, SendMessageRequest, StreamResponse, Task,
    Version,
};
use serde_json::json;

use super::client::{Grpc, Refused};
use super::{BOTH, get, send, send_to};
use crate::a2a::kit::{Reply, app, app_with};

fn check(refused: &Refused, code: &str, kind: ErrorKind) {
    assert_eq!((refused.code.name(), refused.kind()), (code, Some(kind)), "{refused:?}");
    assert!(refused.message.starts_with(kind.text()), "{refused:?}");
}

async fn fails(client: &Grpc, request: SendMessageRequest) -> Refused {
    client.call::<StreamResponse>(Operation::SendMessage, &request).await.unwrap_err()
}

#[tokio::test]
async fn errors_have_their_status_and_their_reason() {
    let app = app().await;
    for version in BOTH {
        let client = Grpc::connect(app.address, version).await;
        let missing = client.call::<Task>(Operation::GetTask, &get("no")).await.unwrap_err();
        check(&missing, "NOT_FOUND", ErrorKind::TaskNotFound);
        let done = client.task(send("hello")).await;
        let cancel = CancelTaskRequest { id: done.id.clone(), ..Default::default() };
        let refused = client.call::<Task>(Operation::CancelTask, &cancel).await.unwrap_err();
        check(&refused, "FAILED_PRECONDITION", ErrorKind::TaskNotCancelable);
        let list = ListPushConfigsRequest { task_id: done.id.clone(), ..Default::default() };
        let refused = client.stream(Operation::ListPushConfigs, &list).await.refused().await;
        check(&refused, "FAILED_PRECONDITION", ErrorKind::PushNotificationNotSupported);
        let refused = fails(&client, send_to(&done, "more")).await;
        check(&refused, "FAILED_PRECONDITION", ErrorKind::UnsupportedOperation);
        let card = ExtendedCardRequest::default();
        let refused = client.call::<AgentCard>(Operation::GetExtendedCard, &card).await;
        check(&refused.unwrap_err(), "FAILED_PRECONDITION", ErrorKind::UnsupportedOperation);
    }
}

#[tokio::test]
async fn parameters_that_are_not_right_are_named() {
    let app = app().await;
    for version in BOTH {
        let client = Grpc::connect(app.address, version).await;
        let mut request = send("x");
        request.message.parts.clear();
        request.message.message_id.clear();
        let refused = fails(&client, request).await;
        check(&refused, "INVALID_ARGUMENT", ErrorKind::InvalidParams);
        let fields = refused.error.unwrap().violations;
        let fields: Vec<_> = fields.iter().map(|it| it.field.as_str()).collect();
        assert_eq!(fields, ["message.messageId", "message.parts"]);
        let mut request = send("x");
        request.configuration.get_or_insert_default().history_length = Some(-1);
        let refused = fails(&client, request).await;
        check(&refused, "INVALID_ARGUMENT", ErrorKind::InvalidParams);
    }
    let client = Grpc::connect(app.address, Version::V1_0).await;
    let list = ListTasksRequest { page_size: Some(101), ..Default::default() };
    let refused = client.call::<ListTasksResponse>(Operation::ListTasks, &list).await;
    check(&refused.unwrap_err(), "INVALID_ARGUMENT", ErrorKind::InvalidParams);
}

#[tokio::test]
async fn a_version_that_is_not_that_of_the_service_is_refused() {
    let app = app().await;
    for version in BOTH {
        let client = Grpc::connect(app.address, version).await;
        for asked in ["0.3", "0.3.0", "1.0", "1.0.1", "", "99"] {
            let with = client.with("a2a-version", asked);
            let answer = with.call::<StreamResponse>(Operation::SendMessage, &send("hello")).await;
            let is_right = asked.is_empty() || asked.starts_with(version.name());
            match answer {
                Ok(_) => assert!(is_right, "{version} {asked}"),
                Err(refused) => {
                    assert!(!is_right, "{version} {asked}");
                    check(&refused, "FAILED_PRECONDITION", ErrorKind::VersionNotSupported);
                }
            }
        }
    }
}

#[tokio::test]
async fn a_required_extension_has_to_be_named_and_is_answered() {
    const URI: &str = "https://example.com/extension";
    let extension =
        AgentExtension { uri: URI.to_owned(), required: true, ..AgentExtension::default() };
    let agent = A2aAgent::with_executor("own", Reply).extension(extension);
    let app = app_with(|server| server.a2a(agent)).await;
    let client = Grpc::connect(app.address, Version::V1_0).await;
    let mut request = send("hello");
    request.tenant = Some("own".to_owned());
    let refused = fails(&client, request.clone()).await;
    check(&refused, "FAILED_PRECONDITION", ErrorKind::ExtensionSupportRequired);
    let client = client.with("a2a-extensions", URI);
    let stream = client.stream(Operation::SendMessage, &request).await;
    assert_eq!(stream.headers["a2a-extensions"], URI);
}

#[tokio::test]
async fn callers_without_the_key_are_refused() {
    let app = app_with(|server| server.auth(ApiKey::new("a-long-random-text"))).await;
    for version in BOTH {
        let client = Grpc::connect(app.address, version).await;
        let refused = fails(&client, send("hello")).await;
        assert_eq!(refused.code.name(), "UNAUTHENTICATED");
        assert!(refused.metadata.contains_key("www-authenticate"), "{refused:?}");
        let wrong = client.with("authorization", "Bearer another-random-text");
        assert_eq!(fails(&wrong, send("hello")).await.code.name(), "PERMISSION_DENIED");
        let right = client.with("authorization", "Bearer a-long-random-text");
        right.task(send("hello")).await;
    }
}

#[tokio::test]
async fn callers_that_are_not_allowed_and_tasks_of_others() {
    let by_name = context_from(|request| match request.header("x-user") {
        Some("eve") => Err(Status::permission_denied("not you")),
        name => Ok(ActionContext::default().with("auth", json!({ "uid": name }))),
    });
    let app = app_with(|server| server.auth(by_name)).await;
    for version in BOTH {
        let client = Grpc::connect(app.address, version).await;
        let refused = fails(&client.with("x-user", "eve"), send("hello")).await;
        assert_eq!(
            (refused.code.name(), refused.message.as_str()),
            ("PERMISSION_DENIED", "not you")
        );
        let task = client.with("x-user", "ada").task(send("ask")).await;
        let bob = client.with("x-user", "bob");
        let refused = bob.call::<Task>(Operation::GetTask, &get(&task.id)).await.unwrap_err();
        check(&refused, "NOT_FOUND", ErrorKind::TaskNotFound);
        check(&fails(&bob, send_to(&task, "x")).await, "NOT_FOUND", ErrorKind::TaskNotFound);
    }
}

#[tokio::test]
async fn an_agent_with_its_own_check_is_reached_only_through_it() {
    let agent = A2aAgent::with_executor("own", Reply).auth(ApiKey::new("the-key-of-the-agent"));
    let app = app_with(|server| server.a2a(agent)).await;
    let client = Grpc::connect(app.address, Version::V1_0).await;
    client.task(send("hello")).await;
    let mut request = send("hello");
    request.tenant = Some("own".to_owned());
    assert_eq!(fails(&client, request.clone()).await.code.name(), "UNAUTHENTICATED");
    let client = client.with("authorization", "Bearer the-key-of-the-agent");
    client.call::<StreamResponse>(Operation::SendMessage, &request).await.unwrap();
}

#[tokio::test]
async fn pages_of_other_sites_are_refused() {
    let app = app().await;
    let client = Grpc::connect(app.address, Version::V1_0).await;
    let page = client.with("origin", "https://evil.example");
    assert_eq!(fails(&page, send("hello")).await.code.name(), "PERMISSION_DENIED");
}
