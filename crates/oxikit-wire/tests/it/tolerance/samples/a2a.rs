//! Samples of the types of A2A, in the spelling of both versions.

use oxikit_wire::a2a::v0_3::{self, Out, rest};
use oxikit_wire::a2a::*;
use serde_json::{Value, json};

use super::super::members::members_of;
use super::{Sampled, raw};

// The names are those of Genkit's types too.
type A2aMessage = Message;
type A2aPart = Part;
type A2aArtifact = Artifact;
type A2aRole = Role;

pub(super) fn all() -> Vec<Sampled> {
    let mut all = objects();
    all.extend(requests());
    all.extend(cards());
    all.extend(objects_of_0_3());
    all.extend(requests_of_0_3());
    all.extend(http_of_0_3());
    all
}

fn objects() -> Vec<Sampled> {
    sampled! {
        A2aMessage: r#"{"messageId":"m","contextId":"c","taskId":"t","role":"ROLE_USER","parts":[{"text":"t"}],
            "metadata":{"n":1},"extensions":["e"],"referenceTaskIds":["r"]}"#,
            r#"{"message_id":"m","context_id":"c","task_id":"t","role":2,"parts":[],"reference_task_ids":["r"]}"#;
        A2aPart: r#"{"text":"t","filename":"f","mediaType":"a/b","metadata":{"n":1}}"#,
            r#"{"raw":"aGk=","media_type":"a/b"}"#, r#"{"url":"u"}"#, r#"{"data":[1]}"#;
        A2aArtifact: r#"{"artifactId":"a","name":"n","description":"d","parts":[{"data":1}],"metadata":{"n":1},
            "extensions":["e"]}"#, r#"{"artifact_id":"a","parts":[]}"#;
        A2aRole: r#""ROLE_AGENT""#, r#""user""#, r#"1"#;
        TaskState: r#""TASK_STATE_WORKING""#, r#""input-required""#, r#"3"#;
        Task: r#"{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"},"artifacts":[{"artifactId":"a",
            "parts":[]}],"history":[{"messageId":"m","role":"ROLE_USER","parts":[]}],"metadata":{"n":1}}"#,
            r#"{"id":"t","context_id":"c","status":{"state":2}}"#;
        TaskStatus: r#"{"state":"TASK_STATE_WORKING","message":{"messageId":"m","role":1,"parts":[]},"timestamp":"s"}"#;
        StatusUpdate: r#"{"taskId":"t","contextId":"c","status":{"state":1},"metadata":{"n":1}}"#,
            r#"{"task_id":"t","context_id":"c","status":{"state":1}}"#;
        ArtifactUpdate: r#"{"taskId":"t","contextId":"c","artifact":{"artifactId":"a","parts":[]},"append":true,
            "lastChunk":true,"metadata":{"n":1}}"#,
            r#"{"task_id":"t","context_id":"c","artifact":{"artifactId":"a","parts":[]},"last_chunk":true}"#;
        StreamResponse: r#"{"task":{"id":"t","status":{"state":1}}}"#,
            r#"{"message":{"messageId":"m","role":1,"parts":[]}}"#,
            r#"{"statusUpdate":{"taskId":"t","status":{"state":1}}}"#,
            r#"{"status_update":{"taskId":"t","status":{"state":1}}}"#,
            r#"{"artifactUpdate":{"taskId":"t","artifact":{"artifactId":"a"}}}"#,
            r#"{"artifact_update":{"taskId":"t","artifact":{"artifactId":"a"}}}"#;
        FieldViolation: r#"{"field":"f","description":"d"}"#;
        ErrorReply shown by error: r#"{"code":-32001,"message":"m","data":[{"reason":"TASK_NOT_FOUND"}]}"#,
            r#"{"error":{"code":404,"message":"m","details":[]}}"#;
        JsonRpcResponse<'_> shown by response: r#"{"id":1,"result":{"n":1}}"#,
            r#"{"id":"1","error":{"code":-32001,"message":"m"}}"#;
    }
}

