//! The limits for runtimes that a project can change, `[limits]` in its settings file.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use oxikit_manager::ManagerOptions;

/// A limit of `None` keeps its default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Limits {
    /// Maximum number of open sockets of runtimes. More are rejected.
    #[serde(skip_serializing_if = "Option::is_none")]
    sockets: Option<usize>,
    /// Time between two pings of a runtime.
    #[serde(skip_serializing_if = "Option::is_none")]
    ping_ms: Option<u64>,
    /// Maximum time without a message or pong. After it the runtime counts as disconnected.
    #[serde(skip_serializing_if = "Option::is_none")]
    no_pong_ms: Option<u64>,
    /// Maximum time to receive a message.
    #[serde(skip_serializing_if = "Option::is_none")]
    message_ms: Option<u64>,
    /// Maximum time from the opening of a socket to the registration of its runtime.
    #[serde(skip_serializing_if = "Option::is_none")]
    register_ms: Option<u64>,
    /// Time that the runs of a runtime wait for it to reconnect.
    #[serde(skip_serializing_if = "Option::is_none")]
    reconnect_ms: Option<u64>,
    /// Maximum number of actions that a runtime may list.
    #[serde(skip_serializing_if = "Option::is_none")]
    actions: Option<usize>,
}

impl Limits {
    /// Sets the limits that are not `None`.
    pub(super) fn set(&self, options: &mut ManagerOptions) {
        let time = |millis: Option<u64>, target: &mut Duration| {
            if let Some(millis) = millis {
                *target = Duration::from_millis(millis);
            }
        };
        options.max_sockets = self.sockets.unwrap_or(options.max_sockets);
        time(self.ping_ms, &mut options.ping_interval);
        time(self.no_pong_ms, &mut options.pong_timeout);
        time(self.message_ms, &mut options.message_timeout);
        time(self.register_ms, &mut options.register_timeout);
        time(self.reconnect_ms, &mut options.reconnect_grace);
        options.max_actions = self.actions.unwrap_or(options.max_actions);
    }
}
