//! A text of which pieces are replaced, from left to right.

use std::borrow::Cow;
use std::ops::Range;

/// Copies nothing until the first piece is replaced.
pub(super) struct Edit<'a> {
    text: &'a str,
    edited: String,
    /// Number of bytes of the text that are already in `edited`.
    done: usize,
}

impl<'a> Edit<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, edited: String::new(), done: 0 }
    }

    /// Whether the byte at this position was already replaced.
    pub(super) fn has_passed(&self, at: usize) -> bool {
        at < self.done
    }

    /// Replaces a piece. Pieces must be in order and must not overlap.
    pub(super) fn replace(&mut self, piece: Range<usize>, with: &str) {
        if self.edited.capacity() == 0 {
            self.edited.reserve(self.text.len());
        }
        self.edited.push_str(&self.text[self.done..piece.start]);
        self.edited.push_str(with);
        self.done = piece.end;
    }

    pub(super) fn finish(mut self) -> Cow<'a, str> {
        if self.done == 0 {
            return Cow::Borrowed(self.text);
        }
        self.edited.push_str(&self.text[self.done..]);
        Cow::Owned(self.edited)
    }
}
