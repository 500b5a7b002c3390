//! The times at which spans are sent, retries, and lost spans.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use std::sync::{Arc, Mutex};

use oxikit_core::{Action, ActionKind, Call, SpanExporter};
use oxikit_telemetry::OtlpConfig;
use tracing_subscriber::layer::SubscriberExt;

use super::collector::{Answer, Collector};
use super::{exporter, spans};

fn unavailable(status: u16, retry_after: Option<&'static str>) -> Answer {
    Answer { status, retry_after, ..Answer::default() }
}

/// Waits for what a task of the exporter does by itself.
async fn until(what: impl Fn() -> bool) {
    let waiting = async {
        while !what() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), waiting).await.expect("it never happened");
}

#[tokio::test]
async fn a_full_batch_is_sent_at_once_and_the_rest_by_flush() {
    let collector = Collector::start().await;
    let (exporter, registry) = exporter(collector.config().with_max_batch_size(10));
    spans(&registry, 10).await;
    until(|| collector.spans().len() == 10).await;
    spans(&registry, 25).await;
    exporter.flush().await;
    let sizes: Vec<_> = collector.requests().iter().map(|request| request.spans().len()).collect();
    assert!(sizes.iter().all(|size| *size <= 10), "{sizes:?}");
    let ids: HashSet<_> = collector.spans().into_iter().map(|span| span.span_id).collect();
    assert_eq!((ids.len(), sizes.iter().sum::<usize>(), exporter.dropped()), (35, 35, 0));
}

#[tokio::test]
async fn without_a_flush_spans_are_sent_after_a_while() {
    let collector = Collector::start().await;
    let config = collector.config().with_schedule_delay(Duration::from_millis(30));
    let (_exporter, registry) = exporter(config);
    for round in 1..=2 {
        spans(&registry, 3).await;
        until(|| collector.spans().len() == 3 * round).await;
    }
}

#[tokio::test]
async fn a_collector_that_is_busy_is_asked_again() {
    for status in [429, 502, 503, 504] {
        let collector = Collector::start().await;
        collector.answer(unavailable(status, None));
        let (exporter, registry) = exporter(collector.config());
        spans(&registry, 2).await;
        exporter.flush().await;
        let requests = collector.requests();
        assert_eq!((requests.len(), exporter.dropped()), (2, 0), "{status}");
        assert_eq!(requests[0].body, requests[1].body);
    }
}

#[tokio::test]
async fn retry_after_is_respected() {
    let collector = Collector::start().await;
    collector.answer(unavailable(503, Some("1")));
    let (exporter, registry) = exporter(collector.config());
    spans(&registry, 1).await;
    exporter.flush().await;
    let requests = collector.requests();
    assert_eq!((requests.len(), exporter.dropped()), (2, 0));
    assert!(requests[1].at - requests[0].at >= Duration::from_millis(990));
}

#[tokio::test]
async fn a_retry_that_comes_too_late_is_not_waited_for() {
    let collector = Collector::start().await;
    collector.answer(unavailable(503, Some("3600")));
    let (exporter, registry) = exporter(collector.config());
    spans(&registry, 3).await;
    let start = Instant::now();
    exporter.flush().await;
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    assert_eq!((collector.requests().len(), exporter.dropped()), (1, 3));
    spans(&registry, 1).await;
    exporter.flush().await;
    assert_eq!((collector.requests().len(), exporter.dropped()), (2, 3), "the next batch goes on");
}

#[tokio::test]
async fn refused_and_redirected_batches_are_lost_at_once() {
    for status in [400, 401, 413, 500, 307] {
        let collector = Collector::start().await;
        collector.answer(unavailable(status, None));
        let (exporter, registry) = exporter(collector.config());
        spans(&registry, 2).await;
        exporter.flush().await;
        assert_eq!((collector.requests().len(), exporter.dropped()), (1, 2), "{status}");
    }
}

#[tokio::test]
async fn spans_that_the_collector_rejects_are_counted() {
    let collector = Collector::start().await;
    collector.answer(Answer { status: 200, rejected: 2, ..Answer::default() });
    let (exporter, registry) = exporter(collector.config());
    spans(&registry, 5).await;
    exporter.flush().await;
    assert_eq!((collector.requests().len(), exporter.dropped()), (1, 2));
}

#[tokio::test]
async fn a_slow_collector_delays_nobody_and_loses_what_does_not_fit() {
    let collector = Collector::start().await;
    collector.answer(Answer { status: 200, delay: Duration::from_secs(600), ..Answer::default() });
    let config = collector.config().with_timeout(Duration::from_secs(1));
    let (exporter, registry) = exporter(config.with_max_queue_size(20).with_max_batch_size(5));
    spans(&registry, 5).await;
    until(|| collector.requests().len() == 1).await;
    // The first batch is on its way and takes no room any more.
    spans(&registry, 30).await;
    assert_eq!(exporter.dropped(), 10);
    until(|| collector.spans().len() == 25).await;
    exporter.flush().await;
    assert_eq!(exporter.dropped(), 15, "the ten, and the five without an answer");
}

