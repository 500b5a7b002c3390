//! The posted requests, compared with those of an official runtime.

use std::sync::Arc;

use oxikit_core::{
    Action, ActionContext, ActionKind, Call, Context, Registry, SpanExporter as _, Status,
};
use oxikit_telemetry::GenkitExporter;
use oxikit_wire::JsonObject;
use serde_json::{Map, Value, json};
use tokio::sync::Notify;

use crate::application::Application;
use crate::collector::{Collector, merge};

/// The posts of one run of an official runtime.
fn recorded_run(name: &str) -> Vec<Value> {
    let lines = oxikit_recordings::lines("telemetry/runtime-posts-realtime.jsonl");
    let end = lines.iter().position(|line| line["end_of_run"] == name).unwrap();
    let begin = lines[..end].iter().rposition(|line| line["end_of_run"].is_string());
    let posts = lines[begin.map_or(0, |begin| begin + 1)..end].iter();
    posts.map(|post| post["body"].clone()).collect()
}

/// Without what differs from run to run: ids become names, times become 1 if
/// there is one, and what stands for a stack is covered.
fn plain(value: &Value, names: &Map<String, Value>) -> Value {
    match value {
        Value::Object(members) => {
            let plain = members.iter().map(|(key, value)| {
                let value = match key.as_str() {
                    "startTime" | "endTime" | "time" => json!(value.as_f64().unwrap().min(1.0)),
                    "exception.type" | "exception.stacktrace" => json!(value.is_string()),
                    "timeUnixNano" => json!(value.is_string()),
                    _ => plain(value, names),
                };
                (names.get(key).and_then(Value::as_str).unwrap_or(key).to_owned(), value)
            });
            Value::Object(plain.collect())
        }
        Value::Array(items) => items.iter().map(|item| plain(item, names)).collect(),
        Value::String(text) => names.get(text).unwrap_or(value).clone(),
        other => other.clone(),
    }
}

/// The only trace in these posts, and what names its ids.
fn only_trace(posts: &[Value]) -> (Value, Map<String, Value>) {
    let traces = merge(posts.iter().cloned());
    assert_eq!(traces.len(), 1, "{traces:?}");
    let trace = traces.into_values().next().unwrap();
    let spans = trace["spans"].as_object().unwrap();
    let mut names: Map<_, _> =
        spans.iter().map(|(id, span)| (id.clone(), span["displayName"].clone())).collect();
    names.insert(trace["traceId"].as_str().unwrap().to_owned(), json!("trace"));
    (trace, names)
}

/// Compares the merged trace with what an official runtime posted in such a run.
fn check_trace(posts: &[Value], recorded: &[Value]) {
    let ((trace, names), (expected, expected_names)) = (only_trace(posts), only_trace(recorded));
    assert_eq!(plain(&trace, &names), plain(&expected, &expected_names));
}

fn is_start(post: &Value) -> bool {
    post["spans"].as_object().is_some_and(|spans| spans.values().all(|span| span["endTime"] == 0.0))
}

fn names(post: &Value) -> impl Iterator<Item = &Value> {
    post["spans"].as_object().unwrap().values().map(|span| &span["displayName"])
}

fn greet(gate: Arc<Notify>) -> Action {
    Action::builder(ActionKind::Flow, "greet").handler(move |input: Value, ctx: Context| {
        let gate = gate.clone();
        async move {
            tracing::info!("greeting {}", input["name"].as_str().unwrap_or_default());
            let text = format!("Hi {} (auth)", input["name"].as_str().unwrap_or_default());
            let compose = async {
                gate.notified().await;
                Ok(json!({ "text": text }))
            };
            ctx.step("compose", compose).await
        }
    })
}

fn greeting(registry: &Registry) -> Call {
    let context = ActionContext::default().with("auth", json!({"uid":"u1"})).with("tenant", "t1");
    let labels: JsonObject = [("genkitx:env".to_owned(), json!("dev"))].into_iter().collect();
    Call::new(json!({"name":"Ada"})).with_context(context).with_labels(labels).in_registry(registry)
}

