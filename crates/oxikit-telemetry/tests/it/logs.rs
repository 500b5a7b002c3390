//! The log lines of the application.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use oxikit_core::{Action, ActionKind, Call, Context, SpanExporter as _};
use serde_json::{Value, json};
use tracing::{Event, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context as LayerContext, SubscriberExt as _};

use crate::application::Application;
use crate::collector::{Collector, Post};
use crate::raw_server::nowhere;

fn bodies(posts: &[Post]) -> Vec<Value> {
    posts.iter().filter(|post| post.path == "/api/otlp").map(|post| post.body.clone()).collect()
}

/// The lines in these posts.
fn lines(posts: &[Post]) -> Vec<Value> {
    let bodies = bodies(posts).into_iter();
    let lines = bodies.flat_map(|body| {
        body["resourceLogs"][0]["scopeLogs"][0]["logRecords"].as_array().unwrap().clone()
    });
    lines.collect()
}

#[tokio::test]
async fn a_line_belongs_to_the_run_that_wrote_it() {
    let collector = Collector::start().await;
    let app = Application::telling(&collector.url);
    let subscriber = tracing_subscriber::registry().with(app.exporter.log_layer());
    let _installed = tracing::subscriber::set_default(subscriber);
    let flow = Action::builder(ActionKind::Flow, "greet").handler(
        |name: String, ctx: Context| async move {
            tracing::info!("greeting {name}");
            Ok((ctx.trace_id().to_string(), ctx.span_id().to_string()))
        },
    );
    let output = flow.run(Call::new("Ada").in_registry(&app.registry)).await.unwrap();
    let (trace_id, span_id): (String, String) = output.parse().unwrap();
    app.exporter.flush().await;

    let [body] = bodies(&collector.posts()).try_into().unwrap();
    let time = &body["resourceLogs"][0]["scopeLogs"][0]["logRecords"][0]["timeUnixNano"];
    assert!(time.as_str().unwrap().parse::<u64>().unwrap() > 1_700_000_000_000_000_000);
    let expected = json!({"resourceLogs":[{
        "resource":{"attributes":[],"droppedAttributesCount":0},
        "scopeLogs":[{
            "scope":{"name":"genkit-logger","version":""},
            "logRecords":[{
                "timeUnixNano":time,"severityNumber":9,"severityText":"INFO",
                "body":{"stringValue":"greeting Ada"},"attributes":[],
                "traceId":trace_id,"spanId":span_id,
            }],
        }],
    }]});
    assert_eq!(body, expected);

    let recorded = oxikit_recordings::lines("telemetry/runtime-posts-realtime.jsonl");
    let mut recorded = recorded.into_iter().find(|line| line["path"] == "/api/otlp").unwrap();
    let line = &mut recorded["body"]["resourceLogs"][0]["scopeLogs"][0]["logRecords"][0];
    (line["timeUnixNano"], line["traceId"]) = (time.clone(), trace_id.into());
    line["spanId"] = span_id.into();
    assert_eq!(recorded["body"], expected);
}

