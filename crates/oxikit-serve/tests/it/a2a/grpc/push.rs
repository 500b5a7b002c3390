//! Webhooks are managed in both versions.

use oxikit_a2a_grpc::{CreatePushRequest, Empty};
use oxikit_wire::a2a::{
    AuthenticationInfo, ListPushConfigsRequest, ListPushConfigsResponse, Operation, PushConfig,
    PushConfigRequest, Version,
};

use super::client::Grpc;
use super::{BOTH, send};
use crate::a2a::kit::app_with;
use crate::a2a::push::push;

const URL: &str = "http://127.0.0.1:9/hook";

#[tokio::test]
async fn webhooks_are_registered_read_listed_and_removed() {
    let app = app_with(|server| server.push_notifications(push())).await;
    for version in BOTH {
        let client = Grpc::connect(app.address, version).await;
        let task = client.task(send("ask")).await;
        let other_schemes = match version {
            Version::V0_3 => vec!["Basic".to_owned()],
            Version::V1_0 => Vec::new(),
        };
        let config = PushConfig {
            tenant: None,
            id: Some("c".to_owned()),
            task_id: Some(task.id.clone()),
            url: URL.to_owned(),
            token: Some("token".to_owned()),
            authentication: Some(AuthenticationInfo {
                scheme: "Bearer".to_owned(),
                credentials: Some("secret".to_owned()),
                other_schemes,
            }),
        };
        let create = CreatePushRequest(config.clone());
        let made: PushConfig = client.call(Operation::CreatePushConfig, &create).await.unwrap();
        assert_eq!(made, config);
        let named =
            PushConfigRequest { tenant: None, task_id: task.id.clone(), id: Some("c".to_owned()) };
        let read: PushConfig = client.call(Operation::GetPushConfig, &named).await.unwrap();
        assert_eq!(read, config);
        let list = ListPushConfigsRequest { task_id: task.id.clone(), ..Default::default() };
        let listed = async || -> ListPushConfigsResponse {
            client.call(Operation::ListPushConfigs, &list).await.unwrap()
        };
        assert_eq!(listed().await.configs, [config]);
        // One that is not there is removed already.
        for _ in 0..2 {
            let _: Empty = client.call(Operation::DeletePushConfig, &named).await.unwrap();
        }
        assert_eq!(listed().await.configs, []);
        let gone = client.call::<PushConfig>(Operation::GetPushConfig, &named).await.unwrap_err();
        assert_eq!(gone.code.name(), "NOT_FOUND");
    }
}

#[tokio::test]
async fn a_webhook_comes_with_the_message_and_the_default_one_needs_no_id() {
    let app = app_with(|server| server.push_notifications(push())).await;
    for version in BOTH {
        let client = Grpc::connect(app.address, version).await;
        let mut request = send("ask");
        let config = PushConfig { url: URL.to_owned(), ..PushConfig::default() };
        request.configuration.get_or_insert_default().task_push_notification_config = Some(config);
        let task = client.task(request).await;
        let id = match version {
            Version::V0_3 => None,
            Version::V1_0 => Some("default".to_owned()),
        };
        let named = PushConfigRequest { tenant: None, task_id: task.id.clone(), id };
        let read: PushConfig = client.call(Operation::GetPushConfig, &named).await.unwrap();
        assert_eq!((read.url.as_str(), read.id), (URL, Some(task.id)));
    }
}
