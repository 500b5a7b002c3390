//! Prompts of a source outside of the application, here one that the test changes.

use std::io;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use oxikit::prelude::*;
use oxikit::{Call, PromptSource, PromptText};
use oxikit_core::{OpenSpan, SpanExporter, SpanRecord};
use tokio::sync::Notify;
use tokio::time::sleep;

use crate::generate::{app, says};

/// A source whose texts the test sets. Clones are the same source.
#[derive(Debug, Clone, Default)]
struct Scripted(Arc<State>);

#[derive(Debug, Default)]
struct State {
    /// `None` while the source is away.
    texts: Mutex<Option<Vec<PromptText>>>,
    loads: Mutex<u32>,
    change: Notify,
}

impl Scripted {
    fn of(texts: impl IntoIterator<Item = PromptText>) -> Self {
        let source = Self::default();
        source.set(texts);
        source
    }

    fn set(&self, texts: impl IntoIterator<Item = PromptText>) {
        *self.0.texts.lock().unwrap() = Some(texts.into_iter().collect());
        self.0.change.notify_one();
    }

    fn go_away(&self) {
        *self.0.texts.lock().unwrap() = None;
        self.0.change.notify_one();
    }

    fn loads(&self) -> u32 {
        *self.0.loads.lock().unwrap()
    }
}

#[oxikit::async_trait]
impl PromptSource for Scripted {
    async fn load(&self) -> Result<Vec<PromptText>> {
        *self.0.loads.lock().unwrap() += 1;
        let texts = self.0.texts.lock().unwrap().clone();
        texts.ok_or_else(|| Status::new(StatusCode::Unavailable, "nobody answers"))
    }

    async fn changed(&self) -> Result<()> {
        self.0.change.notified().await;
        Ok(())
    }
}

/// Virtual time in which every change has been loaded.
const LOADED: Duration = Duration::from_secs(1);

fn joke(text: &str, revision: u64) -> PromptText {
    PromptText::prompt("jokes/dad", text).with_id("dad").with_revision(revision)
}

async fn text(ai: &Oxikit, name: &str) -> Result<String> {
    let options = ai.prompt(name, json!({"topic": "tea"})).render().await?;
    Ok(options.messages[0].text())
}

#[tokio::test(start_paused = true)]
async fn prompts_of_a_source_appear_change_and_disappear() {
    let source = Scripted::of([joke("One about {{topic}}", 1), PromptText::partial("sign", "Bye")]);
    let (ai, _) = app([]);
    let loaded = ai.load_prompts_from(source.clone()).await.unwrap();
    assert_eq!(loaded.loaded, ["jokes/dad"]);
    assert_eq!(text(&ai, "jokes/dad").await.unwrap(), "One about tea");
    assert!(ai.registry().get("/prompt/jokes/dad").is_some());
    ai.define_prompt(Prompt::builder("own").prompt("{{> sign}}")).unwrap();
    assert_eq!(text(&ai, "own").await.unwrap(), "Bye");

    source.set([joke("Two about {{topic}}", 2), PromptText::prompt("new", "New")]);
    sleep(LOADED).await;
    assert_eq!(text(&ai, "jokes/dad").await.unwrap(), "Two about tea");
    assert_eq!(text(&ai, "new").await.unwrap(), "New");
    let status = text(&ai, "own").await.unwrap_err();
    assert!(status.message().contains("sign"), "the partial is gone: {status}");

    source.set([PromptText::prompt("new", "New")]);
    sleep(LOADED).await;
    assert_eq!(text(&ai, "jokes/dad").await.unwrap_err().code(), StatusCode::NotFound);
    assert!(ai.registry().get("/prompt/jokes/dad").is_none());
    assert!(ai.registry().get("/executable-prompt/jokes/dad").is_none());
}

#[tokio::test(start_paused = true)]
async fn the_last_good_prompts_stay_in_use_while_the_source_is_away() {
    let log = Log::default();
    let lines = log.clone();
    let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(move || lines.clone());
    let _guard = tracing::subscriber::set_default(subscriber.finish());
    let source = Scripted::of([joke("One", 1)]);
    let (ai, _) = app([]);
    ai.load_prompts_from(source.clone()).await.unwrap();
    source.go_away();
    sleep(Duration::from_secs(600)).await;
    assert_eq!(text(&ai, "jokes/dad").await.unwrap(), "One");
    let tries = source.loads();
    assert!((20..60).contains(&tries), "{tries} in ten minutes, at growing intervals");

    *source.0.texts.lock().unwrap() = Some(vec![joke("Two", 2)]);
    sleep(Duration::from_secs(31)).await;
    assert_eq!(text(&ai, "jokes/dad").await.unwrap(), "Two", "no change was reported");
    let log = log.text();
    assert_eq!(log.matches("prompts cannot be loaded").count(), 1, "{log}");
    assert_eq!(log.matches("prompts can be loaded again").count(), 1, "{log}");
}

