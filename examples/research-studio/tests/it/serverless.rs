//! The flows behind a function handler.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::body::{Body, to_bytes};
use axum::http::Request;
use oxikit::{OpenSpan, SpanExporter, SpanRecord, async_trait};
use research_studio::serverless::Function;
use research_studio::{App, Settings};
use serde_json::{Value, json};

/// Sends spans only when it is flushed, as an exporter with batches does it.
#[derive(Default)]
struct Batches {
    waiting: AtomicUsize,
    sent: AtomicUsize,
}

#[async_trait]
impl SpanExporter for Batches {
    fn start(&self, _: &OpenSpan) {}

    fn end(&self, _: SpanRecord) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
    }

    async fn flush(&self) {
        tokio::task::yield_now().await;
        self.sent.fetch_add(self.waiting.swap(0, Ordering::Relaxed), Ordering::Relaxed);
    }
}

async fn call(function: &Function, path: &str, body: Value) -> (u16, String) {
    let request = Request::post(path)
        .header("content-type", "application/json")
        .body(Body::from(body.to_string()))
        .unwrap();
    let response = function.call(request).await.unwrap();
    let status = response.status().as_u16();
    let body = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    (status, String::from_utf8(body.to_vec()).unwrap())
}

#[tokio::test]
async fn spans_are_sent_before_the_response() {
    let app = App::build(Settings::default()).await.unwrap();
    let batches = Arc::new(Batches::default());
    app.ai.registry().add_exporter(batches.clone());
    let function = Function::new(&app).unwrap();

    let (status, body) = call(&function, "/weather", json!({ "data": { "city": "Tokyo" } })).await;
    assert_eq!(status, 200, "{body}");
    assert!(body.contains("\"temperature\":14.0"), "{body}");
    assert_eq!(batches.waiting.load(Ordering::Relaxed), 0);
    let sent = batches.sent.load(Ordering::Relaxed);
    assert!(sent > 2, "{sent} spans");

    let coding = json!({ "data": { "task": "sort a list" } });
    let (status, body) = call(&function, "/coding?stream=true", coding).await;
    assert_eq!(status, 200);
    assert!(body.contains("data: {\"message\":") && body.contains("data: {\"result\":"), "{body}");
    assert_eq!(batches.waiting.load(Ordering::Relaxed), 0);
    assert!(batches.sent.load(Ordering::Relaxed) > sent);

    let (status, _) = call(&function, "/unknown", json!({ "data": 1 })).await;
    assert_eq!(status, 404);
}
