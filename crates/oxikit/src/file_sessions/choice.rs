//! Which layout a directory has.

use std::fs;
use std::io;
use std::path::Path;

use super::disk::{self, Writer};
use super::layout::{Folder, OURS, id_of};

/// Says which. Without it a directory that has snapshots is in the official layout.
const NOTE: &str = "layout";

/// How [`FileSessions`](super::FileSessions) writes snapshots. Both kinds are read in
/// any case, also in one session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileLayout {
    /// A snapshot has what is new in it: messages and artifacts that the session has
    /// already are not written again, so that a turn costs the same however long its
    /// session is. Official runtimes cannot read it.
    Segments,
    /// A snapshot is a file with all of its state, as the file stores of the official
    /// runtimes have it: the directory can be shared with them. Each turn writes the
    /// whole conversation.
    Official,
}

impl FileLayout {
    fn name(self) -> &'static str {
        match self {
            Self::Segments => "segments",
            Self::Official => "official",
        }
    }
}

/// The layout of the directory: as it was asked for, or else as it is. It is noted for
/// those who open the directory next.
pub(super) fn choose(
    root: &Path,
    wanted: Option<FileLayout>,
    writer: &Writer,
) -> io::Result<FileLayout> {
    let note = root.join(OURS).join(NOTE);
    let noted = disk::read(&note)?.map(|found| found.bytes);
    let is_noted = |layout: &FileLayout| noted.as_deref() == Some(layout.name().as_bytes());
    let known = || [FileLayout::Segments, FileLayout::Official].into_iter().find(is_noted);
    let layout = match wanted.or_else(known) {
        Some(layout) => layout,
        None if has_snapshots(root)? => FileLayout::Official,
        None => FileLayout::Segments,
    };
    if !is_noted(&layout) {
        writer.replace(&note, layout.name().as_bytes())?;
    }
    Ok(layout)
}

/// Whether a snapshot of anybody is there.
fn has_snapshots(root: &Path) -> io::Result<bool> {
    for entry in fs::read_dir(root)? {
        let entry = entry?;
        let name = entry.file_name();
        let is_owners = name.to_str().and_then(|name| Folder::named(root, name)).is_some();
        if !is_owners || !entry.file_type()?.is_dir() {
            continue;
        }
        for file in fs::read_dir(entry.path())? {
            if file?.file_name().to_str().and_then(id_of).is_some() {
                return Ok(true);
            }
        }
    }
    Ok(false)
}
