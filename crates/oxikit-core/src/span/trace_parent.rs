//! The W3C trace context: how a trace goes on in another process.

use std::fmt;

use super::{SpanId, TraceId};

/// The span of another process that a call belongs to, as the header `traceparent` names it.
///
/// ```
/// use oxikit_core::TraceParent;
///
/// let header = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
/// let parent = TraceParent::parse(header).unwrap();
/// assert_eq!(parent.to_string(), header);
/// assert!(TraceParent::parse("00-0-0-01").is_none());
/// ```
///
/// A server gives it to [`Call::below`](crate::Call::below). A client sends
/// [`Context::trace_parent`](crate::Context::trace_parent) with its requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TraceParent {
    /// The trace.
    pub trace_id: TraceId,
    /// The span above the call.
    pub span_id: SpanId,
}

impl TraceParent {
    /// Reads a header; `None` if it is not valid. Versions after `00` may have more members,
    /// which are ignored, as the specification asks.
    pub fn parse(header: &str) -> Option<Self> {
        let mut members = header.trim().split('-');
        let [version, trace_id, span_id, flags] = [(); 4].map(|()| members.next());
        let version = hex(version?, 2)?;
        hex(flags?, 2)?;
        if version == 0xff || (version == 0 && members.next().is_some()) {
            return None;
        }
        let span_id = u64::try_from(hex(span_id?, 16)?).ok()?;
        Some(Self {
            trace_id: TraceId::from_number(hex(trace_id?, 32)?)?,
            span_id: SpanId::from_number(span_id)?,
        })
    }
}

/// The header. Its flag says that the trace is recorded.
impl fmt::Display for TraceParent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{}-{}-01", self.trace_id, self.span_id)
    }
}

/// A number of exactly this many hexadecimal digits, in lower case.
fn hex(text: &str, digits: usize) -> Option<u128> {
    let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    let is_valid = text.len() == digits && text.bytes().all(is_hex);
    is_valid.then(|| u128::from_str_radix(text, 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_that_are_not_valid_name_no_parent() {
        let good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        assert!(TraceParent::parse(good).is_some());
        assert!(TraceParent::parse(&format!("{}-what", good.replace("00-4", "cc-4"))).is_some());
        for bad in [
            "",
            "00",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e473-00f067aa0ba902b7-01",
            "00-+bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        ] {
            assert_eq!(TraceParent::parse(bad), None, "{bad}");
        }
    }
}
