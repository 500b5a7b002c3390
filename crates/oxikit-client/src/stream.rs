//! A running action of a server: its chunks, then its output.
//!
//! [`RemoteStream`] is the typed side for callers. [`Reader`] below it reads blocks and, for
//! durable streams, survives broken connections.

use std::fmt;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use oxikit_core::{Event, Result, Status, StatusCode};
use serde::de::DeserializeOwned;

use crate::blocks::{BlockError, Blocks};
use crate::event::{event_of, fitting};
use crate::exchange::{Answer, Exchange};
use crate::failure::{Fault, Place};
use crate::pull::{Pull, Source};

/// A running action: a [`Stream`] of its chunks, then the output of [`finish`](Self::finish).
/// Dropping it closes the connection, which cancels the action unless its streams are
/// durable.
///
/// A chunk that is not of the type `Chunk` is an error item, and the stream goes on after it.
/// The status of an action that fails is the last item; `finish` returns it too.
///
/// ```no_run
/// # async fn example(count: oxikit_client::RemoteAction) -> oxikit_client::Result<()> {
/// let mut stream = count.stream::<u32, String>(&3).await?;
/// while let Some(number) = stream.next().await {
///     println!("{}", number?);
/// }
/// println!("{}", stream.finish().await?);
/// # Ok(()) }
/// ```
#[must_use = "a stream that is dropped is cancelled"]
pub struct RemoteStream<Chunk, Out> {
    events: Pull<Reader>,
    stream_id: Option<String>,
    position: u64,
    output: Option<Result<Out>>,
    types: PhantomData<fn() -> Chunk>,
}

impl<Chunk, Out> RemoteStream<Chunk, Out> {
    pub(crate) fn new(reader: Reader, position: u64) -> Self {
        Self {
            stream_id: reader.stream_id.clone(),
            events: Pull::new(reader),
            position,
            output: None,
            types: PhantomData,
        }
    }

    /// The id of a durable stream, for [`resume`](crate::RemoteAction::resume);
    /// `None` if the server does not keep the stream.
    pub fn stream_id(&self) -> Option<&str> {
        self.stream_id.as_deref()
    }

    /// The number of chunks that have been read, for
    /// [`resume_from`](crate::RemoteAction::resume_from). Chunks before the position at which
    /// the stream was resumed count as read.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Whether the end of the action has been read.
    pub(crate) fn has_ended(&self) -> bool {
        self.output.is_some()
    }

    /// The end of the stream, once it was reached.
    pub(crate) fn take_output(&mut self) -> Option<Result<Out>> {
        self.output.take()
    }

    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        let event = ready!(self.events.poll(cx));
        if matches!(event, Some(Event::Chunk(_))) {
            self.position += 1;
        }
        Poll::Ready(event)
    }
}

impl<Chunk, Out> RemoteStream<Chunk, Out>
where
    Chunk: DeserializeOwned + 'static,
    Out: DeserializeOwned + 'static,
{
    /// The next item of the stream; `None` when the action has ended. Nothing is lost when
    /// the future is dropped.
    pub async fn next(&mut self) -> Option<Result<Chunk>> {
        std::future::poll_fn(|cx| self.poll_chunk(cx)).await
    }

    /// Reads the stream to its end and returns the output. Chunks that were not read are
    /// skipped.
    ///
    /// # Errors
    ///
    /// The status that the server reports. `UNAVAILABLE` if the connection breaks and the
    /// stream cannot be resumed, `INTERNAL` if the output is not of the type `Out`.
    pub async fn finish(mut self) -> Result<Out> {
        while self.next().await.is_some() {}
        self.output.unwrap_or_else(|| Err(Status::cancelled()))
    }

    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Chunk>>> {
        let output = match ready!(self.poll_event(cx)) {
            Some(Event::Chunk(chunk)) => return Poll::Ready(Some(fitting("chunk", chunk))),
            Some(Event::Done(output)) => fitting("output", output),
            Some(Event::Failed(status)) => Err(status),
            None => return Poll::Ready(None),
        };
        let failure = output.as_ref().err().cloned();
        self.output = Some(output);
        Poll::Ready(failure.map(Err))
    }
}

impl<Chunk, Out> Stream for RemoteStream<Chunk, Out>
where
    Chunk: DeserializeOwned + 'static,
    Out: DeserializeOwned + Unpin + 'static,
{
    type Item = Result<Chunk>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().poll_chunk(cx)
    }
}

impl<Chunk, Out> fmt::Debug for RemoteStream<Chunk, Out> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteStream")
            // The id is not shown: it is enough to read the stream.
            .field("is_durable", &self.stream_id.is_some())
            .field("position", &self.position)
            .finish_non_exhaustive()
    }
}

/// Reads a stream, over as many connections as necessary.
///
/// After a broken connection, a durable stream is resumed at `position`. A server that cannot start
/// there sends earlier chunks again; `known` counts those and the reader skips them. So every chunk is
/// returned exactly once.
pub(crate) struct Reader {
    exchange: Exchange,
    stream_id: Option<String>,
    /// Number of chunks that were returned to the caller.
    position: u64,
    /// Number of the next chunks to skip, because they were returned before.
    known: u64,
    answer: Option<Answer>,
    blocks: Blocks,
    /// Number of connections in a row without a new chunk.
    tries: u32,
}