#[tokio::test]
async fn a_run_is_told_when_it_begins_and_when_it_ends() {
    let collector = Collector::start().await;
    let app = Application::telling(&collector.url);
    let gate = Arc::new(Notify::new());
    let run = tokio::spawn({
        let (flow, call) = (greet(gate.clone()), greeting(&app.registry));
        async move { flow.run(call).await }
    });
    collector
        .wait_for(|posts| posts.iter().any(|post| names(&post.body).any(|name| name == "compose")))
        .await;
    gate.notify_one();
    run.await.unwrap().unwrap();
    app.exporter.flush().await;

    let posts: Vec<_> = collector.posts().into_iter().map(|post| post.body).collect();
    let (starts, ends) = posts.split_at(posts.iter().take_while(|post| is_start(post)).count());
    assert!(!starts.is_empty() && !ends.iter().any(is_start), "{posts:#?}");
    assert!(collector.posts().iter().all(|post| post.path == "/api/traces"));
    let recorded = recorded_run("greet");
    check_trace(&posts, &recorded);

    // Ours knows more when it begins, and says both spans at once.
    let recorded_starts: Vec<_> = recorded.into_iter().filter(is_start).collect();
    let (ours, names) = only_trace(starts);
    let (theirs, their_names) = only_trace(&recorded_starts);
    let (mut ours, mut theirs) = (plain(&ours, &names), plain(&theirs, &their_names));
    for name in ["greet", "compose"] {
        let (our, their) = (ours["spans"][name]["attributes"].take(), &mut theirs["spans"][name]);
        for (key, value) in their["attributes"].take().as_object().unwrap() {
            assert_eq!(&our[key], value, "{name}: {key}");
        }
        assert_eq!(our["genkit:state"], Value::Null);
    }
    assert_eq!(ours, theirs);
}

#[tokio::test]
async fn a_failure_is_told_with_its_exception() {
    let collector = Collector::start().await;
    let app = Application::telling(&collector.url);
    let boom = Action::builder(ActionKind::Flow, "boom")
        .handler(|_: u32| async { Err::<(), _>(Status::internal("kaboom")) });
    boom.run(Call::new(1u32).in_registry(&app.registry)).await.unwrap_err();
    app.exporter.flush().await;

    let posts: Vec<_> = collector.posts().into_iter().map(|post| post.body).collect();
    let (trace, _) = only_trace(&posts);
    let span = trace["spans"].as_object().unwrap().values().next().unwrap();
    let event = &span["timeEvents"]["timeEvent"][0];
    assert_eq!(event["time"], span["endTime"]);
    assert_eq!(
        event["annotation"]["attributes"],
        json!({
            "exception.type":"INTERNAL","exception.message":"kaboom",
            "exception.stacktrace":"INTERNAL: kaboom",
        })
    );
    check_trace(&posts, &recorded_run("boom"));
}

#[tokio::test]
async fn without_realtime_a_run_is_told_when_it_has_ended() {
    let collector = Collector::start().await;
    let exporter =
        GenkitExporter::builder().ended_spans_only().server(&collector.url).build().unwrap();
    let app = Application::new(exporter);
    let (begun, gate) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let flow = Action::builder(ActionKind::Flow, "countdown").handler({
        let (begun, gate) = (begun.clone(), gate.clone());
        move |_: u32| {
            let (begun, gate) = (begun.clone(), gate.clone());
            async move {
                begun.notify_one();
                gate.notified().await;
                Ok("liftoff")
            }
        }
    });
    let call = Call::new(2u32).in_registry(&app.registry);
    let run = tokio::spawn(async move { flow.run(call).await });
    begun.notified().await;
    app.exporter.flush().await;
    assert_eq!(collector.posts(), []);
    gate.notify_one();
    run.await.unwrap().unwrap();
    app.exporter.flush().await;

    let posts: Vec<_> = collector.posts().into_iter().map(|post| post.body).collect();
    assert_eq!(posts.len(), 1);
    let lines = oxikit_recordings::lines("telemetry/runtime-posts-not-realtime.jsonl");
    let recorded = lines.into_iter().map(|line| line["body"].clone());
    let recorded: Vec<_> = recorded.filter(|post| post["displayName"] == "countdown").collect();
    check_trace(&posts, &recorded);
}

#[tokio::test]
async fn times_have_fractions_and_the_trace_has_those_of_its_root() {
    let collector = Collector::start().await;
    let app = Application::telling(&collector.url);
    app.echo(1).await;
    app.exporter.flush().await;
    let trace = collector.traces().into_values().next().unwrap();
    let root = trace["spans"].as_object().unwrap().values().next().unwrap();
    let (start, end) = (root["startTime"].as_f64().unwrap(), root["endTime"].as_f64().unwrap());
    assert!(start > 1.7e12 && start <= end && end < start + 10_000.0, "{start} {end}");
    assert!(start.fract() != 0.0 || end.fract() != 0.0);
    assert_eq!((&trace["startTime"], &trace["endTime"]), (&root["startTime"], &root["endTime"]));
    assert_eq!(trace["displayName"], "echo");
    assert!(root.get("parentSpanId").is_none());
}
