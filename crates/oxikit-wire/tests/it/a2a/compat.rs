//! Where the versions and bindings differ.

use oxikit_wire::a2a::v0_3::{self, rest};
use oxikit_wire::a2a::{
    AuthenticationInfo, ErrorKind, Message, Part, PushConfig, PushConfigRequest,
    SendMessageRequest, StreamResponse, Task, TaskState,
};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

fn read<T: DeserializeOwned>(json: Value) -> T {
    serde_json::from_value(json.clone()).unwrap_or_else(|error| panic!("{error}: {json}"))
}

fn written(value: impl serde::Serialize) -> Value {
    serde_json::to_value(value).unwrap()
}

#[test]
fn data_that_is_not_an_object_is_wrapped_in_version_0_3() {
    let mut part = Part::data(json!([1, null]));
    let json = json!({"kind": "data", "data": {"value": [1, null]},
        "metadata": {"data_part_compat": true}});
    assert_eq!(written(v0_3::Out::new(&part)), json);
    assert_eq!(read::<v0_3::In<Part>>(json).0, part);

    part.metadata = json!({"own": 1}).as_object().cloned();
    let json = json!({"data": {"data": {"value": [1, null]}},
        "metadata": {"own": 1, "data_part_compat": true}});
    assert_eq!(written(v0_3::Out::rest(&part)), json);
    assert_eq!(read::<rest::In<Part>>(json).0, part);
}

#[test]
fn an_object_with_a_value_is_no_wrapped_data() {
    let json = json!({"kind": "data", "data": {"value": 1}});
    assert_eq!(read::<v0_3::In<Part>>(json.clone()).0, Part::data(json!({"value": 1})));
    assert_eq!(written(v0_3::Out::new(&Part::data(json!({"value": 1})))), json);
}

#[test]
fn all_schemes_of_a_webhook_are_kept() {
    for schemes in [json!([]), json!(["Bearer"]), json!(["Bearer", "Basic", "X"])] {
        let json = json!({"taskId": "t", "pushNotificationConfig":
            {"id": "c", "url": "https://u", "authentication": {"schemes": schemes, "credentials": "s"}}});
        let v0_3::In::<PushConfig>(config) = read(json.clone());
        assert_eq!(written(v0_3::Out::new(&config)), json);
        // The stored form keeps them too, and a client of 1.0 does not see them.
        let stored: PushConfig = read(written(&config));
        assert_eq!(stored, config);
        let v1_0 = written(stored.into_v1_0());
        let scheme = schemes[0].as_str().unwrap_or_default();
        assert_eq!(v1_0["authentication"], json!({"scheme": scheme, "credentials": "s"}));
    }
}

#[test]
fn blocking_is_the_opposite_of_returning_immediately() {
    for (blocking, returns) in
        [(json!(true), Some(false)), (json!(false), Some(true)), (json!(null), None)]
    {
        let message = json!({"messageId": "m", "role": "user", "parts": []});
        let json = json!({"message": message, "configuration": {"blocking": blocking}});
        let v0_3::In::<SendMessageRequest>(request) = read(json);
        let configuration = request.configuration.as_ref().unwrap();
        assert_eq!(configuration.return_immediately, returns);
        let again = written(v0_3::Out::new(&request));
        assert_eq!(
            again["configuration"].get("blocking"),
            Some(&blocking).filter(|it| !it.is_null())
        );
    }
}

#[test]
fn parts_of_json_rpc_need_a_known_kind_and_its_member() {
    for json in [
        json!({"text": "t"}),
        json!({"kind": "other", "text": "t"}),
        json!({"kind": "text"}),
        json!({"kind": "text", "text": 1}),
        json!({"kind": "file", "file": {}}),
        json!({"kind": "file", "file": {"bytes": "aGk=", "uri": "u"}}),
        json!({"kind": "data", "data": [1]}),
        json!({"kind": "data"}),
    ] {
        assert!(serde_json::from_value::<v0_3::In<Part>>(json.clone()).is_err(), "{json}");
    }
}

