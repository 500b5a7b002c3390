//! User code while it runs: in its context, behind its panic guard, in its span.
//!
//! Cancellation has two ways in. The owner drops the [`Execution`], or a handle given out by
//! [`watch_cancellation`](Execution::watch_cancellation) fires the token. Both end in `cancel`,
//! which does three things in this order: it fires the token, drops the user's future, and ends
//! the span as cancelled. A future that has already returned is never cancelled.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::Poll;

use bytes::Bytes;
use tokio_util::sync::WaitForCancellationFutureOwned;

use crate::{Context, Result, Status, panic_text};

pub(crate) type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The one place that polls user code.
///
/// A panic becomes `INTERNAL`. Dropping it before its end drops the user's
/// future, fires its cancellation token and ends its span as cancelled.
pub(crate) struct Execution<'a, T> {
    ctx: Context,
    body: Option<BoxFuture<'a, Result<T>>>,
    show_output: fn(&T) -> Option<Bytes>,
    cancellation: Watch,
}

/// Whether the cancellation token has to be watched while the execution runs.
enum Watch {
    /// No handle to the token was given out: only the owner can cancel, by dropping the
    /// execution.
    No,
    /// A handle was given out, so the token can fire at any time. No waiter is registered yet.
    Yes,
    /// A waiter is registered: the token wakes the task.
    Waiting(Pin<Box<WaitForCancellationFutureOwned>>),
}

impl<'a, T> Execution<'a, T> {
    pub(crate) fn new(
        ctx: Context,
        body: BoxFuture<'a, Result<T>>,
        show_output: fn(&T) -> Option<Bytes>,
    ) -> Self {
        Self { ctx, body: Some(body), show_output, cancellation: Watch::No }
    }

    pub(crate) fn context(&self) -> &Context {
        &self.ctx
    }

    /// From now on the execution also ends when its token is fired from elsewhere.
    pub(crate) fn watch_cancellation(&mut self) {
        if matches!(self.cancellation, Watch::No) {
            self.cancellation = Watch::Yes;
        }
    }

    /// Whether the token was fired from elsewhere and the execution has not yet ended.
    pub(crate) fn is_called_off(&self) -> bool {
        !matches!(self.cancellation, Watch::No)
            && self.body.is_some()
            && self.ctx.cancellation().is_cancelled()
    }

    /// Drops the user's future. Returns the status to report, or `None` if it had
    /// ended before.
    fn cancel(&mut self) -> Option<Status> {
        self.body.as_ref()?;
        // First the token, so that destructors and tasks of the user see it.
        self.ctx.cancellation().cancel();
        self.drop_body();
        let mut status = Status::cancelled();
        self.ctx.span_ref().end(Err(&mut status));
        Some(status)
    }

    /// Drops the user's future inside its context. Destructors are user code too: a panic in one
    /// of them must not reach the code that drops a run, such as a connection.
    fn drop_body(&mut self) {
        let body = self.body.take();
        let _entered = self.ctx.enter();
        if catch_unwind(AssertUnwindSafe(|| drop(body))).is_err() {
            tracing::error!(ctx = ?self.ctx, "a destructor in the code of the action panicked");
        }
    }

    /// Whether the token has fired. If not, the token wakes the task when it fires.
    fn poll_cancellation(&mut self, cx: &mut std::task::Context<'_>) -> bool {
        if matches!(self.cancellation, Watch::Yes) {
            let token = self.ctx.cancellation().clone();
            self.cancellation = Watch::Waiting(Box::pin(token.cancelled_owned()));
        }
        match &mut self.cancellation {
            Watch::Waiting(fired) => fired.as_mut().poll(cx).is_ready(),
            Watch::No | Watch::Yes => false,
        }
    }
}

impl<T> Future for Execution<'_, T> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut std::task::Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        if this.is_called_off() {
            return Poll::Ready(Err(this.cancel().unwrap_or_else(Status::cancelled)));
        }
        let Some(body) = &mut this.body else {
            return Poll::Ready(Err(Status::cancelled()));
        };
        let polled = {
            let _entered = this.ctx.enter();
            catch_unwind(AssertUnwindSafe(|| body.as_mut().poll(cx)))
        };
        let mut result = match polled {
            Ok(Poll::Ready(result)) => result,
            // A waiter is registered only after the first `Pending`: it costs an allocation and
            // a lock, and code that never waits does not need one.
            Ok(Poll::Pending) if this.poll_cancellation(cx) => {
                return Poll::Ready(Err(this.cancel().unwrap_or_else(Status::cancelled)));
            }
            Ok(Poll::Pending) => return Poll::Pending,
            Err(panic) => Err(panicked(&*panic)),
        };
        // The future is dropped before the span ends, so that its destructors are inside the span.
        this.drop_body();
        match &mut result {
            Ok(output) => this.ctx.span_ref().end(Ok(&|| (this.show_output)(output))),
            Err(status) => this.ctx.span_ref().end(Err(status)),
        }
        Poll::Ready(result)
    }
}

impl<T> Drop for Execution<'_, T> {
    fn drop(&mut self) {
        self.cancel();
    }
}

/// Calls user code that makes a future; a panic becomes a failed future.
pub(crate) fn guarded<'a, T: 'a, Fut: Future<Output = Result<T>> + Send + 'a>(
    ctx: &Context,
    make: impl FnOnce() -> Fut,
) -> BoxFuture<'a, Result<T>> {
    let _entered = ctx.enter();
    match catch_unwind(AssertUnwindSafe(make)) {
        Ok(future) => Box::pin(future),
        Err(panic) => {
            let status = panicked(&*panic);
            Box::pin(async move { Err(status) })
        }
    }
}

fn panicked(panic: &(dyn Any + Send)) -> Status {
    Status::internal(format!("the code of the action panicked: {}", panic_text(panic)))
}
