//! Converts spans to the messages of OTLP.

use std::time::{SystemTime, UNIX_EPOCH};

use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::{
    AnyValue, ArrayValue, InstrumentationScope, KeyValue, KeyValueList, any_value,
};
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::span::{Event, SpanKind};
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span, Status};
use oxikit_core::{SpanError, SpanRecord, SpanStatus};
use oxikit_wire::{JsonObject, attribute};
use serde::Deserialize;
use serde_json::Value;

const NAME: &str = "oxikit";
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The flag that the trace was sampled: the lowest bit of the flags in W3C's trace context.
const SAMPLED: u32 = 1;

/// One request with all these spans. They share the resource and the scope, which OTLP sends once.
pub(super) fn request(spans: Vec<SpanRecord>, resource: &Resource) -> ExportTraceServiceRequest {
    let scope = InstrumentationScope {
        name: NAME.into(),
        version: VERSION.into(),
        ..InstrumentationScope::default()
    };
    let scope_spans = ScopeSpans {
        scope: Some(scope),
        spans: spans.into_iter().map(span).collect(),
        ..ScopeSpans::default()
    };
    let resource_spans = ResourceSpans {
        resource: Some(resource.clone()),
        scope_spans: vec![scope_spans],
        ..ResourceSpans::default()
    };
    ExportTraceServiceRequest { resource_spans: vec![resource_spans] }
}

/// The attributes of this process, which belong to all its spans.
pub(super) fn resource(own: &[(String, String)]) -> Resource {
    let mut attributes = vec![
        text("telemetry.sdk.name", NAME),
        text("telemetry.sdk.language", "rust"),
        text("telemetry.sdk.version", VERSION),
    ];
    if !own.iter().any(|(name, _)| name == "service.name") {
        attributes.push(text("service.name", &format!("unknown_service:{}", program())));
    }
    attributes.extend(own.iter().map(|(name, value)| text(name, value)));
    Resource { attributes, ..Resource::default() }
}

/// The name of the executable without its directory and extension, for `service.name`.
fn program() -> String {
    let path = std::env::current_exe().ok();
    let name = path.as_deref().and_then(|path| path.file_stem());
    name.map_or_else(|| "rust".into(), |name| name.to_string_lossy().into_owned())
}

/// One span. Genkit's own attributes are sent beside those that OpenTelemetry defines, so that
/// tools of both kinds can read it.
fn span(record: SpanRecord) -> Span {
    let SpanRecord { trace_id, span_id, parent_span_id, name, start, end, .. } = record;
    let end = nanoseconds(end.unwrap_or(start));
    let (status, events) = match record.status {
        SpanStatus::Ok => (Status { code: StatusCode::Ok.into(), message: String::new() }, vec![]),
        SpanStatus::Error(error) => failure(error, end),
    };
    let mut attributes = generative(&record.attributes);
    attributes.extend(key_values(record.attributes));
    Span {
        trace_id: trace_id.to_bytes().to_vec(),
        span_id: span_id.to_bytes().to_vec(),
        parent_span_id: parent_span_id.map_or_else(Vec::new, |id| id.to_bytes().to_vec()),
        flags: SAMPLED,
        name,
        kind: SpanKind::Internal.into(),
        start_time_unix_nano: nanoseconds(start),
        end_time_unix_nano: end,
        attributes,
        events,
        status: Some(status),
        ..Span::default()
    }
}

/// The status of a failed span, and the `exception` event by which tools show the causes.
fn failure(error: SpanError, at: u64) -> (Status, Vec<Event>) {
    let event = Event {
        time_unix_nano: at,
        name: "exception".into(),
        attributes: vec![
            text("exception.type", error.code.name()),
            text("exception.message", &error.message),
            text("exception.stacktrace", &error.report),
        ],
        ..Event::default()
    };
    (Status { code: StatusCode::Error.into(), message: error.message }, vec![event])
}

/// The attributes that OpenTelemetry defines for generative models, from those of Genkit. Tracing
/// tools show models and tokens by them.
fn generative(attributes: &JsonObject) -> Vec<KeyValue> {
    let get = |name: &str| attributes.get(name).and_then(Value::as_str);
    let Some(name) = get(attribute::NAME) else {
        return Vec::new();
    };
    let (operation, named) = match get(attribute::SUBTYPE) {
        Some("model") => ("chat", text("gen_ai.request.model", model(name))),
        Some("embedder") => ("embeddings", text("gen_ai.request.model", model(name))),
        Some("tool") => ("execute_tool", text("gen_ai.tool.name", name)),
        Some("agent") => ("invoke_agent", text("gen_ai.agent.name", name)),
        _ => return Vec::new(),
    };
    let mut known = vec![text("gen_ai.operation.name", operation), named];
    if operation == "chat" {
        known.extend(get(attribute::OUTPUT).map_or_else(Vec::new, usage));
    }
    known
}

/// The name of a model without the namespace of its provider.
fn model(name: &str) -> &str {
    name.split_once('/').map_or(name, |(_, model)| model)
}

/// The numbers of tokens in the output of a model.
fn usage(output: &str) -> Vec<KeyValue> {
    #[derive(Deserialize)]
    struct Output {
        usage: Option<Usage>,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Usage {
        input_tokens: Option<f64>,
        output_tokens: Option<f64>,
    }
    // An output that was cut is not valid JSON any more and is left out.
    let Ok(Output { usage: Some(usage) }) = serde_json::from_str(output) else {
        return Vec::new();
    };
    let names = ["gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"];
    let counts = names.into_iter().zip([usage.input_tokens, usage.output_tokens]);
    counts.filter_map(|(name, count)| Some(key_value(name.into(), whole(count?)))).collect()
}

#[expect(clippy::cast_possible_truncation, reason = "counts are small, others are cut to fit")]
fn whole(count: f64) -> any_value::Value {
    any_value::Value::IntValue(count as i64)
}

fn key_values(members: JsonObject) -> Vec<KeyValue> {
    let known = members.into_iter().filter_map(|(key, value)| Some((key, any_value(value)?)));
    known.map(|(key, value)| key_value(key, value)).collect()
}

/// A JSON value as an attribute value; `None` for `null`, which attributes cannot have.
fn any_value(value: Value) -> Option<any_value::Value> {
    use any_value::Value as Any;
    Some(match value {
        Value::Null => return None,
        Value::Bool(value) => Any::BoolValue(value),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(number), _) => Any::IntValue(number),
            (None, Some(number)) => Any::DoubleValue(number),
            (None, None) => Any::StringValue(number.to_string()),
        },
        Value::String(text) => Any::StringValue(text),
        Value::Array(items) => {
            let items = items.into_iter().filter_map(any_value);
            let values = items.map(|value| AnyValue { value: Some(value) }).collect();
            Any::ArrayValue(ArrayValue { values })
        }
        Value::Object(members) => Any::KvlistValue(KeyValueList { values: key_values(members) }),
    })
}

fn text(key: &str, text: &str) -> KeyValue {
    key_value(key.to_owned(), any_value::Value::StringValue(text.to_owned()))
}

fn key_value(key: String, value: any_value::Value) -> KeyValue {
    KeyValue { key, value: Some(AnyValue { value: Some(value) }), ..KeyValue::default() }
}

/// Nanoseconds since 1970, the unit of OTLP.
fn nanoseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
