//! A folder that is checked name by name for symbolic links, on systems without `openat`.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use super::stamp::millis;

/// A folder. Names are single names, never paths.
#[derive(Debug)]
pub(super) struct Folder(PathBuf);

impl Folder {
    /// Opens a folder below `root`.
    pub(super) fn open(root: &Path, folders: &[&str]) -> io::Result<Self> {
        let mut path = root.to_owned();
        for name in folders {
            path.push(name);
            refuse_link(&path)?;
        }
        match fs::metadata(&path)?.is_dir() {
            true => Ok(Self(path)),
            false => Err(io::ErrorKind::NotADirectory.into()),
        }
    }

    /// Opens a folder below `root`, and makes the folders that are missing.
    pub(super) fn create(root: &Path, folders: &[&str]) -> io::Result<Self> {
        let mut path = root.to_owned();
        for name in folders {
            path.push(name);
            match fs::create_dir(&path) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => refuse_link(&path)?,
            }
        }
        Ok(Self(path))
    }

    /// Opens a file for reading.
    pub(super) fn open_file(&self, name: &str) -> io::Result<File> {
        let path = self.0.join(name);
        refuse_link(&path)?;
        File::open(path)
    }

    /// Makes a file that does not exist yet.
    pub(super) fn create_file(&self, name: &str) -> io::Result<File> {
        OpenOptions::new().write(true).create_new(true).open(self.0.join(name))
    }

    /// Whether there is anything of this name.
    pub(super) fn has(&self, name: &str) -> io::Result<bool> {
        match fs::symlink_metadata(self.0.join(name)) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Moves a file over another one.
    pub(super) fn replace(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.0.join(from), self.0.join(to))
    }

    /// These systems cannot exchange two files.
    pub(super) fn exchange(&self, _one: &str, _other: &str) -> io::Result<bool> {
        Ok(false)
    }

    /// Moves a file to a name that must be free.
    pub(super) fn place(&self, from: &str, folder: &Self, to: &str) -> io::Result<()> {
        if folder.has(to)? {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        fs::rename(self.0.join(from), folder.0.join(to))
    }

    /// Removes a file.
    pub(super) fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.0.join(name))
    }

    /// Does nothing: these systems flush the list of names by themselves.
    pub(super) fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    /// When a name was added or removed last, in milliseconds since 1970.
    pub(super) fn modified_at(&self) -> Option<i64> {
        fs::metadata(&self.0).ok()?.modified().ok().map(millis)
    }
}

fn refuse_link(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path)?.is_symlink() {
        true => {
            let message = "its path leads through a symbolic link, which is not followed";
            Err(io::Error::new(io::ErrorKind::InvalidData, message))
        }
        false => Ok(()),
    }
}
