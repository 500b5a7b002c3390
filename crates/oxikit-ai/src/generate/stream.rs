//! A generate call whose pieces are read as they come.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use oxikit_core::{Chunks, Payload, Result, Status};
use oxikit_wire::{GenerateResponse, GenerateResponseChunk};
use serde_json::Value;

use super::Reply;
use crate::format::{Format, StreamParser};

/// A running generate call: a [`Stream`] of its chunks, then the whole reply of
/// [`finish`](Self::finish). Dropping it cancels the call.
///
/// A chunk that cannot be read is an error item, and the stream goes on after it. The status
/// of a call that fails is the last item; `finish` returns it too.
///
/// ```
/// use oxikit::prelude::*;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<()> {
/// let ai = Oxikit::builder().plugin(Offline).default_model("offline/demo").build()?;
/// let mut stream = ai.generate().prompt("A story, please.").stream();
/// while let Some(chunk) = stream.next().await {
///     print!("{}", chunk?.to_text());
/// }
/// let reply = stream.finish().await?;
/// # assert!(!reply.text().is_empty());
/// # Ok(()) }
/// ```
#[must_use = "a call whose stream is dropped is cancelled"]
pub struct GenerateStream<T = Value> {
    work: Pin<Box<dyn Future<Output = Result<GenerateResponse>> + Send>>,
    chunks: Chunks,
    result: Option<Result<Reply<T>>>,
    /// The failure, until it was given out as the last item.
    failure: Option<Status>,
    format: Option<Format>,
    parser: Option<StreamParser>,
    index: Option<u64>,
}

impl<T> GenerateStream<T> {
    pub(super) fn new(
        work: impl Future<Output = Result<GenerateResponse>> + Send + 'static,
        chunks: Chunks,
        format: Option<Format>,
    ) -> Self {
        Self {
            work: Box::pin(work),
            chunks,
            result: None,
            failure: None,
            format,
            parser: None,
            index: None,
        }
    }

    /// The next item of the stream; `None` when the call has ended. Nothing is lost when the
    /// future is dropped.
    pub async fn next(&mut self) -> Option<Result<GenerateResponseChunk>> {
        std::future::poll_fn(|cx| self.poll_chunk(cx)).await
    }

    /// Reads the call to its end and returns the whole reply. Chunks that were not read are
    /// skipped.
    ///
    /// # Errors
    ///
    /// The status with which the call failed.
    pub async fn finish(mut self) -> Result<Reply<T>> {
        while self.next().await.is_some() {}
        self.result.unwrap_or_else(|| Err(Status::cancelled()))
    }

    /// The output that the format reads so far: for `json` the value of all chunks, completed
    /// where it is cut off; for `array` and `jsonl` only the objects that the newest chunk
    /// completed. `None` before the first chunk and without a format.
    pub fn partial_output(&self) -> Option<Value> {
        self.parser.as_ref()?.output()
    }

    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<GenerateResponseChunk>>> {
        loop {
            // First the chunks: the end must not overtake those that are still in the queue.
            match self.chunks.poll_recv(cx) {
                Poll::Ready(Some(chunk)) => return Poll::Ready(Some(self.read(chunk))),
                Poll::Ready(None) if self.result.is_some() => {
                    return Poll::Ready(self.failure.take().map(Err));
                }
                Poll::Pending if self.result.is_some() => return Poll::Pending,
                Poll::Ready(None) | Poll::Pending => {}
            }
            let result = ready!(self.work.as_mut().poll(cx)).map(Reply::new);
            self.failure = result.as_ref().err().cloned();
            self.result = Some(result);
            self.chunks.close();
        }
    }

    fn read(&mut self, chunk: Payload) -> Result<GenerateResponseChunk> {
        let chunk: GenerateResponseChunk = chunk.parse()?;
        // Every message is read from its own beginning.
        if chunk.index != self.index || self.parser.is_none() {
            self.parser = self.format.map(StreamParser::new);
            self.index = chunk.index;
        }
        if let Some(parser) = &mut self.parser {
            parser.push(&chunk.to_text());
        }
        Ok(chunk)
    }
}

impl<T> Stream for GenerateStream<T> {
    type Item = Result<GenerateResponseChunk>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().poll_chunk(cx)
    }
}

impl<T> fmt::Debug for GenerateStream<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GenerateStream")
            .field("is_finished", &self.result.is_some())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::StreamExt;
    use oxikit_core::Emitter;

    use super::*;

    /// A call that sends something that is not a chunk, then a chunk, then ends.
    fn stream(end: Result<()>) -> GenerateStream {
        let (out, chunks) = Emitter::<GenerateResponseChunk>::channel();
        let work = async move {
            out.retype::<&'static str>().send("not a chunk").await?;
            out.send(GenerateResponseChunk::text("half")).await?;
            end.map(|()| GenerateResponse::default())
        };
        GenerateStream::new(work, chunks, None)
    }

    #[tokio::test]
    async fn a_chunk_that_cannot_be_read_is_an_error_and_the_stream_goes_on() {
        let mut stream = stream(Ok(()));
        let items: Vec<_> = StreamExt::collect(&mut stream).await;
        let texts: Vec<_> = items
            .iter()
            .map(|item| item.as_ref().ok().map(GenerateResponseChunk::to_text))
            .collect();
        assert_eq!(texts, [None, Some("half".to_owned())]);
        stream.finish().await.unwrap();
    }

    #[tokio::test]
    async fn the_failure_of_the_call_is_the_last_item() {
        let mut stream = stream(Err(Status::not_found("no such model")));
        assert!(stream.next().await.unwrap().is_err());
        assert!(stream.next().await.unwrap().is_ok());
        assert_eq!(stream.next().await.unwrap().unwrap_err().message(), "no such model");
        assert!(stream.next().await.is_none());
        assert_eq!(stream.finish().await.unwrap_err().message(), "no such model");
    }
}
