//! The texts that a member has seen: the possible bases of what it submits.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::document::Document;
use crate::text::MAX_CANDIDATES;

/// Maximum size of the texts of a member together, in bytes. Beyond it the oldest are forgotten,
/// except the two newest.
const MAX_BYTES: usize = 1 << 20;

/// A text that a member was sent or has submitted.
#[derive(Debug, Clone)]
pub(crate) enum SeenText {
    /// The content of a document, shared with all other members.
    Sent(Arc<Document>),
    /// A content that the member has submitted.
    Submitted(Arc<str>),
}

impl SeenText {
    pub(crate) fn as_str(&self) -> &str {
        match self {
            Self::Sent(document) => document.content(),
            Self::Submitted(content) => content,
        }
    }
}

/// The last texts of a member, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Seen {
    texts: VecDeque<SeenText>,
    bytes: usize,
}

impl Seen {
    pub(super) fn push(&mut self, text: SeenText) {
        self.bytes += text.as_str().len();
        self.texts.push_back(text);
        while self.texts.len() > MAX_CANDIDATES || (self.bytes > MAX_BYTES && self.texts.len() > 2)
        {
            let Some(oldest) = self.texts.pop_front() else { break };
            self.bytes -= oldest.as_str().len();
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }

    pub(super) fn texts(&self) -> Vec<SeenText> {
        self.texts.iter().cloned().collect()
    }
}
