//! Random values are written and read again in each form, without loss of what it can carry.

use oxikit_wire::JsonObject;
use oxikit_wire::a2a::v0_3::{self, rest};
use oxikit_wire::a2a::{
    Artifact, ArtifactUpdate, AuthenticationInfo, Message, Part, PartContent, PushConfig, Role,
    SendConfiguration, SendMessageRequest, StatusUpdate, StreamResponse, Task, TaskState,
    TaskStatus,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// What a form can carry.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Carrier {
    /// Neither names of files nor references to tasks.
    HttpV0_3,
    /// Names and media types of files, but not of other parts.
    JsonRpcV0_3,
    /// Everything.
    V1_0,
}

fn text() -> impl Strategy<Value = String> + Clone {
    "\\PC{1,6}"
}

fn json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "\\PC{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..3).prop_map(Value::from),
            vec((text(), inner), 0..3).prop_map(|it| Value::Object(it.into_iter().collect())),
        ]
    })
}

fn metadata() -> impl Strategy<Value = Option<JsonObject>> {
    // Of metadata without members only its absence is kept, if data is wrapped.
    option::of(vec((text(), json()), 1..3).prop_map(|it| it.into_iter().collect()))
}

fn part(carrier: Carrier) -> impl Strategy<Value = Part> {
    let content = prop_oneof![
        "\\PC{0,6}".prop_map(PartContent::Text),
        "([A-Za-z0-9+/]{4}){0,3}".prop_map(PartContent::Raw),
        text().prop_map(PartContent::Url),
        json().prop_map(PartContent::Data),
    ];
    let names = (option::of(text()), option::of(text()));
    (content, names, metadata()).prop_map(move |(content, (filename, media_type), metadata)| {
        let is_file = matches!(content, PartContent::Raw(_) | PartContent::Url(_));
        let is_carried = is_file || carrier == Carrier::V1_0;
        Part {
            content,
            filename: filename.filter(|_| is_carried && carrier > Carrier::HttpV0_3),
            media_type: media_type.filter(|_| is_carried),
            metadata,
        }
    })
}

fn message(carrier: Carrier) -> impl Strategy<Value = Message> {
    let role = prop_oneof![Just(Role::User), Just(Role::Agent)];
    let ids = (text(), option::of(text()), option::of(text()));
    let lists = (vec(text(), 0..2), vec(text(), 0..2));
    (ids, role, vec(part(carrier), 0..3), metadata(), lists).prop_map(
        move |((message_id, context_id, task_id), role, parts, metadata, lists)| {
            let (extensions, reference_task_ids) = lists;
            let has_references = carrier > Carrier::HttpV0_3;
            Message {
                message_id,
                context_id,
                task_id,
                role,
                parts,
                metadata,
                extensions,
                reference_task_ids: if has_references { reference_task_ids } else { Vec::new() },
            }
        },
    )
}

fn status(carrier: Carrier) -> impl Strategy<Value = TaskStatus> {
    let state = proptest::sample::select(TaskState::ALL.to_vec());
    (state, option::of(message(carrier)), option::of(text()))
        .prop_map(|(state, message, timestamp)| TaskStatus { state, message, timestamp })
}

fn artifact(carrier: Carrier) -> impl Strategy<Value = Artifact> {
    let names = (text(), option::of(text()), option::of(text()));
    (names, vec(part(carrier), 0..3), metadata(), vec(text(), 0..2)).prop_map(
        |((artifact_id, name, description), parts, metadata, extensions)| Artifact {
            artifact_id,
            name,
            description,
            parts,
            metadata,
            extensions,
        },
    )
}

fn response(carrier: Carrier) -> impl Strategy<Value = StreamResponse> {
    let lists = (vec(artifact(carrier), 0..3), vec(message(carrier), 0..3));
    let task = (text(), text(), status(carrier), lists, metadata()).prop_map(
        |(id, context_id, status, (artifacts, history), metadata)| Task {
            id,
            context_id,
            status,
            artifacts,
            history,
            metadata,
        },
    );
    let status_update = (text(), text(), status(carrier), metadata()).prop_map(
        |(task_id, context_id, status, metadata)| StatusUpdate {
            task_id,
            context_id,
            status,
            metadata,
        },
    );
    let flags = (any::<bool>(), any::<bool>());
    let artifact_update = (text(), text(), artifact(carrier), flags, metadata()).prop_map(
        |(task_id, context_id, artifact, (append, last_chunk), metadata)| ArtifactUpdate {
            task_id,
            context_id,
            artifact,
            append,
            last_chunk,
            metadata,
        },
    );
    prop_oneof![
        task.prop_map(StreamResponse::Task),
        message(carrier).prop_map(StreamResponse::Message),
        status_update.prop_map(StreamResponse::StatusUpdate),
        artifact_update.prop_map(StreamResponse::ArtifactUpdate),
    ]
}

