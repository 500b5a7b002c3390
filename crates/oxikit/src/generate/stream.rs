//! A generate call whose pieces are read as they come.

use std::fmt;
use std::pin::Pin;

use oxikit_core::{Chunks, Payload, Result, Status};
use oxikit_wire::{GenerateResponse, GenerateResponseChunk};
use serde_json::Value;

use super::Reply;
use crate::format::{Format, StreamParser};

/// A running generate call: its pieces, then the whole answer. Dropping it
/// cancels the call.
pub struct GenerateStream<T = Value> {
    work: Pin<Box<dyn Future<Output = Result<GenerateResponse>> + Send>>,
    chunks: Chunks,
    result: Option<Result<Reply<T>>>,
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
        Self { work: Box::pin(work), chunks, result: None, format, parser: None, index: None }
    }

    /// The next piece; `None` when the answer is complete or has failed.
    pub async fn next(&mut self) -> Option<GenerateResponseChunk> {
        loop {
            tokio::select! {
                biased;
                chunk = self.chunks.recv() => return self.read(chunk?),
                result = &mut self.work, if self.result.is_none() => {
                    self.result = Some(result.map(Reply::new));
                    self.chunks.close();
                }
            }
        }
    }

    /// The whole answer, passing over the pieces that were not read.
    pub async fn finish(mut self) -> Result<Reply<T>> {
        while self.next().await.is_some() {}
        self.result.unwrap_or_else(|| Err(Status::cancelled()))
    }

    /// What the format reads in the newest piece: for `json` all that has come so
    /// far, for `array` and `jsonl` the objects that the piece completed.
    pub fn output(&self) -> Option<Value> {
        self.parser.as_ref()?.output()
    }

    fn read(&mut self, chunk: Payload) -> Option<GenerateResponseChunk> {
        let chunk: GenerateResponseChunk = chunk.parse().ok()?;
        // Every message is read from its own beginning.
        if chunk.index != self.index || self.parser.is_none() {
            self.parser = self.format.map(StreamParser::new);
            self.index = chunk.index;
        }
        if let Some(parser) = &mut self.parser {
            parser.push(&chunk.to_text());
        }
        Some(chunk)
    }
}

impl<T> fmt::Debug for GenerateStream<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GenerateStream")
            .field("is_finished", &self.result.is_some())
            .finish_non_exhaustive()
    }
}
