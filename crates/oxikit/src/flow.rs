//! Flows: the application's own work, typed at both ends.

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

/// A flow: an async function that is traced, checked and served. Cheap to clone.
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
    /// let ai = Oxikit::builder().build();
    /// let greet = ai.define_flow("greet", |name: String| async move { Ok(format!("Hello, {name}!")) });
    /// assert_eq!(greet.run("Ada".to_owned()).await?, "Hello, Ada!");
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
    /// Runs the flow.
    pub async fn run(&self, input: In) -> Result<Out> {
        self.action.run(self.call(input)).await?.parse()
    }

    /// Runs the flow and reads its chunks on the way.
    pub fn stream(&self, input: In) -> Result<FlowStream<Out, Chunk>> {
        let run = self.action.start(self.call(input))?;
        Ok(FlowStream { run, output: None, types: PhantomData })
    }

    fn call(&self, input: In) -> Call {
        Call::new(input).in_registry(&self.registry)
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

/// A running flow: a stream of its chunks, then its output.
pub struct FlowStream<Out, Chunk> {
    run: Run,
    output: Option<Result<Out>>,
    types: PhantomData<fn() -> Chunk>,
}

impl<Out: DeserializeOwned + 'static, Chunk: DeserializeOwned + 'static> FlowStream<Out, Chunk> {
    /// The next chunk; `None` when the flow has ended.
    pub async fn next(&mut self) -> Option<Chunk> {
        std::future::poll_fn(|cx| self.poll_chunk(cx)).await
    }

    /// The output, passing over the chunks that were not read.
    pub async fn output(mut self) -> Result<Out> {
        while self.next().await.is_some() {}
        self.output.unwrap_or_else(|| Err(Status::cancelled()))
    }

    fn poll_chunk(&mut self, cx: &mut std::task::Context<'_>) -> Poll<Option<Chunk>> {
        let output = match ready!(Pin::new(&mut self.run).poll_next(cx)) {
            Some(Event::Chunk(chunk)) => match chunk.parse() {
                Ok(chunk) => return Poll::Ready(Some(chunk)),
                Err(status) => Err(status),
            },
            Some(Event::Done(output)) => output.parse(),
            Some(Event::Failed(status)) => Err(status),
            None => return Poll::Ready(None),
        };
        self.output = Some(output);
        Poll::Ready(None)
    }
}

impl<Out, Chunk> Stream for FlowStream<Out, Chunk>
where
    Out: DeserializeOwned + Unpin + 'static,
    Chunk: DeserializeOwned + 'static,
{
    type Item = Chunk;

    fn poll_next(self: Pin<&mut Self>, cx: &mut std::task::Context<'_>) -> Poll<Option<Chunk>> {
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