fn config(task_id: Option<String>) -> impl Strategy<Value = PushConfig> {
    let authentication = (text(), option::of(text()), vec(text(), 0..3)).prop_map(
        |(scheme, credentials, other_schemes)| AuthenticationInfo {
            scheme,
            credentials,
            other_schemes,
        },
    );
    (text(), text(), option::of(text()), option::of(authentication)).prop_map(
        move |(id, url, token, authentication)| PushConfig {
            tenant: None,
            id: Some(id.replace('/', "-")),
            task_id: task_id.clone(),
            url,
            token,
            authentication,
        },
    )
}

fn request(carrier: Carrier) -> impl Strategy<Value = SendMessageRequest> {
    let options = (option::of(any::<i64>()), option::of(any::<bool>()));
    let configuration = (vec(text(), 0..3), option::of(config(None)), options).prop_map(
        |(accepted_output_modes, task_push_notification_config, options)| SendConfiguration {
            accepted_output_modes,
            task_push_notification_config,
            history_length: options.0,
            return_immediately: options.1,
        },
    );
    (message(carrier), option::of(configuration), metadata()).prop_map(
        |(message, configuration, metadata)| SendMessageRequest {
            tenant: None,
            message,
            configuration,
            metadata,
        },
    )
}

/// Writes a value, reads it with `T`, and writes it once more.
fn again<T: DeserializeOwned>(written: &impl serde::Serialize) -> T {
    let json = serde_json::to_string(written).unwrap();
    serde_json::from_str(&json).unwrap_or_else(|error| panic!("{error}: {json}"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn version_1_0_loses_nothing(
        response in response(Carrier::V1_0),
        request in request(Carrier::V1_0),
        config in config(Some("t".to_owned())),
    ) {
        prop_assert_eq!(&again::<StreamResponse>(&response), &response);
        prop_assert_eq!(&again::<SendMessageRequest>(&request), &request);
        prop_assert_eq!(&again::<PushConfig>(&config), &config);
    }

    #[test]
    fn json_rpc_of_0_3_loses_nothing_that_it_can_carry(
        response in response(Carrier::JsonRpcV0_3),
        request in request(Carrier::JsonRpcV0_3),
        config in config(Some("t".to_owned())),
        is_final in any::<bool>(),
    ) {
        let out = v0_3::Out::new(&response).with_final(is_final);
        let event: v0_3::Event = again(&out);
        prop_assert_eq!(&event.response, &response);
        let is_status = matches!(response, StreamResponse::StatusUpdate(_));
        prop_assert_eq!(event.is_final, is_final && is_status);
        let once_more = v0_3::Out::new(&event.response).with_final(event.is_final);
        prop_assert_eq!(serde_json::to_string(&once_more).unwrap(), serde_json::to_string(&out).unwrap());
        prop_assert_eq!(&again::<v0_3::In<SendMessageRequest>>(&v0_3::Out::new(&request)).0, &request);
        prop_assert_eq!(&again::<v0_3::In<PushConfig>>(&v0_3::Out::new(&config)).0, &config);
    }

    #[test]
    fn http_of_0_3_loses_nothing_that_it_can_carry(
        response in response(Carrier::HttpV0_3),
        request in request(Carrier::HttpV0_3),
        config in config(Some("t".to_owned())),
        is_final in any::<bool>(),
    ) {
        let out = v0_3::Out::rest(&response).with_final(is_final);
        let event: rest::Event = again(&out);
        prop_assert_eq!(&event.response, &response);
        let is_status = matches!(response, StreamResponse::StatusUpdate(_));
        prop_assert_eq!(event.is_final, is_final && is_status);
        prop_assert_eq!(&again::<rest::In<SendMessageRequest>>(&v0_3::Out::rest(&request)).0, &request);
        prop_assert_eq!(&again::<rest::In<PushConfig>>(&v0_3::Out::rest(&config)).0, &config);
    }
}
