//! An A2A agent: submitted, working, an artifact in five chunks, completed; JSON-RPC of versions
//! 0.3 and 1.0. The stored task is changed at every event.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use axum::{
    Router,
    extract::State,
    http::header,
    response::{IntoResponse, Response},
    routing::post,
};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tokio::sync::mpsc;

use super::{bad, channel_body, hex, sse};

type Tasks = Arc<Mutex<HashMap<String, Task>>>;

#[derive(Deserialize)]
struct Rpc {
    id: Box<RawValue>,
    method: String,
    params: Params,
}
#[derive(Deserialize)]
struct Params {
    message: Message,
}
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Message {
    /// Only version 0.3 has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    message_id: String,
    role: String,
    parts: Vec<Part>,
}
#[derive(Clone, Serialize, Deserialize)]
struct Part {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    text: String,
}
#[derive(Serialize)]
struct Status {
    state: &'static str,
    timestamp: &'static str,
}
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Artifact {
    artifact_id: String,
    name: &'static str,
    parts: Vec<Part>,
}
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Task {
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    id: String,
    context_id: String,
    status: Status,
    history: [Message; 1],
    artifacts: Vec<Artifact>,
}
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct StatusUpdate<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    task_id: &'a str,
    context_id: &'a str,
    status: Status,
    #[serde(skip_serializing_if = "Option::is_none")]
    r#final: Option<bool>,
}
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ArtifactUpdate<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    task_id: &'a str,
    context_id: &'a str,
    append: bool,
    last_chunk: bool,
    artifact: Artifact,
}
/// Version 1.0 tells events apart by this wrapper, 0.3 by `kind`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum Event<'a> {
    Task(&'a Task),
    StatusUpdate(StatusUpdate<'a>),
    ArtifactUpdate(ArtifactUpdate<'a>),
}
#[derive(Serialize)]
struct RpcOut<'a, T> {
    jsonrpc: &'static str,
    id: &'a RawValue,
    result: T,
}

#[derive(Clone, Copy, PartialEq)]
enum Version {
    Old,
    New,
}
impl Version {
    fn kind(self, kind: &'static str) -> Option<&'static str> {
        (self == Self::Old).then_some(kind)
    }
    fn state(self, old: &'static str, new: &'static str) -> Status {
        let state = if self == Self::Old { old } else { new };
        Status { state, timestamp: "2026-01-01T00:00:00.000Z" }
    }
    fn write(self, out: &mut Vec<u8>, id: &RawValue, event: &Event<'_>) {
        let jsonrpc = "2.0";
        match (self, event) {
            (Self::New, result) => serde_json::to_writer(out, &RpcOut { jsonrpc, id, result }),
            (_, Event::Task(result)) => serde_json::to_writer(out, &RpcOut { jsonrpc, id, result }),
            (_, Event::StatusUpdate(result)) => {
                serde_json::to_writer(out, &RpcOut { jsonrpc, id, result })
            }
            (_, Event::ArtifactUpdate(result)) => {
                serde_json::to_writer(out, &RpcOut { jsonrpc, id, result })
            }
        }
        .expect("json");
    }
    fn block(self, id: &RawValue, event: &Event<'_>) -> Bytes {
        let mut block = Vec::with_capacity(384);
        block.extend_from_slice(b"data: ");
        self.write(&mut block, id, event);
        block.extend_from_slice(b"\n\n");
        block.into()
    }
}

pub(super) fn router() -> Router {
    Router::new().route("/a2a", post(answer).with_state(Tasks::default()))
}

async fn answer(State(tasks): State<Tasks>, body: Bytes) -> Response {
    let Ok(rpc) = serde_json::from_slice::<Rpc>(&body) else { return bad() };
    match &*rpc.method {
        "message/send" => send(run(tasks, rpc, Version::Old, None).await),
        "SendMessage" => send(run(tasks, rpc, Version::New, None).await),
        "message/stream" => stream(tasks, rpc, Version::Old),
        "SendStreamingMessage" => stream(tasks, rpc, Version::New),
        _ => bad(),
    }
}
fn send(body: Vec<u8>) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], body).into_response()
}
fn stream(tasks: Tasks, rpc: Rpc, version: Version) -> Response {
    let (tx, rx) = mpsc::channel(64);
    tokio::spawn(run(tasks, rpc, version, Some(tx)));
    sse(channel_body(rx))
}

/// The work on one message; answers the task.
async fn run(
    tasks: Tasks,
    Rpc { id, params, .. }: Rpc,
    version: Version,
    reader: Option<mpsc::Sender<Bytes>>,
) -> Vec<u8> {
    let (task, context, artifact) = (hex(32), hex(32), hex(32));
    let (task_id, context_id) = (&*task, &*context);
    let publish = async |event: Event<'_>| {
        if let Some(reader) = &reader {
            let _ = reader.send(version.block(&id, &event)).await;
        }
    };
    let change = |apply: &mut dyn FnMut(&mut Task)| {
        apply(tasks.lock().expect("no panic").get_mut(task_id).expect("stored"));
    };
    let update = async |status: fn(Version) -> Status, is_last| {
        change(&mut |task| task.status = status(version));
        publish(Event::StatusUpdate(StatusUpdate {
            kind: version.kind("status-update"),
            task_id,
            context_id,
            status: status(version),
            r#final: (version == Version::Old).then_some(is_last),
        }))
        .await;
    };
    let first = Task {
        kind: version.kind("task"),
        id: task.clone(),
        context_id: context.clone(),
        status: version.state("submitted", "TASK_STATE_SUBMITTED"),
        history: [params.message],
        artifacts: vec![],
    };
    publish(Event::Task(&first)).await;
    tasks.lock().expect("no panic").insert(task.clone(), first);
    update(|version| version.state("working", "TASK_STATE_WORKING"), false).await;
    for i in 0..5 {
        let kind = version.kind("text").map(str::to_owned);
        let part = Part { kind, text: format!("chunk {i} ") };
        let made =
            || Artifact { artifact_id: artifact.clone(), name: "out", parts: vec![part.clone()] };
        change(&mut |task| match task.artifacts.last_mut() {
            Some(artifact) => artifact.parts.push(part.clone()),
            None => task.artifacts.push(made()),
        });
        publish(Event::ArtifactUpdate(ArtifactUpdate {
            kind: version.kind("artifact-update"),
            task_id,
            context_id,
            append: i > 0,
            last_chunk: i == 4,
            artifact: made(),
        }))
        .await;
    }
    update(|version| version.state("completed", "TASK_STATE_COMPLETED"), true).await;
    let all = tasks.lock().expect("no panic");
    let mut body = Vec::with_capacity(1024);
    version.write(&mut body, &id, &Event::Task(&all[task_id]));
    body
}
