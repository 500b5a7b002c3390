//! The end of a run, and its parsing from the response of a runtime.

use std::sync::Arc;

use bytes::Bytes;
use oxikit_core::StatusCode;
use oxikit_wire::rpc::{ErrorData, RunActionResult};
use serde_json::value::RawValue;

use super::failure::failure;
use super::incoming::{is_trace_id, object};

/// The output of a run that succeeded, and its trace.
///
/// The output is the text that the runtime sent. It is not parsed, so it may be nested more deeply
/// than a JSON parser accepts, and numbers keep all of their digits.
///
/// ```no_run
/// # async fn example(run: oxikit_manager::RunHandle) -> Result<(), Box<dyn std::error::Error>> {
/// let outcome = run.finish().await.map_err(|error| error.message.unwrap_or_default())?;
/// let joke: Option<String> = match &outcome.result {
///     Some(json) => Some(serde_json::from_slice(json)?),
///     None => None,
/// };
/// # Ok(()) }
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RunOutcome {
    /// The output as JSON text. `None` if the action returns nothing.
    pub result: Option<Bytes>,
    /// The trace id, 32 hexadecimal digits. `None` if the runtime did not send one.
    pub trace_id: Option<Arc<str>>,
}

/// The outcome of a run, or the error that it failed with.
pub(crate) type End = Result<RunOutcome, ErrorData>;

/// A successful JSON-RPC answer. `result` is a part of `frame`, so its bytes are shared
/// and not copied.
#[derive(Debug)]
pub(crate) struct Answer<'a> {
    pub(crate) frame: &'a Bytes,
    pub(crate) result: &'a RawValue,
}

impl Answer<'_> {
    /// The whole result as JSON text.
    pub(crate) fn bytes(&self) -> Bytes {
        self.frame.slice_ref(self.result.get().as_bytes())
    }

    /// Reads the answer to `runAction`. `known_trace` is the trace id that the runtime sent
    /// before; it has precedence over the one in the answer.
    pub(crate) fn outcome(&self, known_trace: Option<Arc<str>>) -> End {
        let answer: RunActionResult<'_> = object(self.result.get()).map_err(|error| {
            let message = format!("the runtime sent an invalid result of `runAction`: {error}");
            failure(StatusCode::Internal, message)
        })?;
        let sent = answer.telemetry.and_then(|telemetry| telemetry.trace_id);
        let sent = sent.filter(|id| is_trace_id(id)).map(Arc::from);
        let result = answer.result.map(|result| self.frame.slice_ref(result.get().as_bytes()));
        Ok(RunOutcome { result, trace_id: known_trace.or(sent) })
    }
}
