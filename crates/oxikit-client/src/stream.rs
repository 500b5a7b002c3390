//! A running action of a server: its chunks, then its output.

use std::fmt;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use oxikit_core::{Event, Result, Status, StatusCode};
use serde::de::DeserializeOwned;

use crate::action::fitting;
use crate::blocks::{BlockError, Blocks};
use crate::event::event_of;
use crate::exchange::{Answer, Exchange};
use crate::failure::{Fault, Place};

/// The chunks of a running action, then its output. Dropping it closes the
/// connection, which cancels the action unless its streams are durable.
///
/// It is also a [`Stream`] of its chunks.
///
/// ```no_run
/// # async fn example(count: oxikit_client::RemoteAction) -> oxikit_client::Result<()> {
/// let mut stream = count.stream::<u32, String>(&3).await?;
/// while let Some(number) = stream.next().await {
///     println!("{number}");
/// }
/// println!("{}", stream.output().await?);
/// # Ok(()) }
/// ```
#[must_use = "a stream that is dropped is cancelled"]
pub struct RemoteStream<Chunk, Out> {
    state: State,
    stream_id: Option<String>,
    position: u64,
    output: Option<Result<Out>>,
    types: PhantomData<fn() -> Chunk>,
}

enum State {
    Idle(Box<Reader>),
    Reading(Reading),
    Over,
}

/// Has the reader while it waits for the server.
type Reading = Pin<Box<dyn Future<Output = (Box<Reader>, Event)> + Send>>;

impl<Chunk, Out> RemoteStream<Chunk, Out> {
    pub(crate) fn new(reader: Reader, position: u64) -> Self {
        Self {
            stream_id: reader.stream_id.clone(),
            state: State::Idle(Box::new(reader)),
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

    /// How many chunks of the stream have been read, for
    /// [`resume_from`](crate::RemoteAction::resume_from). What was known when it
    /// was resumed counts as read.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// The end of the stream, once it was reached.
    pub(crate) fn take_output(&mut self) -> Option<Result<Out>> {
        self.output.take()
    }

    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Option<Event>> {
        let (reader, event) = loop {
            match std::mem::replace(&mut self.state, State::Over) {
                State::Idle(mut reader) => match reader.ready_event() {
                    Some(event) => break (reader, event),
                    None => self.state = State::Reading(Box::pin(reader.advance())),
                },
                State::Reading(mut reading) => match reading.as_mut().poll(cx) {
                    Poll::Ready(done) => break done,
                    Poll::Pending => {
                        self.state = State::Reading(reading);
                        return Poll::Pending;
                    }
                },
                State::Over => return Poll::Ready(None),
            }
        };
        match &event {
            Event::Chunk(_) => {
                self.position += 1;
                self.state = State::Idle(reader);
            }
            Event::Done(_) | Event::Failed(_) => reader.release(),
        }
        Poll::Ready(Some(event))
    }
}

impl<Chunk, Out> RemoteStream<Chunk, Out>
where
    Chunk: DeserializeOwned + 'static,
    Out: DeserializeOwned + 'static,
{
    /// The next chunk; `None` when the action has ended, well or not. Nothing is
    /// lost when the future is dropped.
    pub async fn next(&mut self) -> Option<Chunk> {
        std::future::poll_fn(|cx| self.poll_chunk(cx)).await
    }

    /// The output, passing over the chunks that were not read.
    pub async fn output(mut self) -> Result<Out> {
        while self.next().await.is_some() {}
        self.output.unwrap_or_else(|| Err(Status::cancelled()))
    }

    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Chunk>> {
        let output = match ready!(self.poll_event(cx)) {
            Some(Event::Chunk(chunk)) => match fitting("chunk", chunk) {
                Ok(chunk) => return Poll::Ready(Some(chunk)),
                Err(status) => {
                    self.state = State::Over;
                    Err(status)
                }
            },
            Some(Event::Done(output)) => fitting("output", output),
            Some(Event::Failed(status)) => Err(status),
            None => return Poll::Ready(None),
        };
        self.output = Some(output);
        Poll::Ready(None)
    }
}

impl<Chunk, Out> Stream for RemoteStream<Chunk, Out>
where
    Chunk: DeserializeOwned + 'static,
    Out: DeserializeOwned + Unpin + 'static,
{
    type Item = Chunk;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Chunk>> {
        self.get_mut().poll_chunk(cx)
    }
}

impl<Chunk, Out> fmt::Debug for RemoteStream<Chunk, Out> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteStream")
            // Whoever knows the id may read the stream, so it is not shown.
            .field("is_durable", &self.stream_id.is_some())
            .field("position", &self.position)
            .finish_non_exhaustive()
    }
}

/// Reads a stream, over as many connections as it takes.
pub(crate) struct Reader {
    exchange: Exchange,
    stream_id: Option<String>,
    /// The chunks that were given out.
    position: u64,
    /// So many of the next chunks were given out before.
    known: u64,
    answer: Option<Answer>,
    blocks: Blocks,
    /// Tries in a row that brought nothing new.
    tries: u32,
}

impl Reader {
    /// Goes on after `position`; `answer` is an open connection and how many of
    /// its chunks are known.
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

    /// What has arrived already.
    fn ready_event(&mut self) -> Option<Event> {
        loop {
            let event = match self.blocks.next()? {
                Ok(block) => event_of(&block)
                    .ok_or_else(|| self.exchange.garbage("a block that makes no sense")),
                Err(BlockError::Garbage) => {
                    Err(self.exchange.garbage("something that is no stream of blocks"))
                }
                Err(BlockError::TooLarge) => {
                    let limit = self.exchange.client.settings.block_limit;
                    Err(self.exchange.too_large("a block", limit))
                }
            };
            match event.unwrap_or_else(|status| {
                // What follows cannot be trusted.
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

    /// Waits for what comes next.
    async fn advance(mut self: Box<Self>) -> (Box<Self>, Event) {
        loop {
            if let Some(event) = self.ready_event() {
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

    /// Goes on with a durable stream; any other is lost.
    async fn reconnect(&mut self, broken: Status) -> Result<()> {
        if self.stream_id.is_none() {
            return Err(broken);
        }
        self.open(self.exchange.client.settings.reconnects, Some(broken)).await
    }

    /// Asks for the stream until it comes, at most so many times in a row after
    /// the first. `broken` is why it must be asked for again.
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
                    // A server that has forgotten the stream leaves the reader
                    // with the break, not with an id it never asked for.
                    let is_forgotten = status.code() == StatusCode::NotFound;
                    return Err(broken.filter(|_| is_forgotten).unwrap_or(status));
                }
                Err(fault) => failure = Some(fault.into_status()),
            }
        }
    }

    /// Is done with the stream.
    fn release(self) {
        if let Some(answer) = self.answer {
            answer.release();
        }
    }
}
