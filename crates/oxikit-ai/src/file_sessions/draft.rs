//! Finds what a snapshot adds to the content that its session already has.

use std::io;
use std::sync::Arc;

use oxikit_core::ports::delta::{common_prefix, is_same};
use oxikit_wire::{Message, SessionSnapshot, SessionState};
use serde::Serialize;

use super::pieces::{Content, Loaded, Piece, Pieces};

/// Messages that lie in more pieces are copied into one, so that reading stays short.
const MAX_PIECES: usize = 64;

/// A snapshot on its way into the files.
#[derive(Debug)]
pub(super) struct Draft {
    /// Without its content.
    head: SessionSnapshot,
    messages: Option<Messages>,
    custom: Option<Document>,
    artifacts: Option<Vec<Document>>,
}

/// Messages: those that are kept, then those that are added.
#[derive(Debug)]
struct Messages {
    kept: Vec<Piece>,
    /// A line each.
    added: Vec<u8>,
    count: usize,
}

/// An artifact, or the custom state.
#[derive(Debug)]
enum Document {
    Same(Piece),
    /// Its line.
    New(Vec<u8>),
}

impl Draft {
    /// Compares a snapshot with others of its session, the `bases`: its own row as it was, and
    /// its parent. Content that a base has already is referred to and not written again.
    pub(super) fn new(
        snapshot: &SessionSnapshot,
        bases: &[&Loaded],
        files: &Pieces,
    ) -> io::Result<Self> {
        let mut head = snapshot.clone();
        let Some(state) = &mut head.state else {
            return Ok(Self { head, messages: None, custom: None, artifacts: None });
        };
        let messages = state.messages.take();
        let messages = messages.map(|all| Messages::new(&all, bases, files)).transpose()?;
        let custom = state.custom.take().map(|custom| {
            let stored = |state: &SessionState, content: &Content| {
                let is_same = is_same(state.custom.as_ref()?, &custom);
                content.custom.filter(|_| is_same)
            };
            Document::new(&custom, find(bases, stored))
        });
        let artifacts = state.artifacts.take().map(|all| {
            let documents = all.iter().map(|artifact| {
                let stored = |state: &SessionState, content: &Content| {
                    let known = state.artifacts.as_ref()?.iter().zip(content.artifacts.as_ref()?);
                    let mut same = known.filter(|(known, _)| is_same(known, artifact));
                    same.next().map(|(_, piece)| *piece)
                };
                Document::new(artifact, find(bases, stored))
            });
            documents.collect::<io::Result<Vec<_>>>()
        });
        let (custom, artifacts) = (custom.transpose()?, artifacts.transpose()?);
        Ok(Self { head, messages, custom, artifacts })
    }

    fn documents(&self) -> impl Iterator<Item = &Document> {
        self.artifacts.iter().flatten().chain(&self.custom)
    }

    /// The snapshot without its content.
    pub(super) fn head(&self) -> &SessionSnapshot {
        &self.head
    }

    /// Bytes of content by which the session grows.
    pub(super) fn added_bytes(&self) -> u64 {
        let documents = self.documents().map(|document| match document {
            Document::Same(_) => 0,
            Document::New(line) => line.len(),
        });
        let messages = self.messages.iter().map(|messages| messages.added.len());
        documents.chain(messages).sum::<usize>() as u64
    }

    /// Bytes of all its content.
    pub(super) fn bytes(&self) -> u64 {
        let documents = self.documents().map(|document| match document {
            Document::Same(piece) => piece.bytes,
            Document::New(_) => 0,
        });
        let kept = self.messages.iter().flat_map(|messages| &messages.kept);
        documents.chain(kept.map(|piece| piece.bytes)).sum::<u64>() + self.added_bytes()
    }

    /// Writes the new content and returns the location of all content. The write is durable
    /// when this returns.
    pub(super) fn write(&self, files: &Pieces) -> io::Result<Content> {
        let write = |document: &Document| match document {
            Document::Same(piece) => Ok(*piece),
            Document::New(line) => files.create(line, 1),
        };
        let artifacts = self.artifacts.as_ref().map(|all| all.iter().map(write).collect());
        Ok(Content {
            messages: self.messages.as_ref().map(|messages| messages.write(files)).transpose()?,
            custom: self.custom.as_ref().map(write).transpose()?,
            artifacts: artifacts.transpose()?,
        })
    }
}

/// The piece of the first base that has this content.
fn find(
    bases: &[&Loaded],
    stored: impl Fn(&SessionState, &Content) -> Option<Piece>,
) -> Option<Piece> {
    let mut found = bases
        .iter()
        .filter_map(|base| stored(base.snapshot.state.as_ref()?, base.content.as_ref()?));
    found.next()
}

impl Document {
    fn new(value: &impl Serialize, stored: Option<Piece>) -> io::Result<Self> {
        match stored {
            Some(piece) => Ok(Self::Same(piece)),
            None => Ok(Self::New(lines([value])?)),
        }
    }
}

impl Messages {
    fn new(all: &[Arc<Message>], bases: &[&Loaded], files: &Pieces) -> io::Result<Self> {
        let shared = bases.iter().filter_map(|base| {
            let before = base.snapshot.state.as_ref()?.messages.as_deref()?;
            let pieces = base.content.as_ref()?.messages.as_deref()?;
            Some((common_prefix(before, all), pieces))
        });
        let (length, pieces) = shared.max_by_key(|(length, _)| *length).unwrap_or_default();
        let kept = first(pieces, length, files)?;
        let is_long = kept.len() >= MAX_PIECES && length < all.len();
        let (kept, length) = if is_long { (Vec::new(), 0) } else { (kept, length) };
        Ok(Self { kept, added: lines(&all[length..])?, count: all.len() - length })
    }

    fn write(&self, files: &Pieces) -> io::Result<Vec<Piece>> {
        let mut pieces = self.kept.clone();
        if self.count == 0 {
            return Ok(pieces);
        }
        let grown = match pieces.last() {
            Some(last) => files.append(last, &self.added, self.count)?,
            None => None,
        };
        match (grown, pieces.last_mut()) {
            (Some(grown), Some(last)) => *last = grown,
            _ => pieces.push(files.create(&self.added, self.count)?),
        }
        Ok(pieces)
    }
}

/// The pieces that have the first messages.
fn first(pieces: &[Piece], mut length: usize, files: &Pieces) -> io::Result<Vec<Piece>> {
    let mut first = Vec::new();
    for piece in pieces {
        if length == 0 {
            break;
        }
        match length < piece.lines {
            true => first.push(files.begin_of(piece, length)?),
            false => first.push(*piece),
        }
        length = length.saturating_sub(piece.lines);
    }
    Ok(first)
}

fn lines<T: Serialize>(values: impl IntoIterator<Item = T>) -> io::Result<Vec<u8>> {
    let mut lines = Vec::new();
    for value in values {
        serde_json::to_writer(&mut lines, &value)?;
        lines.push(b'\n');
    }
    Ok(lines)
}
