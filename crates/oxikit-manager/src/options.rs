//! The manager's settings: limits that protect the manager from a runtime that sends too much or
//! too slowly, and timeouts that end requests to a runtime that does not answer.

use std::time::Duration;

/// Settings and limits of a [`Runtimes`](super::Runtimes).
///
/// The defaults suit a development machine with a few runtimes. The values are not validated:
/// `pong_timeout` has to be longer than `ping_interval`, because an idle runtime sends nothing but
/// its answers to pings.
///
/// ```
/// use std::time::Duration;
///
/// use oxikit_manager::ManagerOptions;
///
/// let mut options = ManagerOptions::default().with_project_name("shop");
/// options.max_sockets = 16;
/// options.ping_interval = Duration::from_secs(5);
/// options.pong_timeout = Duration::from_secs(10);
/// assert_eq!(options.project_name.as_deref(), Some("shop"));
/// assert_eq!(options.max_message, 32 << 20, "32 MiB");
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ManagerOptions {
    /// URL of the server to which runtimes send spans and logs. Each runtime receives it with
    /// `configure` after its registration. `None`, the default, leaves the choice to the runtime.
    pub telemetry_url: Option<String>,
    /// URL at which runtimes connect, without the token. It is shown with each runtime, and is
    /// not used to listen. The default is `ws://127.0.0.1:3200`.
    pub socket_url: String,
    /// Name of the project folder, as the tools show it.
    pub project_name: Option<String>,
    /// Maximum number of open sockets, registered or not. Further connections are rejected with
    /// 503. The default is 1024.
    pub max_sockets: usize,
    /// Maximum number of unanswered requests per runtime. Further requests fail with
    /// `RESOURCE_EXHAUSTED`. Active runs count, because a run is a request without a response
    /// yet. The default is 256.
    pub max_pending: usize,
    /// Maximum size in bytes of a message of a runtime, and of a line of a V1 stream. The
    /// connection or the run of a larger one ends. The default is 32 MiB.
    pub max_message: usize,
    /// Maximum number of actions that a runtime may list. A longer list fails with
    /// `RESOURCE_EXHAUSTED`. The default is 10,000.
    pub max_actions: usize,
    /// Maximum size in bytes of a list of actions. A larger one fails with
    /// `RESOURCE_EXHAUSTED`. The default is 16 MiB.
    pub max_list: usize,
    /// Maximum number of bytes of incomplete messages on all sockets, beyond 64 KiB each. The
    /// socket that exceeds it is closed. The default is 32 MiB.
    pub max_unfinished: usize,
    /// Time in which a message that has begun must be complete. Then the socket is closed. The
    /// default is 30 s.
    pub message_timeout: Duration,
    /// Time in which a new socket must register a runtime. Then it is closed. The default is
    /// 30 s.
    pub register_timeout: Duration,
    /// Time between two pings of a runtime. The default is 15 s.
    pub ping_interval: Duration,
    /// Time without any message or pong after which the connection of a runtime is closed. The
    /// default is 30 s, which is two pings.
    pub pong_timeout: Duration,
    /// Time in which the owner of a runtime id must answer a ping when another connection
    /// registers the same id, and in which a runtime must react to a request before it is
    /// shown as silent. The default is 1 s.
    pub probe_timeout: Duration,
    /// Time after which an unconfirmed run fails with `UNAVAILABLE` if its runtime sends
    /// nothing and its process does not use the processor. A busy process may only be slow, so its
    /// runs are not ended. The default is 1 s.
    pub silence_timeout: Duration,
    /// Time for which the runs of a runtime outlive its connection, so that it can reconnect. Then
    /// they fail with `UNAVAILABLE`. The default is 800 ms.
    pub reconnect_grace: Duration,
    /// Time in which a runtime must answer any request except `runAction`. Then the request fails
    /// with `DEADLINE_EXCEEDED`. The default is 10 s.
    pub call_timeout: Duration,
    /// Time in which a runtime must acknowledge a cancellation. Then the run ends without it. The
    /// default is 1 s.
    pub cancel_timeout: Duration,
    /// Time in which a reader must take something from a full queue. Then its run ends with
    /// `RESOURCE_EXHAUSTED`. The default is 10 s.
    pub reader_timeout: Duration,
    /// Time between two scans of the folder of runtime files, see
    /// [`Runtimes::discover`](super::Runtimes::discover). The default is 500 ms.
    pub poll_interval: Duration,
    /// Time between two health checks of a runtime that was found by its file. A runtime that fails
    /// a check is removed from the list until a later one succeeds. The default is 5 s.
    pub health_interval: Duration,
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
            message_timeout: Duration::from_secs(30),
            register_timeout: Duration::from_secs(30),
            ping_interval: Duration::from_secs(15),
            pong_timeout: Duration::from_secs(30),
            probe_timeout: Duration::from_secs(1),
            silence_timeout: Duration::from_secs(1),
            reconnect_grace: Duration::from_millis(800),
            call_timeout: Duration::from_secs(10),
            cancel_timeout: Duration::from_secs(1),
            reader_timeout: Duration::from_secs(10),
            poll_interval: Duration::from_millis(500),
            health_interval: Duration::from_secs(5),
        }
    }
}

impl ManagerOptions {
    /// Sets the URL of the server to which runtimes send spans and logs. The URL can be changed
    /// later with [`Runtimes::set_telemetry_url`](super::Runtimes::set_telemetry_url).
    pub fn with_telemetry_url(mut self, url: impl Into<String>) -> Self {
        self.telemetry_url = Some(url.into());
        self
    }

    /// Sets the name of the project folder, as the tools show it.
    pub fn with_project_name(mut self, name: impl Into<String>) -> Self {
        self.project_name = Some(name.into());
        self
    }

    /// Sets the URL at which runtimes connect, without the token.
    pub fn with_socket_url(mut self, url: impl Into<String>) -> Self {
        self.socket_url = url.into();
        self
    }
}
