use oxikit_wire::rpc::{ForkSessionParams, ListSessionsParams, SessionParams};
use oxikit_wire::{
    AgentDetails, AgentList, ExecuteRequest, ExecuteResponse, ExecuteResult, SessionAborted,
    SessionDeleted, SessionDetails, SessionForked, SessionList, SnapshotDiff, SnapshotTree,
    Telemetry,
};

use crate::sample::{check_refuses, check_wire};

#[test]
fn agents_as_the_proposal_shows_them() {
    check_wire::<AgentList>(
        r#"{"agents":{
            "myAgent":{"name":"myAgent","description":"A helpful customer service agent","hasStore":false,
                "metadata":{"version":"1.0.0","tags":["customer-service","support"]}},
            "persistentAgent":{"name":"persistentAgent","description":"An agent with server-side state",
                "hasStore":true,"storeType":"postgres","metadata":{}}}}"#,
    );
    check_wire::<AgentDetails>(
        r#"{"name":"myAgent","description":"A helpful customer service agent","hasStore":false,
            "initSchema":{"type":"object","properties":{"sessionId":{"type":"string"},"state":{}}},
            "inputSchema":{"type":"object","properties":{"content":{"type":"string"}}},
            "outputSchema":{"type":"object"},"streamSchema":{"type":"object"},"metadata":{}}"#,
    );
    check_refuses::<AgentList>(r#"{"agents":[]}"#);
}

#[test]
fn sessions_as_the_proposal_shows_them() {
    check_wire::<SessionList>(
        r#"{"sessions":[{"sessionId":"sess_abc123","agentName":"persistentAgent",
            "createdAt":1705968000000,"updatedAt":1705968300000,"status":"active","messageCount":5,
            "hasArtifacts":true,"metadata":{"userId":"user_xyz"}}],
            "continuationToken":"next_page_token"}"#,
    );
    check_wire::<SessionDetails>(
        r#"{"sessionId":"sess_abc123","agentName":"persistentAgent","createdAt":1705968000000,
            "updatedAt":1705968300000,"status":"active",
            "state":{"currentTopic":"greeting","userPreferences":{},"artifacts":[{"name":"summary",
                "parts":[{"text":"Conversation summary..."}],"metadata":{"generatedAt":1705968200000}}]},
            "threads":{"main":[{"role":"user","content":[{"text":"Hello!"}]},
                {"role":"model","content":[{"text":"Hi! How can I help you?"}]}]},
            "metadata":{},
            "snapshotId":"s","snapshotStatus":"failed","finishReason":"failed","error":{"message":"m"},
            "snapshots":[{"snapshotId":"s","parentId":"r","status":"failed","finishReason":"failed",
                "createdAt":1705968000000,"messageCount":2,"children":[]}]}"#,
    );
    check_wire::<SessionDeleted>(r#"{"success":true,"sessionId":"sess_abc123"}"#);
    check_wire::<SessionAborted>(
        r#"{"sessionId":"s","snapshotId":"p","status":"pending","aborted":["p"]}"#,
    );
    check_wire::<SessionForked>(
        r#"{"sessionId":"t","snapshotId":"q","parentSessionId":"s","parentSnapshotId":"p"}"#,
    );
}

#[test]
fn what_managers_ask_of_sessions() {
    check_wire::<ListSessionsParams>(r#"{"agent":"a"}"#);
    check_wire::<ListSessionsParams>(
        r#"{"agent":"a","limit":7,"continuationToken":"t","status":"active"}"#,
    );
    check_wire::<SessionParams>(r#"{"agent":"a","sessionId":"s"}"#);
    check_wire::<ForkSessionParams>(
        r#"{"agent":"a","sessionId":"s","snapshotId":"p","context":{"auth":{"uid":"7"}}}"#,
    );
    check_refuses::<ListSessionsParams>(r#"{"agent":"a","status":"gone"}"#);
    check_refuses::<SessionParams>(r#"{"agent":"a"}"#);
}

#[test]
fn forks_and_differences() {
    check_wire::<SnapshotTree>(
        r#"{"sessionId":"s","agentName":"a","snapshotId":"l","snapshots":[
            {"snapshotId":"r","createdAt":1,"messageCount":0,"children":["l"]}]}"#,
    );
    check_wire::<SnapshotDiff>(
        r#"{"sessionId":"s","snapshotId":"l","parentId":"r",
            "patch":[{"op":"replace","path":"/custom","value":null}]}"#,
    );
}

#[test]
fn a_turn_as_the_proposal_shows_it() {
    check_wire::<ExecuteRequest>(
        r#"{"input":{"role":"user","content":[{"text":"What's the weather like?"}]},
            "init":{"sessionId":"sess_abc123","messages":[{"role":"user","content":[]}],"state":{},"artifacts":[]},
            "stream":true,"telemetryLabels":{"source":"dev-ui","userId":"dev_user"}}"#,
    );
    check_wire::<ExecuteResponse>(
        r#"{"result":{"sessionId":"sess_abc123","messages":[],"state":{},"artifacts":[]},
            "telemetry":{"traceId":"trace_xyz","spanId":"span_abc"}}"#,
    );
    check_wire::<ExecuteResult>(
        r#"{"sessionId":"s","messages":[],"state":null,"artifacts":[{"parts":[]}],"snapshotId":"p",
            "finishReason":"failed","message":{"role":"model","content":[]},"error":{"message":"m"}}"#,
    );
    check_wire::<Telemetry>(r#"{"traceId":"t","spanId":"s"}"#);
}