#[test]
fn parts_of_http_have_one_member() {
    for json in [
        json!({}),
        json!({"text": "t", "data": {"data": {}}}),
        json!({"file": {}}),
        json!({"data": [1]}),
        json!({"data": {"data": 1}}),
    ] {
        assert!(serde_json::from_value::<rest::In<Part>>(json.clone()).is_err(), "{json}");
    }
}

#[test]
fn the_kind_of_a_message_may_be_missing_and_must_not_be_another() {
    let mut json =
        json!({"messageId": "m", "role": "agent", "parts": [{"kind": "text", "text": "t"}]});
    assert_eq!(read::<v0_3::In<Message>>(json.clone()).0.text(), "t");
    json["kind"] = json!("task");
    assert!(serde_json::from_value::<v0_3::In<Message>>(json).is_err());
}

#[test]
fn events_without_a_kind_are_told_by_their_members() {
    let status = json!({"state": "working"});
    let task = json!({"id": "t", "contextId": "c", "status": status});
    let update = json!({"taskId": "t", "contextId": "c", "status": status, "final": true});
    let artifact =
        json!({"taskId": "t", "contextId": "c", "artifact": {"artifactId": "a", "parts": []}});
    let message = json!({"messageId": "m", "role": "agent", "taskId": "t", "parts": []});
    let event = |json: &Value| read::<v0_3::Event>(json.clone());
    assert!(matches!(event(&task).response, StreamResponse::Task(_)));
    assert!(matches!(event(&update).response, StreamResponse::StatusUpdate(_)));
    assert!(event(&update).is_final && !event(&task).is_final);
    assert!(matches!(event(&artifact).response, StreamResponse::ArtifactUpdate(_)));
    assert!(matches!(event(&message).response, StreamResponse::Message(_)));
    assert!(serde_json::from_value::<v0_3::Event>(json!({"metadata": {}})).is_err());
}

#[test]
fn http_reads_snake_case_and_messages_of_json_rpc() {
    let snake = json!({
        "request": {"message_id": "m", "context_id": "c", "task_id": "t", "role": 1,
            "content": [{"file": {"file_with_uri": "https://u", "mime_type": "a/b"}}]},
        "configuration": {"history_length": "3", "accepted_output_modes": ["a/b"],
            "push_notification_config": {"url": "https://h"}},
    });
    let camel = json!({
        "message": {"messageId": "m", "contextId": "c", "taskId": "t", "role": "ROLE_USER",
            "content": [{"file": {"fileWithUri": "https://u", "mimeType": "a/b"}}]},
        "configuration": {"historyLength": 3, "acceptedOutputModes": ["a/b"],
            "pushNotification": {"url": "https://h"}},
    });
    let json_rpc = json!({
        "message": {"kind": "message", "messageId": "m", "contextId": "c", "taskId": "t",
            "role": "user", "parts": [{"kind": "file", "file": {"uri": "https://u", "mimeType": "a/b"}}]},
        "configuration": {"historyLength": 3, "acceptedOutputModes": ["a/b"],
            "pushNotificationConfig": {"url": "https://h"}},
    });
    let rest::In::<SendMessageRequest>(expected) = read(camel.clone());
    assert_eq!(read::<rest::In<SendMessageRequest>>(snake).0, expected);
    assert_eq!(read::<rest::In<SendMessageRequest>>(json_rpc).0, expected);
    assert_eq!(written(v0_3::Out::rest(&expected)), camel);
}