#[tokio::test]
async fn lines_have_levels_and_fields_and_travel_together() {
    let collector = Collector::start().await;
    let app = Application::telling(&collector.url);
    let subscriber = tracing_subscriber::registry().with(app.exporter.log_layer());
    let _installed = tracing::subscriber::set_default(subscriber);
    tracing::debug!("not sent");
    tracing::info!(target: "oxikit::access", "the trace of the request tells it");
    tracing::info!(user = "Ada", count = 3, ratio = 0.5, is_new = true, id = ?Some(1), "sent");
    tracing::warn!("warned");
    tracing::error!(text = "ü".repeat(5000), "failed");
    tracing::info!(target: "oxikit_telemetry::genkit", "never sent");
    app.exporter.flush().await;

    assert_eq!(bodies(&collector.posts()).len(), 1);
    let lines = lines(&collector.posts());
    let sent: Vec<_> = lines
        .iter()
        .map(|line| {
            (
                line["severityNumber"].as_u64().unwrap(),
                line["body"]["stringValue"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(sent, [(9, "sent"), (13, "warned"), (17, "failed")]);
    assert_eq!(
        lines[0]["attributes"],
        json!([
            {"key":"user","value":{"stringValue":"Ada"}},
            {"key":"count","value":{"intValue":"3"}},
            {"key":"ratio","value":{"doubleValue":0.5}},
            {"key":"is_new","value":{"boolValue":true}},
            {"key":"id","value":{"stringValue":"Some(1)"}},
        ])
    );
    assert_eq!(lines[0].get("traceId"), None);
    let text = lines[2]["attributes"][0]["value"]["stringValue"].as_str().unwrap();
    assert!(text.len() < 8300 && text.ends_with("[cut, 10000 bytes in all]"), "{}", text.len());
}

#[tokio::test]
async fn a_lower_level_does_not_bring_what_connections_say() {
    let collector = Collector::start().await;
    let app = Application::telling(&collector.url);
    let layer = app.exporter.log_layer().with_level(tracing::Level::TRACE);
    let _installed = tracing::subscriber::set_default(tracing_subscriber::registry().with(layer));
    tracing::debug!(target: "my_app", "sent");
    tracing::trace!(target: "my_app", "sent too");
    tracing::debug!(target: "hyper::client", "not sent");
    tracing::debug!(target: "tungstenite", "not sent");
    tracing::warn!(target: "hyper::client", "sent as well");
    app.exporter.flush().await;
    let lines = lines(&collector.posts());
    let sent: Vec<_> =
        lines.iter().map(|line| line["body"]["stringValue"].as_str().unwrap()).collect();
    assert_eq!(sent, ["sent", "sent too", "sent as well"]);
}

#[tokio::test]
async fn secrets_are_covered() {
    let collector = Collector::start().await;
    let app = Application::telling(&collector.url);
    let subscriber = tracing_subscriber::registry().with(app.exporter.log_layer());
    let _installed = tracing::subscriber::set_default(subscriber);
    let request = json!({"user":"ada","api_key":"planted-1"});
    tracing::info!(
        password = "planted-2",
        token = 123_456_789,
        has_password = true,
        %request,
        user = "ada",
        "connected to db://ada:planted-3@host",
    );
    app.exporter.flush().await;
    let [line] = lines(&collector.posts()).try_into().unwrap();
    assert_eq!(line["body"]["stringValue"], "connected to db://ada:<redacted>@host");
    assert_eq!(
        line["attributes"],
        json!([
            {"key":"password","value":{"stringValue":"<redacted>"}},
            {"key":"token","value":{"stringValue":"<redacted>"}},
            {"key":"has_password","value":{"boolValue":true}},
            {"key":"request","value":{"stringValue":"{\"user\":\"ada\",\"api_key\":\"<redacted>\"}"}},
            {"key":"user","value":{"stringValue":"ada"}},
        ])
    );
}

/// Counts the log lines of the crate itself.
struct OwnLines(Arc<AtomicUsize>);

impl<S: Subscriber> Layer<S> for OwnLines {
    fn on_event(&self, event: &Event<'_>, _: LayerContext<'_, S>) {
        if event.metadata().target().starts_with("oxikit_telemetry") {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// The official runtime writes 20,000 lines in 7 s here.
#[tokio::test]
async fn a_server_that_is_away_makes_no_storm_of_lines() {
    let (address, url) = nowhere().await;
    let app = Application::telling(&url);
    let own_lines = Arc::new(AtomicUsize::new(0));
    let layer = app.exporter.log_layer().with_level(tracing::Level::TRACE);
    // The HTTP client of other tests beside this one is not the subject.
    let layer = layer.with_filter(tracing_subscriber::filter::filter_fn(|line| {
        !line.target().starts_with("hyper") && !line.target().starts_with("reqwest")
    }));
    let subscriber = tracing_subscriber::registry().with(layer).with(OwnLines(own_lines.clone()));
    // For all threads, also that of the exporter.
    tracing::subscriber::set_global_default(subscriber).unwrap();
    tracing::info!(target: "my_app", "one line");
    tokio::time::sleep(Duration::from_millis(1500)).await;
    // One for each exporter of the other tests that run beside this one.
    assert!((1..30).contains(&own_lines.load(Ordering::Relaxed)));

    let collector = Collector::at(address).await;
    collector.wait_for(|posts| !posts.is_empty()).await;
    app.exporter.flush().await;
    let lines = lines(&collector.posts());
    let sent: Vec<_> =
        lines.iter().map(|line| line["body"]["stringValue"].as_str().unwrap()).collect();
    assert_eq!(sent, ["one line"]);
    assert_eq!(app.exporter.dropped(), 0);
}
