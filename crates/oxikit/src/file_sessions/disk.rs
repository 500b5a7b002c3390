//! Files that are whole or not there, for us only, and never outside.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{SystemTime, UNIX_EPOCH};

use oxikit_core::ports::StoreError;
use serde::{Deserialize, Serialize};

/// No file of ours is larger; what is belongs to somebody else.
const MAX_FILE_BYTES: u64 = 256 * 1024 * 1024;
/// A file that is replaced while it is opened is opened again, so often.
const MAX_TRIES: u32 = 100;

/// Tells one writing of a file from another.
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

/// When it was last written, in nanoseconds since 1970.
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

/// How a failure of the file system is told.
pub(super) fn failure(id: &str, error: io::Error) -> StoreError {
    match error.kind() {
        io::ErrorKind::InvalidFilename => {
            StoreError::Invalid("an id that is no file name on this disk")
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            StoreError::Full(id.to_owned(), "the disk is full")
        }
        _ => StoreError::Unavailable(Box::new(error)),
    }
}

/// What is found under a name.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) bytes: Vec<u8>,
    pub(super) stamp: Stamp,
}

/// The file's stamp; `None` if there is none. Links are not followed: what is no
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
        // What was opened is what was looked at, not a link that took its place.
        if Stamp::of(&file.metadata()?) == stamp {
            let mut bytes = Vec::with_capacity(usize::try_from(stamp.length).unwrap_or_default());
            file.take(MAX_FILE_BYTES).read_to_end(&mut bytes)?;
            return Ok(Some(Found { bytes, stamp }));
        }
    }
    Err(io::Error::new(io::ErrorKind::ResourceBusy, "the file is written all the time"))
}

/// When something in the folder was last made, replaced or removed; 0 if it is not
/// there. A link to another folder is refused.
pub(super) fn folder_written(folder: &Path) -> io::Result<u64> {
    match fs::symlink_metadata(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(0),
        Ok(metadata) if !metadata.is_dir() => {
            Err(io::Error::new(io::ErrorKind::NotADirectory, "this is no folder"))
        }
        metadata => Ok(modified(&metadata?)),
    }
}

/// Makes the folder, if it is not there. A link to another one is refused.
pub(super) fn make_folder(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => return Ok(()),
        Ok(_) => return Err(io::Error::new(io::ErrorKind::NotADirectory, "this is no folder")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    match folder_builder().create(path) {
        // Somebody was faster.
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

/// Adds to a file of which so many bytes are used. What is behind them was never
/// answered and is cut off. Durable when it is answered.
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
        // What has failed already cannot fail more.
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

/// The checksum of nothing.
pub(super) const FNV: u64 = 0xcbf2_9ce4_8422_2325;

/// The checksum of what has the first one, and these bytes behind it (FNV-1a).
pub(super) fn fnv(before: u64, bytes: &[u8]) -> u64 {
    let add = |sum: u64, byte: &u8| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    bytes.iter().fold(before, add)
}

/// Writes files by way of others that get their names when they are whole.
#[derive(Debug)]
pub(super) struct Writer {
    /// Begins the names of unfinished files: whoever finds one knows whose it is.
    holder: String,
    number: AtomicU64,
}

impl Writer {
    pub(super) fn new(holder: String) -> Self {
        Self { holder, number: AtomicU64::new(0) }
    }

    /// Replaces the file, or makes it. Durable when it is answered.
    pub(super) fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<Stamp> {
        self.write(path, bytes, |unfinished| fs::rename(unfinished, path))
    }

    /// The same, but fails with `AlreadyExists` if the file is there.
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
                // What has failed already cannot fail more.
                _ = fs::remove_file(&unfinished);
                Err(error)
            }
        }
    }
}

const UNFINISHED: &str = ".tmp";

/// Whose unfinished file this is, if it is one of ours.
pub(super) fn unfinished_by(file: &str) -> Option<&str> {
    let name = file.strip_prefix('.')?.strip_suffix(UNFINISHED)?;
    name.split_once('-').map(|(holder, _)| holder)
}

/// Writes a file that is not there yet. Its name is not durable by that.
pub(super) fn write_new(path: &Path, bytes: &[u8]) -> io::Result<Stamp> {
    let mut file = file_options().create_new(true).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    Ok(Stamp::of(&file.metadata()?))
}
