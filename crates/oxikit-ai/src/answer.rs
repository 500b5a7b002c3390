//! Converts the answer of a user's handler into the response of its action, so that a retriever,
//! for example, may answer plain documents.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use oxikit_core::{Context, Emitter, Handler, Result};

/// The handler, with its answer converted into `Out`. It does not stream.
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
