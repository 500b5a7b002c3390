//! The functions that can become actions.
//!
//! [`Handler`] only knows the shape of a function. What its types have to be able to do
//! is asked for by [`ActionInput`] and [`ActionOutput`], at the functions that take a handler: a
//! missing derive is then reported for the type that lacks it, and not as a function
//! that does not fit.

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Context, Emitter, Result};

/// What an action can take: owned data that is read from JSON and has a schema.
///
/// Implemented for every type with these traits.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the input of an action",
    label = "takes `{Self}`",
    note = "an input is read from JSON and described by a schema: derive `serde::Deserialize` and `schemars::JsonSchema` for it, and for the types inside of it",
    note = "an input is owned: take `String` instead of `&str`, `Vec<T>` instead of `&[T]`"
)]
pub trait ActionInput: DeserializeOwned + JsonSchema + Send + 'static {}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned + JsonSchema + Send + 'static> ActionInput for T {}

/// What an action can return or stream: data that is written as JSON and has a schema.
///
/// Implemented for every type with these traits.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the output or a chunk of an action",
    label = "returns or streams `{Self}`",
    note = "an output is written as JSON and described by a schema: derive `serde::Serialize` and `schemars::JsonSchema` for it, and for the types inside of it"
)]
pub trait ActionOutput: Serialize + JsonSchema + Send + Sync + 'static {}

#[diagnostic::do_not_recommend]
impl<T: Serialize + JsonSchema + Send + Sync + 'static> ActionOutput for T {}

/// An async function that can become an action. It takes
/// - its input,
/// - its input and the [`Context`], or
/// - its input, the [`Context`] and an [`Emitter`] for chunks,
///
/// and returns a [`Result`].
#[diagnostic::on_unimplemented(
    message = "this function cannot become an action: its parameters or its result do not fit",
    label = "not one of the accepted functions",
    note = "accepted are `async |input: In| …`, `async |input: In, ctx: Context| …` and `async |input: In, ctx: Context, out: Emitter<Chunk>| …`, or an `async fn` with these parameters",
    note = "the result is an `oxikit::Result<Out>`: end with `Ok(output)`; the error type is `oxikit::Status`",
    note = "an action without input takes `_: ()`"
)]
pub trait Handler<Args>: Send + Sync + 'static {
    /// What it takes.
    type In;
    /// What it returns.
    type Out;
    /// What it streams; nothing if it has no emitter.
    type Chunk;
    /// Whether it has an emitter.
    const STREAMS: bool;

    /// Calls it.
    fn call(
        &self,
        input: Self::In,
        ctx: Context,
        out: Emitter<Self::Chunk>,
    ) -> impl Future<Output = Result<Self::Out>> + Send + 'static;
}

impl<F, Fut, In, Out> Handler<(In,)> for F
where
    F: Fn(In) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Out>> + Send + 'static,
{
    type In = In;
    type Out = Out;
    type Chunk = ();
    const STREAMS: bool = false;

    fn call(
        &self,
        input: In,
        _: Context,
        _: Emitter<()>,
    ) -> impl Future<Output = Result<Out>> + Send + 'static {
        self(input)
    }
}

impl<F, Fut, In, Out> Handler<(In, Context)> for F
where
    F: Fn(In, Context) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Out>> + Send + 'static,
{
    type In = In;
    type Out = Out;
    type Chunk = ();
    const STREAMS: bool = false;

    fn call(
        &self,
        input: In,
        ctx: Context,
        _: Emitter<()>,
    ) -> impl Future<Output = Result<Out>> + Send + 'static {
        self(input, ctx)
    }
}

impl<F, Fut, In, Out, Chunk> Handler<(In, Context, Emitter<Chunk>)> for F
where
    F: Fn(In, Context, Emitter<Chunk>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Out>> + Send + 'static,
{
    type In = In;
    type Out = Out;
    type Chunk = Chunk;
    const STREAMS: bool = true;

    fn call(
        &self,
        input: In,
        ctx: Context,
        out: Emitter<Chunk>,
    ) -> impl Future<Output = Result<Out>> + Send + 'static {
        self(input, ctx, out)
    }
}