#[tokio::test(start_paused = true)]
async fn a_broken_version_does_not_replace_one_that_works() {
    let source = Scripted::of([joke("One", 1), PromptText::prompt("bad", "{{#if a}}")]);
    let (ai, _) = app([]);
    let loaded = ai.load_prompts_from(source.clone()).await.unwrap();
    assert_eq!(loaded.broken.keys().collect::<Vec<_>>(), ["bad"]);
    assert_eq!(text(&ai, "bad").await.unwrap_err().code(), StatusCode::InvalidArgument);
    source.set([joke("{{#if two}}", 2), PromptText::prompt("bad", "Good")]);
    sleep(LOADED).await;
    assert_eq!(text(&ai, "jokes/dad").await.unwrap(), "One");
    assert_eq!(text(&ai, "bad").await.unwrap(), "Good");
    source.set([joke("Three", 3)]);
    sleep(LOADED).await;
    assert_eq!(text(&ai, "jokes/dad").await.unwrap(), "Three");
}

#[tokio::test(start_paused = true)]
async fn an_application_starts_without_its_source_and_calls_wait_for_it() {
    let source = Scripted::default();
    let ai = Oxikit::builder().prompts_from(source.clone()).build().unwrap();
    let status = text(&ai, "jokes/dad").await.unwrap_err();
    assert_eq!(status.code(), StatusCode::Unavailable, "{status}");
    assert!(status.message().contains("nobody answers"), "{status}");
    source.set([joke("One", 1)]);
    sleep(Duration::from_secs(31)).await;
    assert_eq!(text(&ai, "jokes/dad").await.unwrap(), "One");
    assert_eq!(text(&ai, "other").await.unwrap_err().code(), StatusCode::NotFound);

    let there = Oxikit::builder().prompts_from(source).build().unwrap();
    assert_eq!(text(&there, "jokes/dad").await.unwrap(), "One", "the call waits");
}

#[test]
fn a_source_needs_a_runtime() {
    let built = Oxikit::builder().prompts_from(Scripted::default()).build();
    assert_eq!(built.unwrap_err().code(), StatusCode::FailedPrecondition);
}

#[tokio::test(start_paused = true)]
async fn an_application_that_ends_leaves_its_source() {
    let source = Scripted::of([joke("One", 1)]);
    let (ai, _) = app([]);
    ai.load_prompts_from(source.clone()).await.unwrap();
    sleep(LOADED).await;
    assert_eq!(Arc::strong_count(&source.0), 2);
    drop(ai);
    sleep(LOADED).await;
    assert_eq!(Arc::strong_count(&source.0), 1);
}

#[tokio::test(start_paused = true)]
async fn spans_record_the_revisions_of_a_prompt_and_its_fragments() {
    let tone = PromptText::partial("tone", "Be kind.").with_id("_tone").with_revision(4);
    let dad = joke("{{> tone}} About {{topic}}.", 12).with_fragment("brief", 3);
    let (ai, _) = app([says("ha"), says("he")]);
    ai.load_prompts_from(Scripted::of([dad, tone])).await.unwrap();
    ai.define_prompt(Prompt::builder("own").prompt("Mine")).unwrap();
    let spans = Spans::default();
    ai.registry().add_exporter(Arc::new(spans.clone()));

    ai.prompt("jokes/dad", json!({"topic": "tea"})).await.unwrap();
    let expected = json!(["dad", 12, r#"{"_tone":4,"brief":3}"#]);
    assert_eq!(spans.origin("render"), expected);
    assert_eq!(spans.origin("script"), expected);
    assert_eq!(spans.origin("generate"), json!([null, null, null]));

    let call = Call::new(json!({"topic": "tea"}));
    ai.registry().run("/prompt/jokes/dad", call).await.unwrap();
    assert_eq!(spans.origin("jokes/dad"), expected);
    // A prompt of the application itself has no revision.
    ai.prompt("own", json!({})).await.unwrap();
    assert_eq!(spans.origin("script"), json!(["own", null, null]));
}

/// Keeps all spans.
#[derive(Clone, Default)]
struct Spans(Arc<Mutex<Vec<SpanRecord>>>);

impl Spans {
    /// The attributes about the prompt of the last span of this name.
    fn origin(&self, name: &str) -> Value {
        let spans = self.0.lock().unwrap();
        let span = spans.iter().rev().find(|span| span.name == name).unwrap();
        let attribute = |name: &str| span.attributes.get(&format!("oxikit:prompt:{name}"));
        json!([attribute("id"), attribute("revision"), attribute("fragments")])
    }
}

#[oxikit::async_trait]
impl SpanExporter for Spans {
    fn start(&self, _: &OpenSpan) {}

    fn end(&self, span: SpanRecord) {
        self.0.lock().unwrap().push(span);
    }
}

/// Keeps the log of a test.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
