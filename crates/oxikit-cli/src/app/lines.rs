//! Reads the output of the application line by line, and keeps the last lines.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// Maximum number of lines that are kept. Older ones are dropped.
const KEPT_LINES: usize = 200;
/// Maximum number of bytes of a line. A longer one is returned in several parts.
const MAX_LINE: usize = 16 << 10;
/// Maximum number of bytes of a kept line. The rest of a longer one is dropped.
const MAX_KEPT: usize = 2000;

/// The last lines of the application.
#[derive(Debug, Default)]
pub(crate) struct Tail(Mutex<VecDeque<String>>);

impl Tail {
    /// Adds a line.
    pub(crate) fn add(&self, line: &str) {
        let end = line.floor_char_boundary(MAX_KEPT);
        let mut lines = self.inner();
        if lines.len() == KEPT_LINES {
            lines.pop_front();
        }
        lines.push_back(line[..end].to_owned());
    }

    /// The kept lines, oldest first.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.inner().iter().cloned().collect()
    }

    /// Removes all lines.
    pub(crate) fn clear(&self) {
        self.inner().clear();
    }

    fn inner(&self) -> MutexGuard<'_, VecDeque<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads lines from a pipe.
#[derive(Debug)]
pub(crate) struct LineReader<R> {
    pipe: BufReader<R>,
    line: Vec<u8>,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub(crate) fn new(pipe: R) -> Self {
        Self { pipe: BufReader::new(pipe), line: Vec::new() }
    }

    /// The next line without its line break; `None` at the end of the pipe.
    pub(crate) async fn next(&mut self) -> Option<String> {
        self.line.clear();
        loop {
            // A read error counts as the end of the pipe.
            let bytes = self.pipe.fill_buf().await.ok()?;
            if bytes.is_empty() {
                return (!self.line.is_empty()).then(|| self.take());
            }
            let space = &bytes[..bytes.len().min(MAX_LINE - self.line.len())];
            let (part, used, is_end) = match space.iter().position(|byte| *byte == b'\n') {
                Some(end) => (&space[..end], end + 1, true),
                None => (space, space.len(), false),
            };
            self.line.extend_from_slice(part);
            self.pipe.consume(used);
            if is_end || self.line.len() == MAX_LINE {
                return Some(self.take());
            }
        }
    }

    fn take(&self) -> String {
        let line = self.line.strip_suffix(b"\r").unwrap_or(&self.line);
        String::from_utf8_lossy(line).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn read(text: &[u8]) -> Vec<String> {
        let mut reader = LineReader::new(text);
        let mut lines = Vec::new();
        while let Some(line) = reader.next().await {
            lines.push(line);
        }
        lines
    }

    #[tokio::test]
    async fn lines_come_without_their_ends_and_the_last_needs_none() {
        assert_eq!(read(b"one\r\n\ntwo\nthree").await, ["one", "", "two", "three"]);
        assert_eq!(read(b"").await, [""; 0]);
        assert_eq!(read(b"caf\xff\n").await, ["caf\u{fffd}"]);
    }

    #[tokio::test]
    async fn a_line_without_end_comes_in_pieces() {
        let lines = read(&vec![b'x'; MAX_LINE + 3]).await;
        assert_eq!(lines.iter().map(String::len).collect::<Vec<_>>(), [MAX_LINE, 3]);
    }

    #[test]
    fn only_the_last_lines_are_kept() {
        let tail = Tail::default();
        for number in 0..KEPT_LINES + 2 {
            tail.add(&number.to_string());
        }
        let lines = tail.lines();
        assert_eq!((lines.len(), lines[0].as_str()), (KEPT_LINES, "2"));
    }
}
