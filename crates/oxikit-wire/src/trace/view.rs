//! Lenient reading of the JSON of a span, for lists and trees that people read.
//!
//! A span of a newer or a broken runtime is still shown with the members that can be read.
//! Stores use the strict types of the parent module.

use serde_json::Value;

use super::STATUS_ERROR;
use crate::attribute;

/// The JSON of a span that may be incomplete; members that cannot be read are absent.
///
/// ```
/// use oxikit_wire::trace::SpanView;
///
/// let json = serde_json::json!({"displayName": "greet", "startTime": 1000, "endTime": 0});
/// let span = SpanView(&json);
/// assert_eq!((span.name(), span.end()), (Some("greet"), None));
/// ```
#[derive(Debug, Clone, Copy)]
pub struct SpanView<'a>(pub &'a Value);

impl<'a> SpanView<'a> {
    /// Its id.
    pub fn id(self) -> Option<&'a str> {
        self.0["spanId"].as_str()
    }

    /// The id of the span above it; `None` for a root.
    pub fn parent_id(self) -> Option<&'a str> {
        self.0["parentSpanId"].as_str()
    }

    /// The name shown to people.
    pub fn name(self) -> Option<&'a str> {
        self.0["displayName"].as_str()
    }

    /// When it began, in milliseconds since 1970.
    pub fn start(self) -> Option<f64> {
        self.0["startTime"].as_f64()
    }

    /// When it ended; `None` while it runs.
    pub fn end(self) -> Option<f64> {
        self.0["endTime"].as_f64().filter(|end| *end > 0.0)
    }

    /// One of its attributes, such as [`attribute::INPUT`]; `null` if it does not have it.
    pub fn attribute(self, name: &str) -> &'a Value {
        &self.0["attributes"][name]
    }

    /// The type of its action, such as `flow` or `tool`, or else its own.
    pub fn kind(self) -> Option<&'a str> {
        let names = [attribute::SUBTYPE, attribute::TYPE];
        names.iter().find_map(|name| self.attribute(name).as_str())
    }

    /// Why it failed, if it did.
    pub fn error(self) -> Option<&'a str> {
        let status = &self.0["status"];
        let has_failed = status["code"] == STATUS_ERROR
            || self.attribute(attribute::STATE) == attribute::STATE_ERROR;
        has_failed.then(|| status["message"].as_str().unwrap_or("failed"))
    }
}
