//! Traces, compared with what official runtimes record.

use oxikit_core::{
    Action, ActionContext, ActionKind, Call, Context, Emitter, Inputs, OpenSpan, Payload, Registry,
    SpanStatus, Status, StatusCode, Step, StepKind,
};
use oxikit_wire::JsonObject;
use serde_json::{Value, json};

use crate::recorder::Recorder;

/// The attributes of a span, as recorded of an official runtime.
fn recorded(file: &str, name: &str) -> Value {
    let trace = oxikit_recordings::json(&format!("telemetry/{file}"));
    let spans = trace["spans"].as_object().unwrap();
    let span = spans.values().find(|span| span["displayName"] == name).unwrap();
    span["attributes"].clone()
}

#[track_caller]
fn check(recorder: &Recorder, file: &str, name: &str, expected: Value) {
    assert_eq!(recorded(file, name), expected, "the test does not say what was recorded");
    assert_eq!(Value::Object(recorder.one(name).attributes), expected);
}

fn labels(labels: Value) -> JsonObject {
    labels.as_object().unwrap().clone()
}

#[tokio::test]
async fn a_flow_with_a_step_a_caller_and_labels() {
    let (recorder, registry) = Recorder::new();
    let greet = Action::builder(ActionKind::Flow, "greet").handler(
        |input: Value, ctx: Context| async move {
            let text = format!("Hi {} (auth)", input["name"].as_str().unwrap_or_default());
            ctx.step("compose", async { Ok(json!({ "text": text })) }).await
        },
    );
    let context = ActionContext::default().with("auth", json!({"uid":"u1"})).with("tenant", "t1");
    let call = Call::new(json!({"name":"Ada"}))
        .with_context(context)
        .with_labels(labels(json!({"genkitx:env":"dev"})))
        .in_registry(&registry);
    greet.run(call).await.unwrap();

    let file = "stored-trace.greet.json";
    check(
        &recorder,
        file,
        "greet",
        json!({
            "genkit:type":"action","genkit:metadata:subtype":"flow","genkit:key":"/flow/greet","genkitx:env":"dev",
            "genkit:name":"greet","genkit:isRoot":true,"genkit:path":"/{greet,t:flow}",
            "genkit:metadata:context":"{\"auth\":\"<redacted>\",\"tenant\":\"t1\"}",
            "genkit:input":"{\"name\":\"Ada\"}","genkit:output":"{\"text\":\"Hi Ada (auth)\"}","genkit:state":"success",
        }),
    );
    check(
        &recorder,
        file,
        "compose",
        json!({
            "genkit:type":"flowStep","genkit:name":"compose","genkit:path":"/{greet,t:flow}/{compose,t:flowStep}",
            "genkit:output":"{\"text\":\"Hi Ada (auth)\"}","genkit:state":"success",
        }),
    );
    let (root, step) = (recorder.one("greet"), recorder.one("compose"));
    assert_eq!(step.parent_span_id, Some(root.span_id));
    assert_eq!((root.parent_span_id, step.trace_id), (None, root.trace_id));
    assert!(root.start <= step.start && step.end <= root.end);
    assert_eq!(root.status, SpanStatus::Ok);
}

#[tokio::test]
async fn a_flow_that_fails() {
    let (recorder, registry) = Recorder::new();
    let boom = Action::builder(ActionKind::Flow, "boom")
        .handler(|_: u32| async { Err::<(), _>(Status::internal("kaboom")) });
    boom.run(Call::new(1u32).in_registry(&registry)).await.unwrap_err();
    check(
        &recorder,
        "stored-trace.boom-error.json",
        "boom",
        json!({
            "genkit:type":"action","genkit:metadata:subtype":"flow","genkit:key":"/flow/boom","genkit:name":"boom",
            "genkit:isRoot":true,"genkit:path":"/{boom,t:flow}","genkit:input":"1","genkit:state":"error",
            "genkit:isFailureSource":true,
        }),
    );
    let status = recorder.one("boom").status;
    let error = status.error().unwrap();
    assert_eq!((error.code, error.message.as_str()), (StatusCode::Internal, "kaboom"));
    assert_eq!(error.report, "INTERNAL: kaboom");
}

