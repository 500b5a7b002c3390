//! A body, line by line.

use bytes::{Bytes, BytesMut};

/// Splits what comes at line feeds. What follows the last one is the rest.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    buffer: BytesMut,
    /// So much of it has no line feed.
    searched: usize,
}

impl Lines {
    pub(crate) fn push(&mut self, piece: &[u8]) {
        self.buffer.extend_from_slice(piece);
    }

    /// The next whole line, without its end.
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

    /// How much has come of a line that is not complete.
    pub(crate) fn pending(&self) -> usize {
        self.buffer.len()
    }

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