#[test]
fn http_registers_webhooks_in_three_forms() {
    let inner = json!({"id": "c", "url": "https://u", "token": "k"});
    let name = "tasks/t/pushNotificationConfigs/c";
    let named = json!({"name": name, "pushNotificationConfig": inner});
    for json in [
        named.clone(),
        json!({"parent": "tasks/t", "configId": "c", "config": named}),
        json!({"parent": "tasks/t", "config_id": "c", "config": {"name": "",
            "push_notification_config": {"url": "https://u", "token": "k"}}}),
        json!({"config": named}),
        json!({"name": name, "pushNotificationConfig": {"url": "https://u", "token": "k"}}),
    ] {
        let rest::In::<PushConfig>(config) = read(json.clone());
        assert_eq!(config.task_id.as_deref(), Some("t"), "{json}");
        assert_eq!(written(v0_3::Out::rest(&config)), named, "{json}");
    }
    assert!(serde_json::from_value::<rest::In<PushConfig>>(json!({"name": name})).is_err());
}

#[test]
fn a_webhook_may_be_asked_for_without_its_id_in_version_0_3() {
    let v0_3::In::<PushConfigRequest>(request) = read(json!({"id": "t"}));
    assert_eq!((request.task_id.as_str(), request.id), ("t", None));
}

#[test]
fn the_canceled_state_has_three_spellings() {
    for state in ["canceled", "cancelled", "TASK_STATE_CANCELED", "TASK_STATE_CANCELLED"] {
        let json = json!({"id": "t", "contextId": "c", "status": {"state": state}});
        let rest::In::<Task>(task) = read(json.clone());
        assert_eq!(task.status.state, TaskState::Canceled);
        assert_eq!(read::<Task>(json.clone()), task);
        assert_eq!(read::<v0_3::In<Task>>(json).0, task);
        assert_eq!(written(&task)["status"]["state"], "TASK_STATE_CANCELED");
        assert_eq!(written(v0_3::Out::new(&task))["status"]["state"], "canceled");
        assert_eq!(written(v0_3::Out::rest(&task))["status"]["state"], "TASK_STATE_CANCELLED");
    }
}

#[test]
fn enums_are_read_by_number() {
    for (number, state) in TaskState::ALL.into_iter().enumerate() {
        assert_eq!(read::<TaskState>(json!(number)), state);
    }
    for wrong in [json!(9), json!(-1), json!(1.5), json!("WORKING"), json!(true), json!(null)] {
        assert!(serde_json::from_value::<TaskState>(wrong.clone()).is_err(), "{wrong}");
    }
}

#[test]
fn the_check_of_a_message_lists_all_that_is_wrong() {
    let json = json!({"message": {"messageId": "", "role": "ROLE_USER", "parts": []},
        "configuration": {"historyLength": -1}});
    let error = read::<SendMessageRequest>(json).check().unwrap_err();
    assert_eq!(error.kind, ErrorKind::InvalidParams);
    let fields: Vec<_> = error.violations.iter().map(|it| it.field.as_str()).collect();
    assert_eq!(fields, ["message.messageId", "message.parts", "configuration.historyLength"]);
    let json = json!({"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": ""}]},
        "configuration": {"historyLength": 0}});
    assert_eq!(read::<SendMessageRequest>(json).check(), Ok(()));
}

#[test]
fn a_response_has_exactly_one_member() {
    let task = json!({"id": "t", "status": {"state": "TASK_STATE_WORKING"}});
    let message = json!({"messageId": "m", "role": "ROLE_AGENT", "parts": []});
    for json in [json!({}), json!({"other": 1}), json!({"task": task, "message": message})] {
        assert!(serde_json::from_value::<StreamResponse>(json.clone()).is_err(), "{json}");
        assert!(serde_json::from_value::<rest::Event>(json.clone()).is_err(), "{json}");
    }
}

#[test]
fn a_webhook_without_credentials_has_only_a_scheme() {
    let authentication = AuthenticationInfo { scheme: "Bearer".to_owned(), ..Default::default() };
    assert_eq!(written(authentication), json!({"scheme": "Bearer"}));
}

#[test]
fn secrets_of_a_webhook_are_not_in_debug_output() {
    let json = json!({"url": "https://u", "token": "secret-token",
        "authentication": {"scheme": "Bearer", "credentials": "secret-credentials"}});
    let text = format!("{:?}", read::<PushConfig>(json));
    assert!(!text.contains("secret") && text.contains("Bearer"), "{text}");
}