fn requests() -> Vec<Sampled> {
    sampled! {
        SendMessageRequest: r#"{"tenant":"x","message":{"messageId":"m","role":1,"parts":[]},
            "configuration":{"historyLength":3},"metadata":{"n":1}}"#;
        SendConfiguration: r#"{"acceptedOutputModes":["a/b"],"taskPushNotificationConfig":{"url":"u"},
            "historyLength":3,"returnImmediately":true}"#,
            r#"{"accepted_output_modes":["a/b"],"task_push_notification_config":{"url":"u"},
            "history_length":"3","return_immediately":true}"#;
        ListTasksRequest: r#"{"tenant":"x","contextId":"c","status":1,"pageSize":10,"pageToken":"p",
            "historyLength":3,"statusTimestampAfter":"s","includeArtifacts":true}"#,
            r#"{"context_id":"c","page_size":10,"page_token":"p","history_length":3,
            "status_timestamp_after":"s","include_artifacts":true}"#;
        ListTasksResponse: r#"{"tasks":[],"nextPageToken":"p","pageSize":10,"totalSize":20}"#,
            r#"{"tasks":[],"next_page_token":"p","page_size":10,"total_size":20}"#;
        GetTaskRequest: r#"{"tenant":"x","id":"t","historyLength":3}"#, r#"{"id":"t","history_length":3}"#;
        CancelTaskRequest: r#"{"tenant":"x","id":"t","metadata":{"n":1}}"#;
        SubscribeRequest: r#"{"tenant":"x","id":"t"}"#;
        ExtendedCardRequest: r#"{"tenant":"x"}"#;
        PushConfig: r#"{"tenant":"x","id":"c","taskId":"t","url":"u","token":"k","authentication":{"scheme":"s"}}"#,
            r#"{"task_id":"t","url":"u"}"#;
        AuthenticationInfo: r#"{"scheme":"s","credentials":"c","otherSchemes":["o"]}"#;
        PushConfigRequest: r#"{"tenant":"x","taskId":"t","id":"c"}"#, r#"{"task_id":"t"}"#;
        ListPushConfigsRequest: r#"{"tenant":"x","taskId":"t","pageSize":3,"pageToken":"p"}"#,
            r#"{"task_id":"t","page_size":3,"page_token":"p"}"#;
        ListPushConfigsResponse: r#"{"configs":[{"url":"u"}],"nextPageToken":"p"}"#,
            r#"{"configs":[],"next_page_token":"p"}"#;
    }
}

