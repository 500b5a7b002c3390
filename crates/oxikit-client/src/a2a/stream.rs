//! The events of a task, as its caller reads them.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use oxikit_core::{Result, Status, StatusCode};
use oxikit_wire::a2a::StreamResponse;

use super::A2aReply;
use super::follow::{Read, Reader};
use super::progress::merge;
use crate::pull::Pull;

/// A [`Stream`] of the events of a task. An error is the last item.
///
/// When the connection breaks, the stream goes on over a new one. A server that numbers its
/// events, as oxikit does, continues after the last one. Any other server sends the task as it is
/// then, and the stream yields what is new in it: the parts of artifacts that were not read yet as
/// one further update, and the status. Servers of version 0.3 may lose events at this place; the
/// task is then compared once more before its last event, and an artifact with a gap is replaced
/// (an update without `append`). Dropping the stream does not cancel the task.
///
/// ```no_run
/// use oxikit_client::a2a::{A2aClient, StreamResponse};
///
/// # async fn example(agent: A2aClient) -> oxikit_client::Result<()> {
/// let mut stream = agent.send_stream("Write a poem").await?;
/// while let Some(event) = stream.next().await {
///     if let StreamResponse::StatusUpdate(update) = event? {
///         println!("{}", update.status.state);
///     }
/// }
/// println!("{}", stream.finish().await?.text());
/// # Ok(()) }
/// ```
#[must_use = "a stream that is dropped is not read"]
pub struct A2aStream {
    events: Pull<Reader>,
    reply: Option<A2aReply>,
    failure: Option<Status>,
}

impl A2aStream {
    pub(super) fn new(reader: Reader) -> Self {
        Self { events: Pull::new(reader), reply: None, failure: None }
    }

    /// The next event; `None` at the end. Nothing is lost when the future is dropped.
    pub async fn next(&mut self) -> Option<Result<StreamResponse>> {
        std::future::poll_fn(|cx| self.poll_event(cx)).await
    }

    /// The answer as far as it has been read: the task with all events so far, or the message.
    pub fn reply(&self) -> Option<&A2aReply> {
        self.reply.as_ref()
    }

    /// Reads the stream to its end and returns the answer.
    ///
    /// # Errors
    ///
    /// The error of the agent. `UNAVAILABLE` if the connection breaks and the task cannot be
    /// followed any more.
    pub async fn finish(mut self) -> Result<A2aReply> {
        while self.next().await.is_some() {}
        match (self.failure, self.reply) {
            (Some(status), _) => Err(status),
            (None, Some(reply)) => Ok(reply),
            (None, None) => {
                Err(Status::new(StatusCode::Unavailable, "the agent ended the stream at once"))
            }
        }
    }

    fn poll_event(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<StreamResponse>>> {
        Poll::Ready(match ready!(self.events.poll(cx)) {
            Some(Read::Event(event, _)) => {
                merge(&mut self.reply, &event);
                Some(Ok(*event))
            }
            Some(Read::Failed(status)) => {
                self.failure = Some(status.clone());
                Some(Err(status))
            }
            Some(Read::End) | None => None,
        })
    }
}

impl Stream for A2aStream {
    type Item = Result<StreamResponse>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().poll_event(cx)
    }
}

impl fmt::Debug for A2aStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("A2aStream").field("reply", &self.reply).finish_non_exhaustive()
    }
}
