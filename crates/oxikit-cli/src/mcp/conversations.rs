//! Conversations with agents that do not store their sessions. They live in memory until the
//! MCP connection ends.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use oxikit_core::chat::Chat;

/// Maximum number of conversations. Beyond it the least recently used one is evicted.
const MAX_CONVERSATIONS: usize = 16;

/// The most recently used conversations by session id, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Conversations(Mutex<VecDeque<(String, Chat)>>);

impl Conversations {
    /// The conversation after its last turn.
    pub(super) fn get(&self, session: &str) -> Option<Chat> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().find(|(id, _)| id == session).map(|(_, chat)| chat.clone())
    }

    pub(super) fn keep(&self, session: String, chat: Chat) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|(id, _)| *id != session);
        kept.push_back((session, chat));
        if kept.len() > MAX_CONVERSATIONS {
            kept.pop_front();
        }
    }
}
