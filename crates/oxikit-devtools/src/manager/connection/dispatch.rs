//! What a runtime says, handed to whom it is meant for.

use std::time::Duration;

use bytes::Bytes;
use oxikit_core::StatusCode;
use oxikit_wire::rpc::{RpcMessage, RuntimeMessage, rpc_code};
use serde_json::value::RawValue;
use tokio::time::Instant;
use tokio_tungstenite::tungstenite::Utf8Bytes;

use super::{Connection, Full, PAUSE, READ_PER_MICRO};
use crate::manager::failure::{failure, from_rpc, refusal};
use crate::manager::incoming::{object, request_of, trace_of};
use crate::manager::mailbox::Offered;
use crate::manager::peer::Answer;

/// What is to be done with a message before the next one.
pub(super) enum Next {
    Go,
    Wait(Full),
    Register(Utf8Bytes),
}

impl Connection {
    pub(super) fn dispatch(&mut self, message: Utf8Bytes) -> Next {
        let Ok(parsed) = object::<RuntimeMessage<'_>>(&message) else {
            return self.dispatch_odd(message);
        };
        let Some(method) = parsed.method.as_deref() else {
            match parsed {
                RuntimeMessage { id: None, result: None, error: None, .. } => {
                    self.refuse_frame(Some(&message));
                }
                parsed => self.answered(&message, &parsed),
            }
            return Next::Go;
        };
        let notice = parsed.params.as_ref();
        let request = notice.and_then(|notice| request_of(notice.request_id));
        match method {
            "streamChunk" => {
                let chunk = notice.and_then(|notice| notice.chunk);
                return self.chunk(&message, request, chunk);
            }
            "runActionState" => {
                let trace_id = notice.and_then(|notice| notice.state).and_then(trace_of);
                if let (Some(peer), Some(request), Some(trace_id)) = (&self.peer, request, trace_id)
                {
                    peer.run_started(request, &trace_id);
                }
            }
            "register" => return Next::Register(message),
            method => self.refuse_method(parsed.id, method),
        }
        Next::Go
    }

    /// A message whose parameters are of another form. It is answered if it is a
    /// request, and counted if it is nothing.
    fn dispatch_odd(&mut self, message: Utf8Bytes) -> Next {
        let Ok(parsed) = object::<RpcMessage<'_>>(&message) else {
            self.refuse_frame(Some(&message));
            return Next::Go;
        };
        match parsed.method.as_deref() {
            Some("register") => return Next::Register(message),
            Some(method) => self.refuse_method(parsed.id, method),
            // An answer, of whatever form.
            None => {}
        }
        Next::Go
    }

    fn refuse_method(&mut self, id: Option<&RawValue>, method: &str) {
        let method: String = method.chars().take(64).collect();
        let message = format!("Method not found: {method}");
        self.reply(id, Err(refusal(rpc_code::METHOD_NOT_FOUND, message)));
    }

    /// Only what this runtime was asked can be answered here.
    fn answered(&self, message: &Utf8Bytes, parsed: &RuntimeMessage<'_>) {
        let (Some(peer), Some(request)) = (&self.peer, request_of(parsed.id)) else { return };
        let frame = AsRef::<Bytes>::as_ref(message);
        let answer = match (parsed.error, parsed.result) {
            (Some(error), _) => Err(from_rpc(error)),
            (None, Some(result)) => Ok(Answer { frame, result }),
            (None, None) => Err(failure(
                StatusCode::Internal,
                "the runtime answered with neither a result nor an error",
            )),
        };
        peer.answered(request, answer);
    }

    fn chunk(&self, message: &Utf8Bytes, request: Option<u128>, chunk: Option<&RawValue>) -> Next {
        let (Some(peer), Some(request), Some(chunk)) = (&self.peer, request, chunk) else {
            return Next::Go;
        };
        let Some(run) = peer.run(request) else { return Next::Go };
        let chunk = AsRef::<Bytes>::as_ref(message).slice_ref(chunk.get().as_bytes());
        match run.mailbox.offer(chunk) {
            Offered::Taken => Next::Go,
            Offered::Full(chunk) => {
                let pause = PAUSE + Duration::from_micros(chunk.len() as u64 / READ_PER_MICRO);
                let until = Instant::now() + pause.min(self.runtimes.options().reader_time);
                Next::Wait(Full { run, request, chunk, until })
            }
            Offered::Overflowed => {
                self.give_up(&run, request);
                Next::Go
            }
        }
    }
}
