//! Keeps a panic to the request that caused it.
//!
//! Runs have guards of their own. These are for the rest of the user's code, such as
//! context providers, policies and serialisers: without them, a panic would close the
//! connection without an answer and without a line in the log.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

use oxikit_core::Status;

/// The work, or an internal status if it panics.
pub(crate) async fn guarded<T, E: From<Status>>(
    work: impl Future<Output = Result<T, E>>,
) -> Result<T, E> {
    let mut work = pin!(work);
    std::future::poll_fn(|cx| {
        catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(cx)))
            .unwrap_or_else(|panic| Poll::Ready(Err(panicked(&*panic).into())))
    })
    .await
}

/// The same for work that does not wait.
pub(crate) fn caught<T>(work: impl FnOnce() -> Result<T, Status>) -> Result<T, Status> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Err(panicked(&*panic)))
}

fn panicked(panic: &(dyn Any + Send)) -> Status {
    let text = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message");
    let message =
        format!("a context provider, a policy or a serialiser of the action panicked: {text}");
    Status::internal(message)
}
