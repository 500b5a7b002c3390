//! Splits a streaming answer into blocks, independent of the pieces in which it arrives.
//!
//! A block is a few lines and an empty one. Official servers write one line of
//! `data: {…}` or `error: {…}`. The variants of proxies and other servers are
//! accepted as well: CRLF, comments, fields of server-sent events, JSON over several
//! lines, bare JSON, and the `END` of Next.js.
//!
//! Lines are split as bytes, so a character that arrives in two pieces is complete before it is
//! decoded. Every byte is examined once and copied at most twice.

use std::collections::VecDeque;

use bytes::Bytes;

/// One block. Its text should be JSON; this module does not check it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) kind: BlockKind,
    pub(crate) text: Bytes,
    /// The `id` field. Only streams of A2A have a use for it.
    pub(crate) id: Option<String>,
}

/// The field that announced a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BlockKind {
    Data,
    Error,
}

/// The reason why the stream cannot be read any further.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BlockError {
    /// A block is larger than allowed.
    TooLarge,
    /// The input is not a block.
    Garbage,
}

/// Cuts bytes into blocks.
#[derive(Debug)]
pub(crate) struct Blocks {
    limit: usize,
    /// The line whose end has not arrived.
    line: Vec<u8>,
    open: Open,
    ready: VecDeque<Result<Block, BlockError>>,
    is_first_line: bool,
    /// Set by the first error: nothing is read after it.
    is_broken: bool,
}

/// The block whose end has not arrived.
#[derive(Debug, Default)]
struct Open {
    text: Vec<u8>,
    has_text: bool,
    is_error: bool,
    has_garbage: bool,
    id: Option<String>,
}

impl Blocks {
    /// Blocks of at most `limit` bytes.
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            line: Vec::new(),
            open: Open::default(),
            ready: VecDeque::new(),
            is_first_line: true,
            is_broken: false,
        }
    }

    /// Takes the next piece of the stream.
    pub(crate) fn push(&mut self, mut piece: &[u8]) {
        while !self.is_broken
            && let Some(end) = piece.iter().position(|byte| *byte == b'\n')
        {
            let (head, tail) = piece.split_at(end);
            piece = &tail[1..];
            if self.has_room_for(head.len()) {
                if self.line.is_empty() {
                    self.end_line(head);
                } else {
                    let mut line = std::mem::take(&mut self.line);
                    line.extend_from_slice(head);
                    self.end_line(&line);
                }
            }
        }
        if !self.is_broken && self.has_room_for(piece.len()) {
            self.line.extend_from_slice(piece);
        }
    }

    /// The next complete block.
    pub(crate) fn next(&mut self) -> Option<Result<Block, BlockError>> {
        self.ready.pop_front()
    }

    /// Whether no complete block is waiting.
    pub(crate) fn is_empty(&self) -> bool {
        self.ready.is_empty()
    }

    /// Handles the end of the stream. A last block without its empty line
    /// counts if its JSON is complete; else the stream was cut there.
    pub(crate) fn finish(&mut self) {
        if self.is_broken {
            return;
        }
        let line = std::mem::take(&mut self.line);
        // An incomplete line may be the beginning of any valid one, so it is never garbage.
        let has_garbage = self.open.has_garbage;
        let line = self.content(&line);
        if !line.is_empty() {
            self.open.add(line);
        }
        let open = std::mem::take(&mut self.open);
        if open.has_text {
            if serde_json::from_slice::<serde::de::IgnoredAny>(&open.text).is_ok() {
                self.ready.push_back(Ok(open.into_block()));
            }
        } else if has_garbage {
            self.fail(BlockError::Garbage);
        }
    }

    fn has_room_for(&mut self, more: usize) -> bool {
        if self.line.len() + self.open.text.len() + more > self.limit {
            self.fail(BlockError::TooLarge);
        }
        !self.is_broken
    }

    fn fail(&mut self, error: BlockError) {
        self.is_broken = true;
        self.line = Vec::new();
        self.open = Open::default();
        self.ready.push_back(Err(error));
    }

    fn end_line(&mut self, line: &[u8]) {
        let line = self.content(line);
        if !line.is_empty() {
            return self.open.add(line);
        }
        let open = std::mem::take(&mut self.open);
        if open.has_text {
            self.ready.push_back(Ok(open.into_block()));
        } else if open.has_garbage {
            self.fail(BlockError::Garbage);
        }
    }

    /// The line without `\r` at its end and without a byte order mark at the start of the stream.
    fn content<'a>(&mut self, line: &'a [u8]) -> &'a [u8] {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        match std::mem::take(&mut self.is_first_line) {
            true => line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line),
            false => line,
        }
    }
}

impl Open {
    fn add(&mut self, line: &[u8]) {
        if let Some(text) = line.strip_prefix(b"data:") {
            self.add_text(text);
        } else if let Some(text) = line.strip_prefix(b"error:") {
            self.is_error = true;
            self.add_text(text);
        } else if let Some(name) = line.strip_prefix(b"event:") {
            self.is_error |= name.trim_ascii() == b"error";
        } else if let Some(id) = line.strip_prefix(b"id:") {
            self.id = Some(String::from_utf8_lossy(id.trim_ascii()).into_owned());
        } else if is_ignored(line) {
            // Comments keep a connection alive; the other fields mean nothing here.
        } else if self.has_text || line.trim_ascii_start().starts_with(b"{") {
            // JSON that continues, or that has no field name before it.
            self.add_text(line);
        } else {
            self.has_garbage = true;
        }
    }

    fn add_text(&mut self, text: &[u8]) {
        if self.has_text {
            self.text.push(b'\n');
        }
        self.has_text = true;
        self.text.extend_from_slice(text);
    }

    fn into_block(self) -> Block {
        let kind = if self.is_error { BlockKind::Error } else { BlockKind::Data };
        Block { kind, text: as_utf8(self.text), id: self.id }
    }
}

fn is_ignored(line: &[u8]) -> bool {
    let fields: [&[u8]; 2] = [b":", b"retry:"];
    fields.iter().any(|field| line.starts_with(field)) || matches!(line.trim_ascii(), b"" | b"END")
}

/// Invalid UTF-8 becomes U+FFFD, as in official clients.
fn as_utf8(text: Vec<u8>) -> Bytes {
    match String::from_utf8(text) {
        Ok(text) => text.into(),
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned().into(),
    }
}

#[cfg(test)]
mod tests;
