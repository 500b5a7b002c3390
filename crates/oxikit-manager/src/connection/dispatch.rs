//! Dispatch of the messages of a runtime to the runs and calls that they belong to.

use std::time::Duration;

use bytes::Bytes;
use oxikit_core::StatusCode;
use oxikit_http::websocket::Utf8Bytes;
use oxikit_wire::rpc::{RpcMessage, RuntimeMessage, method, rpc_code};
use serde_json::value::RawValue;
use tokio::time::Instant;

use super::{BlockedChunk, Connection, READ_PAUSE, READER_BYTES_PER_MICROSECOND};
use crate::chunk_queue::Offer;
use crate::failure::{failure, from_rpc, refusal};
use crate::incoming::{object, request_id_of, trace_id_of};
use crate::outcome::Answer;

/// The step that must be done before the next message.
pub(super) enum NextStep {
    /// Nothing; handle the next message.
    Continue,
    /// Wait for the queue of a run.
    Wait(BlockedChunk),
    /// Register the runtime, which may take a round trip to another connection.
    Register(Utf8Bytes),
}

impl Connection {
    /// Handles one message. Everything but a registration is done at once; a chunk for a full
    /// queue is returned.
    pub(super) fn dispatch(&mut self, message: Utf8Bytes) -> NextStep {
        // One pass over the text: `RuntimeMessage` borrows the parts that are needed and skips the
        // payloads, which are forwarded as slices of the frame.
        let Ok(parsed) = object::<RuntimeMessage<'_>>(&message) else {
            return self.dispatch_unexpected(message);
        };
        let Some(method) = parsed.method.as_deref() else {
            match parsed {
                RuntimeMessage { id: None, result: None, error: None, .. } => {
                    self.refuse_frame(Some(&message));
                }
                parsed => self.complete_request(&message, &parsed),
            }
            return NextStep::Continue;
        };
        let notice = parsed.params.as_ref();
        let request = notice.and_then(|notice| request_id_of(notice.request_id));
        match method {
            method::STREAM_CHUNK => {
                let chunk = notice.and_then(|notice| notice.chunk);
                return self.chunk(&message, request, chunk);
            }
            method::RUN_ACTION_STATE => {
                let trace_id = notice.and_then(|notice| notice.state).and_then(trace_id_of);
                if let (Some(peer), Some(request), Some(trace_id)) = (&self.peer, request, trace_id)
                {
                    peer.run_started(request, &trace_id);
                }
            }
            method::REGISTER => return NextStep::Register(message),
            method => self.refuse_method(parsed.id, method),
        }
        NextStep::Continue
    }

    /// Handles a message whose parameters have an unexpected form: an error response if it is
    /// a request, and a count if it is not a JSON-RPC message.
    fn dispatch_unexpected(&mut self, message: Utf8Bytes) -> NextStep {
        let Ok(parsed) = object::<RpcMessage<'_>>(&message) else {
            self.refuse_frame(Some(&message));
            return NextStep::Continue;
        };
        match parsed.method.as_deref() {
            Some(method::REGISTER) => return NextStep::Register(message),
            Some(method) => self.refuse_method(parsed.id, method),
            // A response. It is never answered, whatever its form.
            None => {}
        }
        NextStep::Continue
    }

    /// Answers a request with an unknown method. Notifications have no id and get no response.
    fn refuse_method(&mut self, id: Option<&RawValue>, method: &str) {
        // The name is repeated in the response and must not make it large.
        let method: String = method.chars().take(64).collect();
        let message = format!("Method not found: {method}");
        self.reply(id, Err(refusal(rpc_code::METHOD_NOT_FOUND, message)));
    }

    /// Completes the request with this id. Only requests to this runtime are found, so no
    /// runtime can answer for another.
    fn complete_request(&self, message: &Utf8Bytes, parsed: &RuntimeMessage<'_>) {
        let (Some(peer), Some(request)) = (&self.peer, request_id_of(parsed.id)) else { return };
        let frame = AsRef::<Bytes>::as_ref(message);
        let answer = match (parsed.error, parsed.result) {
            (Some(error), _) => Err(from_rpc(error)),
            (None, Some(result)) => Ok(Answer { frame, result }),
            (None, None) => Err(failure(
                StatusCode::Internal,
                "the runtime answered with neither a result nor an error",
            )),
        };
        peer.complete(request, answer);
    }

    /// Queues a chunk for the reader of its run.
    fn chunk(
        &self,
        message: &Utf8Bytes,
        request: Option<u128>,
        chunk: Option<&RawValue>,
    ) -> NextStep {
        let (Some(peer), Some(request), Some(chunk)) = (&self.peer, request, chunk) else {
            return NextStep::Continue;
        };
        // Chunks of a run that has ended or was abandoned are dropped.
        let Some(run) = peer.run(request) else { return NextStep::Continue };
        let chunk = AsRef::<Bytes>::as_ref(message).slice_ref(chunk.get().as_bytes());
        match run.queue.offer(chunk) {
            Offer::Accepted => NextStep::Continue,
            Offer::Full(chunk) => {
                let pause = READ_PAUSE
                    + Duration::from_micros(chunk.len() as u64 / READER_BYTES_PER_MICROSECOND);
                // A `reader_timeout` that is shorter than the pause takes precedence.
                let until = Instant::now() + pause.min(self.runtimes.options().reader_timeout);
                NextStep::Wait(BlockedChunk { run, request, chunk, until })
            }
            Offer::Overflowed => {
                self.give_up(&run, request);
                NextStep::Continue
            }
        }
    }
}
