//! Chooses the layout of a directory when it is opened.

use std::fs;
use std::io;
use std::path::Path;

use super::disk::{self, Writer};
use super::layout::{Folder, OURS, id_of};

/// The file that names the layout. Without it, a directory with snapshots has the official one.
const NOTE: &str = "layout";

/// The layout in which [`FileSessions`](super::FileSessions) writes snapshots. Both layouts are
/// read in any case, also in one session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileLayout {
    /// A snapshot contains what is new in it: messages and artifacts that the session has
    /// already are not written again, so the cost of a turn does not depend on the length of
    /// its session. Official runtimes cannot read it.
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

/// The layout of the directory: the wanted one, or else the present one. It is written down, so
/// that the next `open` finds it.
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

/// Whether any owner has a snapshot.
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
