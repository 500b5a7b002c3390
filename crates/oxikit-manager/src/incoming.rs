//! Parsing of the small parts of messages that the manager must understand: ids, traces and
//! objects. Everything else is forwarded as text.

use oxikit_wire::rpc::RunTelemetry;
use serde::Deserialize;
use serde_json::value::RawValue;

/// Maximum length of a trace id in bytes; official ones have 32. Longer ones are ignored.
const MAX_TRACE_ID: usize = 64;
/// Maximum length in bytes of the id of a request. A longer one is answered with `null`.
const MAX_ID: usize = 256;

/// Parses the id of one of our requests. The manager sends ids as strings; some runtimes
/// return them as numbers, possibly with a zero fraction (`7.0`).
pub(crate) fn request_id_of(id: Option<&RawValue>) -> Option<u128> {
    let text = id?.get();
    if text.contains('\\') {
        return serde_json::from_str::<String>(text).ok()?.parse().ok();
    }
    if let Some(text) = text.strip_prefix('"') {
        return text.strip_suffix('"')?.parse().ok();
    }
    match text.split_once('.') {
        Some((digits, fraction)) if fraction.bytes().all(|digit| digit == b'0') => {
            digits.parse().ok()
        }
        _ => text.parse().ok(),
    }
}

/// The id of a runtime's request as the response repeats it: a string or number, else `null`.
pub(crate) fn response_id(id: &RawValue) -> &str {
    match id.get() {
        text if text.len() > MAX_ID || text.starts_with(['{', '[']) => "null",
        text => text,
    }
}

/// Parses a JSON object. serde would also accept an array for a struct.
pub(crate) fn object<'a, T: Deserialize<'a>>(text: &'a str) -> serde_json::Result<T> {
    if !text.trim_start().starts_with('{') {
        return Err(serde::de::Error::custom("this is not an object"));
    }
    serde_json::from_str(text)
}

/// The trace id in the state of a run, if it is valid.
pub(crate) fn trace_id_of(state: &RawValue) -> Option<String> {
    let telemetry: RunTelemetry = object(state.get()).ok()?;
    telemetry.trace_id.filter(|id| is_trace_id(id))
}

/// Whether a trace id can be used in a header and in a path.
pub(crate) fn is_trace_id(id: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    !id.is_empty() && id.len() <= MAX_TRACE_ID && id.bytes().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(id: &str, expected: Option<u128>) {
        let id: &RawValue = serde_json::from_str(id).expect("this is JSON");
        assert_eq!(request_id_of(Some(id)), expected, "{id}");
    }

    #[test]
    fn an_id_is_known_as_a_text_and_as_a_number() {
        let most = u128::MAX;
        check("\"7\"", Some(7));
        check("7", Some(7));
        check("7.0", Some(7));
        check("\"\\u0037\"", Some(7));
        check(&format!("\"{most}\""), Some(most));
        check(&most.to_string(), Some(most));
        check(&format!("{most}.00"), Some(most));
        for id in ["null", "7.5", "\"7.0\"", "-7", "\"\"", "{}", "\"x\"", "\"\\n\""] {
            check(id, None);
        }
    }
}
