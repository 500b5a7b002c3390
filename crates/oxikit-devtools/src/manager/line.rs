//! The way from a runtime to the connection it is reached by.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

/// Requests that wait to be written. Whoever asks more waits.
const WAITING_REQUESTS: usize = 64;

/// The way to a connection.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    pub(crate) connection: u64,
    requests: mpsc::Sender<String>,
    orders: mpsc::UnboundedSender<Order>,
}

/// The other end of a [`Line`].
#[derive(Debug)]
pub(crate) struct LineEnd {
    pub(crate) requests: mpsc::Receiver<String>,
    pub(crate) orders: mpsc::UnboundedReceiver<Order>,
}

/// The connection is no more.
#[derive(Debug)]
pub(crate) struct Ended;

/// What must not wait behind requests. A run is cancelled once and a connection
/// asks for another's life once, so the queue has a bound.
#[derive(Debug)]
pub(crate) enum Order {
    /// Cancel the run with this trace, by a request with this id.
    Cancel { request: u128, trace_id: Arc<str> },
    /// Ping the runtime, and tell when anything is heard of it.
    Probe(oneshot::Sender<()>),
    /// Tell the runtime its settings.
    Configure(Arc<str>),
    /// The runtime was given up.
    Close,
}

impl Line {
    pub(crate) fn new(connection: u64) -> (Self, LineEnd) {
        let (requests, requests_end) = mpsc::channel(WAITING_REQUESTS);
        let (orders, orders_end) = mpsc::unbounded_channel();
        let end = LineEnd { requests: requests_end, orders: orders_end };
        (Self { connection, requests, orders }, end)
    }

    /// Queues a request; an error if the connection has ended.
    pub(crate) async fn request(&self, text: String) -> Result<(), Ended> {
        self.requests.send(text).await.map_err(|_| Ended)
    }

    pub(crate) fn order(&self, order: Order) {
        // A connection that has ended needs no orders.
        _ = self.orders.send(order);
    }

    /// Whether the runtime is heard of within this time.
    pub(crate) async fn answers(&self, within: Duration) -> bool {
        let (heard, answer) = oneshot::channel();
        self.order(Order::Probe(heard));
        matches!(tokio::time::timeout(within, answer).await, Ok(Ok(())))
    }
}