impl Reader {
    /// A reader of the chunks after `position`. `answer` is an open connection, and the number of
    /// its chunks to skip.
    pub(crate) fn new(
        exchange: Exchange,
        stream_id: Option<String>,
        position: u64,
        answer: Option<(Answer, u64)>,
    ) -> Self {
        let blocks = Blocks::new(exchange.client.settings.block_limit);
        let (answer, known) = answer.unzip();
        let known = known.unwrap_or(0);
        Self { exchange, stream_id, position, known, answer, blocks, tries: 0 }
    }

    /// Opens a durable stream for the first time.
    pub(crate) async fn connect(&mut self) -> Result<()> {
        let tries = self.exchange.client.settings.retries;
        self.open(tries, None).await
    }

    /// The next event of the blocks that have arrived already.
    fn next_ready(&mut self) -> Option<Event> {
        loop {
            let event = match self.blocks.next()? {
                Ok(block) => event_of(&block).ok_or_else(|| {
                    self.exchange.garbage("a block that is not part of the protocol")
                }),
                Err(BlockError::Garbage) => {
                    Err(self.exchange.garbage("something that is not a stream of blocks"))
                }
                Err(BlockError::TooLarge) => {
                    let limit = self.exchange.client.settings.block_limit;
                    Err(self.exchange.too_large("a block", limit))
                }
            };
            match event.unwrap_or_else(|status| {
                // After an invalid block the rest of the stream cannot be trusted, so the
                // connection is closed.
                self.answer = None;
                Event::Failed(status)
            }) {
                Event::Chunk(_) if self.known > 0 => self.known -= 1,
                Event::Chunk(chunk) => {
                    self.position += 1;
                    self.tries = 0;
                    return Some(Event::Chunk(chunk));
                }
                end => return Some(end),
            }
        }
    }

    /// Waits for the next event, and reconnects a durable stream if necessary.
    async fn wait(mut self: Box<Self>) -> (Box<Self>, Event) {
        loop {
            if let Some(event) = self.next_ready() {
                return (self, event);
            }
            let went_on = match self.read().await {
                Ok(()) => Ok(()),
                Err(Fault::Broken(status) | Fault::Unreached(status)) => {
                    self.reconnect(status).await
                }
                Err(Fault::Lasting(status)) => Err(status),
            };
            if let Err(status) = went_on {
                self.answer = None;
                return (self, Event::Failed(status));
            }
        }
    }

    async fn read(&mut self) -> Result<(), Fault> {
        let Some(answer) = &mut self.answer else {
            return Err(Fault::Broken(self.cut_off()));
        };
        match self.exchange.read(answer).await? {
            Some(piece) => self.blocks.push(&piece),
            None => {
                self.answer = None;
                self.blocks.finish();
            }
        }
        Ok(())
    }

    fn cut_off(&self) -> Status {
        let message = format!("{} ended the stream without a result", Place(&self.exchange.url));
        Status::new(StatusCode::Unavailable, message)
    }

    /// Opens a durable stream again. The end of any other stream is the error `broken`.
    async fn reconnect(&mut self, broken: Status) -> Result<()> {
        if self.stream_id.is_none() {
            return Err(broken);
        }
        self.open(self.exchange.client.settings.reconnects, Some(broken)).await
    }

    /// Requests the stream until it opens, with at most `tries` repetitions in a row. `broken` is
    /// the error that made a new request necessary.
    async fn open(&mut self, tries: u32, broken: Option<Status>) -> Result<()> {
        let stream_id = self.stream_id.clone().unwrap_or_default();
        let mut failure = broken.clone();
        loop {
            if let Some(failure) = failure {
                if self.tries >= tries {
                    return Err(failure);
                }
                self.tries += 1;
                self.exchange.pause(self.tries).await.map_err(Fault::into_status)?;
            }
            match self.exchange.resume(&stream_id, self.position).await {
                Ok((answer, known)) => {
                    self.blocks = Blocks::new(self.exchange.client.settings.block_limit);
                    self.answer = Some(answer);
                    self.known = known;
                    return Ok(());
                }
                Err(Fault::Lasting(status)) => {
                    // If the server has removed the stream meanwhile, the caller gets the error of
                    // the broken connection: it has not asked for a stream by its id.
                    let is_forgotten = status.code() == StatusCode::NotFound;
                    return Err(broken.filter(|_| is_forgotten).unwrap_or(status));
                }
                Err(fault) => failure = Some(fault.into_status()),
            }
        }
    }
}

impl Source for Reader {
    type Item = Event;

    fn ready_item(&mut self) -> Option<Event> {
        self.next_ready()
    }

    fn advance(self: Box<Self>) -> impl Future<Output = (Box<Self>, Event)> + Send {
        self.wait()
    }

    fn is_last(event: &Event) -> bool {
        !matches!(event, Event::Chunk(_))
    }

    fn release(self) {
        if let Some(answer) = self.answer {
            answer.release();
        }
    }
}
