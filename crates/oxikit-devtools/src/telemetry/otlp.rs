//! OTLP over HTTP: spans and log lines of programs that know nothing of Genkit.

mod json;
mod logs;
mod spans;
mod values;

use std::fmt::Display;
use std::sync::Arc;

use axum::extract::{FromRequestParts, RawPathParams, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use opentelemetry_proto::tonic::collector::logs::v1::{
    ExportLogsPartialSuccess, ExportLogsServiceRequest, ExportLogsServiceResponse,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTracePartialSuccess, ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::logs::v1::ResourceLogs;
use opentelemetry_proto::tonic::trace::v1::ResourceSpans;
use prost::{DecodeError, Message};
use serde::Deserialize;
use serde_json::json;

use super::answer::{PROTOBUF, Refused, json_text};
use super::body::{Form, OtlpPost};
use super::port::{PortState, Sender};
use super::{secrets, unverified};

/// The span that others are put below.
#[derive(Debug)]
pub(super) struct Home {
    trace_id: String,
    span_id: String,
}

/// Where spans go: to their own traces, or below a span that the path names.
#[derive(Debug)]
pub(super) struct Destination(Option<Home>);

/// What a post has brought. JSON says by itself what it holds.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Export {
    resource_spans: Option<Vec<ResourceSpans>>,
    resource_logs: Option<Vec<ResourceLogs>>,
}

/// What was not stored, and why.
#[derive(Debug, Default)]
struct Rejected {
    count: i64,
    message: String,
}

/// Spans; as JSON log lines, too.
pub(super) async fn add_spans(
    State(state): State<Arc<PortState>>,
    sender: Sender,
    destination: Destination,
    post: OtlpPost,
) -> Response {
    let export = Export::read(&post, |bytes| {
        let resource_spans = ExportTraceServiceRequest::decode(bytes)?.resource_spans;
        Ok(Export { resource_spans: Some(resource_spans), ..Export::default() })
    });
    let stored = store(&state, sender, destination, export).await;
    answer(post.form, stored, "rejectedSpans", |rejected| ExportTraceServiceResponse {
        partial_success: Some(ExportTracePartialSuccess {
            rejected_spans: rejected.count,
            error_message: rejected.message,
        }),
    })
}

/// Log lines; as JSON spans, too.
pub(super) async fn add_logs(
    State(state): State<Arc<PortState>>,
    sender: Sender,
    destination: Destination,
    post: OtlpPost,
) -> Response {
    let export = Export::read(&post, |bytes| {
        let resource_logs = ExportLogsServiceRequest::decode(bytes)?.resource_logs;
        Ok(Export { resource_logs: Some(resource_logs), ..Export::default() })
    });
    let stored = store(&state, sender, destination, export).await;
    answer(post.form, stored, "rejectedLogRecords", |rejected| ExportLogsServiceResponse {
        partial_success: Some(ExportLogsPartialSuccess {
            rejected_log_records: rejected.count,
            error_message: rejected.message,
        }),
    })
}

/// Metrics: there is no place for them, and no reason to trouble who sends them.
pub(super) async fn ignore(_: Sender, post: OtlpPost) -> Response {
    accepted(post.form)
}

impl Export {
    fn read(
        post: &OtlpPost,
        from_protobuf: fn(&[u8]) -> Result<Self, DecodeError>,
    ) -> Result<Self, Refused> {
        let refuse = |reason: &dyn Display| Refused::invalid(format!("it is not OTLP: {reason}"));
        match post.form {
            // A list would do for serde, too.
            Form::Json if !post.bytes.trim_ascii_start().starts_with(b"{") => {
                Err(refuse(&"it is no object"))
            }
            Form::Json => json::read(&post.bytes).map_err(|error| refuse(&error)),
            Form::Protobuf => from_protobuf(&post.bytes).map_err(|error| refuse(&error)),
        }
    }
}

async fn store(
    state: &PortState,
    sender: Sender,
    Destination(home): Destination,
    export: Result<Export, Refused>,
) -> Result<Rejected, Refused> {
    let Export { resource_spans, resource_logs } = export?;
    let mut rejected = Rejected::default();
    let found = resource_spans.unwrap_or_default();
    let mut spans = spans::of(found, home.as_ref(), &mut rejected);
    spans.retain(|span| !state.options.looks.has(&span.trace_id));
    if !state.options.raw {
        spans.iter_mut().for_each(secrets::cover_span);
    }
    if sender == Sender::Unverified {
        spans = unverified::mark_spans(&state.store, spans).await?;
    }
    if !spans.is_empty() {
        state.store.ingest_spans(spans).await?;
    }
    let mut logs = logs::of(resource_logs.unwrap_or_default(), home.as_ref());
    for log in &mut logs {
        if !state.options.raw {
            secrets::cover_log(log);
        }
        if sender == Sender::Unverified {
            unverified::mark_log(log);
        }
    }
    if !logs.is_empty() {
        state.store.add_logs(logs).await?;
    }
    Ok(rejected)
}

fn answer<M: Message>(
    form: Form,
    stored: Result<Rejected, Refused>,
    count: &str,
    partial: impl FnOnce(Rejected) -> M,
) -> Response {
    match (stored, form) {
        (Ok(rejected), form) if rejected.count == 0 => accepted(form),
        (Ok(Rejected { count: number, message }), Form::Json) => {
            // Protobuf's JSON writes large integers as texts.
            let partial = json!({count: number.to_string(), "errorMessage": message});
            json_text(json!({"partialSuccess": partial}).to_string())
        }
        (Ok(rejected), Form::Protobuf) => {
            ([(CONTENT_TYPE, PROTOBUF)], partial(rejected).encode_to_vec()).into_response()
        }
        (Err(refused), Form::Json) => refused.into_response(),
        (Err(refused), Form::Protobuf) => refused.into_protobuf(),
    }
}

/// All of it.
fn accepted(form: Form) -> Response {
    match form {
        Form::Json => json_text("{}".to_owned()),
        Form::Protobuf => ([(CONTENT_TYPE, PROTOBUF)], "").into_response(),
    }
}

impl Rejected {
    fn add(&mut self, reason: &str) {
        self.count += 1;
        if self.message.is_empty() {
            self.message = reason.to_owned();
        }
    }
}

impl<S: Sync> FromRequestParts<S> for Destination {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Refused> {
        let params = RawPathParams::from_request_parts(parts, &()).await;
        let params = params.map_err(|_| Refused::invalid("the path is not UTF-8"))?;
        let named = |name| params.iter().find(|(other, _)| *other == name);
        let ids = named("parent_trace").zip(named("parent_span"));
        Ok(Self(ids.map(|((_, trace_id), (_, span_id))| Home {
            trace_id: trace_id.to_owned(),
            span_id: span_id.to_owned(),
        })))
    }
}
