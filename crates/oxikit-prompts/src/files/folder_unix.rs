//! A folder that is opened name by name, without following symbolic links, on Unix.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{self, AtFlags, Mode, OFlags};
use rustix::io::Errno;

use super::stamp::millis;

/// An open folder. Names are single names, never paths.
#[derive(Debug)]
pub(super) struct Folder(OwnedFd);

impl Folder {
    /// Opens a folder below `root`.
    pub(super) fn open(root: &Path, folders: &[&str]) -> io::Result<Self> {
        let open =
            |folder: OwnedFd, name: &&str| fs::openat(&folder, *name, flags(), Mode::empty());
        let root = fs::open(root, flags(), Mode::empty());
        let opened = root.and_then(|root| folders.iter().try_fold(root, open));
        opened.map(Self).map_err(explain)
    }

    /// Opens a folder below `root`, and makes the folders that are missing.
    pub(super) fn create(root: &Path, folders: &[&str]) -> io::Result<Self> {
        let mut folder = Self::open(root, &[])?;
        for name in folders {
            match fs::mkdirat(&folder.0, *name, Mode::from_raw_mode(0o777)) {
                Ok(()) => folder.sync()?,
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
            let opened = fs::openat(&folder.0, *name, flags(), Mode::empty());
            folder = Self(opened.map_err(explain)?);
        }
        Ok(folder)
    }

    /// Opens a file for reading. It may be something else than a regular file; opening a pipe does
    /// not block.
    pub(super) fn open_file(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = fs::openat(&self.0, name, flags, Mode::empty());
        file.map(File::from).map_err(explain)
    }

    /// Makes a file that does not exist yet.
    pub(super) fn create_file(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let mode = Mode::from_raw_mode(0o666);
        Ok(File::from(fs::openat(&self.0, name, flags | OFlags::CLOEXEC, mode)?))
    }

    /// Whether there is anything of this name.
    pub(super) fn has(&self, name: &str) -> io::Result<bool> {
        match fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(_) => Ok(true),
            Err(Errno::NOENT) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Moves a file over another one.
    pub(super) fn replace(&self, from: &str, to: &str) -> io::Result<()> {
        Ok(fs::renameat(&self.0, from, &self.0, to)?)
    }

    /// Exchanges two files. `false` if the file system cannot do this.
    pub(super) fn exchange(&self, one: &str, other: &str) -> io::Result<bool> {
        #[cfg(any(target_os = "linux", target_os = "macos"))]
        {
            let flags = fs::RenameFlags::EXCHANGE;
            match fs::renameat_with(&self.0, one, &self.0, other, flags) {
                Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
                exchanged => return Ok(exchanged.map(|()| true)?),
            }
        }
        Ok(false)
    }

    /// Moves a file to a name that must be free.
    pub(super) fn place(&self, from: &str, folder: &Self, to: &str) -> io::Result<()> {
        #[cfg(any(target_os = "linux", target_os = "macos"))]
        {
            let flags = fs::RenameFlags::NOREPLACE;
            match fs::renameat_with(&self.0, from, &folder.0, to, flags) {
                // Not every file system can do this.
                Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {}
                moved => return Ok(moved?),
            }
        }
        fs::linkat(&self.0, from, &folder.0, to, AtFlags::empty())?;
        self.remove(from)
    }

    /// Removes a file.
    pub(super) fn remove(&self, name: &str) -> io::Result<()> {
        Ok(fs::unlinkat(&self.0, name, AtFlags::empty())?)
    }

    /// Flushes the list of names to the disk.
    pub(super) fn sync(&self) -> io::Result<()> {
        match fs::fsync(&self.0) {
            // Some network file systems do not offer it for folders.
            Err(Errno::INVAL) => Ok(()),
            synced => Ok(synced?),
        }
    }

    /// When a name was added or removed last, in milliseconds since 1970.
    pub(super) fn modified_at(&self) -> Option<i64> {
        let folder = File::from(self.0.try_clone().ok()?);
        folder.metadata().ok()?.modified().ok().map(millis)
    }
}

fn flags() -> OFlags {
    OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC
}

/// Says that a symbolic link was found, which the system calls "too many levels" or "not a
/// directory".
fn explain(error: Errno) -> io::Error {
    match error {
        Errno::LOOP | Errno::MLINK => {
            let message = "its path leads through a symbolic link, which is not followed";
            io::Error::new(io::ErrorKind::InvalidData, message)
        }
        error => error.into(),
    }
}
