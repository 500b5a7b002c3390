//! Limits a panic to the request that caused it.
//!
//! Runs catch panics themselves. These functions are for the rest of the user's code, such as
//! context providers, policies and serialisers: without them, a panic would close the
//! connection without a response and without a line in the log.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use futures_util::FutureExt;
use oxikit_core::{Status, panic_text};

/// Runs `work` and turns a panic into an error.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// use oxikit_core::{Status, StatusCode};
///
/// let work = async { panic!("a bug") };
/// let caught: Result<(), Status> = oxikit_http::guarded(work).await;
/// assert_eq!(caught.unwrap_err().code(), StatusCode::Internal);
/// # }
/// ```
///
/// # Errors
///
/// The error of `work`; `INTERNAL` if it panics.
pub fn guarded<T, E: From<Status>>(
    work: impl Future<Output = Result<T, E>>,
) -> impl Future<Output = Result<T, E>> {
    // Combinators, because an async function would have room for `work` twice: as its parameter
    // and where it is awaited.
    let caught = AssertUnwindSafe(work).catch_unwind();
    caught.map(|done| done.unwrap_or_else(|panic| Err(panicked(&*panic).into())))
}

/// Like [`guarded`], for work that is not asynchronous.
///
/// # Errors
///
/// The error of `work`; `INTERNAL` if it panics.
pub fn caught<T>(work: impl FnOnce() -> Result<T, Status>) -> Result<T, Status> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(panicked(&*panic)))
}

fn panicked(panic: &(dyn Any + Send)) -> Status {
    Status::internal(format!(
        "a context provider, a policy or a serialiser of the action panicked: {}",
        panic_text(panic)
    ))
}
