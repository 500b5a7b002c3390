//! Keeps a panic to the request that caused it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

use axum::body::Body;
use axum::http::Response;
use oxikit_core::Status;

use crate::reply;

/// Answers with `INTERNAL` if the work panics. Runs have guards of their own;
/// this one is for the rest of the user's code, such as context providers,
/// policies and serialisers: without it, a panic would close the connection
/// without an answer.
pub(crate) async fn guarded(work: impl Future<Output = Response<Body>>) -> Response<Body> {
    let mut work = pin!(work);
    std::future::poll_fn(|cx| {
        catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(cx))).unwrap_or_else(|_| {
            tracing::error!("a context provider, a policy or a serialiser panicked");
            Poll::Ready(reply::error(&Status::internal("the code around an action panicked")))
        })
    })
    .await
}
