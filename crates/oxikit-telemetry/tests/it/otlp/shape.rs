//! The requests that a collector receives.

use std::time::{SystemTime, UNIX_EPOCH};

use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::trace::v1::Span;
use oxikit_core::{Action, ActionKind, Call, Context, Registry, SpanExporter, Status};
use oxikit_telemetry::OtlpProtocol;
use serde_json::{Map, Value, json};

use super::collector::Collector;
use super::exporter;

fn tree(values: &[KeyValue]) -> Value {
    let member = |pair: &KeyValue| {
        let value = pair.value.as_ref().and_then(|value| value.value.as_ref());
        (pair.key.clone(), any(value))
    };
    values.iter().map(member).collect::<Map<_, _>>().into()
}

fn any(value: Option<&Any>) -> Value {
    match value.unwrap() {
        Any::StringValue(text) => json!(text),
        Any::BoolValue(value) => json!(value),
        Any::IntValue(number) => json!(number),
        Any::DoubleValue(number) => json!(number),
        Any::ArrayValue(array) => {
            array.values.iter().map(|item| any(item.value.as_ref())).collect()
        }
        Any::KvlistValue(list) => tree(&list.values),
        other => panic!("{other:?} is not sent"),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn nanoseconds() -> u64 {
    u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos()).unwrap()
}

fn by_name(spans: &[Span], name: &str) -> Span {
    spans.iter().find(|span| span.name == name).unwrap().clone()
}

async fn a_trace(registry: &Registry) -> String {
    registry.register(Action::builder(ActionKind::Model, "acme/gem-1").handler(
        |_: Value| async {
            Ok(json!({"message":{"role":"model","content":[]},"usage":{"inputTokens":12,"outputTokens":34}}))
        },
    ));
    registry.register(Action::builder(ActionKind::Tool, "boom").handler(|_: Value| async {
        let cause = std::io::Error::other("the disk is full");
        Err::<Value, _>(Status::internal("kaboom").caused_by(cause))
    }));
    let flow =
        Action::builder(ActionKind::Flow, "ask").handler(|_: String, ctx: Context| async move {
            for (key, value) in [
                ("own:bool", json!(true)),
                ("own:int", json!(-7)),
                ("own:float", json!(1.5)),
                ("own:list", json!(["a", 1, [false]])),
                ("own:tree", json!({"a": {"b": "c"}})),
                ("own:null", json!(null)),
            ] {
                ctx.set_attribute(key, value);
            }
            ctx.registry().run("/model/acme/gem-1", Call::new(json!({}))).await?;
            ctx.registry().run("/tool/boom", Call::new(json!({}))).await.unwrap_err();
            Ok(ctx.trace_id().to_string())
        });
    flow.run(Call::new("Ada").in_registry(registry)).await.unwrap().parse().unwrap()
}

async fn check(protocol: OtlpProtocol) {
    let collector = Collector::start().await;
    let config = collector
        .config()
        .with_protocol(protocol)
        .with_service_name("shop")
        .with_resource_attribute("deployment.environment.name", "test")
        .with_header("x-key", "k1")
        .unwrap();
    let (exporter, registry) = exporter(config);
    let before = nanoseconds();
    let trace_id = a_trace(&registry).await;
    exporter.flush().await;
    let after = nanoseconds();

    let requests = collector.requests();
    assert_eq!(requests.len(), 1);
    assert_eq!(
        (requests[0].path.as_str(), &requests[0].headers["x-key"]),
        ("/v1/traces", &"k1".parse().unwrap())
    );
    let request = requests[0].decode();
    assert_eq!((request.resource_spans.len(), request.resource_spans[0].scope_spans.len()), (1, 1));
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(
        tree(&request.resource_spans[0].resource.as_ref().unwrap().attributes),
        json!({
            "telemetry.sdk.name":"oxikit","telemetry.sdk.language":"rust","telemetry.sdk.version":version,
            "service.name":"shop","deployment.environment.name":"test",
        })
    );
    let scope = request.resource_spans[0].scope_spans[0].scope.clone().unwrap();
    assert_eq!((scope.name.as_str(), scope.version.as_str()), ("oxikit", version));

    let spans = requests[0].spans();
    assert_eq!(spans.len(), 3);
    for span in &spans {
        assert_eq!((hex(&span.trace_id), span.kind, span.flags), (trace_id.clone(), 1, 1));
        assert!(before <= span.start_time_unix_nano, "{span:?}");
        assert!(span.start_time_unix_nano <= span.end_time_unix_nano, "{span:?}");
        assert!(span.end_time_unix_nano <= after, "{span:?}");
    }
    check_flow(&by_name(&spans, "ask"), &trace_id);
    check_model(&by_name(&spans, "acme/gem-1"), &by_name(&spans, "ask"));
    check_failure(&by_name(&spans, "boom"));
    assert_eq!(exporter.dropped(), 0);
}

fn check_flow(flow: &Span, trace_id: &str) {
    assert_eq!((flow.span_id.len(), flow.parent_span_id.as_slice()), (8, &[][..]));
    let status = flow.status.as_ref().unwrap();
    assert_eq!((status.code, status.message.as_str(), flow.events.len()), (1, "", 0));
    assert_eq!(
        tree(&flow.attributes),
        json!({
            "genkit:type":"action","genkit:metadata:subtype":"flow","genkit:key":"/flow/ask","genkit:name":"ask",
            "genkit:isRoot":true,"genkit:path":"/{ask,t:flow}","genkit:input":"\"Ada\"",
            "genkit:output":format!("\"{trace_id}\""),"genkit:state":"success",
            "own:bool":true,"own:int":-7,"own:float":1.5,"own:list":["a",1,[false]],"own:tree":{"a":{"b":"c"}},
        })
    );
}

fn check_model(model: &Span, flow: &Span) {
    assert_eq!(model.parent_span_id, flow.span_id);
    let attributes = tree(&model.attributes);
    assert_eq!(attributes["gen_ai.operation.name"], "chat");
    assert_eq!(attributes["gen_ai.request.model"], "gem-1");
    assert_eq!(attributes["gen_ai.usage.input_tokens"], 12);
    assert_eq!(attributes["gen_ai.usage.output_tokens"], 34);
}

fn check_failure(tool: &Span) {
    assert_eq!(tree(&tool.attributes)["gen_ai.tool.name"], "boom");
    let status = tool.status.as_ref().unwrap();
    assert_eq!((status.code, status.message.as_str()), (2, "kaboom"));
    let [event] = &tool.events[..] else { panic!("{tool:?}") };
    assert_eq!((event.name.as_str(), event.time_unix_nano), ("exception", tool.end_time_unix_nano));
    assert_eq!(
        tree(&event.attributes),
        json!({
            "exception.type":"INTERNAL","exception.message":"kaboom",
            "exception.stacktrace":"INTERNAL: kaboom\ncaused by: the disk is full",
        })
    );
}

#[tokio::test]
async fn every_field_in_protobuf() {
    check(OtlpProtocol::HttpProtobuf).await;
}

#[tokio::test]
async fn every_field_in_json() {
    check(OtlpProtocol::HttpJson).await;
}

#[tokio::test]
async fn json_writes_ids_in_hexadecimal_and_times_as_text() {
    let collector = Collector::start().await;
    let (exporter, registry) = exporter(collector.config().with_protocol(OtlpProtocol::HttpJson));
    super::spans(&registry, 1).await;
    exporter.flush().await;
    let body: Value = serde_json::from_slice(&collector.requests()[0].body).unwrap();
    let span = &body["resourceSpans"][0]["scopeSpans"][0]["spans"][0];
    assert_eq!(span["traceId"].as_str().unwrap().len(), 32);
    assert_eq!(span["spanId"].as_str().unwrap().len(), 16);
    assert!(span["startTimeUnixNano"].as_str().unwrap().parse::<u64>().is_ok(), "{span}");
    let resource = body["resourceSpans"][0]["resource"]["attributes"].as_array().unwrap();
    let service = resource.iter().find(|pair| pair["key"] == "service.name").unwrap();
    assert!(service["value"]["stringValue"].as_str().unwrap().starts_with("unknown_service:it-"));
}

#[tokio::test]
async fn no_secret_is_sent() {
    let collector = Collector::start().await;
    let (exporter, registry) = exporter(collector.config());
    let secret = "hunter2-4711";
    let leaky = Action::builder(ActionKind::Flow, "leaky").handler(
        move |_: Value, ctx: Context| async move {
            ctx.set_attribute("url", format!("https://ada:{secret}@host"));
            let answer = format!("GET /?access_token={secret} failed");
            Err::<Value, _>(
                Status::internal(answer.clone()).caused_by(std::io::Error::other(answer)),
            )
        },
    );
    let call = Call::new(json!({"list":[{"password":secret}]})).in_registry(&registry);
    leaky.run(call).await.unwrap_err();
    exporter.flush().await;
    let body = String::from_utf8_lossy(&collector.requests()[0].body).into_owned();
    assert!(body.contains("<redacted>") && !body.contains(secret), "{body}");
}
