//! Middleware around generate, model and tool calls.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use oxikit::middleware::{Cache, Fallback, Middleware, NextModel, NextTool, NextTurn, Retry, Turn};
use oxikit::prelude::*;
use oxikit::wire::{GenerateRequest, GenerateResponse, GenerateResponseChunk};
use oxikit::{Call, Model};

use crate::generate::{app, asks, fails, says};

fn away() -> Status {
    Status::new(StatusCode::Unavailable, "gone for a moment")
}

/// Notes what passes.
#[derive(Clone, Default)]
struct Notes(&'static str, Arc<Mutex<Vec<String>>>);

impl Notes {
    fn note(&self, what: &str) {
        self.1.lock().unwrap().push(format!("{} {what}", self.0));
    }
}

#[oxikit::async_trait]
impl Middleware for Notes {
    async fn generate(&self, turn: Turn, next: NextTurn<'_>) -> Result<GenerateResponse> {
        self.note(&format!("turn {}", turn.number));
        next.run(turn).await
    }

    async fn model(
        &self,
        request: GenerateRequest,
        next: NextModel<'_>,
    ) -> Result<GenerateResponse> {
        self.note("model");
        next.run(request).await
    }

    async fn tool(&self, request: Part, next: NextTool<'_>) -> Result<Option<Part>> {
        self.note(&format!("tool {}", next.tool_name()));
        next.run(request).await
    }

    fn tools(&self) -> Vec<Tool> {
        match self.0 {
            "outer" => vec![Tool::new("extra", "Comes along.", |_: Value| async { Ok("x") })],
            _ => Vec::new(),
        }
    }
}

#[tokio::test]
async fn hooks_wrap_every_turn_model_call_and_tool_run_first_is_outermost() {
    let ask = asks(vec![Part::tool_request("extra", None, json!({}))]);
    let (ai, _) = app([ask, says("done")]);
    let outer = Notes("outer", Arc::default());
    let inner = Notes("inner", outer.1.clone());
    ai.generate().prompt("x").middleware(outer.clone()).middleware(inner).await.unwrap();
    assert_eq!(
        *outer.1.lock().unwrap(),
        [
            "outer turn 0",
            "inner turn 0",
            "outer model",
            "inner model",
            "outer tool extra",
            "inner tool extra",
            "outer turn 1",
            "inner turn 1",
            "outer model",
            "inner model",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn retry_waits_longer_and_longer_and_believes_the_provider() {
    let (ai, script) = app([
        fails(away()),
        fails(away()),
        fails(away().with_retry_after(Duration::from_secs(7))),
        says("at last"),
    ]);
    let retry = Retry { no_jitter: true, ..Retry::default() };
    let began = tokio::time::Instant::now();
    let reply = ai.generate().prompt("x").middleware(retry).await.unwrap();
    assert_eq!(reply.text(), "at last");
    assert_eq!(began.elapsed(), Duration::from_secs(1 + 2 + 7));
    assert_eq!(script.requests.lock().unwrap().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn retry_gives_up_and_leaves_lasting_failures_alone() {
    let (ai, script) = app((0..9).map(|_| fails(away())));
    let retry = || Retry { max_retries: 2, ..Retry::default() };
    let status = ai.generate().prompt("x").middleware(retry()).await.unwrap_err();
    assert_eq!(status.code(), StatusCode::Unavailable);
    assert_eq!(script.requests.lock().unwrap().len(), 3);

    let (ai, script) = app([fails(Status::invalid_argument("never"))]);
    assert!(ai.generate().prompt("x").middleware(retry()).await.is_err());
    assert_eq!(script.requests.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn an_answer_that_has_begun_is_not_begun_again() {
    let (ai, script) =
        app([(vec![GenerateResponseChunk::text("half")], Err(away())), says("whole")]);
    let mut stream = ai.generate().prompt("x").middleware(Retry::default()).stream();
    assert_eq!(stream.next().await.unwrap().unwrap().to_text(), "half");
    assert_eq!(stream.finish().await.unwrap_err().code(), StatusCode::Unavailable);
    assert_eq!(script.requests.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn fallback_asks_the_next_model() {
    let (ai, _) = app([fails(away())]);
    ai.define_model(Model::builder("other").handler(|_, _, _| async {
        Ok(GenerateResponse {
            message: Some(Arc::new(Message::model("from other"))),
            ..Default::default()
        })
    }));
    let reply =
        ai.generate().prompt("x").middleware(Fallback::to(["missing", "other"])).await.unwrap();
    assert_eq!(reply.text(), "from other");
}

#[tokio::test(start_paused = true)]
async fn cache_answers_again_until_the_answer_is_old() {
    let (ai, script) = app([says("one"), says("two"), says("three")]);
    let cache = Arc::new(Cache::new(10, Duration::from_secs(60)));
    let ask = |text: &str| {
        let call = ai.generate().prompt(text).middleware(Shared(cache.clone()));
        async move { call.await.unwrap().text() }
    };
    assert_eq!(ask("q").await, "one");
    assert_eq!(ask("q").await, "one");
    assert_eq!(ask("other").await, "two");
    tokio::time::advance(Duration::from_secs(61)).await;
    assert_eq!(ask("q").await, "three");
    assert_eq!(script.requests.lock().unwrap().len(), 3);
}

/// The same middleware in several calls.
struct Shared<M>(Arc<M>);

#[oxikit::async_trait]
impl<M: Middleware> Middleware for Shared<M> {
    async fn model(
        &self,
        request: GenerateRequest,
        next: NextModel<'_>,
    ) -> Result<GenerateResponse> {
        self.0.model(request, next).await
    }
}

#[tokio::test]
async fn middleware_is_named_with_its_configuration_and_keeps_its_state() {
    let (ai, script) = app([says("one"), says("two")]);
    for _ in 0..2 {
        let reply = ai.generate().prompt("q").middleware_named("cache", None).await.unwrap();
        assert_eq!(reply.text(), "one");
    }
    assert_eq!(script.requests.lock().unwrap().len(), 1);

    let status = ai.generate().prompt("q").middleware_named("nope", None).await.unwrap_err();
    assert_eq!(status.code(), StatusCode::NotFound);
    let bad =
        ai.generate().prompt("q").middleware_named("retry", Some(json!({"maxRetries": "many"})));
    assert_eq!(bad.await.unwrap_err().code(), StatusCode::InvalidArgument);
    let listed = ai.registry().values("middleware");
    assert_eq!(listed.keys().collect::<Vec<_>>(), ["cache", "fallback", "logging", "retry"]);
    assert_eq!(listed["retry"]["name"], "retry");
}

#[tokio::test]
async fn a_remote_caller_names_middleware_under_use() {
    let (ai, script) = app([fails(away()), says("ok")]);
    let options = json!({
        "messages": [{"role": "user", "content": [{"text": "x"}]}],
        "use": [{"name": "retry", "config": {"initialDelayMs": 1}}],
    });
    let output = ai.registry().run("/util/generate", Call::new(options)).await.unwrap();
    assert_eq!(output.to_value().unwrap()["message"]["content"][0]["text"], "ok");
    assert_eq!(script.requests.lock().unwrap().len(), 2);
}
