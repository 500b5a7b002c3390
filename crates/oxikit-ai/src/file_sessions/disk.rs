//! Single files: read and written as a whole, durably, readable by this user only, and never
//! through a link that leads out of the directory.
//!
//! A new content is written to an unfinished file, synced, and then renamed, so other processes
//! see the old file or the new one. The folder is synced as well: without that, a crash of the
//! machine could undo the renaming.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{SystemTime, UNIX_EPOCH};

use oxikit_core::ports::StoreError;
use serde::{Deserialize, Serialize};

/// Maximum bytes of a file. This store writes no larger ones; reading one is an error.
const MAX_FILE_BYTES: u64 = 256 * 1024 * 1024;
/// Maximum number of attempts to open a file that is replaced at the same time.
const MAX_TRIES: u32 = 100;

/// Identifies a state of a file: another write has another stamp. The modification time alone
/// would not do, since file systems count it in steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stamp {
    /// Nanoseconds since 1970.
    pub(super) modified: u64,
    pub(super) length: u64,
    inode: u64,
}

impl Stamp {
    pub(super) fn of(metadata: &Metadata) -> Self {
        Self { modified: modified(metadata), length: metadata.len(), inode: inode(metadata) }
    }
}

/// Time of the last write, in nanoseconds since 1970.
pub(super) fn modified(metadata: &Metadata) -> u64 {
    let since = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    since.and_then(|since| u64::try_from(since.as_nanos()).ok()).unwrap_or_default()
}

#[cfg(unix)]
fn inode(metadata: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(metadata)
}

#[cfg(not(unix))]
fn inode(_: &Metadata) -> u64 {
    0
}

/// Converts an error of the file system into an error of the store.
pub(super) fn failure(id: &str, error: io::Error) -> StoreError {
    match error.kind() {
        io::ErrorKind::InvalidFilename => {
            StoreError::Invalid("an id that is not a valid file name on this disk")
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            StoreError::Full(id.to_owned(), "the disk is full")
        }
        _ => StoreError::Unavailable(Box::new(error)),
    }
}

/// The content of a file, and its stamp.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) bytes: Vec<u8>,
    pub(super) stamp: Stamp,
}

/// The file's stamp; `None` if there is none. Links are not followed: anything but a
/// plain file is an error.
pub(super) fn stamp(path: &Path) -> io::Result<Option<Stamp>> {
    let metadata = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        metadata => metadata?,
    };
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "this is not a plain file"));
    }
    Ok(Some(Stamp::of(&metadata)))
}

/// Reads a plain file; `None` if there is none.
pub(super) fn read(path: &Path) -> io::Result<Option<Found>> {
    for _ in 0..MAX_TRIES {
        let Some(stamp) = stamp(path)? else { return Ok(None) };
        if stamp.length > MAX_FILE_BYTES {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the file is too large"));
        }
        let file = match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            file => file?,
        };
        // The opened file must be the one that was examined, not a link that took its place
        // between the two calls.
        if Stamp::of(&file.metadata()?) == stamp {
            let mut bytes = Vec::with_capacity(usize::try_from(stamp.length).unwrap_or_default());
            file.take(MAX_FILE_BYTES).read_to_end(&mut bytes)?;
            return Ok(Some(Found { bytes, stamp }));
        }
    }
    Err(io::Error::new(io::ErrorKind::ResourceBusy, "the file is written all the time"))
}

/// Time at which an entry of the folder was last created, replaced or removed; 0 if there is no
/// such folder. A link to another folder is an error.
pub(super) fn folder_written(folder: &Path) -> io::Result<u64> {
    match fs::symlink_metadata(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        Ok(metadata) if !metadata.is_dir() => {
            Err(io::Error::new(io::ErrorKind::NotADirectory, "this is not a directory"))
        }
        metadata => Ok(modified(&metadata?)),
    }
}

/// Makes the folder, if it is not there. A link to another one is refused.
pub(super) fn make_folder(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => return Ok(()),
        Ok(_) => {
            return Err(io::Error::new(io::ErrorKind::NotADirectory, "this is not a directory"));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    match folder_builder().create(path) {
        // Another process has created it in the meantime; it must be a directory, too.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => make_folder(path),
        made => made.and_then(|()| sync_folder(path.parent().unwrap_or(path))),
    }
}

/// Makes folders that only we can read.
pub(super) fn folder_builder() -> DirBuilder {
    #[allow(unused_mut, reason = "it is changed where files have modes")]
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

/// Makes files that only we can read.
pub(super) fn file_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Makes names of files durable.
pub(super) fn sync_folder(path: &Path) -> io::Result<()> {
    // Elsewhere a folder cannot be opened, and need not be.
    if cfg!(unix) { File::open(path)?.sync_all() } else { Ok(()) }
}

/// Removes the file; says whether it was there.
pub(super) fn remove(path: &Path) -> io::Result<bool> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        removed => removed.map(|()| true),
    }
}