#[tokio::test]
async fn a_bidirectional_flow() {
    let (recorder, registry) = Recorder::new();
    let echo = Action::builder(ActionKind::Flow, "bidiEcho").bidi(
        |_: Value, mut inputs: Inputs<String>, _: Context, _: Emitter<String>| async move {
            let mut count = 0;
            while inputs.next().await?.is_some() {
                count += 1;
            }
            Ok(json!({ "count": count }))
        },
    );
    let call = Call::new("a").with_init(Payload::of(json!({"prefix":"x"}))).in_registry(&registry);
    echo.run(call).await.unwrap();
    check(
        &recorder,
        "stored-trace.bidiEcho.json",
        "bidiEcho",
        json!({
            "genkit:type":"action","genkit:metadata:subtype":"flow","genkit:key":"/flow/bidiEcho",
            "genkit:name":"bidiEcho","genkit:isRoot":true,"genkit:path":"/{bidiEcho,t:flow}","genkit:input":"\"a\"",
            "genkit:init":"{\"prefix\":\"x\"}","genkit:output":"{\"count\":1}","genkit:state":"success",
        }),
    );
}

#[tokio::test]
async fn actions_below_a_flow_say_their_kind_at_the_end_of_the_path() {
    let (recorder, registry) = Recorder::new();
    registry.register(Action::builder(ActionKind::Tool, "add").handler(
        |input: Value| async move {
            Ok(input["a"].as_i64().unwrap_or(0) + input["b"].as_i64().unwrap_or(0))
        },
    ));
    let flow = Action::builder(ActionKind::Flow, "genFlow").handler(
        |_: String, ctx: Context| async move {
            Step::new(StepKind::Util, "generate")
                .below(&ctx)
                .run(|ctx| async move {
                    ctx.registry().run("/tool/add", Call::new(json!({"a":2,"b":3}))).await
                })
                .await
        },
    );
    flow.run(Call::new("use-tool please").in_registry(&registry)).await.unwrap();
    check(
        &recorder,
        "stored-trace.genFlow-with-tool.json",
        "add",
        json!({
            "genkit:type":"action","genkit:metadata:subtype":"tool","genkit:key":"/tool/add","genkit:name":"add",
            "genkit:path":"/{genFlow,t:flow}/{generate,t:util}/{add,t:action,s:tool}","genkit:input":"{\"a\":2,\"b\":3}",
            "genkit:output":"5","genkit:state":"success",
        }),
    );
    let generate = recorder.one("generate");
    assert_eq!(generate.attributes["genkit:path"], "/{genFlow,t:flow}/{generate,t:util}");
    assert_eq!(recorder.one("add").parent_span_id, Some(generate.span_id));
}

#[tokio::test]
async fn an_agent_at_the_root_is_an_action_on_its_path() {
    let (recorder, registry) = Recorder::new();
    let agent = Action::builder(ActionKind::Agent, "customAgent").handler(
        |(): (), ctx: Context| async move {
            ctx.set_attribute("genkit:metadata:agent:sessionId", "s1");
            ctx.step("runTurn-1", async { Ok(()) }).await
        },
    );
    agent.run(Call::empty().in_registry(&registry)).await.unwrap();
    let (root, turn) = (recorder.one("customAgent"), recorder.one("runTurn-1"));
    assert_eq!(root.attributes["genkit:path"], "/{customAgent,t:action}");
    assert_eq!(root.attributes["genkit:metadata:agent:sessionId"], "s1");
    assert_eq!(turn.attributes["genkit:path"], "/{customAgent,t:action}/{runTurn-1,t:flowStep}");
}

#[tokio::test]
async fn only_the_innermost_failing_span_is_the_source() {
    let (recorder, registry) = Recorder::new();
    let outer =
        Action::builder(ActionKind::Flow, "outer").handler(|(): (), ctx: Context| async move {
            // A failure that was dealt with has a source of its own.
            let handled =
                ctx.step("handled", async { Err::<(), _>(Status::internal("first")) }).await;
            assert!(handled.is_err());
            let inner = Action::builder(ActionKind::Tool, "inner")
                .handler(|(): ()| async { Err::<(), _>(Status::not_found("second")) });
            ctx.step("middle", async move { inner.run(Call::empty()).await }).await
        });
    outer.run(Call::empty().in_registry(&registry)).await.unwrap_err();
    let is_source = |name| recorder.one(name).attributes.get("genkit:isFailureSource").cloned();
    assert_eq!(is_source("handled"), Some(json!(true)));
    assert_eq!(is_source("inner"), Some(json!(true)));
    assert_eq!((is_source("middle"), is_source("outer")), (None, None));
    assert_eq!(recorder.one("outer").status.error().unwrap().message, "second");
}

