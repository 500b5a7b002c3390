//! The functions that can become actions.

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Context, Emitter, Result, Schema};

/// An async function that can become an action. It takes
/// - its input,
/// - its input and the [`Context`], or
/// - its input, the [`Context`] and an [`Emitter`] for chunks,
///
/// and returns a [`Result`].
pub trait Handler<Args>: Send + Sync + 'static {
    /// What it takes.
    type In: DeserializeOwned + JsonSchema + Send + 'static;
    /// What it returns.
    type Out: Serialize + JsonSchema + Send + Sync + 'static;
    /// What it streams; nothing if it has no emitter.
    type Chunk: Send + Sync + 'static;

    /// Calls it.
    fn call(
        &self,
        input: Self::In,
        ctx: Context,
        out: Emitter<Self::Chunk>,
    ) -> impl Future<Output = Result<Self::Out>> + Send + 'static;

    /// The schema of its chunks, if it streams.
    fn stream_schema() -> Option<Schema>;
}

impl<F, Fut, In, Out> Handler<(In,)> for F
where
    F: Fn(In) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Out>> + Send + 'static,
    In: DeserializeOwned + JsonSchema + Send + 'static,
    Out: Serialize + JsonSchema + Send + Sync + 'static,
{
    type In = In;
    type Out = Out;
    type Chunk = ();

    fn call(
        &self,
        input: In,
        _: Context,
        _: Emitter<()>,
    ) -> impl Future<Output = Result<Out>> + Send + 'static {
        self(input)
    }

    fn stream_schema() -> Option<Schema> {
        None
    }
}

impl<F, Fut, In, Out> Handler<(In, Context)> for F
where
    F: Fn(In, Context) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Out>> + Send + 'static,
    In: DeserializeOwned + JsonSchema + Send + 'static,
    Out: Serialize + JsonSchema + Send + Sync + 'static,
{
    type In = In;
    type Out = Out;
    type Chunk = ();

    fn call(
        &self,
        input: In,
        ctx: Context,
        _: Emitter<()>,
    ) -> impl Future<Output = Result<Out>> + Send + 'static {
        self(input, ctx)
    }

    fn stream_schema() -> Option<Schema> {
        None
    }
}

impl<F, Fut, In, Out, Chunk> Handler<(In, Context, Emitter<Chunk>)> for F
where
    F: Fn(In, Context, Emitter<Chunk>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Out>> + Send + 'static,
    In: DeserializeOwned + JsonSchema + Send + 'static,
    Out: Serialize + JsonSchema + Send + Sync + 'static,
    Chunk: Serialize + JsonSchema + Send + Sync + 'static,
{
    type In = In;
    type Out = Out;
    type Chunk = Chunk;

    fn call(
        &self,
        input: In,
        ctx: Context,
        out: Emitter<Chunk>,
    ) -> impl Future<Output = Result<Out>> + Send + 'static {
        self(input, ctx, out)
    }

    fn stream_schema() -> Option<Schema> {
        Some(Schema::of::<Chunk>())
    }
}
