//! Receives the notifications of tasks on 127.0.0.1 and a free port, and prints where.
//!
//! `POST /<name>` takes a notification. `GET /<name>` waits until one of them says that the task has
//! ended, and answers with all of them in the order of their arrival, in one form for both versions
//! of the protocol. The bodies are read here without the types of oxikit, which wrote some of them.

#![expect(clippy::print_stdout, reason = "the program that started it reads the address")]

use std::collections::HashMap;
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::get;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::Notify;

/// States after which no notification follows.
const ENDS: [&str; 4] = ["canceled", "completed", "failed", "rejected"];

#[derive(Default)]
struct Received {
    /// The notifications by the name of their webhook.
    by_name: Mutex<HashMap<String, Vec<Value>>>,
    arrived: Notify,
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let routes = Router::new()
        .route("/{name}", get(wait).post(receive))
        .with_state(Arc::new(Received::default()));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    println!("listening on http://{}", listener.local_addr()?);
    axum::serve(listener, routes).await?;
    Ok(())
}

async fn receive(
    State(received): State<Arc<Received>>,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> StatusCode {
    let Some(mut notification) = serde_json::from_slice(&body).ok().as_ref().and_then(plain) else {
        return StatusCode::BAD_REQUEST;
    };
    let header = |name| headers.get(name).and_then(|value| value.to_str().ok());
    notification["type"] = json!(header("content-type"));
    notification["token"] = json!(header("x-a2a-notification-token"));
    received.edit(|all| all.entry(name).or_default().push(notification));
    received.arrived.notify_waiters();
    StatusCode::OK
}

async fn wait(State(received): State<Arc<Received>>, Path(name): Path<String>) -> String {
    loop {
        let arrived = received.arrived.notified();
        tokio::pin!(arrived);
        // A notification that arrives from here on ends the wait below.
        arrived.as_mut().enable();
        let so_far = received.edit(|all| all.get(&name).cloned().unwrap_or_default());
        if so_far.iter().any(|it| ENDS.iter().any(|end| it["state"] == *end)) {
            return Value::Array(so_far).to_string();
        }
        arrived.await;
    }
}

impl Received {
    fn edit<T>(&self, edit: impl FnOnce(&mut HashMap<String, Vec<Value>>) -> T) -> T {
        edit(&mut self.by_name.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The notification in the form that the cases compare: version, kind, state and text.
fn plain(body: &Value) -> Option<Value> {
    if body["kind"] == "task" {
        return Some(json!({
            "version": "0.3",
            "kind": "task",
            "state": body["status"]["state"],
            "text": text_of_all(&body["artifacts"]),
        }));
    }
    let members = body.as_object().filter(|members| members.len() == 1)?;
    let (name, event) = members.iter().next()?;
    let (kind, text) = match name.as_str() {
        "task" => ("task", text_of_all(&event["artifacts"])),
        "statusUpdate" => ("status", String::new()),
        "artifactUpdate" => ("artifact", text_of(&event["artifact"])),
        _ => return None,
    };
    let state = event["status"]["state"].as_str().unwrap_or_default();
    let state = state.trim_start_matches("TASK_STATE_").to_lowercase().replace('_', "-");
    Some(json!({ "version": "1.0", "kind": kind, "state": state, "text": text }))
}

fn text_of_all(artifacts: &Value) -> String {
    artifacts.as_array().into_iter().flatten().map(text_of).collect()
}

fn text_of(artifact: &Value) -> String {
    let parts = artifact["parts"].as_array().into_iter().flatten();
    parts.filter_map(|part| part["text"].as_str()).collect()
}