fn cards() -> Vec<Sampled> {
    sampled! {
        AgentCard: r#"{"name":"n","description":"d","supportedInterfaces":[{"url":"u","protocolBinding":"GRPC"}],
            "provider":{"organization":"o","url":"u"},"version":"1","documentationUrl":"u","iconUrl":"i",
            "capabilities":{"streaming":true},"securitySchemes":{"k":{"mtlsSecurityScheme":{}}},
            "securityRequirements":[{"schemes":{"k":{"list":[]}}}],"defaultInputModes":["a/b"],
            "defaultOutputModes":["a/b"],"skills":[{"id":"s"}],"signatures":[{"protected":"p","signature":"s"}]}"#,
            r#"{"name":"n","protocolVersion":"0.3.0","url":"u","preferredTransport":"GRPC",
            "additionalInterfaces":[{"url":"v","transport":"JSONRPC"}],"security":[{"k":["s"]}],
            "supportsAuthenticatedExtendedCard":true}"#,
            r#"{"name":"n","supported_interfaces":[{"url":"u","protocolBinding":"GRPC"}],"documentation_url":"u",
            "icon_url":"i","security_schemes":{"k":{"type":"mutualTLS"}},"security_requirements":[{"k":[]}],
            "default_input_modes":["a/b"],"default_output_modes":["a/b"]}"#,
            r#"{"name":"n","protocol_version":"0.3.0","url":"u","preferred_transport":"GRPC",
            "additional_interfaces":[],"supports_authenticated_extended_card":true}"#;
        AgentInterface: r#"{"url":"u","protocolBinding":"GRPC","tenant":"x","protocolVersion":"1.0"}"#,
            r#"{"url":"u","protocol_binding":"GRPC","protocol_version":"1.0"}"#;
        AgentProvider: r#"{"organization":"o","url":"u"}"#;
        AgentCapabilities: r#"{"streaming":true,"pushNotifications":true,"stateTransitionHistory":true,
            "extendedAgentCard":true,"extensions":[{"uri":"u"}]}"#,
            r#"{"push_notifications":true,"state_transition_history":true,"extended_agent_card":true}"#;
        AgentExtension: r#"{"uri":"u","description":"d","required":true,"params":{"n":1}}"#;
        AgentSkill: r#"{"id":"s","name":"n","description":"d","tags":["t"],"examples":["e"],"inputModes":["a/b"],
            "outputModes":["a/b"],"securityRequirements":[{"schemes":{"k":{"list":[]}}}]}"#,
            r#"{"id":"s","input_modes":["a/b"],"output_modes":["a/b"],"security_requirements":[]}"#,
            r#"{"id":"s","security":[{"k":["s"]}]}"#;
        AgentCardSignature: r#"{"protected":"p","signature":"s","header":{"n":1}}"#;
        SecurityScheme: r#"{"type":"apiKey","in":"header","name":"n","description":"d"}"#,
            r#"{"apiKeySecurityScheme":{"location":"header","name":"n","description":"d"}}"#,
            r#"{"httpAuthSecurityScheme":{"scheme":"Bearer","bearerFormat":"JWT"}}"#,
            r#"{"oauth2_security_scheme":{"flows":{"device_code":{}},"oauth2_metadata_url":"u"}}"#,
            r#"{"openIdConnectSecurityScheme":{"openIdConnectUrl":"u"}}"#, r#"{"mtls_security_scheme":{}}"#;
        OAuthFlows: r#"{"authorizationCode":{}}"#, r#"{"authorization_code":{}}"#, r#"{"clientCredentials":{}}"#,
            r#"{"client_credentials":{}}"#, r#"{"deviceCode":{}}"#, r#"{"device_code":{}}"#, r#"{"implicit":{}}"#,
            r#"{"password":{}}"#;
        OAuthFlow: r#"{"authorizationUrl":"a","deviceAuthorizationUrl":"d","tokenUrl":"t","refreshUrl":"r",
            "scopes":{"s":"d"},"pkceRequired":true}"#,
            r#"{"authorization_url":"a","device_authorization_url":"d","token_url":"t","refresh_url":"r",
            "pkce_required":true}"#;
        SecurityRequirement: r#"{"schemes":{"k":{"list":["s"]}}}"#, r#"{"k":["s"],"l":[]}"#;
    }
}

type In = v0_3::In<Task>;
type InPart = v0_3::In<Part>;
type InMessage = v0_3::In<Message>;
type InArtifact = v0_3::In<Artifact>;
type InStatus = v0_3::In<TaskStatus>;
type InResponse = v0_3::In<StreamResponse>;
type Event = v0_3::Event;

fn objects_of_0_3() -> Vec<Sampled> {
    sampled! {
        In shown by out: r#"{"kind":"task","id":"t","contextId":"c","status":{"state":"working"},
            "artifacts":[{"artifactId":"a","parts":[]}],"history":[{"messageId":"m","role":"user","parts":[]}],
            "metadata":{"n":1}}"#, r#"{"id":"t","context_id":"c","status":{"state":"working"}}"#;
        InPart shown by out: r#"{"kind":"text","text":"t","metadata":{"n":1}}"#,
            r#"{"kind":"file","file":{"bytes":"aGk=","name":"n","mimeType":"a/b"}}"#,
            r#"{"kind":"file","file":{"uri":"u"}}"#, r#"{"kind":"data","data":{"n":1}}"#;
        InMessage shown by out: r#"{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"text","text":"t"}],
            "taskId":"t","contextId":"c","referenceTaskIds":["r"],"extensions":["e"],"metadata":{"n":1}}"#,
            r#"{"message_id":"m","role":"user","content":[],"task_id":"t","context_id":"c","reference_task_ids":["r"]}"#;
        InArtifact shown by out: r#"{"artifactId":"a","name":"n","description":"d","parts":[],"extensions":["e"],
            "metadata":{"n":1}}"#, r#"{"artifact_id":"a"}"#;
        InStatus shown by out: r#"{"state":"working","message":{"messageId":"m","role":"user","parts":[]},"timestamp":"s"}"#,
            r#"{"state":"working","update":{"messageId":"m","role":"user","parts":[]}}"#;
        InResponse shown by out: r#"{"kind":"message","messageId":"m","role":"user","parts":[],"taskId":"t",
            "referenceTaskIds":["r"],"extensions":["e"],"metadata":{"n":1}}"#,
            r#"{"kind":"task","id":"t","contextId":"c","status":{"state":"working"},"artifacts":[],"history":[]}"#,
            r#"{"kind":"artifact-update","taskId":"t","artifact":{"artifactId":"a"},"append":true,"lastChunk":true}"#,
            r#"{"kind":"status-update","taskId":"t","status":{"state":"working"},"final":true}"#;
        Event shown by event: r#"{"kind":"status-update","taskId":"t","contextId":"c","status":{"state":"working"},
            "final":true,"metadata":{"n":1}}"#,
            r#"{"kind":"message","messageId":"m","role":"user","parts":[],"referenceTaskIds":["r"],"extensions":["e"]}"#,
            r#"{"kind":"task","id":"t","status":{"state":"working"},"artifacts":[],"history":[]}"#,
            r#"{"kind":"artifact-update","taskId":"t","artifact":{"artifactId":"a"},"append":true,"lastChunk":true}"#;
    }
}