#[tokio::test]
async fn a_span_begins_with_what_is_known_then() {
    let (recorder, registry) = Recorder::new();
    let action = Action::builder(ActionKind::Flow, "x").handler(|(): ()| async { Ok(1) });
    let run = action.start(Call::empty().in_registry(&registry)).unwrap();
    let started = recorder.started();
    assert_eq!((started.len(), started[0].span_id, started[0].end), (1, run.span_id(), None));
    assert!(!started[0].attributes.contains_key("genkit:state"));
    run.finish().await.unwrap();
    assert!(recorder.one("x").end.is_some());
}

#[tokio::test]
async fn long_attributes_are_cut_with_a_mark() {
    let (recorder, registry) = Recorder::new();
    let action = Action::builder(ActionKind::Flow, "long").handler(
        |input: String, ctx: Context| async move {
            ctx.set_attribute("own", "y".repeat(300 * 1024));
            Ok(input)
        },
    );
    let text = "ä".repeat(200 * 1024);
    action.run(Call::new(text).in_registry(&registry)).await.unwrap();
    let span = recorder.one("long");
    for name in ["genkit:input", "genkit:output", "own"] {
        let value = span.attributes[name].as_str().unwrap();
        assert!(value.len() < 257 * 1024, "{name} has {} bytes", value.len());
        assert!(value.ends_with("bytes in all]"), "{name}");
    }
}

#[tokio::test]
async fn without_an_exporter_nothing_is_written() {
    let registry = Registry::default();
    let action =
        Action::builder(ActionKind::Flow, "x").handler(|(): (), ctx: Context| async move {
            ctx.set_attribute("a", 1);
            Ok(ctx.registry().exporter().is_none())
        });
    let output = action.run(Call::empty().in_registry(&registry)).await.unwrap();
    assert!(output.parse::<bool>().unwrap());
}

#[tokio::test]
async fn every_exporter_gets_every_span() {
    let (first, registry) = Recorder::new();
    let ((second, _), (third, _)) = (Recorder::new(), Recorder::new());
    registry.add_exporter(second.clone());
    registry.add_exporter(third.clone());
    let action = Action::builder(ActionKind::Flow, "x").handler(|(): ()| async { Ok(1) });
    action.run(Call::empty().in_registry(&registry)).await.unwrap();
    for recorder in [first, second, third] {
        assert_eq!(recorder.one("x").attributes["genkit:output"], "1");
    }
}

#[tokio::test]
async fn a_call_may_be_unrecorded() {
    let (recorder, registry) = Recorder::new();
    let inner = Action::builder(ActionKind::Tool, "inner").handler(|(): ()| async { Ok(2) });
    let outer = Action::builder(ActionKind::Flow, "outer").handler({
        move |(): ()| {
            let inner = inner.clone();
            async move { inner.run(Call::empty()).await?.parse::<u32>() }
        }
    });
    let call = || Call::empty().in_registry(&registry);
    assert_eq!(outer.run(call().unrecorded()).await.unwrap().parse::<u32>().unwrap(), 2);
    let names = |recorder: &Recorder| {
        recorder.ended().into_iter().map(|span| span.name).collect::<Vec<_>>()
    };
    assert_eq!(names(&recorder), ["inner"]);
    outer.run(call()).await.unwrap();
    assert_eq!(names(&recorder), ["inner", "inner", "outer"]);
}

