//! The limits of runtimes that a project may set, `[limits]` in its file.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::manager::ManagerOptions;

/// What is not set stays as it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Limits {
    /// Sockets of runtimes at the same time.
    #[serde(skip_serializing_if = "Option::is_none")]
    sockets: Option<usize>,
    /// How often a runtime is pinged, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    ping_ms: Option<u64>,
    /// A runtime that was not heard of for so long counts as gone.
    #[serde(skip_serializing_if = "Option::is_none")]
    no_pong_ms: Option<u64>,
    /// How long a message may be incomplete.
    #[serde(skip_serializing_if = "Option::is_none")]
    message_ms: Option<u64>,
    /// How long a socket may be open without a runtime.
    #[serde(skip_serializing_if = "Option::is_none")]
    register_ms: Option<u64>,
    /// How long the runs of a runtime outlive its connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    reconnect_ms: Option<u64>,
    /// How many actions a runtime may list.
    #[serde(skip_serializing_if = "Option::is_none")]
    actions: Option<usize>,
}

impl Limits {
    /// Puts those that are set in their places.
    pub(super) fn set(&self, options: &mut ManagerOptions) {
        let time = |millis: Option<u64>, place: &mut Duration| {
            if let Some(millis) = millis {
                *place = Duration::from_millis(millis);
            }
        };
        options.max_sockets = self.sockets.unwrap_or(options.max_sockets);
        time(self.ping_ms, &mut options.ping);
        time(self.no_pong_ms, &mut options.no_pong);
        time(self.message_ms, &mut options.message_time);
        time(self.register_ms, &mut options.register_time);
        time(self.reconnect_ms, &mut options.reconnect_grace);
        options.max_actions = self.actions.unwrap_or(options.max_actions);
    }
}