type InSend = v0_3::In<SendMessageRequest>;
type InGetTask = v0_3::In<GetTaskRequest>;
type InCancelTask = v0_3::In<CancelTaskRequest>;
type InSubscribe = v0_3::In<SubscribeRequest>;
type InPushConfig = v0_3::In<PushConfig>;
type InPushConfigRequest = v0_3::In<PushConfigRequest>;
type InListPushConfigs = v0_3::In<ListPushConfigsRequest>;
type InPushConfigs = v0_3::In<ListPushConfigsResponse>;

fn requests_of_0_3() -> Vec<Sampled> {
    sampled! {
        InSend shown by out: r#"{"message":{"messageId":"m","role":"user","parts":[]},"configuration":
            {"acceptedOutputModes":["a/b"],"blocking":true,"historyLength":3,"pushNotificationConfig":{"url":"u",
            "authentication":{"schemes":["s","t"],"credentials":"c"}}},"metadata":{"n":1}}"#,
            r#"{"request":{"messageId":"m","role":"user","parts":[]}}"#;
        InGetTask shown by out: r#"{"id":"t","historyLength":3}"#, r#"{"id":"t","history_length":3}"#;
        InCancelTask shown by out: r#"{"id":"t","metadata":{"n":1}}"#;
        InSubscribe shown by out: r#"{"id":"t"}"#;
        InPushConfig shown by out: r#"{"taskId":"t","pushNotificationConfig":{"id":"c","url":"u","token":"k"}}"#;
        InPushConfigRequest shown by out: r#"{"id":"t","pushNotificationConfigId":"c"}"#;
        InListPushConfigs shown by out: r#"{"id":"t"}"#;
        InPushConfigs shown by out: r#"[{"taskId":"t","pushNotificationConfig":{"id":"c","url":"u"}}]"#;
    }
}

type HttpPart = rest::In<Part>;
type HttpMessage = rest::In<Message>;
type HttpArtifact = rest::In<Artifact>;
type HttpTask = rest::In<Task>;
type HttpStatus = rest::In<TaskStatus>;
type HttpSend = rest::In<SendMessageRequest>;
type HttpPushConfig = rest::In<PushConfig>;
type HttpPushConfigs = rest::In<ListPushConfigsResponse>;
type HttpTasks = rest::In<ListTasksResponse>;
type HttpResponse = rest::In<StreamResponse>;
type HttpEvent = rest::Event;

