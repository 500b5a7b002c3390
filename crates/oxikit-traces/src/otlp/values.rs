//! Converts values and attributes of OTLP into JSON.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use opentelemetry_proto::tonic::common::v1::any_value::Value as Any;
use opentelemetry_proto::tonic::common::v1::{AnyValue, InstrumentationScope, KeyValue};
use opentelemetry_proto::tonic::resource::v1::Resource;
use oxikit_wire::JsonObject;
use oxikit_wire::trace::InstrumentationLibrary;
use serde_json::Value;

/// The attribute with the number of attributes that the sender has dropped.
pub(super) const DROPPED_ATTRIBUTES: &str = "otel.dropped_attributes_count";

/// Attributes as a JSON object. If a name occurs twice, the last value is used.
pub(super) fn members(attributes: Vec<KeyValue>) -> JsonObject {
    attributes.into_iter().map(|KeyValue { key, value, .. }| (key, json(value))).collect()
}

/// A value as JSON; bytes become base64.
pub(super) fn json(value: Option<AnyValue>) -> Value {
    match value.and_then(|value| value.value) {
        None => Value::Null,
        Some(Any::StringValue(text)) => text.into(),
        Some(Any::BoolValue(is_true)) => is_true.into(),
        Some(Any::IntValue(number)) => number.into(),
        // JSON has neither infinity nor NaN.
        Some(Any::DoubleValue(number)) if !number.is_finite() => number.to_string().into(),
        Some(Any::DoubleValue(number)) => number.into(),
        Some(Any::ArrayValue(list)) => list.values.into_iter().map(|v| json(Some(v))).collect(),
        Some(Any::KvlistValue(list)) => members(list.values).into(),
        Some(Any::BytesValue(bytes)) => STANDARD.encode(bytes).into(),
        // An index into a table that only profiles have.
        Some(Any::StringValueStrindex(place)) => place.into(),
    }
}

/// Adds a count that is not 0.
pub(super) fn add_count(attributes: &mut JsonObject, name: &str, count: u32) {
    if count > 0 {
        attributes.insert(name.to_owned(), count.into());
    }
}

/// Adds a text that is not empty.
pub(super) fn add_text(attributes: &mut JsonObject, name: &str, text: String) {
    if !text.is_empty() {
        attributes.insert(name.to_owned(), text.into());
    }
}

/// The resource and the scope of spans: attributes that are added to each span, and the
/// library that made them.
#[derive(Debug, Default)]
pub(super) struct Origin {
    /// Attributes of the program, such as `service.name`.
    resource: JsonObject,
    /// Attributes of the library that made the spans.
    scope: JsonObject,
    pub(super) library: InstrumentationLibrary,
}

impl Origin {
    /// The origin of all spans of a resource, without a scope yet.
    pub(super) fn of_resource(resource: Option<Resource>, schema_url: String) -> Self {
        let resource = resource.unwrap_or_default();
        let mut attributes = members(resource.attributes);
        add_count(
            &mut attributes,
            "otel.resource.dropped_attributes_count",
            resource.dropped_attributes_count,
        );
        add_text(&mut attributes, "otel.resource.schema_url", schema_url);
        Self { resource: attributes, ..Self::default() }
    }

    /// Replaces the scope. The attributes of the resource stay.
    pub(super) fn set_scope(&mut self, scope: Option<InstrumentationScope>, schema_url: String) {
        let scope = scope.unwrap_or_default();
        self.scope = members(scope.attributes);
        add_count(&mut self.scope, DROPPED_ATTRIBUTES, scope.dropped_attributes_count);
        self.library = InstrumentationLibrary {
            name: scope.name,
            version: Some(scope.version).filter(|version| !version.is_empty()),
            schema_url: Some(schema_url).filter(|url| !url.is_empty()),
        };
    }

    /// Adds the attributes of the scope and the resource. An attribute of the span itself is not
    /// replaced: that of the resource is added as `otel.resource.<name>`.
    pub(super) fn add_to(&self, attributes: &mut JsonObject) {
        for (name, value) in &self.scope {
            attributes.insert(format!("otel.scope.{name}"), value.clone());
        }
        for (name, value) in &self.resource {
            let name = match attributes.contains_key(name) {
                true => format!("otel.resource.{name}"),
                false => name.clone(),
            };
            attributes.insert(name, value.clone());
        }
    }
}

/// Nanoseconds as milliseconds, the unit of Genkit's traces.
pub(super) fn milliseconds(nanoseconds: u64) -> f64 {
    const NANOSECONDS: u64 = 1_000_000;
    // Divided in two parts: nanoseconds since 1970 have more digits than a float holds.
    (nanoseconds / NANOSECONDS) as f64 + (nanoseconds % NANOSECONDS) as f64 / NANOSECONDS as f64
}

/// The hexadecimal digits of an id; `None` if it is empty or all zeros.
pub(super) fn id(bytes: &[u8]) -> Option<String> {
    bytes.iter().any(|byte| *byte != 0).then(|| {
        bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut digits, byte| {
            // Writing to a string cannot fail.
            let _ = write!(digits, "{byte:02x}");
            digits
        })
    })
}
