//! The content of snapshots, in files that the snapshots of a session share.
//!
//! A file has one JSON value per line and is only appended to. A snapshot refers to the first
//! lines of a file, with a checksum, so lines that are appended later do not change it. Two
//! branches of a session cannot append to the same file: the second finds other lines there and
//! begins a new file.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use oxikit_wire::SessionSnapshot;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::disk::{self, FNV, Stamp, fnv};

/// The first bytes of the file of a snapshot whose content is elsewhere. No official store
/// writes them.
const MARK: &[u8] = b"{\"oxikit\":";

/// The first lines of a file; each is JSON. A file only grows, so they stay.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(from = "(u64, usize, u64, u64)", into = "(u64, usize, u64, u64)")]
pub(super) struct Piece {
    pub(super) file: u64,
    pub(super) lines: usize,
    pub(super) bytes: u64,
    /// The checksum of these bytes.
    pub(super) sum: u64,
}

// A list, for it is written with every snapshot.
impl From<(u64, usize, u64, u64)> for Piece {
    fn from((file, lines, bytes, sum): (u64, usize, u64, u64)) -> Self {
        Self { file, lines, bytes, sum }
    }
}

impl From<Piece> for (u64, usize, u64, u64) {
    fn from(Piece { file, lines, bytes, sum }: Piece) -> Self {
        (file, lines, bytes, sum)
    }
}

/// The location of the content of a snapshot.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Content {
    /// The messages of all pieces, in order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) messages: Option<Vec<Piece>>,
    /// A file of one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) custom: Option<Piece>,
    /// A file of one line each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) artifacts: Option<Vec<Piece>>,
}

/// The file of a snapshot whose content is elsewhere.
#[derive(Serialize, Deserialize)]
struct Stub<S> {
    /// The first member: it is what the file is known by.
    oxikit: Content,
    snapshot: S,
}

/// The content of the file of a snapshot.
#[derive(Debug)]
pub(super) struct Loaded {
    /// Without its content, if that is elsewhere.
    pub(super) snapshot: SessionSnapshot,
    pub(super) content: Option<Content>,
    pub(super) stamp: Stamp,
}

impl Loaded {
    pub(super) fn parse(bytes: &[u8], stamp: Stamp) -> io::Result<Self> {
        if !bytes.starts_with(MARK) {
            return Ok(Self { snapshot: serde_json::from_slice(bytes)?, content: None, stamp });
        }
        let Stub { oxikit, snapshot } = serde_json::from_slice(bytes)?;
        Ok(Self { snapshot, content: Some(oxikit), stamp })
    }
}

impl Content {
    /// The file of a snapshot with this content; the snapshot has none.
    pub(super) fn stub(&self, snapshot: &SessionSnapshot) -> serde_json::Result<Vec<u8>> {
        serde_json::to_vec(&Stub { oxikit: self.clone(), snapshot })
    }

    pub(super) fn pieces(&self) -> impl Iterator<Item = &Piece> {
        let lists = self.messages.iter().flatten().chain(self.artifacts.iter().flatten());
        lists.chain(&self.custom)
    }

    /// Number of messages.
    pub(super) fn length(&self) -> usize {
        self.messages.iter().flatten().map(|piece| piece.lines).sum()
    }

    /// Gives the snapshot its content.
    pub(super) fn read_into(
        &self,
        files: &Pieces,
        snapshot: &mut SessionSnapshot,
    ) -> io::Result<()> {
        let Some(state) = &mut snapshot.state else { return Ok(()) };
        files.check()?;
        if let Some(pieces) = &self.messages {
            let lists = pieces.iter().map(|piece| files.lines(piece));
            state.messages = Some(lists.collect::<io::Result<Vec<_>>>()?.concat());
        }
        if let Some(pieces) = &self.artifacts {
            let artifacts = pieces.iter().map(|piece| files.line(piece));
            state.artifacts = Some(artifacts.collect::<io::Result<_>>()?);
        }
        if let Some(piece) = &self.custom {
            state.custom = Some(files.line(piece)?);
        }
        Ok(())
    }
}

/// The files of one session.
#[derive(Debug)]
pub(super) struct Pieces {
    pub(super) folder: PathBuf,
}

