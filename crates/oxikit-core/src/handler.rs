//! The functions that can become actions.
//!
//! [`Handler`] only knows the shape of a function. The requirements on its types are in
//! [`ActionInput`] and [`ActionOutput`], which the functions that take a handler demand. The
//! compiler then reports a missing derive for the type that lacks it, and not as a function that
//! does not fit.

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Context, Emitter, Result};

/// Input of an action: owned data that is read from JSON and has a schema.
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

/// Output or chunk of an action: data that is written as JSON and has a schema.
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
///
/// It is implemented for all such functions and closures; there is no need to implement it.
///
/// ```
/// use oxikit_core::{Action, ActionKind, Context, Emitter, Result};
///
/// async fn shout(text: String) -> Result<String> {
///     Ok(text.to_uppercase())
/// }
///
/// async fn traced(text: String, ctx: Context) -> Result<String> {
///     Ok(format!("{text} ({})", ctx.trace_id()))
/// }
///
/// async fn streamed(text: String, _: Context, out: Emitter<char>) -> Result<usize> {
///     for letter in text.chars() {
///         out.send(letter).await?;
///     }
///     Ok(text.len())
/// }
///
/// let flow = |name: &str| Action::builder(ActionKind::Flow, name);
/// let actions = [flow("a").handler(shout), flow("b").handler(traced), flow("c").handler(streamed)];
/// // Only the last one has a schema of chunks.
/// assert!(actions[0].descriptor().stream_schema.is_none());
/// assert!(actions[2].descriptor().stream_schema.is_some());
/// ```
#[diagnostic::on_unimplemented(
    message = "this function cannot become an action: its parameters or its result do not fit",
    label = "not one of the accepted functions",
    note = "accepted are `async |input: In| …`, `async |input: In, ctx: Context| …` and `async |input: In, ctx: Context, out: Emitter<Chunk>| …`, or an `async fn` with these parameters",
    note = "the result is an `oxikit::Result<Out>`: end with `Ok(output)`; the error type is `oxikit::Status`",
    note = "an action without input takes `_: ()`"
)]
pub trait Handler<Args>: Send + Sync + 'static {
    /// The type of the input.
    type In;
    /// The type of the output.
    type Out;
    /// The type of the chunks; `()` without an emitter.
    type Chunk;
    /// Whether the function takes an emitter. Only then does the action have a schema of chunks.
    const STREAMS: bool;

    /// Calls the function. Arguments that it does not take are dropped.
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