#[tokio::test]
async fn a_collector_that_is_away_costs_nothing_but_the_count() {
    let gone = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1/traces", gone.local_addr().unwrap());
    drop(gone);
    let config = OtlpConfig::new(&url).unwrap().with_timeout(Duration::from_millis(500));
    let (exporter, registry) = exporter(config);
    spans(&registry, 100).await;
    let start = Instant::now();
    exporter.flush().await;
    assert!(start.elapsed() < Duration::from_secs(5), "flush is bounded: {:?}", start.elapsed());
    until(|| exporter.dropped() == 100).await;
}

/// Lines with the target of the exporter.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<String>>>);

impl<S: tracing::Subscriber> tracing_subscriber::Layer<S> for Lines {
    fn on_event(&self, event: &tracing::Event<'_>, _: tracing_subscriber::layer::Context<'_, S>) {
        if event.metadata().target() == "oxikit_telemetry" {
            self.0.lock().unwrap().push(format!("{event:?}"));
        }
    }
}

#[tokio::test]
async fn losses_are_logged_once_a_minute_without_keys() {
    let lines = Lines::default();
    let subscriber = tracing_subscriber::registry().with(lines.clone());
    let _guard = tracing::subscriber::set_default(subscriber);
    let collector = Collector::start().await;
    let url = format!("{}/v1/traces?key=hunter2", collector.base()).replace("//", "//ada:hunter2@");
    let config = OtlpConfig::new(&url).unwrap().with_header("x-key", "hunter2").unwrap();
    let (exporter, registry) = exporter(config);
    for (pause, expected) in [(0, 1), (0, 1), (61, 2)] {
        tokio::time::pause();
        tokio::time::advance(Duration::from_secs(pause)).await;
        tokio::time::resume();
        collector.answer(unavailable(400, None));
        spans(&registry, 1).await;
        exporter.flush().await;
        assert_eq!(lines.0.lock().unwrap().len(), expected);
    }
    let shown = lines.0.lock().unwrap().join("\n");
    assert!(shown.contains("400") && !shown.contains("hunter2"), "{shown}");
    assert_eq!(exporter.dropped(), 3);
}

#[tokio::test]
async fn long_spans_are_bounded_by_their_bytes() {
    let collector = Collector::start().await;
    let (exporter, registry) = exporter(collector.config());
    let echo = Action::builder(ActionKind::Flow, "x").handler(|text: String| async { Ok(text) });
    let text = "x".repeat(250 * 1024);
    for _ in 0..160 {
        echo.run(Call::new(text.clone()).in_registry(&registry)).await.unwrap();
    }
    // Each has half a megabyte, and 64 may wait.
    let dropped = exporter.dropped();
    assert!((25..40).contains(&dropped), "{dropped}");
    exporter.flush().await;
    assert!(collector.requests().iter().all(|request| request.body.len() < 5 * 1024 * 1024));
    assert_eq!((collector.spans().len() as u64, exporter.dropped()), (160 - dropped, dropped));
}

#[tokio::test]
async fn a_flush_with_nothing_to_send_returns_at_once() {
    let collector = Collector::start().await;
    let (exporter, _) = exporter(collector.config());
    exporter.flush().await;
    assert!(collector.requests().is_empty());
}

#[test]
fn spans_outside_of_a_runtime_wait_for_one() {
    let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (server, worker) = (tokio::runtime::Runtime::new().unwrap(), runtime());
    let collector = server.block_on(Collector::start());
    let (exporter, registry) = exporter(collector.config());
    // Polled by hand, the action runs and ends where there is no runtime.
    let mut run = std::pin::pin!(spans(&registry, 2));
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(run.as_mut().poll(&mut cx).is_ready());
    worker.block_on(spans(&registry, 1));
    // The task ends with its runtime before it has sent anything.
    drop(worker);
    runtime().block_on(exporter.flush());
    assert_eq!((collector.spans().len(), exporter.dropped()), (3, 0));
}

#[tokio::test]
async fn a_share_of_the_traces_is_sent_whole() {
    for (ratio, expected) in [(0.0, 0..=0), (0.25, 60..=140), (1.0, 400..=400)] {
        let collector = Collector::start().await;
        let (exporter, registry) = exporter(collector.config().with_sample_ratio(ratio));
        spans(&registry, 400).await;
        exporter.flush().await;
        let spans = collector.spans();
        assert!(expected.contains(&spans.len()), "{ratio}: {}", spans.len());
        assert_eq!(exporter.dropped(), 0, "what is not sampled is not lost");
        for span in spans {
            // As other languages decide: by the last eight bytes, without the lowest bit.
            let low = u64::from_be_bytes(span.trace_id[8..].try_into().unwrap()) >> 1;
            assert!(low as f64 / (1_u64 << 63) as f64 <= ratio);
        }
    }
}
