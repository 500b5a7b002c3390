//! The standard variables.

use oxikit_core::SpanExporter;
use oxikit_telemetry::{OtlpConfig, OtlpConfigError};

use super::collector::Collector;
use super::{exporter, spans};

fn read(variables: &[(&str, &str)]) -> Result<Option<OtlpConfig>, OtlpConfigError> {
    OtlpConfig::from_vars(|name| {
        let found = variables.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    })
}

const ENDPOINT: (&str, &str) = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:4318");

#[test]
fn nothing_is_sent_unless_somebody_says_where() {
    for variables in [
        &[][..],
        &[("OTEL_EXPORTER_OTLP_ENDPOINT", " ")],
        &[("OTEL_TRACES_EXPORTER", "otlp"), ("OTEL_SERVICE_NAME", "shop")],
        &[ENDPOINT, ("OTEL_SDK_DISABLED", "TRUE")],
        &[ENDPOINT, ("OTEL_TRACES_EXPORTER", "none")],
        &[ENDPOINT, ("OTEL_SDK_DISABLED", "true"), ("OTEL_TRACES_SAMPLER", "wrong")],
    ] {
        assert!(read(variables).unwrap().is_none(), "{variables:?}");
    }
    for variables in [
        &[ENDPOINT][..],
        &[ENDPOINT, ("OTEL_SDK_DISABLED", "yes"), ("OTEL_TRACES_EXPORTER", "otlp")],
        &[("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://collector.example/x")],
    ] {
        assert!(read(variables).unwrap().is_some(), "{variables:?}");
    }
}

#[test]
fn values_that_cannot_be_used_are_refused_with_what_to_write() {
    for (name, value, message) in [
        (
            "OTEL_TRACES_EXPORTER",
            "zipkin",
            "OTEL_TRACES_EXPORTER is `zipkin`: write `otlp` or `none`",
        ),
        (
            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
            "collector:4318",
            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is `collector:4318`: write a URL such as `http://localhost:4318`",
        ),
        (
            "OTEL_EXPORTER_OTLP_PROTOCOL",
            "grpc",
            "OTEL_EXPORTER_OTLP_PROTOCOL is `grpc`: gRPC is not supported. Write `http/protobuf`, and the collector's \
             port for HTTP, mostly 4318, in `OTEL_EXPORTER_OTLP_ENDPOINT`",
        ),
        (
            "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
            "json",
            "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL is `json`: write `http/protobuf` or `http/json`",
        ),
        (
            "OTEL_EXPORTER_OTLP_HEADERS",
            "a=1,hunter2",
            "OTEL_EXPORTER_OTLP_HEADERS has no `=` in pair 2: write `name=value,name=value`",
        ),
        (
            "OTEL_EXPORTER_OTLP_HEADERS",
            "a b=hunter2",
            "OTEL_EXPORTER_OTLP_HEADERS has a name that no HTTP header can have",
        ),
        (
            "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
            "key=hunter2%0a",
            "OTEL_EXPORTER_OTLP_TRACES_HEADERS has a value for `key` that HTTP cannot carry",
        ),
        (
            "OTEL_EXPORTER_OTLP_HEADERS",
            "key=hunter2%ff",
            "OTEL_EXPORTER_OTLP_HEADERS has a value for `key` that is not UTF-8",
        ),
        (
            "OTEL_EXPORTER_OTLP_TIMEOUT",
            "10s",
            "OTEL_EXPORTER_OTLP_TIMEOUT is `10s`: write a number of milliseconds, at least 1",
        ),
        (
            "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT",
            "0",
            "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT is `0`: write a number of milliseconds, at least 1",
        ),
        (
            "OTEL_BSP_SCHEDULE_DELAY",
            "-1",
            "OTEL_BSP_SCHEDULE_DELAY is `-1`: write a number of milliseconds, at least 0",
        ),
        (
            "OTEL_BSP_MAX_QUEUE_SIZE",
            "0",
            "OTEL_BSP_MAX_QUEUE_SIZE is `0`: write a number of spans, at least 1",
        ),
        (
            "OTEL_BSP_MAX_EXPORT_BATCH_SIZE",
            "many",
            "OTEL_BSP_MAX_EXPORT_BATCH_SIZE is `many`: write a number of spans, at least 1",
        ),
        (
            "OTEL_RESOURCE_ATTRIBUTES",
            "a",
            "OTEL_RESOURCE_ATTRIBUTES has no `=` in pair 1: write `name=value,name=value`",
        ),
        (
            "OTEL_TRACES_SAMPLER",
            "jaeger_remote",
            "OTEL_TRACES_SAMPLER is `jaeger_remote`: write `always_on`, `always_off` or `traceidratio`, or one of \
             them after `parentbased_`",
        ),
    ] {
        let error = read(&[(name, value), ENDPOINT]).unwrap_err();
        assert_eq!(error.to_string(), message);
        assert!(!error.to_string().contains("hunter2"));
    }
    for ratio in ["1.5", "-0.1", "half", "NaN"] {
        let sampler = ("OTEL_TRACES_SAMPLER", "parentbased_traceidratio");
        let error = read(&[ENDPOINT, sampler, ("OTEL_TRACES_SAMPLER_ARG", ratio)]).unwrap_err();
        let expected = format!("OTEL_TRACES_SAMPLER_ARG is `{ratio}`: write a number from 0 to 1");
        assert_eq!(error.to_string(), expected);
    }
}

