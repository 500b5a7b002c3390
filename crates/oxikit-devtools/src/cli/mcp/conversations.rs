//! Conversations with agents that keep nothing themselves.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use oxikit_core::chat::Chat;

/// So many are kept; the one that was not used for the longest time is forgotten.
const MOST: usize = 16;

/// The last conversations, by the id of their session.
#[derive(Debug, Default)]
pub(super) struct Conversations(Mutex<VecDeque<(String, Chat)>>);

impl Conversations {
    /// A conversation as it was last.
    pub(super) fn get(&self, session: &str) -> Option<Chat> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().find(|(id, _)| id == session).map(|(_, chat)| chat.clone())
    }

    pub(super) fn keep(&self, session: String, chat: Chat) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|(id, _)| *id != session);
        kept.push_back((session, chat));
        if kept.len() > MOST {
            kept.pop_front();
        }
    }
}
