//! The handle of a connection, for other tasks. `Connection` owns the socket; everything
//! else sends to it through these two queues.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

/// Maximum number of requests that wait to be written. Senders of further ones wait.
const MAX_QUEUED_REQUESTS: usize = 64;

/// Sends requests and commands to one connection. Clones address the same connection.
#[derive(Debug, Clone)]
pub(crate) struct ConnectionHandle {
    /// Distinguishes the connections of this manager.
    pub(crate) id: u64,
    requests: mpsc::Sender<String>,
    commands: mpsc::UnboundedSender<Command>,
}

/// The receiving ends of a [`ConnectionHandle`].
#[derive(Debug)]
pub(crate) struct ConnectionQueues {
    pub(crate) requests: mpsc::Receiver<String>,
    pub(crate) commands: mpsc::UnboundedReceiver<Command>,
}

/// The connection was closed before the request was queued.
#[derive(Debug)]
pub(crate) struct ConnectionClosed;

/// A message to the connection that must not wait behind requests.
///
/// The queue has no configured limit. It stays small, because a run is cancelled once and a
/// registering connection probes the owner of its id once.
#[derive(Debug)]
pub(crate) enum Command {
    /// Cancels the run with this trace id, by a request with this id.
    Cancel { request: u128, trace_id: Arc<str> },
    /// Pings the runtime. The sender is notified of the next message of any kind.
    Probe(oneshot::Sender<()>),
    /// Sends `configure` with these parameters, which are JSON text.
    Configure(Arc<str>),
    /// Closes the connection, because the runtime does not respond.
    Close,
}

impl ConnectionHandle {
    /// Both ends of the queues of a new connection.
    pub(crate) fn new(id: u64) -> (Self, ConnectionQueues) {
        let (requests, request_receiver) = mpsc::channel(MAX_QUEUED_REQUESTS);
        let (commands, command_receiver) = mpsc::unbounded_channel();
        let end = ConnectionQueues { requests: request_receiver, commands: command_receiver };
        (Self { id, requests, commands }, end)
    }

    /// Queues a request. Waits while the queue is full.
    pub(crate) async fn request(&self, text: String) -> Result<(), ConnectionClosed> {
        self.requests.send(text).await.map_err(|_| ConnectionClosed)
    }

    /// Queues a command. Never waits.
    pub(crate) fn send_command(&self, command: Command) {
        // A closed connection needs no commands.
        _ = self.commands.send(command);
    }

    /// Pings the runtime. Returns whether any message arrives within this time.
    pub(crate) async fn responds_within(&self, within: Duration) -> bool {
        let (received, answer) = oneshot::channel();
        self.send_command(Command::Probe(received));
        matches!(tokio::time::timeout(within, answer).await, Ok(Ok(())))
    }
}