/// Sends 40 traces with these variables.
async fn send(variables: &[(&str, &str)]) {
    let delay = ("OTEL_BSP_SCHEDULE_DELAY", "600000");
    let variables: Vec<_> = variables.iter().copied().chain([delay]).collect();
    let (exporter, registry) = exporter(read(&variables).unwrap().unwrap());
    spans(&registry, 40).await;
    exporter.flush().await;
    assert_eq!(exporter.dropped(), 0);
}

#[tokio::test]
async fn the_path_of_the_endpoint() {
    for (name, path, expected) in [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "", "/v1/traces"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "/", "/v1/traces"),
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "/otlp/", "/otlp/v1/traces"),
        ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "", "/"),
        ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "/own?a=b", "/own?a=b"),
    ] {
        let collector = Collector::start().await;
        let url = format!("{}{path}", collector.base());
        send(&[(name, &url)]).await;
        assert_eq!(collector.requests()[0].path, expected);
    }
}

#[tokio::test]
async fn variables_of_traces_go_before_the_common_ones() {
    let collector = Collector::start().await;
    let base = collector.base();
    let variables = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9"),
        ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", base.as_str()),
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"),
        ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/json"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "common=1"),
        ("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "x-key = a%20b%2Cc%3D , other=2=3,"),
        ("OTEL_SERVICE_NAME", "shop"),
        ("OTEL_RESOURCE_ATTRIBUTES", "service.name=other,a=%C3%A4"),
        ("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "64"),
    ];
    send(&variables).await;
    let request = &collector.requests()[0];
    let header = |name: &str| request.headers.get(name).map(|value| value.to_str().unwrap());
    assert_eq!(header("x-key"), Some("a b,c="));
    assert_eq!((header("other"), header("common")), (Some("2=3"), None));
    assert_eq!(header("content-type"), Some("application/json"));
    let resource = request.decode().resource_spans.remove(0).resource.unwrap();
    let shown = format!("{resource:?}");
    assert!(shown.contains("shop") && !shown.contains("other") && shown.contains('ä'), "{shown}");
    let config = format!("{:?}", read(&variables).unwrap());
    assert!(!config.contains("a b,c"), "{config}");
}

#[tokio::test]
async fn samplers() {
    for (sampler, argument, expected) in [
        ("always_on", "", 40..=40),
        ("always_off", "", 0..=0),
        ("traceidratio", "", 40..=40),
        ("traceidratio", "0.5", 5..=35),
        ("parentbased_always_on", "0", 40..=40),
        ("parentbased_always_off", "", 0..=0),
        ("parentbased_traceidratio", "0", 0..=0),
    ] {
        let collector = Collector::start().await;
        let base = collector.base();
        let sampling = [("OTEL_TRACES_SAMPLER", sampler), ("OTEL_TRACES_SAMPLER_ARG", argument)];
        send(&[("OTEL_EXPORTER_OTLP_ENDPOINT", &base), sampling[0], sampling[1]]).await;
        let sent = collector.spans().len();
        assert!(expected.contains(&sent), "{sampler} {argument}: {sent}");
    }
}
