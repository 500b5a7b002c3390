//! A telemetry server on a free port.

use std::net::SocketAddr;

use oxikit_http::Token;
use oxikit_traces::TraceStore;
use oxikit_traces::{TelemetryOptions, telemetry_routes};
use serde_json::{Value, json};

/// A server with a store of its own, until the test ends.
pub(crate) struct Server {
    pub(crate) store: TraceStore,
    pub(crate) address: SocketAddr,
    pub(crate) token: Token,
    pub(crate) client: reqwest::Client,
    _folder: tempfile::TempDir,
}

/// A response.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) content_type: String,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }
}

pub(crate) async fn server() -> Server {
    server_with(TelemetryOptions::default()).await
}

pub(crate) async fn server_with(options: TelemetryOptions) -> Server {
    let folder = tempfile::tempdir().unwrap();
    let store = TraceStore::open(folder.path().join("traces.db")).unwrap();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let token = Token::random();
    let router = telemetry_routes(store.clone(), token.clone(), options);
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    Server { store, address, token, client: reqwest::Client::new(), _folder: folder }
}

impl Server {
    /// The URL to which a runtime sends.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}/t/{}{path}", self.address, self.token.reveal())
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        answer(self.client.get(self.url(path))).await
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Answer {
        self.post_text(path, "application/json", body.to_string()).await
    }

    pub(crate) async fn post_text(
        &self,
        path: &str,
        content_type: &str,
        body: impl Into<reqwest::Body>,
    ) -> Answer {
        let request = self.client.post(self.url(path));
        answer(request.header("content-type", content_type).body(body)).await
    }

    /// Stores a trace, which must be taken.
    pub(crate) async fn add(&self, trace: &Value) {
        let answer = self.post("/api/traces", trace).await;
        assert_eq!((answer.status, &*answer.text), (200, "OK"), "{trace}");
    }

    pub(crate) async fn trace(&self, id: &str) -> Value {
        self.get(&format!("/api/traces/{id}")).await.json()
    }
}

pub(crate) async fn answer(request: reqwest::RequestBuilder) -> Answer {
    let response = request.send().await.unwrap();
    let content_type = response.headers().get("content-type");
    let content_type = content_type.map_or("", |name| name.to_str().unwrap()).to_owned();
    Answer {
        status: response.status().as_u16(),
        content_type,
        text: response.text().await.unwrap(),
    }
}

/// The same with every number as JavaScript would write it.
pub(crate) fn plain(value: Value) -> Value {
    match value {
        Value::Number(number) => {
            let float = number.as_f64().unwrap();
            if float.fract() == 0.0 && float.abs() < 9e15 {
                (float as i64).into()
            } else {
                float.into()
            }
        }
        Value::Array(items) => items.into_iter().map(plain).collect(),
        Value::Object(members) => {
            Value::Object(members.into_iter().map(|(name, value)| (name, plain(value))).collect())
        }
        other => other,
    }
}

/// An ended root span with the id `s1`.
pub(crate) fn span(trace_id: &str) -> Value {
    json!({"spanId": "s1", "traceId": trace_id, "startTime": 1000, "endTime": 1002.5,
        "attributes": {"genkit:type": "action", "genkit:metadata:subtype": "flow"},
        "displayName": "greet", "instrumentationLibrary": {"name": "test"},
        "spanKind": "INTERNAL", "status": {"code": 0}})
}

/// A trace of that span.
pub(crate) fn trace(trace_id: &str) -> Value {
    json!({"traceId": trace_id, "displayName": "greet", "startTime": 1000, "endTime": 1002.5,
        "spans": {"s1": span(trace_id)}})
}
