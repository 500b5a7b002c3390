//! Converts spans of OTLP into Genkit's form. Everything that Genkit's form has no member for
//! becomes an attribute whose name begins with `otel.`, so that nothing is lost.

use opentelemetry_proto::tonic::trace::v1::span::{Event, Link, SpanKind};
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, Span, SpanFlags, Status};
use oxikit_wire::attribute;
use oxikit_wire::trace::{
    Annotation, SameProcess, SpanData, SpanStatusData, TimeEvent, TimeEvents,
};
use serde_json::{Value, json};

use super::values::{DROPPED_ATTRIBUTES, Origin, add_count, add_text, id, members, milliseconds};
use super::{ParentSpan, Rejected};

/// Converts all spans of a post. Those without valid ids are counted in `rejected`.
pub(super) fn of(
    exported: Vec<ResourceSpans>,
    parent_span: Option<&ParentSpan>,
    rejected: &mut Rejected,
) -> Vec<SpanData> {
    let mut spans = Vec::new();
    for ResourceSpans { resource, scope_spans, schema_url } in exported {
        let mut origin = Origin::of_resource(resource, schema_url);
        for of_scope in scope_spans {
            origin.set_scope(of_scope.scope, of_scope.schema_url);
            for span in of_scope.spans {
                match span_data(span, &origin, parent_span) {
                    Some(span) => spans.push(span),
                    None => rejected.add("a trace id has 16 bytes, a span id has 8"),
                }
            }
        }
    }
    spans
}

/// Converts one span; `None` if one of its ids is not valid.
fn span_data(span: Span, origin: &Origin, parent_span: Option<&ParentSpan>) -> Option<SpanData> {
    // OTLP requires these lengths: 16 bytes, and 8 bytes.
    let own_trace = id(&span.trace_id).filter(|id| id.len() == 32)?;
    let span_id = id(&span.span_id).filter(|id| id.len() == 16)?;
    let parent = id(&span.parent_span_id);
    let mut attributes = members(span.attributes);
    origin.add_to(&mut attributes);
    add_count(&mut attributes, DROPPED_ATTRIBUTES, span.dropped_attributes_count);
    add_count(&mut attributes, "otel.dropped_events_count", span.dropped_events_count);
    add_count(&mut attributes, "otel.dropped_links_count", span.dropped_links_count);
    add_text(&mut attributes, "otel.trace_state", span.trace_state);
    add_count(&mut attributes, "otel.flags", span.flags);
    // Below a named parent, root spans become its children, and the original trace id is kept as
    // an attribute.
    let (trace_id, parent_span_id) = match parent_span {
        None => (own_trace, parent),
        Some(parent_span) => {
            add_text(&mut attributes, attribute::OTLP_TRACE_ID, own_trace);
            (parent_span.trace_id.clone(), parent.or_else(|| Some(parent_span.span_id.clone())))
        }
    };
    Some(SpanData {
        span_id,
        trace_id,
        parent_span_id,
        start_time: milliseconds(span.start_time_unix_nano),
        end_time: milliseconds(span.end_time_unix_nano),
        attributes,
        display_name: span.name,
        links: span.links.into_iter().map(link).collect(),
        instrumentation_library: origin.library.clone(),
        span_kind: kind(span.kind).to_owned(),
        same_process_as_parent_span: same_process(span.flags),
        status: Some(status(span.status.unwrap_or_default())),
        time_events: Some(TimeEvents { time_event: span.events.into_iter().map(event).collect() }),
    })
}

/// The name of a span kind. An unspecified kind is `INTERNAL`, as OTLP defines.
fn kind(kind: i32) -> &'static str {
    match SpanKind::try_from(kind) {
        Ok(SpanKind::Internal | SpanKind::Unspecified) => "INTERNAL",
        Ok(SpanKind::Server) => "SERVER",
        Ok(SpanKind::Client) => "CLIENT",
        Ok(SpanKind::Producer) => "PRODUCER",
        Ok(SpanKind::Consumer) => "CONSUMER",
        Err(_) => "UNSPECIFIED",
    }
}

/// The status; an unset one has the code 0.
fn status(status: Status) -> SpanStatusData {
    SpanStatusData {
        code: u8::try_from(status.code).unwrap_or_default(),
        message: Some(status.message).filter(|message| !message.is_empty()),
    }
}

/// Whether the parent is in the same process; `None` if the sender does not report it.
fn same_process(flags: u32) -> Option<SameProcess> {
    let has = |mask: SpanFlags| flags & mask as u32 != 0;
    has(SpanFlags::ContextHasIsRemoteMask)
        .then(|| SameProcess { value: !has(SpanFlags::ContextIsRemoteMask) })
}

/// An event of a span.
fn event(event: Event) -> TimeEvent {
    let mut attributes = members(event.attributes);
    add_count(&mut attributes, DROPPED_ATTRIBUTES, event.dropped_attributes_count);
    TimeEvent {
        time: milliseconds(event.time_unix_nano),
        annotation: Annotation { description: event.name, attributes },
    }
}

/// A link to another span, in the form of Genkit's JavaScript runtime.
fn link(link: Link) -> Value {
    let mut context = json!({
        "traceId": id(&link.trace_id),
        "spanId": id(&link.span_id),
        "traceFlags": link.flags & SpanFlags::TraceFlagsMask as u32,
    });
    if let Some(same) = same_process(link.flags) {
        context["isRemote"] = (!same.value).into();
    }
    if !link.trace_state.is_empty() {
        context["traceState"] = link.trace_state.into();
    }
    json!({
        "context": context,
        "attributes": members(link.attributes),
        "droppedAttributesCount": link.dropped_attributes_count,
    })
}
