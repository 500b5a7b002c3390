//! Lets a handler answer anything that can become what its action answers.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use oxikit_core::{Context, Emitter, Handler, Result};

/// The handler, with its answer turned into `Out`. It has nobody to stream to.
pub(crate) fn answering<H, Args, Out>(
    handler: H,
) -> impl Fn(H::In, Context) -> BoxFuture<'static, Result<Out>> + Send + Sync + 'static
where
    H: Handler<Args>,
    H::In: Send + 'static,
    H::Out: Into<Out>,
{
    let handler = Arc::new(handler);
    move |input, ctx| {
        let handler = handler.clone();
        Box::pin(async move { Ok(handler.call(input, ctx, Emitter::discard()).await?.into()) })
    }
}