/// Appends to a file whose first `used` bytes are valid. Bytes behind them belong to a write that
/// was never acknowledged, and are cut off. The file is synchronised before the function returns.
pub(super) fn append(path: &Path, used: u64, bytes: &[u8]) -> io::Result<()> {
    let mut file = file_options().open(path)?;
    let length = file.metadata()?.len();
    if length < used {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the end of the file is missing"));
    }
    if length > used {
        file.set_len(used)?;
    }
    file.seek(SeekFrom::Start(used))?;
    let written = file.write_all(bytes).and_then(|()| file.sync_data());
    if written.is_err() {
        // Best effort: the error that is returned is the first one.
        _ = file.set_len(used);
    }
    written
}

/// Makes a mark of the time that others can see, for what leaves no trace in its
/// folder.
pub(super) fn touch(path: &Path) -> io::Result<()> {
    let file = file_options().create(true).truncate(false).open(path)?;
    file.set_modified(SystemTime::now())
}

/// The checksum of no bytes.
pub(super) const FNV: u64 = 0xcbf2_9ce4_8422_2325;

/// Continues a checksum (FNV-1a): `before` is that of the bytes in front of these. It detects
/// damage, not manipulation.
pub(super) fn fnv(before: u64, bytes: &[u8]) -> u64 {
    let add = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(before, add)
}

/// Writes files under an unfinished name, and renames them when they are complete.
#[derive(Debug)]
pub(super) struct Writer {
    /// Prefix of the names of unfinished files. It names the process that writes them, so that
    /// files of a dead process can be removed.
    holder: String,
    number: AtomicU64,
}

impl Writer {
    pub(super) fn new(holder: String) -> Self {
        Self { holder, number: AtomicU64::new(0) }
    }

    /// Replaces the file, or creates it. The write is durable when this returns.
    pub(super) fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<Stamp> {
        self.write(path, bytes, |unfinished| fs::rename(unfinished, path))
    }

    /// Creates the file; fails with `AlreadyExists` if it exists.
    pub(super) fn create(&self, path: &Path, bytes: &[u8]) -> io::Result<Stamp> {
        self.write(path, bytes, |unfinished| match fs::hard_link(unfinished, path) {
            Ok(()) => fs::remove_file(unfinished),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
            // Not every file system has links.
            Err(_) if stamp(path)?.is_some() => Err(io::ErrorKind::AlreadyExists.into()),
            Err(_) => fs::rename(unfinished, path),
        })
    }

    fn write(
        &self,
        path: &Path,
        bytes: &[u8],
        name: impl FnOnce(&Path) -> io::Result<()>,
    ) -> io::Result<Stamp> {
        let folder = path.parent().unwrap_or(path);
        let number = self.number.fetch_add(1, Relaxed);
        let unfinished = folder.join(format!(".{}-{number}{UNFINISHED}", self.holder));
        let written = write_new(&unfinished, bytes);
        let named = written.and_then(|stamp| name(&unfinished).map(|()| stamp));
        match named {
            Ok(stamp) => sync_folder(folder).map(|()| stamp),
            Err(error) => {
                // Best effort: the error that is returned is the first one.
                _ = fs::remove_file(&unfinished);
                Err(error)
            }
        }
    }
}

const UNFINISHED: &str = ".tmp";

/// The holder that was writing this unfinished file, or `None` if the file is of another kind.
pub(super) fn unfinished_by(file: &str) -> Option<&str> {
    let name = file.strip_prefix('.')?.strip_suffix(UNFINISHED)?;
    name.split_once('-').map(|(holder, _)| holder)
}

/// Writes a new file. Its content is durable when this returns, its name only after the folder
/// is synced.
pub(super) fn write_new(path: &Path, bytes: &[u8]) -> io::Result<Stamp> {
    let mut file = file_options().create_new(true).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    Ok(Stamp::of(&file.metadata()?))
}