#[tokio::test]
async fn a_span_can_be_looked_at_while_it_runs() {
    #[derive(Default)]
    struct Open(std::sync::Mutex<Option<OpenSpan>>);
    impl oxikit_core::SpanExporter for Open {
        fn start(&self, span: &OpenSpan) {
            *self.0.lock().unwrap() = Some(span.clone());
        }
        fn end(&self, _: oxikit_core::SpanRecord) {}
    }
    let (open, registry) = (std::sync::Arc::new(Open::default()), Registry::default());
    registry.add_exporter(open.clone());
    let seen = open.clone();
    let action = Action::builder(ActionKind::Flow, "x").handler(move |(): (), ctx: Context| {
        let seen = seen.clone();
        async move {
            ctx.set_attribute("step", "now");
            let record = seen.0.lock().unwrap().as_ref().unwrap().record().unwrap();
            assert_eq!((record.end, &record.attributes["step"]), (None, &json!("now")));
            Ok(())
        }
    });
    action.run(Call::empty().in_registry(&registry)).await.unwrap();
    assert!(open.0.lock().unwrap().as_ref().unwrap().record().is_none(), "it has ended");
}

/// Planted wherever a span shows something.
const PLANTED: [&str; 4] = [
    "hunter2-4711",
    "sk-proj-4fT9xQ2mZk81LpWvN3cB7yRd",
    "AIzaSyD4k9L2m7Qx1Rv8Wb3Tn6Yc5Ze0Uf-_aB",
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9P",
];

async fn spans_with_secrets(registry: &Registry) {
    let [password, key, google, jwt] = PLANTED;
    let planted = json!({
        "password": password, "list": [{"text": format!("my key is {key}, yes")}],
        "inner": json!({"token": password, "n": [jwt]}).to_string(), "n": 1,
    });
    let output = planted.clone();
    let works =
        Action::builder(ActionKind::Flow, "works").handler(move |input: Value, ctx: Context| {
            let output = output.clone();
            async move {
                ctx.set_attribute("own", format!("https://ada:{password}@host"));
                ctx.set_attribute("api_key", password);
                ctx.set_attribute("tree", json!([{"cookie": password}]));
                ctx.set_attribute("count", 7);
                let step = Step::new(StepKind::FlowStep, "step").below(&ctx).input(&input);
                step.run(|_| async { Ok(output) }).await
            }
        });
    let call = Call::new(planted.clone())
        .with_init(Payload::of(planted.clone()))
        .with_context(ActionContext::default().with("auth", jwt).with("note", key))
        .with_labels(labels(json!({"label": google, "authorization": password})))
        .in_registry(registry);
    works.run(call).await.unwrap();
    let fails = Action::builder(ActionKind::Flow, "fails").handler(move |_: Value| async move {
        let cause = std::io::Error::other(format!("GET https://x/?key={google}&token={password}"));
        Err::<(), _>(Status::internal(format!("key {key} was refused")).caused_by(cause))
    });
    fails.run(Call::new(planted).in_registry(registry)).await.unwrap_err();
}

#[tokio::test]
async fn no_secret_is_in_a_span() {
    let (recorder, registry) = Recorder::new();
    spans_with_secrets(&registry).await;
    for name in ["works", "step", "fails"] {
        let span = recorder.one(name);
        let shown = format!("{span:?}");
        for secret in PLANTED {
            assert!(!shown.contains(secret), "{secret} is in {shown}");
        }
        assert!(shown.contains("<redacted>"), "{shown}");
    }
    for span in recorder.started() {
        let shown = format!("{span:?}");
        assert!(PLANTED.iter().all(|secret| !shown.contains(secret)), "{shown}");
    }
    let works = recorder.one("works").attributes;
    assert_eq!(works["count"], 7);
    assert_eq!(works["own"], "https://ada:<redacted>@host");
    let output: Value = serde_json::from_str(works["genkit:output"].as_str().unwrap()).unwrap();
    assert_eq!((&output["n"], &output["password"]), (&json!(1), &json!("<redacted>")));
}

#[tokio::test]
async fn secrets_are_recorded_on_demand_only() {
    let (recorder, registry) = Recorder::new();
    registry.record_secrets();
    spans_with_secrets(&registry).await;
    let (works, fails) = (recorder.one("works").attributes, recorder.one("fails").status);
    assert!(works["genkit:input"].as_str().unwrap().contains(PLANTED[0]));
    assert_eq!((&works["api_key"], &works["label"]), (&json!(PLANTED[0]), &json!(PLANTED[2])));
    assert!(fails.error().unwrap().report.contains(PLANTED[2]));
    assert_eq!(
        works["genkit:metadata:context"], r#"{"auth":"<redacted>","note":"<redacted>"}"#,
        "what the caller brings stays covered"
    );
}
