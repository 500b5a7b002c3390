//! User code while it runs: in its context, behind its panic guard, in its span.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Poll, ready};

use bytes::Bytes;

use crate::{Context, Result, Status};

pub(crate) type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The one place that polls user code.
///
/// A panic becomes `INTERNAL`. Dropping it before its end drops the user's
/// future, fires its cancellation token and ends its span as cancelled.
pub(crate) struct Execution<'a, T> {
    ctx: Context,
    body: Option<BoxFuture<'a, Result<T>>>,
    show_output: fn(&T) -> Option<Bytes>,
}

impl<'a, T> Execution<'a, T> {
    pub(crate) fn new(
        ctx: Context,
        body: BoxFuture<'a, Result<T>>,
        show_output: fn(&T) -> Option<Bytes>,
    ) -> Self {
        Self {
            ctx,
            body: Some(body),
            show_output,
        }
    }

    pub(crate) fn context(&self) -> &Context {
        &self.ctx
    }

    /// Drops the user's future. Answers the status to report, if it had not
    /// ended before.
    pub(crate) fn cancel(&mut self) -> Option<Status> {
        let body = self.body.take()?;
        self.ctx.cancellation().cancel();
        {
            let _entered = self.ctx.enter();
            drop(body);
        }
        let mut status = Status::cancelled();
        self.ctx.span_ref().end(Err(&mut status));
        Some(status)
    }
}

impl<T> Future for Execution<'_, T> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut std::task::Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let Some(body) = &mut this.body else {
            return Poll::Ready(Err(Status::cancelled()));
        };
        let mut result = {
            let _entered = this.ctx.enter();
            match catch_unwind(AssertUnwindSafe(|| body.as_mut().poll(cx))) {
                Ok(poll) => ready!(poll),
                Err(panic) => Err(panicked(&*panic)),
            }
        };
        this.body = None;
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

fn panicked(panic: &(dyn Any + Send)) -> Status {
    let text = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message");
    Status::internal(format!("the code of the action panicked: {text}"))
}
