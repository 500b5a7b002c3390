//! OTLP over HTTP: spans and log records of programs that do not use Genkit, converted into
//! Genkit's form. Metrics are accepted and ignored.

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

/// The stored span below which the spans of a post are placed.
#[derive(Debug)]
pub(super) struct ParentSpan {
    /// The trace that the spans are added to.
    trace_id: String,
    /// The parent of spans that have none.
    span_id: String,
}

/// Where spans are stored: in their own traces, or below the span that the path names.
#[derive(Debug)]
pub(super) struct Destination(Option<ParentSpan>);

/// The content of a post. JSON names its content by itself, so a post of JSON to either route
/// may have both.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Export {
    resource_spans: Option<Vec<ResourceSpans>>,
    resource_logs: Option<Vec<ResourceLogs>>,
}

/// The number of spans that were not stored, and the first reason.
#[derive(Debug, Default)]
pub(super) struct Rejected {
    count: i64,
    message: String,
}

/// A kind of OTLP data with a route of its own. The kinds differ in their protobuf messages
/// only; everything else is the same.
pub(super) trait Signal {
    /// The member of a JSON response that has the number of rejected items.
    const REJECTED: &str;

    /// Reads the body of a protobuf post.
    fn decode(bytes: &[u8]) -> Result<Export, DecodeError>;

    /// The protobuf response to a post of which something was not stored.
    fn encode_rejected(rejected: Rejected) -> Vec<u8>;
}

/// Spans of programs that do not use Genkit.
pub(super) struct Spans;

impl Signal for Spans {
    const REJECTED: &str = "rejectedSpans";

    fn decode(bytes: &[u8]) -> Result<Export, DecodeError> {
        let resource_spans = Some(ExportTraceServiceRequest::decode(bytes)?.resource_spans);
        Ok(Export { resource_spans, ..Export::default() })
    }

    fn encode_rejected(Rejected { count, message }: Rejected) -> Vec<u8> {
        let partial = ExportTracePartialSuccess { rejected_spans: count, error_message: message };
        ExportTraceServiceResponse { partial_success: Some(partial) }.encode_to_vec()
    }
}

/// Log records of programs that do not use Genkit.
pub(super) struct Logs;

impl Signal for Logs {
    const REJECTED: &str = "rejectedLogRecords";

    fn decode(bytes: &[u8]) -> Result<Export, DecodeError> {
        let resource_logs = Some(ExportLogsServiceRequest::decode(bytes)?.resource_logs);
        Ok(Export { resource_logs, ..Export::default() })
    }

    fn encode_rejected(Rejected { count, message }: Rejected) -> Vec<u8> {
        let partial =
            ExportLogsPartialSuccess { rejected_log_records: count, error_message: message };
        ExportLogsServiceResponse { partial_success: Some(partial) }.encode_to_vec()
    }
}

/// Stores the spans and log records of a post. The route decides which of them a protobuf body
/// has; a JSON body may have both.
pub(super) async fn add<S: Signal>(
    State(state): State<Arc<PortState>>,
    sender: Sender,
    destination: Destination,
    post: OtlpPost,
) -> Response {
    let export = Export::read(&post, S::decode);
    let stored = store(&state, sender, destination, export).await;
    answer::<S>(post.form, stored)
}

/// Accepts metrics and ignores them: an error would only fill the log of the sender.
pub(super) async fn ignore(_: Sender, post: OtlpPost) -> Response {
    accepted(post.form)
}

impl Export {
    /// Reads the body of a post. `from_protobuf` reads the message of the route; JSON is read
    /// alike on all routes.
    fn read(
        post: &OtlpPost,
        from_protobuf: fn(&[u8]) -> Result<Self, DecodeError>,
    ) -> Result<Self, Refused> {
        let refuse = |reason: &dyn Display| Refused::invalid(format!("it is not OTLP: {reason}"));
        match post.form {
            // serde also reads a list into a struct.
            Form::Json if !post.bytes.trim_ascii_start().starts_with(b"{") => {
                Err(refuse(&"it is not an object"))
            }
            Form::Json => json::read(&post.bytes).map_err(|error| refuse(&error)),
            Form::Protobuf => from_protobuf(&post.bytes).map_err(|error| refuse(&error)),
        }
    }
}

/// Stores the spans and then the log records of a post. Returns the rejected spans.
async fn store(
    state: &PortState,
    sender: Sender,
    Destination(parent_span): Destination,
    export: Result<Export, Refused>,
) -> Result<Rejected, Refused> {
    let Export { resource_spans, resource_logs } = export?;
    let mut rejected = Rejected::default();
    let found = resource_spans.unwrap_or_default();
    let mut spans = spans::of(found, parent_span.as_ref(), &mut rejected);
    // In this order: hidden spans are dropped before they cost anything, secrets are redacted
    // before anything is compared with the store or written.
    spans.retain(|span| !state.options.hidden_traces.contains(&span.trace_id));
    if !state.options.raw {
        spans.iter_mut().for_each(secrets::redact_span);
    }
    if !sender.is_verified {
        spans = unverified::mark_spans(&state.store, spans).await?;
    }
    if !spans.is_empty() {
        state.store.ingest_spans_of(spans, &sender.runtime).await?;
    }
    // After the spans, so that a reader of a line finds its span.
    let mut logs = logs::of(resource_logs.unwrap_or_default(), parent_span.as_ref());
    for log in &mut logs {
        if !state.options.raw {
            secrets::redact_log(log);
        }
        if !sender.is_verified {
            unverified::mark_log(log);
        }
    }
    if !logs.is_empty() {
        state.store.add_logs(logs).await?;
    }
    Ok(rejected)
}

/// The response in the form of the post: what was rejected, or why the whole post was.
fn answer<S: Signal>(form: Form, stored: Result<Rejected, Refused>) -> Response {
    match (stored, form) {
        (Ok(rejected), form) if rejected.count == 0 => accepted(form),
        (Ok(Rejected { count, message }), Form::Json) => {
            // Protobuf's JSON writes large integers as texts.
            let partial = json!({S::REJECTED: count.to_string(), "errorMessage": message});
            json_text(json!({"partialSuccess": partial}).to_string())
        }
        (Ok(rejected), Form::Protobuf) => {
            ([(CONTENT_TYPE, PROTOBUF)], S::encode_rejected(rejected)).into_response()
        }
        (Err(refused), Form::Json) => refused.into_response(),
        (Err(refused), Form::Protobuf) => refused.into_protobuf(),
    }
}

/// The response if everything was stored.
fn accepted(form: Form) -> Response {
    match form {
        Form::Json => json_text("{}".to_owned()),
        Form::Protobuf => ([(CONTENT_TYPE, PROTOBUF)], "").into_response(),
    }
}

impl Rejected {
    /// Counts a rejected span.
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
        Ok(Self(ids.map(|((_, trace_id), (_, span_id))| ParentSpan {
            trace_id: trace_id.to_owned(),
            span_id: span_id.to_owned(),
        })))
    }
}
