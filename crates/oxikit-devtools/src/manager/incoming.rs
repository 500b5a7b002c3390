//! What runtimes send, read.

use std::sync::Arc;

use bytes::Bytes;
use oxikit_core::StatusCode;
use oxikit_wire::rpc::{ErrorData, RunActionResult, RunTelemetry};
use serde::Deserialize;
use serde_json::value::RawValue;

use super::failure::failure;
use super::peer::Answer;
use super::run::{Run, RunOutcome};

/// No trace id is longer; official ones have 32 characters.
const MAX_TRACE_ID: usize = 64;
/// No id of a request is longer than what is sent back.
const MAX_ID: usize = 256;

/// The request that is meant. Ids are sent as text and may come back as numbers, whose
/// fraction is nothing then.
pub(crate) fn request_of(id: Option<&RawValue>) -> Option<u128> {
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

/// The id of a runtime's request as it is sent back: text or number, else `null`.
pub(crate) fn echoed(id: &RawValue) -> &str {
    match id.get() {
        text if text.len() > MAX_ID || text.starts_with(['{', '[']) => "null",
        text => text,
    }
}

/// Reads an object. Without this an array would do too, member by member.
pub(crate) fn object<'a, T: Deserialize<'a>>(text: &'a str) -> serde_json::Result<T> {
    if !text.trim_start().starts_with('{') {
        return Err(serde::de::Error::custom("this is not an object"));
    }
    serde_json::from_str(text)
}

/// The trace that a state names, if it is one.
pub(crate) fn trace_of(state: &RawValue) -> Option<String> {
    let telemetry: RunTelemetry = object(state.get()).ok()?;
    telemetry.trace_id.filter(|id| is_trace_id(id))
}

/// Whether it can stand in a header and a path.
pub(crate) fn is_trace_id(id: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    !id.is_empty() && id.len() <= MAX_TRACE_ID && id.bytes().all(is_plain)
}

impl Answer<'_> {
    /// The whole result.
    pub(crate) fn bytes(&self) -> Bytes {
        self.frame.slice_ref(self.result.get().as_bytes())
    }

    /// The result of a run.
    pub(crate) fn outcome(&self, run: &Run) -> Result<RunOutcome, ErrorData> {
        outcome(self.frame, self.result, run)
    }
}

/// Reads the good answer to `runAction`, a part of `frame`.
pub(crate) fn outcome(
    frame: &Bytes,
    result: &RawValue,
    run: &Run,
) -> Result<RunOutcome, ErrorData> {
    let answer: RunActionResult<'_> = object(result.get()).map_err(|error| {
        let message = format!("the runtime answered something that is no result: {error}");
        failure(StatusCode::Internal, message)
    })?;
    let told = answer.telemetry.and_then(|telemetry| telemetry.trace_id);
    let told = told.filter(|id| is_trace_id(id)).map(Arc::from);
    Ok(RunOutcome {
        result: answer.result.map(|result| frame.slice_ref(result.get().as_bytes())),
        trace_id: run.mailbox.trace_id().or(told),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(id: &str, expected: Option<u128>) {
        let id: &RawValue = serde_json::from_str(id).expect("this is JSON");
        assert_eq!(request_of(Some(id)), expected, "{id}");
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
