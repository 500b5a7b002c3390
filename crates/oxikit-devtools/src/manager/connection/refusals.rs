//! What is no message is answered, as JSON-RPC asks, but not for ever: whoever sends
//! garbage must not make us write as much.

use std::time::Duration;

use oxikit_wire::rpc::rpc_code;
use serde_json::value::RawValue;
use tokio::time::Instant;

use super::Connection;
use crate::manager::failure::refusal;

/// Maximum number of such answers per connection and second.
const MAX_A_SECOND: u32 = 10;

/// How many more are answered.
#[derive(Debug)]
pub(super) struct Allowance {
    since: Instant,
    used: u32,
}

impl Allowance {
    pub(super) fn new() -> Self {
        Self { since: Instant::now(), used: 0 }
    }

    fn take(&mut self) -> bool {
        if self.since.elapsed() >= Duration::from_secs(1) {
            *self = Self::new();
        }
        self.used += 1;
        self.used <= MAX_A_SECOND
    }
}

impl Connection {
    /// A frame that is no message; `None` if it is not even text. It is counted and, as
    /// long as there are few, answered. An answer of the runtime never comes here, or
    /// two peers could answer each other's errors for ever.
    pub(super) fn refuse_frame(&mut self, frame: Option<&str>) {
        self.unreadable += 1;
        if self.unreadable == 1 {
            tracing::warn!("a runtime sent what is no message; further ones are counted");
        }
        if !self.refusals.take() {
            return;
        }
        let is_json = |text| serde_json::from_str::<&RawValue>(text).is_ok();
        let (code, message) = match frame {
            Some(text) if is_json(text) => {
                (rpc_code::INVALID_REQUEST, "Invalid Request: send one JSON-RPC message a frame")
            }
            _ => (rpc_code::PARSE_ERROR, "Parse error: a frame must be JSON"),
        };
        self.reply(Some(RawValue::NULL), Err(refusal(code, message)));
    }
}
