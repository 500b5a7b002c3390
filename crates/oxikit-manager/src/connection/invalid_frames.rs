//! Error responses to frames that are not JSON-RPC messages. JSON-RPC requires them; their
//! rate is limited, so that a peer that sends garbage does not make the manager write as much.

use std::time::Duration;

use oxikit_wire::rpc::rpc_code;
use serde_json::value::RawValue;
use tokio::time::Instant;

use super::Connection;
use crate::failure::refusal;

/// Maximum number of such responses per connection and second. Further frames are only counted.
const MAX_PER_SECOND: u32 = 10;

/// Counts the responses of the current second.
#[derive(Debug)]
pub(super) struct ErrorReplyLimit {
    since: Instant,
    used: u32,
}

impl ErrorReplyLimit {
    pub(super) fn new() -> Self {
        Self { since: Instant::now(), used: 0 }
    }

    /// Counts a response. Returns whether it may be sent.
    fn take(&mut self) -> bool {
        if self.since.elapsed() >= Duration::from_secs(1) {
            *self = Self::new();
        }
        self.used += 1;
        self.used <= MAX_PER_SECOND
    }
}

impl Connection {
    /// Counts a frame that is not a JSON-RPC message, and answers it within the rate limit.
    /// `None` is a frame that is not text. Responses must not be passed here: two peers could
    /// answer each other's errors forever.
    pub(super) fn refuse_frame(&mut self, frame: Option<&str>) {
        self.unreadable += 1;
        if self.unreadable == 1 {
            tracing::warn!(
                "received a frame that is not a JSON-RPC message; further ones are only counted"
            );
        }
        if !self.error_replies.take() {
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
