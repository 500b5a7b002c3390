//! The REST API for agents in the server's OpenAPI document.

use oxikit_core::Schema;
use oxikit_wire::{
    AgentDetails, AgentList, ExecuteRequest, ExecuteResponse, SessionAborted, SessionDeleted,
    SessionDetails, SessionForked, SessionList, SessionSnapshot, SnapshotDiff, SnapshotTree,
};
use serde_json::{Map, Value, json};

use super::failures;
use super::schemas::Schemas;
use crate::agents_api::{TurnEvent, templates};

/// The OpenAPI tag that groups the operations of the API.
pub(super) const TAG: &str = "agents";

/// Adds the paths of the API.
pub(super) fn add_paths(paths: &mut Map<String, Value>, schemas: &mut Schemas) {
    let [agents, agent, execute, stream, sessions, session, abort, fork, tree, snapshot, diff] =
        templates();
    let mut add = |path: &str, item: Value| paths.insert(path.to_owned(), with_names(path, item));

    let list = schemas.add_sent::<AgentList>("AgentList");
    add(agents, json!({ "get": operation("listAgents", "All agents.", &list) }));
    let details = schemas.add_sent::<AgentDetails>("AgentDetails");
    add(agent, json!({ "get": operation("getAgent", "An agent and its schemas.", &details) }));

    let response = schemas.add_sent::<ExecuteResponse>("ExecuteResponse");
    let event = json!({ "schema": schemas.add_event::<TurnEvent>("TurnEvent") });
    let request = schemas.add("ExecuteRequest", Some(Schema::of::<ExecuteRequest>().as_json()));
    let mut turn = operation("executeAgent", "One turn, as one answer or as events.", &response);
    take_body(&mut turn, &request, true);
    turn["responses"]["200"]["content"]["text/event-stream"] = event.clone();
    turn["responses"]["204"] = json!({ "description": "All events have been read." });
    turn["parameters"] = json!([last_event_id()]);
    add(execute, json!({ "post": turn }));
    let mut again = operation("readStream", "The events of a recorded turn.", &response);
    again["responses"]["200"]["content"] = json!({ "text/event-stream": event });
    again["responses"]["204"] = json!({ "description": "All events have been read." });
    again["parameters"] = json!([last_event_id()]);
    add(stream, json!({ "get": again }));

    let page = schemas.add_sent::<SessionList>("SessionList");
    let mut listed = operation("listSessions", "Sessions, those written last first.", &page);
    listed["parameters"] = json!([
        query("limit", json!({ "type": "integer", "minimum": 1, "maximum": 200, "default": 50 })),
        query("continuationToken", json!({ "type": "string" })),
        query("status", json!({ "type": "string", "enum": ["active", "completed"] })),
    ]);
    add(sessions, json!({ "get": listed }));
    let whole = schemas.add_sent::<SessionDetails>("SessionDetails");
    let deleted = schemas.add_sent::<SessionDeleted>("SessionDeleted");
    add(
        session,
        json!({
            "get": operation("getSession", "A session and its content.", &whole),
            "delete": operation("deleteSession", "Stops its work and removes it.", &deleted),
        }),
    );
    let one = json!({
        "type": "object", "properties": { "snapshotId": { "type": ["string", "null"] } },
    });
    let aborted = schemas.add_sent::<SessionAborted>("SessionAborted");
    let mut stop = operation("abortSession", "Stops the detached work of a session.", &aborted);
    take_body(&mut stop, &one, false);
    add(abort, json!({ "post": stop }));
    let forked = schemas.add_sent::<SessionForked>("SessionForked");
    let mut begin = operation("forkSession", "A new session that begins at a snapshot.", &forked);
    take_body(&mut begin, &one, false);
    add(fork, json!({ "post": begin }));
    let all = schemas.add_sent::<SnapshotTree>("SnapshotTree");
    add(tree, json!({ "get": operation("getTree", "The snapshots of a session.", &all) }));
    let one = schemas.add_sent::<SessionSnapshot>("SessionSnapshot");
    add(snapshot, json!({ "get": operation("getSnapshot", "A snapshot.", &one) }));
    let changed = schemas.add_sent::<SnapshotDiff>("SnapshotDiff");
    add(diff, json!({ "get": operation("getDiff", "What a turn has changed.", &changed) }));
}

fn operation(id: &str, summary: &str, schema: &Value) -> Value {
    let mut operation = json!({
        "operationId": format!("{TAG}.{id}"),
        "tags": [TAG],
        "summary": summary,
        "responses": failures::of(false),
    });
    operation["responses"]["200"] = json!({
        "description": summary,
        "content": { "application/json": { "schema": schema } },
    });
    operation
}

fn take_body(operation: &mut Value, schema: &Value, is_required: bool) {
    operation["requestBody"] = json!({
        "required": is_required,
        "content": { "application/json": { "schema": schema } },
    });
    for (code, failure) in failures::of(true) {
        operation["responses"][code] = failure;
    }
}

/// Every name in the path is a parameter of all its operations.
fn with_names(path: &str, mut item: Value) -> Value {
    let names = path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    let parameter = |name| json!({ "name": name, "in": "path", "required": true, "schema": { "type": "string" } });
    let parameters: Vec<_> = names.map(parameter).collect();
    if !parameters.is_empty() {
        item["parameters"] = parameters.into();
    }
    item
}

fn query(name: &str, schema: Value) -> Value {
    json!({ "name": name, "in": "query", "required": false, "schema": schema })
}

fn last_event_id() -> Value {
    json!({
        "name": "Last-Event-ID", "in": "header", "required": false, "schema": { "type": "string" },
        "description": "The id of the last event that was read: what follows is sent.",
    })
}
