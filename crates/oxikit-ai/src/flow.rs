//! Flows: the application's own functions as actions, with typed input, output and chunks.
//!
//! A [`Flow`] is a typed handle in front of an [`Action`]. Calls through it are checked and
//! traced like calls through a server or the developer tools.

use std::fmt;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Poll, ready};

use futures_core::Stream;
use oxikit_core::{
    Action, ActionInput, ActionKind, ActionOutput, Call, Event, Handler, Result, Run, Status,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Oxikit, Registry};

/// A flow: an async function whose input is checked by its schema, whose runs are traced, and
/// that servers and the developer tools can call. Cheap to clone. Defined by
/// [`Oxikit::define_flow`].
pub struct Flow<In, Out, Chunk = ()> {
    action: Action,
    registry: Registry,
    types: PhantomData<fn(In) -> (Out, Chunk)>,
}

impl Oxikit {
    /// Defines a flow. The function takes its input, and if it wants them, the
    /// [`Context`](crate::Context) and an [`Emitter`](crate::Emitter).
    ///
    /// A second flow of the same name replaces the first, with a warning in the log (on
    /// the standard error if no log is set up).
    ///
    /// ```
    /// use oxikit::Oxikit;
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> oxikit::Result<()> {
    /// let ai = Oxikit::builder().build()?;
    /// let greet = ai.define_flow("greet", |name: String| async move { Ok(format!("Hello, {name}!")) });
    /// assert_eq!(greet.run("Ada").await?, "Hello, Ada!");
    /// # Ok(()) }
    /// ```
    pub fn define_flow<H, Args>(
        &self,
        name: impl Into<String>,
        function: H,
    ) -> Flow<H::In, H::Out, H::Chunk>
    where
        H: Handler<Args>,
        H::In: ActionInput,
        H::Out: ActionOutput,
        H::Chunk: ActionOutput,
    {
        let action = Action::builder(ActionKind::Flow, name).handler(function);
        self.registry().register(action.clone());
        Flow { action, registry: self.registry().clone(), types: PhantomData }
    }
}

impl<In, Out, Chunk> Flow<In, Out, Chunk>
where
    In: Serialize + Send + Sync + 'static,
    Out: DeserializeOwned + 'static,
    Chunk: DeserializeOwned + 'static,
{
    /// Runs the flow. A flow over `String` takes a `&str` too.
    ///
    /// # Errors
    ///
    /// The status with which the flow failed, or `INVALID_ARGUMENT` if the input does not fit
    /// the schema.
    pub async fn run(&self, input: impl FlowInput<In>) -> Result<Out> {
        self.action.run(self.call(input.into_input())).await?.parse()
    }

    /// Runs the flow and reads its chunks while it runs. A flow over `String` takes a `&str`
    /// too.
    ///
    /// # Errors
    ///
    /// `INVALID_ARGUMENT` if the input does not fit the schema. A failure of the flow itself
    /// is reported by the [`FlowStream`].
    pub fn stream(&self, input: impl FlowInput<In>) -> Result<FlowStream<Out, Chunk>> {
        let run = self.action.start(self.call(input.into_input()))?;
        Ok(FlowStream { run, output: None, types: PhantomData })
    }

    fn call(&self, input: In) -> Call {
        Call::new(input).in_registry(&self.registry)
    }
}

/// A value that a flow over `In` takes as its input: an `In`, or borrowed text for `String`.
///
/// The standard library's `Into` would take more, but then the type of a literal could not be
/// inferred: `flow.run(3)` would be an error for a flow over `u32`.
#[diagnostic::on_unimplemented(
    message = "the flow takes `{In}`, not `{Self}`",
    label = "this is not `{In}`"
)]
pub trait FlowInput<In> {
    /// The input itself.
    fn into_input(self) -> In;
}

impl<In> FlowInput<In> for In {
    fn into_input(self) -> In {
        self
    }
}

