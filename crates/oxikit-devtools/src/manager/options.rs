//! The manager's settings.

use std::time::Duration;

/// What a [`Runtimes`](super::Runtimes) is to know and where its limits are.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ManagerOptions {
    /// Where runtimes are to send spans and logs.
    pub telemetry_url: Option<String>,
    /// Where runtimes dial in, without the token: shown with each of them.
    pub socket_url: String,
    /// The folder of the project, as the tools show it.
    pub project_name: Option<String>,
    /// Sockets at the same time; the next one gets 503.
    pub max_sockets: usize,
    /// Requests that wait for an answer of one runtime; the next one fails with
    /// `RESOURCE_EXHAUSTED`.
    pub max_pending: usize,
    /// The largest message of a runtime, and the longest line of a stream.
    pub max_message: usize,
    /// How many actions a runtime may list; a longer list is not read at all.
    pub max_actions: usize,
    /// The largest list of actions.
    pub max_list: usize,
    /// What all sockets together may hold of incomplete messages, beyond 64 KiB each;
    /// the one that grows beyond it is closed.
    pub max_unfinished: usize,
    /// How long a message may be incomplete.
    pub message_time: Duration,
    /// How long a socket may be open without a runtime.
    pub register_time: Duration,
    /// How often a runtime is pinged.
    pub ping: Duration,
    /// A runtime that was not heard of for so long counts as gone.
    pub no_pong: Duration,
    /// How soon the owner of an id must answer when somebody else wants it, and a
    /// runtime a call before it is shown as silent.
    pub probe: Duration,
    /// A run is told to its caller as `UNAVAILABLE` if its runtime, asked for it, gives
    /// no sign of life for so long and is not at work with something else.
    pub sign_of_life: Duration,
    /// How long the runs of a runtime outlive its connection, for it to come back.
    pub reconnect_grace: Duration,
    /// How long a runtime has to answer anything but a run.
    pub call_time: Duration,
    /// How long a runtime has to acknowledge a cancel before the run is given up
    /// without it.
    pub cancel_time: Duration,
    /// How long a reader may take nothing from a full queue before its run is
    /// given up.
    pub reader_time: Duration,
    /// How often runtime files are looked for.
    pub poll: Duration,
    /// How often a runtime of a file is asked whether it is well.
    pub health: Duration,
}

impl Default for ManagerOptions {
    fn default() -> Self {
        Self {
            telemetry_url: None,
            socket_url: "ws://127.0.0.1:3200".to_owned(),
            project_name: None,
            max_sockets: 1024,
            max_pending: 256,
            max_message: 32 << 20,
            max_actions: 10_000,
            max_list: 16 << 20,
            max_unfinished: 32 << 20,
            message_time: Duration::from_secs(30),
            register_time: Duration::from_secs(30),
            ping: Duration::from_secs(15),
            no_pong: Duration::from_secs(30),
            probe: Duration::from_secs(1),
            sign_of_life: Duration::from_secs(1),
            reconnect_grace: Duration::from_millis(800),
            call_time: Duration::from_secs(10),
            cancel_time: Duration::from_secs(1),
            reader_time: Duration::from_secs(10),
            poll: Duration::from_millis(500),
            health: Duration::from_secs(5),
        }
    }
}

impl ManagerOptions {
    /// Where runtimes are to send spans and logs.
    pub fn with_telemetry_url(mut self, url: impl Into<String>) -> Self {
        self.telemetry_url = Some(url.into());
        self
    }

    /// The folder of the project, as the tools show it.
    pub fn with_project_name(mut self, name: impl Into<String>) -> Self {
        self.project_name = Some(name.into());
        self
    }

    /// Where runtimes dial in, without the token.
    pub fn with_socket_url(mut self, url: impl Into<String>) -> Self {
        self.socket_url = url.into();
        self
    }
}
