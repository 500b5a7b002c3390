//! A turn that is streamed.
//!
//! The turn borrows its chat exclusively: there is one turn at a time. It applies patches of the
//! custom state as chunks arrive, and commits to the chat only with the output.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use oxikit_wire::{AgentStreamChunk, JsonPatch, PatchKind};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::memory::Gathered;
use super::{AgentEvent, Chat, ChatReply, Invocation};
use crate::{Result, Status, StatusCode, json_patch};

/// A running turn: a [`Stream`] of its chunks, then the reply of [`finish`](Self::finish).
/// Dropping it before its end cancels it, and the chat goes on from the turn before.
///
/// A chunk that cannot be read is an error item, and the stream goes on after it. The status
/// of a turn that fails is the last item; `finish` returns it too.
///
/// ```
/// # use oxikit_core::{Result, chat::Chat};
/// # async fn example(mut chat: Chat) -> Result<()> {
/// let mut turn = chat.send_stream("Count the books.").await?;
/// while let Some(chunk) = turn.next().await {
///     print!("{}", chunk?.to_text());
///     if let Some(progress) = turn.state::<serde_json::Value>()? {
///         println!("so far: {progress}");
///     }
/// }
/// println!("{}", turn.finish().await?.text());
/// # Ok(()) }
/// ```
#[must_use = "a turn that is dropped is cancelled"]
pub struct ChatTurn<'a> {
    chat: &'a mut Chat,
    invocation: Option<Invocation>,
    gathered: Gathered,
    reply: Option<Result<ChatReply>>,
}

impl<'a> ChatTurn<'a> {
    pub(super) fn new(chat: &'a mut Chat, invocation: Invocation, gathered: Gathered) -> Self {
        Self { chat, invocation: Some(invocation), gathered, reply: None }
    }

    /// The next item of the stream; `None` when the turn has ended. Nothing is lost when the
    /// future is dropped.
    pub async fn next(&mut self) -> Option<Result<AgentStreamChunk>> {
        std::future::poll_fn(|cx| self.poll_chunk(cx)).await
    }

    /// Reads the turn to its end and returns the reply. Chunks that were not read are skipped.
    ///
    /// # Errors
    ///
    /// If the turn failed, with the agent's code, message and details; the chat goes on from
    /// the turn before. `UNAVAILABLE` if the agent ended the turn without a result.
    pub async fn finish(mut self) -> Result<ChatReply> {
        while self.next().await.is_some() {}
        self.reply.unwrap_or_else(|| Err(cut_off()))
    }

    /// The custom state after the chunks that were read so far; before the first change, the
    /// state of the chat.
    ///
    /// # Errors
    ///
    /// `INTERNAL` if the state is not a `T`.
    pub fn state<T: DeserializeOwned>(&self) -> Result<Option<T>> {
        match &self.gathered.custom {
            Some(custom) => Ok(Some(T::deserialize(custom)?)),
            None => self.chat.state(),
        }
    }

    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<AgentStreamChunk>>> {
        let Some(invocation) = &mut self.invocation else { return Poll::Ready(None) };
        let end = match ready!(invocation.as_mut().poll_next(cx)) {
            Some(Ok(AgentEvent::Chunk(chunk))) => match self.gather(&chunk) {
                Ok(()) => return Poll::Ready(Some(Ok(chunk))),
                Err(status) => Err(status),
            },
            Some(Ok(AgentEvent::Unreadable(status))) => return Poll::Ready(Some(Err(status))),
            Some(Ok(AgentEvent::Done(output))) => {
                self.chat.memory.commit(std::mem::take(&mut self.gathered), &output);
                ChatReply::new(output)
            }
            Some(Err(status)) => {
                self.chat.memory.fail(&status);
                Err(status)
            }
            None => Err(cut_off()),
        };
        self.invocation = None;
        let failure = end.as_ref().err().cloned();
        self.reply = Some(end);
        Poll::Ready(failure.map(Err))
    }

    fn gather(&mut self, chunk: &AgentStreamChunk) -> Result<()> {
        self.gathered.artifacts.extend(chunk.artifact.clone());
        match &chunk.custom_patch {
            Some(patch) => {
                let custom = self.gathered.custom.get_or_insert_with(|| self.chat.base_of(patch));
                json_patch::apply(custom, patch)
            }
            None => Ok(()),
        }
    }
}

impl Chat {
    /// The value that the first patch of a turn is applied to. Most first patches replace the
    /// whole document; then the old state need not be copied.
    fn base_of(&self, patch: &JsonPatch) -> Value {
        let replaces_all = |patch: &JsonPatch| {
            patch.first().is_some_and(|first| {
                first.path.is_empty() && matches!(first.op, PatchKind::Replace | PatchKind::Add)
            })
        };
        match &self.memory.state.custom {
            Some(custom) if !replaces_all(patch) => Value::clone(custom),
            _ => Value::Null,
        }
    }
}

fn cut_off() -> Status {
    Status::new(StatusCode::Unavailable, "the agent ended the turn without a result")
}

impl Stream for ChatTurn<'_> {
    type Item = Result<AgentStreamChunk>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().poll_chunk(cx)
    }
}

impl fmt::Debug for ChatTurn<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChatTurn")
            .field("is_over", &self.invocation.is_none())
            .finish_non_exhaustive()
    }
}
