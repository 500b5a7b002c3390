//! Bodies that nobody has read to their end.
//!
//! A client that still sends when it is answered may find its connection reset, and not
//! the answer. So what is left of a body is read away before the answer goes out.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::http::Request;
use http_body_util::BodyExt;
use hyper::body::{Frame, Incoming, SizeHint};

/// A client that sends more than this for nothing has to live without the answer.
const MAX_BYTES: usize = 64 << 20;
const MAX_TIME: Duration = Duration::from_secs(5);
/// One that is silent for so long has sent what it had to send.
const QUIET: Duration = Duration::from_millis(100);

/// A body that is lent to a route.
#[derive(Clone)]
pub(super) struct Lent(Arc<Mutex<Incoming>>);

/// Lends the body of a request to whoever answers it; nothing if it has none.
pub(super) fn lend(request: Request<Incoming>) -> (Request<Body>, Option<Lent>) {
    let (head, body) = request.into_parts();
    if body.is_end_stream() {
        return (Request::from_parts(head, Body::new(body)), None);
    }
    let lent = Lent(Arc::new(Mutex::new(body)));
    (Request::from_parts(head, Body::new(lent.clone())), Some(lent))
}

impl Lent {
    /// Reads what is left, unless the answer still reads it.
    pub(super) async fn read_away(mut self) {
        if Arc::strong_count(&self.0) > 1 || self.is_end_stream() {
            return;
        }
        let read = async {
            let mut left = MAX_BYTES;
            while let Ok(Some(Ok(frame))) = tokio::time::timeout(QUIET, self.frame()).await {
                let Some(rest) = left.checked_sub(frame.data_ref().map_or(0, Bytes::len)) else {
                    return;
                };
                left = rest;
            }
        };
        _ = tokio::time::timeout(MAX_TIME, read).await;
    }

    fn body(&self) -> MutexGuard<'_, Incoming> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HttpBody for Lent {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        Pin::new(&mut *self.body()).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body().is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body().size_hint()
    }
}