impl Pieces {
    pub(super) fn path(&self, file: u64) -> PathBuf {
        self.folder.join(format!("{file:016x}"))
    }

    pub(super) fn make_folder(&self) -> io::Result<()> {
        disk::make_folder(self.folder.parent().unwrap_or(&self.folder))?;
        disk::make_folder(&self.folder)
    }

    /// Fails if a folder is a link: content must not be read from outside of the directory.
    fn check(&self) -> io::Result<()> {
        let parent = self.folder.parent().unwrap_or(&self.folder);
        disk::folder_written(parent)?;
        disk::folder_written(&self.folder).map(drop)
    }

    /// The bytes of a piece; an error if they differ from what was written.
    pub(super) fn read(&self, piece: &Piece) -> io::Result<Vec<u8>> {
        let Some(mut found) = disk::read(&self.path(piece.file))? else {
            return Err(damaged("a file of the snapshot's content is missing"));
        };
        found.bytes.truncate(usize::try_from(piece.bytes).unwrap_or(usize::MAX));
        match fnv(FNV, &found.bytes) == piece.sum {
            true => Ok(found.bytes),
            false => Err(damaged("a file of the snapshot's content has changed")),
        }
    }

    fn lines<T: DeserializeOwned>(&self, piece: &Piece) -> io::Result<Vec<Arc<T>>> {
        let bytes = self.read(piece)?;
        let lines = bytes.split_inclusive(|byte| *byte == b'\n');
        let values = lines.map(|line| Ok(Arc::new(serde_json::from_slice(line)?)));
        let values = values.collect::<io::Result<Vec<_>>>()?;
        match values.len() == piece.lines {
            true => Ok(values),
            false => Err(damaged("a file of the snapshot's content has other lines")),
        }
    }

    fn line<T: DeserializeOwned>(&self, piece: &Piece) -> io::Result<Arc<T>> {
        let line = self.lines(piece)?.pop();
        line.ok_or_else(|| damaged("a file of the snapshot's content is empty"))
    }

    /// Writes lines to a new file.
    pub(super) fn create(&self, lines: &[u8], count: usize) -> io::Result<Piece> {
        let file = fastrand::u64(..);
        let path = self.path(file);
        let written = disk::write_new(&path, lines).and_then(|_| disk::sync_folder(&self.folder));
        if let Err(error) = written {
            // Best effort: the error that is returned is the first one.
            _ = disk::remove(&path);
            return Err(error);
        }
        Ok(Piece { file, lines: count, bytes: lines.len() as u64, sum: fnv(FNV, lines) })
    }

    /// Appends lines to the piece; `None` if the file has other lines after the piece.
    pub(super) fn append(
        &self,
        piece: &Piece,
        lines: &[u8],
        count: usize,
    ) -> io::Result<Option<Piece>> {
        let path = self.path(piece.file);
        if disk::stamp(&path)?.is_none_or(|stamp| stamp.length != piece.bytes) {
            return Ok(None);
        }
        disk::append(&path, piece.bytes, lines)?;
        Ok(Some(Piece {
            lines: piece.lines + count,
            bytes: piece.bytes + lines.len() as u64,
            sum: fnv(piece.sum, lines),
            ..*piece
        }))
    }

    /// The first lines of a piece.
    pub(super) fn begin_of(&self, piece: &Piece, lines: usize) -> io::Result<Piece> {
        let bytes = self.read(piece)?;
        let begin = bytes.split_inclusive(|byte| *byte == b'\n').take(lines);
        let length = begin.map(<[u8]>::len).sum::<usize>();
        let sum = fnv(FNV, &bytes[..length]);
        Ok(Piece { lines, bytes: length as u64, sum, file: piece.file })
    }

    /// Removes files that no snapshot refers to.
    pub(super) fn remove(&self, files: impl IntoIterator<Item = u64>) -> io::Result<()> {
        files.into_iter().try_for_each(|file| disk::remove(&self.path(file)).map(drop))
    }

    /// Removes all files and the folder.
    pub(super) fn remove_all(&self) -> io::Result<()> {
        self.check()?;
        match std::fs::remove_dir_all(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Ok(()) => disk::sync_folder(self.folder.parent().unwrap_or(Path::new("."))),
            error => error,
        }
    }
}

fn damaged(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}
