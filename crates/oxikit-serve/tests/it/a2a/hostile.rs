//! Requests that are wrong in every way that the protocol names, over both bindings in both
//! versions. Each is refused with its code and status, and no agent runs.

mod frames;
mod media;
mod messages;
mod queries;
mod sizes;
mod tasks;
mod values;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use oxikit::prelude::*;
use oxikit_serve::Server;
use oxikit_serve::a2a::{A2aAgent, AgentExecutor, TaskTurn, TaskUpdates};
use oxikit_wire::a2a::{ErrorKind, Version};
use serde_json::{Value, json};

use super::kit::App;
use crate::kit::{Answer, Client, SECRETS};

/// A binding of the protocol in one version.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Way {
    Rpc(Version),
    Rest(Version),
}

const WAYS: [Way; 4] = [
    Way::Rpc(Version::V0_3),
    Way::Rpc(Version::V1_0),
    Way::Rest(Version::V0_3),
    Way::Rest(Version::V1_0),
];

/// Something that is wrong with the JSON of an answer that leaks the inside of the server.
const INSIDE: [&str; 7] =
    ["<html", "<!doctype", "panicked", "backtrace", ".rs:", "/src/", "oxikit_"];

impl Way {
    fn version(self) -> Version {
        match self {
            Self::Rpc(version) | Self::Rest(version) => version,
        }
    }

    /// A valid request that sends a message. REST has the parameters as its body.
    fn send_params(self) -> Value {
        match self {
            Self::Rpc(Version::V0_3) => json!({ "message": {
                "kind": "message", "messageId": "m", "role": "user",
                "parts": [{ "kind": "text", "text": "hello" }],
            } }),
            Self::Rest(Version::V0_3) => json!({ "message": {
                "messageId": "m", "role": "ROLE_USER", "content": [{ "text": "hello" }],
            } }),
            _ => json!({ "message": {
                "messageId": "m", "role": "ROLE_USER", "parts": [{ "text": "hello" }],
            } }),
        }
    }

    /// The member of a message with its parts.
    fn parts(self) -> &'static str {
        if self == Self::Rest(Version::V0_3) { "content" } else { "parts" }
    }

    /// The path and the body of a request that sends (or streams) a message with these parameters.
    fn send(self, is_streaming: bool, params: &str) -> (String, String) {
        let (method, path) = match (self, is_streaming) {
            (Self::Rpc(Version::V0_3), false) => ("message/send", ""),
            (Self::Rpc(Version::V0_3), true) => ("message/stream", ""),
            (Self::Rpc(Version::V1_0), false) => ("SendMessage", ""),
            (Self::Rpc(Version::V1_0), true) => ("SendStreamingMessage", ""),
            (Self::Rest(Version::V0_3), false) => ("", "/v1/message:send"),
            (Self::Rest(Version::V0_3), true) => ("", "/v1/message:stream"),
            (Self::Rest(Version::V1_0), false) => ("", "/message:send"),
            (Self::Rest(Version::V1_0), true) => ("", "/message:stream"),
        };
        let body = match self {
            Self::Rpc(_) => {
                format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{params}}}"#)
            }
            Self::Rest(_) => params.to_owned(),
        };
        (format!("/a2a/counted{path}"), body)
    }

    /// Fails unless the answer is this error in the form of the binding and version.
    #[track_caller]
    fn assert_refused(self, answer: &Answer, kind: ErrorKind, what: &str) {
        let version = self.version();
        let text = answer.text();
        let body = answer_json(answer);
        let context = format!("{what} over {self:?}: {} {text}", answer.status);
        match self {
            Self::Rpc(_) => {
                assert_eq!(answer.status, 200, "{context}");
                assert_eq!(body["error"]["code"], kind.code(version), "{context}");
                assert!(body.get("result").is_none(), "{context}");
            }
            Self::Rest(Version::V0_3) => {
                assert_eq!(answer.status, kind.http_status(version), "{context}");
                assert_eq!(body["code"], kind.code(version), "{context}");
            }
            Self::Rest(Version::V1_0) => {
                assert_eq!(answer.status, kind.http_status(version), "{context}");
                let error = &body["error"];
                assert_eq!(error["code"], answer.status, "{context}");
                assert_eq!(error["status"], kind.grpc_status().name(), "{context}");
                assert_eq!(error["details"][0]["reason"], kind.reason(), "{context}");
            }
        }
        assert_says_nothing_inside(text, &context);
    }
}

/// The body as JSON; that of a stream is its only event.
#[track_caller]
fn answer_json(answer: &Answer) -> Value {
    let text = answer.text();
    let json = match answer.header("content-type") {
        Some("text/event-stream") => text.strip_prefix("data: ").unwrap().trim_end(),
        Some(media_type) => {
            assert!(media_type.starts_with("application/"), "{media_type}");
            text
        }
        None => panic!("an answer without a type: {text}"),
    };
    serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {text}"))
}

#[track_caller]
fn assert_says_nothing_inside(text: &str, context: &str) {
    let lower = text.to_lowercase();
    for inside in INSIDE.iter().chain(&SECRETS) {
        assert!(!lower.contains(&inside.to_lowercase()), "{inside} in {context}");
    }
}

/// Counts its runs, and completes every task.
struct Counted(Arc<AtomicUsize>);

#[async_trait]
impl AgentExecutor for Counted {
    async fn execute(&self, turn: TaskTurn, updates: &mut TaskUpdates) -> Result<()> {
        self.0.fetch_add(1, Ordering::SeqCst);
        match turn.message.text().as_str() {
            "ask" => updates.ask("what next?").await,
            _ => updates.complete().await,
        }
    }
}

/// A server whose agent counts its runs.
struct Target {
    app: App,
    runs: Arc<AtomicUsize>,
}

async fn target() -> Target {
    target_with(|server| server).await
}

async fn target_with(set: impl FnOnce(Server) -> Server) -> Target {
    let runs = Arc::new(AtomicUsize::new(0));
    let agent = A2aAgent::with_executor("counted", Counted(runs.clone()));
    let app = super::kit::app_with(|server| set(server.a2a(agent))).await;
    Target { app, runs }
}

impl Target {
    /// Sends a request with a body of JSON.
    async fn post(&self, path: &str, headers: &str, body: impl AsRef<[u8]>) -> Answer {
        let headers = format!("Content-Type: application/json\r\n{headers}");
        self.request("POST", path, &headers, body).await
    }

    async fn request(
        &self,
        method: &str,
        path: &str,
        headers: &str,
        body: impl AsRef<[u8]>,
    ) -> Answer {
        let body = body.as_ref();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\n{headers}Content-Length: {}\r\n\r\n",
            self.app.address,
            body.len(),
        );
        let mut client = Client::connect(self.app.address).await;
        client.try_send([head.as_bytes(), body].concat()).await;
        client.answer().await.expect("the server answers")
    }

    /// Sends a message with these parameters.
    async fn send(&self, way: Way, is_streaming: bool, params: &str) -> Answer {
        let (path, body) = way.send(is_streaming, params);
        self.post(&path, "", body).await
    }

    /// Fails if the agent has run, or if it does not run now.
    async fn assert_untouched(&self) {
        assert_eq!(self.runs.load(Ordering::SeqCst), 0, "the agent has run");
        for (way, runs) in WAYS.into_iter().zip(1..) {
            let answer = self.send(way, false, &way.send_params().to_string()).await;
            assert_eq!(answer.status, 200, "{way:?} {}", answer.text());
            assert_eq!(self.runs.load(Ordering::SeqCst), runs, "{way:?} {}", answer.text());
        }
    }
}
