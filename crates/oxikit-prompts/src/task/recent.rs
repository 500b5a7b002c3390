//! Contents of recent revisions, which clients name as the base of their edits.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::document::Document;

/// Maximum number of documents that are kept.
const MAX_COUNT: usize = 16;
/// Maximum size of their contents together, in bytes.
const MAX_BYTES: usize = 1 << 20;

/// The last states of a document, the oldest first.
#[derive(Debug, Default)]
pub(super) struct RecentContents(VecDeque<Arc<Document>>);

impl RecentContents {
    pub(super) fn push(&mut self, document: Arc<Document>) {
        self.0.push_back(document);
        while self.0.len() > MAX_COUNT || (self.bytes() > MAX_BYTES && self.0.len() > 1) {
            self.0.pop_front();
        }
    }

    /// The content of a revision, if it is kept.
    pub(super) fn content(&self, rev: u64) -> Option<Arc<str>> {
        let found = self.0.iter().rev().find(|document| document.rev == rev)?;
        Some(found.content().into())
    }

    fn bytes(&self) -> usize {
        self.0.iter().map(|document| document.text().len()).sum()
    }
}
