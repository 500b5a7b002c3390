//! Events of a stream of traces. `span_start` and `span_end` are those of the official
//! tools, the others are oxikit's own. Traces and spans are passed on as text, which has to be
//! valid JSON: the functions do not check it.
//!
//! ```
//! use oxikit_wire::trace::event;
//!
//! let text = event::span(event::SPAN_END, "t1", r#"{"spanId":"s1"}"#);
//! assert_eq!(text, r#"{"type":"span_end","traceId":"t1","span":{"spanId":"s1"}}"#);
//! ```

use serde_json::Value;

/// `type` of an event with a whole trace.
pub const TRACE: &str = "trace";

/// `type` of an event with a span that has begun.
pub const SPAN_START: &str = "span_start";

/// `type` of an event with a span that has ended.
pub const SPAN_END: &str = "span_end";

/// `type` of an event that says how many others the reader has missed.
pub const LAGGED: &str = "lagged";

/// `type` of the event that follows the end of a trace.
pub const END: &str = "end";

/// `{"type":"trace","trace":…}`.
pub fn trace(trace: &str) -> String {
    format!(r#"{{"type":"{TRACE}","trace":{trace}}}"#)
}

/// `{"type":…,"traceId":…,"span":…}` with [`SPAN_START`] or [`SPAN_END`].
pub fn span(kind: &str, trace_id: &str, span: &str) -> String {
    format!(r#"{{"type":"{kind}","traceId":{},"span":{span}}}"#, Value::from(trace_id))
}

/// `{"type":"lagged","missed":…}`.
pub fn lagged(missed: u64) -> String {
    format!(r#"{{"type":"{LAGGED}","missed":{missed}}}"#)
}

/// `{"type":"end"}`.
pub fn end() -> String {
    format!(r#"{{"type":"{END}"}}"#)
}