fn http_of_0_3() -> Vec<Sampled> {
    sampled! {
        HttpPart shown by http: r#"{"text":"t","metadata":{"n":1}}"#, r#"{"data":{"data":{"n":1}}}"#,
            r#"{"file":{"fileWithBytes":"aGk=","mimeType":"a/b"}}"#, r#"{"kind":"data","data":{"n":1}}"#;
        HttpMessage shown by http: r#"{"messageId":"m","role":"ROLE_USER","content":[{"text":"t"}],"taskId":"t",
            "contextId":"c","extensions":["e"],"metadata":{"n":1}}"#,
            r#"{"kind":"message","message_id":"m","role":"user","parts":[{"kind":"text","text":"t"}],"task_id":"t",
            "context_id":"c","reference_task_ids":["r"]}"#,
            r#"{"messageId":"m","role":1,"referenceTaskIds":["r"]}"#;
        HttpArtifact shown by http: r#"{"artifactId":"a","name":"n","description":"d","parts":[],"extensions":["e"],
            "metadata":{"n":1}}"#, r#"{"artifact_id":"a"}"#;
        HttpTask shown by http: r#"{"id":"t","contextId":"c","status":{"state":2},"artifacts":[],"history":[],
            "metadata":{"n":1}}"#, r#"{"id":"t","context_id":"c","status":{"state":2}}"#;
        HttpStatus shown by http: r#"{"state":2,"message":{"messageId":"m","role":1,"content":[]},"timestamp":"s"}"#,
            r#"{"state":2,"update":{"messageId":"m","role":1,"content":[]}}"#;
        HttpSend shown by http: r#"{"message":{"messageId":"m","role":1,"content":[]},"configuration":{"blocking":true},
            "metadata":{"n":1}}"#, r#"{"request":{"messageId":"m","role":1,"content":[]}}"#;
        HttpPushConfig shown by http: r#"{"name":"tasks/t/pushNotificationConfigs/c","pushNotificationConfig":{"url":"u"}}"#,
            r#"{"parent":"tasks/t","configId":"c","config":{"pushNotificationConfig":{"url":"u"}}}"#,
            r#"{"parent":"tasks/t","config_id":"c","push_notification_config":{"url":"u"}}"#;
        HttpPushConfigs shown by http: r#"{"configs":[],"nextPageToken":"p"}"#, r#"{"next_page_token":"p"}"#;
        HttpTasks shown by http: r#"{"tasks":[{"id":"t","status":{"state":2}}]}"#;
        HttpResponse shown by http: r#"{"task":{"id":"t","status":{"state":2}}}"#,
            r#"{"message":{"messageId":"m","role":1}}"#, r#"{"msg":{"messageId":"m","role":1}}"#,
            r#"{"statusUpdate":{"taskId":"t","status":{"state":2}}}"#,
            r#"{"status_update":{"taskId":"t","status":{"state":2}}}"#,
            r#"{"artifactUpdate":{"taskId":"t","artifact":{"artifactId":"a"}}}"#,
            r#"{"artifact_update":{"taskId":"t","artifact":{"artifactId":"a"}}}"#;
        HttpEvent shown by http_event: r#"{"task":{"id":"t","status":{"state":2}}}"#,
            r#"{"message":{"messageId":"m","role":1}}"#, r#"{"msg":{"messageId":"m","role":1}}"#,
            r#"{"statusUpdate":{"task_id":"t","context_id":"c","status":{"state":2},"final":true,"metadata":{}}}"#,
            r#"{"status_update":{"taskId":"t","status":{"state":2}}}"#,
            r#"{"artifactUpdate":{"task_id":"t","artifact":{"artifact_id":"a"},"append":true,"last_chunk":true}}"#,
            r#"{"artifact_update":{"taskId":"t","artifact":{"artifactId":"a"}}}"#;
    }
}

fn out<T>(v0_3::In(value): &v0_3::In<T>) -> Value
where
    for<'a> Out<'a, T>: serde::Serialize,
{
    serde_json::to_value(Out::new(value)).unwrap()
}

fn http<T>(rest::In(value): &rest::In<T>) -> Value
where
    for<'a> Out<'a, T>: serde::Serialize,
{
    serde_json::to_value(Out::rest(value)).unwrap()
}

fn event(it: &Event) -> Value {
    json!([serde_json::to_value(&it.response).unwrap(), it.is_final])
}

fn http_event(it: &HttpEvent) -> Value {
    json!([serde_json::to_value(&it.response).unwrap(), it.is_final])
}

fn error(it: &ErrorReply) -> Value {
    json!([it.code, it.message, it.details])
}

fn response(it: &JsonRpcResponse<'_>) -> Value {
    json!([raw(it.id), raw(it.result), it.error.as_ref().map(error)])
}
