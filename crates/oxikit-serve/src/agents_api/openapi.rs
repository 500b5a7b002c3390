//! The API in the server's description.

use oxikit_core::Schema;
use oxikit_wire::{
    AgentDetails, AgentList, ExecuteRequest, ExecuteResponse, ExecuteResult, SessionAborted,
    SessionDeleted, SessionDetails, SessionForked, SessionList, SessionSnapshot, SnapshotDiff,
    SnapshotTree,
};
use serde_json::{Map, Value, json};

use super::route::templates;
use crate::openapi::schemas::Schemas;

/// What the operations of the API are listed under.
pub(crate) const TAG: &str = "agents";

/// Adds the paths of the API.
pub(crate) fn add_paths(paths: &mut Map<String, Value>, schemas: &mut Schemas) {
    let [agents, agent, execute, stream, sessions, session, abort, fork, tree, snapshot, diff] =
        templates();
    let mut add = |path: &str, item: Value| paths.insert(path.to_owned(), with_names(path, item));
    let mut of = |name: &str, schema: Schema| schemas.add(name, Some(schema.as_json()));

    let list = of("AgentList", Schema::of::<AgentList>());
    add(agents, json!({ "get": operation("listAgents", "All agents.", &list) }));
    let details = of("AgentDetails", Schema::of::<AgentDetails>());
    add(agent, json!({ "get": operation("getAgent", "An agent and its schemas.", &details) }));

    let response = of("ExecuteResponse", Schema::of::<ExecuteResponse>());
    let result = of("ExecuteResult", Schema::of::<ExecuteResult>());
    let mut turn = operation("executeAgent", "One turn, as one answer or as events.", &response);
    turn["requestBody"] = body(&of("ExecuteRequest", Schema::of::<ExecuteRequest>()), true);
    turn["responses"]["200"]["content"]["text/event-stream"] = events(&result);
    turn["parameters"] = json!([last_event_id()]);
    add(execute, json!({ "post": turn }));
    let mut again = operation("readStream", "The events of a recorded turn.", &response);
    again["responses"]["200"]["content"] = json!({ "text/event-stream": events(&result) });
    again["responses"]["204"] = json!({ "description": "All events have been read." });
    again["parameters"] = json!([last_event_id()]);
    add(stream, json!({ "get": again }));

    let page = of("SessionList", Schema::of::<SessionList>());
    let mut listed = operation("listSessions", "Sessions, those written last first.", &page);
    listed["parameters"] = json!([
        query("limit", json!({ "type": "integer", "minimum": 1, "maximum": 200, "default": 50 })),
        query("continuationToken", json!({ "type": "string" })),
        query("status", json!({ "enum": ["active", "completed"] })),
    ]);
    add(sessions, json!({ "get": listed }));
    let whole = of("SessionDetails", Schema::of::<SessionDetails>());
    let deleted = of("SessionDeleted", Schema::of::<SessionDeleted>());
    add(
        session,
        json!({
            "get": operation("getSession", "A session and its content.", &whole),
            "delete": operation("deleteSession", "Stops its work and removes it.", &deleted),
        }),
    );
    let aborted = of("SessionAborted", Schema::of::<SessionAborted>());
    let mut stop = operation("abortSession", "Stops the detached work of a session.", &aborted);
    let one = json!({ "type": "object", "properties": { "snapshotId": { "type": "string" } } });
    stop["requestBody"] = body(&one, false);
    add(abort, json!({ "post": stop }));
    let forked = of("SessionForked", Schema::of::<SessionForked>());
    let mut begin = operation("forkSession", "A new session that begins at a snapshot.", &forked);
    begin["requestBody"] = body(&one, false);
    add(fork, json!({ "post": begin }));
    let all = of("SnapshotTree", Schema::of::<SnapshotTree>());
    add(tree, json!({ "get": operation("getTree", "The snapshots of a session.", &all) }));
    let one = of("SessionSnapshot", Schema::of::<SessionSnapshot>());
    add(snapshot, json!({ "get": operation("getSnapshot", "A snapshot.", &one) }));
    let changed = of("SnapshotDiff", Schema::of::<SnapshotDiff>());
    add(diff, json!({ "get": operation("getDiff", "What a turn has changed.", &changed) }));
}

fn operation(id: &str, summary: &str, schema: &Value) -> Value {
    let error = json!({ "$ref": "#/components/schemas/Error" });
    json!({
        "operationId": format!("{TAG}.{id}"),
        "tags": [TAG],
        "summary": summary,
        "responses": {
            "200": {
                "description": summary,
                "content": { "application/json": { "schema": schema } },
            },
            "default": {
                "description": "A refusal or a failure.",
                "content": { "application/json": { "schema": error } },
            },
        },
    })
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

fn body(schema: &Value, is_required: bool) -> Value {
    json!({
        "required": is_required,
        "content": { "application/json": { "schema": schema } },
    })
}

fn events(done: &Value) -> Value {
    json!({ "schema": {
        "description": "Events with ids: `chunk`, `stateUpdate`, `artifact` and `turnEnd` in any \
            number, then `done` or `error`, then `telemetry`. The schema is that of `done`.",
        "anyOf": [done],
    }})
}
