use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, Response, Uri};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTracePartialSuccess, ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::trace::v1::Span;
use oxikit_telemetry::OtlpConfig;
use prost::Message;

/// A scripted collector: it keeps the requests and sends the answers of the test.
#[derive(Clone, Default)]
pub(crate) struct Collector(Arc<Inner>);

#[derive(Default)]
struct Inner {
    base: Mutex<String>,
    requests: Mutex<Vec<Received>>,
    answers: Mutex<VecDeque<Answer>>,
}

#[derive(Clone)]
pub(crate) struct Received {
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) at: Instant,
}

impl Received {
    pub(crate) fn decode(&self) -> ExportTraceServiceRequest {
        match self.headers["content-type"].to_str().unwrap() {
            "application/x-protobuf" => Message::decode(self.body.clone()).unwrap(),
            "application/json" => serde_json::from_slice(&self.body).unwrap(),
            other => panic!("sent as {other}"),
        }
    }

    pub(crate) fn spans(&self) -> Vec<Span> {
        let request = self.decode();
        let scopes = request.resource_spans.into_iter().flat_map(|resource| resource.scope_spans);
        scopes.flat_map(|scope| scope.spans).collect()
    }
}

#[derive(Default)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) retry_after: Option<&'static str>,
    pub(crate) delay: Duration,
    pub(crate) rejected: i64,
}

impl Collector {
    pub(crate) async fn start() -> Self {
        let collector = Self::default();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        *collector.0.base.lock().unwrap() = format!("http://{}", listener.local_addr().unwrap());
        let router = Router::new()
            .fallback(receive)
            .layer(DefaultBodyLimit::disable())
            .with_state(collector.clone());
        tokio::spawn(async { axum::serve(listener, router).await.unwrap() });
        collector
    }

    pub(crate) fn base(&self) -> String {
        self.0.base.lock().unwrap().clone()
    }

    /// One that waits for nothing but a flush.
    pub(crate) fn config(&self) -> OtlpConfig {
        let config = OtlpConfig::new(&format!("{}/v1/traces", self.base())).unwrap();
        config.with_schedule_delay(Duration::from_secs(600))
    }

    pub(crate) fn answer(&self, answer: Answer) {
        self.0.answers.lock().unwrap().push_back(answer);
    }

    pub(crate) fn requests(&self) -> Vec<Received> {
        self.0.requests.lock().unwrap().clone()
    }

    pub(crate) fn spans(&self) -> Vec<Span> {
        self.requests().iter().flat_map(Received::spans).collect()
    }
}

async fn receive(
    State(collector): State<Collector>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let is_json = headers["content-type"] == "application/json";
    let received = Received { path: uri.to_string(), headers, body, at: Instant::now() };
    collector.0.requests.lock().unwrap().push(received);
    let answer = collector.0.answers.lock().unwrap().pop_front();
    let answer = answer.unwrap_or(Answer { status: 200, ..Answer::default() });
    tokio::time::sleep(answer.delay).await;
    let partial =
        ExportTracePartialSuccess { rejected_spans: answer.rejected, error_message: String::new() };
    let body =
        ExportTraceServiceResponse { partial_success: (answer.rejected > 0).then_some(partial) };
    let body = if is_json { serde_json::to_vec(&body).unwrap() } else { body.encode_to_vec() };
    let mut response = Response::builder().status(answer.status);
    if let Some(after) = answer.retry_after {
        response = response.header("retry-after", after);
    }
    response.body(body.into()).unwrap()
}