impl FlowInput<String> for &str {
    fn into_input(self) -> String {
        self.to_owned()
    }
}

impl FlowInput<String> for &String {
    fn into_input(self) -> String {
        self.clone()
    }
}

impl<In, Out, Chunk> Flow<In, Out, Chunk> {
    /// The action behind it.
    pub fn action(&self) -> &Action {
        &self.action
    }
}

impl<In, Out, Chunk> From<&Flow<In, Out, Chunk>> for Action {
    fn from(flow: &Flow<In, Out, Chunk>) -> Self {
        flow.action.clone()
    }
}

/// A running flow: a [`Stream`] of its chunks, then the output of [`finish`](Self::finish).
/// Dropping it cancels the flow.
///
/// A chunk that is not of the type `Chunk` is an error item, and the stream goes on after it.
/// The status of a flow that fails is the last item; `finish` returns it too.
///
/// ```
/// use oxikit::prelude::*;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<()> {
/// let ai = Oxikit::builder().build()?;
/// let count = ai.define_flow("count", async |to: u32, _: Context, out: Emitter<u32>| {
///     for n in 1..=to {
///         out.send(n).await?;
///     }
///     Ok("done".to_owned())
/// });
/// let mut stream = count.stream(3)?;
/// while let Some(n) = stream.next().await {
///     println!("{}", n?);
/// }
/// assert_eq!(stream.finish().await?, "done");
/// # Ok(()) }
/// ```
#[must_use = "a flow whose stream is dropped is cancelled"]
pub struct FlowStream<Out, Chunk> {
    run: Run,
    output: Option<Result<Out>>,
    types: PhantomData<fn() -> Chunk>,
}

impl<Out: DeserializeOwned + 'static, Chunk: DeserializeOwned + 'static> FlowStream<Out, Chunk> {
    /// The next item of the stream; `None` when the flow has ended. Nothing is lost when the
    /// future is dropped.
    pub async fn next(&mut self) -> Option<Result<Chunk>> {
        std::future::poll_fn(|cx| self.poll_chunk(cx)).await
    }

    /// Reads the flow to its end and returns the output. Chunks that were not read are
    /// skipped.
    ///
    /// # Errors
    ///
    /// The status with which the flow failed.
    pub async fn finish(mut self) -> Result<Out> {
        while self.next().await.is_some() {}
        self.output.unwrap_or_else(|| Err(Status::cancelled()))
    }

    fn poll_chunk(&mut self, cx: &mut std::task::Context<'_>) -> Poll<Option<Result<Chunk>>> {
        let output = match ready!(Pin::new(&mut self.run).poll_next(cx)) {
            Some(Event::Chunk(chunk)) => return Poll::Ready(Some(chunk.parse())),
            Some(Event::Done(output)) => output.parse(),
            Some(Event::Failed(status)) => Err(status),
            None => return Poll::Ready(None),
        };
        let failure = output.as_ref().err().cloned();
        self.output = Some(output);
        Poll::Ready(failure.map(Err))
    }
}

impl<Out, Chunk> Stream for FlowStream<Out, Chunk>
where
    Out: DeserializeOwned + Unpin + 'static,
    Chunk: DeserializeOwned + 'static,
{
    type Item = Result<Chunk>;

    fn poll_next(
        self: Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> Poll<Option<Self::Item>> {
        self.get_mut().poll_chunk(cx)
    }
}

impl<In, Out, Chunk> Clone for Flow<In, Out, Chunk> {
    fn clone(&self) -> Self {
        Self { action: self.action.clone(), registry: self.registry.clone(), types: PhantomData }
    }
}

impl<In, Out, Chunk> fmt::Debug for Flow<In, Out, Chunk> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Flow").field(&self.action.name()).finish()
    }
}

impl<Out, Chunk> fmt::Debug for FlowStream<Out, Chunk> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FlowStream").field(&self.run).finish()
    }
}
