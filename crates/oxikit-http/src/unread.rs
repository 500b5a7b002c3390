//! Drains request bodies that the handler has not read to their end.
//!
//! If a server closes a connection while the client still sends, the operating system resets
//! it, and the client may never receive the response. So the server reads and drops the rest
//! of the body before it sends the response.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::http::Request;
use http_body_util::BodyExt;
use hyper::body::{Frame, Incoming, SizeHint};

/// Maximum number of bytes that are drained. A client that sends more may never receive the
/// response.
const MAX_BYTES: usize = 64 << 20;
/// Maximum time to drain a body. The response is sent after it in any case.
const MAX_TIME: Duration = Duration::from_secs(5);
/// A body is treated as ended when nothing arrives for this long.
const QUIET: Duration = Duration::from_millis(100);

/// Answers a request, then reads and drops what `answer` has left of its body.
///
/// ```
/// use axum::body::Body;
/// use axum::http::{Request, Response};
/// use hyper::body::Incoming;
/// use oxikit_http::answer_and_drain;
///
/// async fn respond(request: Request<Incoming>) -> Response<Body> {
///     answer_and_drain(request, handle).await
/// }
/// # async fn handle(_: Request<Body>) -> Response<Body> { Response::new(Body::empty()) }
/// # _ = respond;
/// ```
pub async fn answer_and_drain<F, Fut>(request: Request<Incoming>, answer: F) -> Fut::Output
where
    F: FnOnce(Request<Body>) -> Fut,
    Fut: Future,
{
    let (head, body) = request.into_parts();
    if body.is_end_stream() {
        return answer(Request::from_parts(head, Body::new(body))).await;
    }
    let body = SharedBody(Arc::new(Mutex::new(body)));
    let answered = answer(Request::from_parts(head, Body::new(body.clone()))).await;
    body.drain().await;
    answered
}

/// A request body that the handler reads and the server drains afterwards. Clones share it.
#[derive(Debug, Clone)]
struct SharedBody(Arc<Mutex<Incoming>>);

impl SharedBody {
    /// Reads and drops the rest of the body, unless the response still reads it, as a stream
    /// does that echoes its request.
    async fn drain(mut self) {
        // The handler has dropped its clone unless its response needs it.
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

impl HttpBody for SharedBody {
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
