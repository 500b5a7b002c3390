//! Splits a streamed body into lines, without copying them.

use bytes::{Bytes, BytesMut};

/// Collects pieces of a body and yields complete lines.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    buffer: BytesMut,
    /// Length of the prefix that is known to contain no line feed.
    searched: usize,
}

impl Lines {
    /// Appends a piece of the body.
    pub(crate) fn push(&mut self, piece: &[u8]) {
        self.buffer.extend_from_slice(piece);
    }

    /// The next complete line, without its line feed.
    pub(crate) fn next(&mut self) -> Option<Bytes> {
        let found = self.buffer[self.searched..].iter().position(|byte| *byte == b'\n');
        let Some(found) = found else {
            self.searched = self.buffer.len();
            return None;
        };
        let line = self.buffer.split_to(self.searched + found).freeze();
        bytes::Buf::advance(&mut self.buffer, 1);
        self.searched = 0;
        Some(line)
    }

    /// Number of bytes of the incomplete line.
    pub(crate) fn pending(&self) -> usize {
        self.buffer.len()
    }

    /// The text after the last line feed.
    pub(crate) fn rest(self) -> Bytes {
        self.buffer.freeze()
    }
}

#[cfg(test)]
mod tests {
    use super::Lines;

    #[test]
    fn lines_are_found_however_they_are_cut() {
        let text = b"one\n\n{\"two\": 2}\nrest";
        for size in 1..text.len() {
            let (mut lines, mut seen) = (Lines::default(), Vec::new());
            for piece in text.chunks(size) {
                lines.push(piece);
                while let Some(line) = lines.next() {
                    seen.push(line);
                }
            }
            assert_eq!(seen, [&b"one"[..], b"", b"{\"two\": 2}"]);
            assert_eq!(lines.pending(), 4);
            assert_eq!(lines.rest(), &b"rest"[..]);
        }
    }
}
