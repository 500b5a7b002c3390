//! A turn that is streamed.

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

/// A turn that runs: its chunks, then its reply. Dropping it before its end
/// cancels it, and the chat goes on from the turn before.
///
/// It is also a [`Stream`] of its chunks.
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

    /// The next chunk; `None` when the turn has ended, well or not. Nothing is
    /// lost when the future is dropped.
    pub async fn next(&mut self) -> Option<AgentStreamChunk> {
        std::future::poll_fn(|cx| self.poll_chunk(cx)).await
    }

    /// The reply, passing over the chunks that were not read. A turn that failed
    /// is an error with the agent's code, message and details; the chat goes on
    /// from the turn before.
    pub async fn reply(mut self) -> Result<ChatReply> {
        while self.next().await.is_some() {}
        self.reply.unwrap_or_else(|| Err(cut_off()))
    }

    /// The custom state as of the chunks that were read.
    pub fn state<T: DeserializeOwned>(&self) -> Result<Option<T>> {
        match &self.gathered.custom {
            Some(custom) => Ok(Some(T::deserialize(custom)?)),
            None => self.chat.state(),
        }
    }

    fn poll_chunk(&mut self, cx: &mut Context<'_>) -> Poll<Option<AgentStreamChunk>> {
        let Some(invocation) = &mut self.invocation else { return Poll::Ready(None) };
        let end = match ready!(invocation.as_mut().poll_next(cx)) {
            Some(Ok(AgentEvent::Chunk(chunk))) => match self.gather(&chunk) {
                Ok(()) => return Poll::Ready(Some(chunk)),
                Err(status) => Err(status),
            },
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
        self.reply = Some(end);
        Poll::Ready(None)
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
    /// What the first patch of a turn changes. Mostly it replaces all there is,
    /// which need not be copied for that.
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
    type Item = AgentStreamChunk;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<AgentStreamChunk>> {
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
