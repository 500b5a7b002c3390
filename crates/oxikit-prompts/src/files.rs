//! The files of a directory: reading, atomic writing, listing.
//!
//! A path is checked and opened folder by folder without following symbolic links, so that nothing
//! outside of the directory is read or written, also if somebody replaces a folder meanwhile. All
//! functions block; tasks call them through [`blocking`].

#[cfg(not(unix))]
#[path = "files/folder_other.rs"]
mod folder;
#[cfg(unix)]
#[path = "files/folder_unix.rs"]
mod folder;
mod stamp;
mod walk;

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use oxikit_local::untrusted_file::text_of;
use uuid::Uuid;

use folder::Folder;
pub(crate) use stamp::Stamp;
pub(crate) use walk::Walk;

/// The author of revisions that were made by changing the file.
pub(crate) const FILE_AUTHOR: &str = "file";
/// Ending of files that are being written. They begin with a dot, so no directory lists them.
const TEMPORARY: &str = ".oxikit-tmp";
/// Maximum length of a name in bytes, of most file systems.
const MAX_NAME: usize = 255;

/// Runs a function that blocks on a thread for such work.
///
/// # Errors
///
/// That of the function, or if it panicked or the runtime is shutting down.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(io::Error::other(error)))
}

/// The folder of a registered directory. Cheap to clone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Root(Arc<Path>);

/// The text of a file, and how to see whether it has changed since.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileText {
    pub(crate) text: String,
    pub(crate) stamp: Stamp,
}

impl Root {
    /// The folder at this path, which has no symbolic links in it.
    pub(crate) fn new(path: Arc<Path>) -> Self {
        Self(path)
    }

    /// Reads a file; `None` if it is missing.
    ///
    /// # Errors
    ///
    /// If the path leads through a symbolic link, or the file is not regular, larger than `max`
    /// bytes, not UTF-8 or contains NUL characters.
    pub(crate) fn read(&self, path: &str, max: usize) -> io::Result<Option<FileText>> {
        let Some(file) = self.open(path)? else { return Ok(None) };
        let stamp = Stamp::of(&file.metadata()?);
        let text = text_of(file, max as u64).map_err(explain)?;
        if text.contains('\0') {
            return Err(invalid("it contains NUL characters"));
        }
        Ok(Some(FileText { text, stamp }))
    }

    /// The stamp of a file; `None` if it is missing.
    ///
    /// # Errors
    ///
    /// If the path leads through a symbolic link, or the file is not regular or cannot be opened.
    pub(crate) fn stamp(&self, path: &str) -> io::Result<Option<Stamp>> {
        match self.open(path)? {
            Some(file) => Ok(Some(Stamp::of(&file.metadata()?))),
            None => Ok(None),
        }
    }

    /// Whether there is anything at this path, also a symbolic link or a folder.
    ///
    /// # Errors
    ///
    /// If the path leads through a symbolic link.
    pub(crate) fn is_taken(&self, path: &str) -> io::Result<bool> {
        let (folders, name) = split(path)?;
        match self.folder(&folders)? {
            Some(folder) => folder.has(name),
            None => Ok(false),
        }
    }

    /// Writes a text to a temporary file beside `path`. Missing folders are made. [`Prepared::put`]
    /// flushes it and moves it to its place; dropping it removes it.
    ///
    /// # Errors
    ///
    /// If it cannot be written, for example because the disk is full.
    pub(crate) fn prepare(&self, path: &str, text: &str) -> io::Result<Prepared> {
        let (folders, name) = split(path)?;
        let folder = Folder::create(&self.0, &folders)?;
        let temporary = format!(".{}{TEMPORARY}", Uuid::new_v4().simple());
        let mut file = folder.create_file(&temporary)?;
        // From here on, dropping the value removes the temporary file.
        let prepared = |file| Prepared { folder, temporary, name: name.to_owned(), file };
        let written = file.write_all(text.as_bytes());
        let prepared = prepared(file);
        written?;
        prepared.copy_mode()?;
        Ok(prepared)
    }

    /// Removes a file; `false` if it is missing.
    ///
    /// # Errors
    ///
    /// If the path leads through a symbolic link, or the file cannot be removed.
    pub(crate) fn remove(&self, path: &str) -> io::Result<bool> {
        let (folders, name) = split(path)?;
        let Some(folder) = self.folder(&folders)? else { return Ok(false) };
        match folder.remove(name) {
            Ok(()) => folder.sync().map(|()| true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Moves a file. Missing folders are made; nothing is replaced.
    ///
    /// # Errors
    ///
    /// [`AlreadyExists`](io::ErrorKind::AlreadyExists) if there is anything at `to`; others if a
    /// path leads through a symbolic link or the file cannot be moved.
    pub(crate) fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let (from_folders, from_name) = split(from)?;
        let (to_folders, to_name) = split(to)?;
        let from = Folder::open(&self.0, &from_folders)?;
        let to = Folder::create(&self.0, &to_folders)?;
        from.place(from_name, &to, to_name)?;
        to.sync()?;
        from.sync()
    }

    /// When an entry of the folder of this file was made, renamed or removed last, in milliseconds
    /// since 1970; `None` if the folder is missing.
    pub(crate) fn folder_changed_at(&self, path: &str) -> Option<i64> {
        let (folders, _) = split(path).ok()?;
        Folder::open(&self.0, &folders).ok()?.modified_at()
    }

    /// Lists all documents of the directory.
    pub(crate) fn walk(&self) -> Walk {
        Walk::of(&self.0)
    }

    /// Opens a folder; `None` if it is missing. If the directory itself is missing, nothing is known
    /// about its files, which is an error.
    fn folder(&self, folders: &[&str]) -> io::Result<Option<Folder>> {
        if let Err(error) = Folder::open(&self.0, &[]) {
            let message = format!("the directory cannot be opened: {error}");
            return Err(io::Error::other(message));
        }
        match Folder::open(&self.0, folders) {
            Ok(folder) => Ok(Some(folder)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn open(&self, path: &str) -> io::Result<Option<File>> {
        let (folders, name) = split(path)?;
        let Some(folder) = self.folder(&folders)? else { return Ok(None) };
        match folder.open_file(name) {
            Ok(file) if file.metadata()?.is_file() => Ok(Some(file)),
            Ok(_) => Err(invalid("it is not a regular file")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// A file that is written, but not yet in its place.
#[derive(Debug)]
pub(crate) struct Prepared {
    folder: Folder,
    temporary: String,
    name: String,
    file: File,
}

/// The result of [`Prepared::put`].
#[derive(Debug)]
pub(crate) enum Put {
    /// The file is in its place and has this stamp.
    Done(Stamp),
    /// The file at the place is another one than expected. Nothing was replaced.
    Changed,
}

impl Prepared {
    /// Flushes the file to the disk and moves it to its place, if the file there has the expected
    /// stamp; `None` if there must be none. `modified_at` is the time that it shows, in milliseconds
    /// since 1970, if that is not in the future.
    ///
    /// # Errors
    ///
    /// If it cannot be moved.
    pub(crate) fn put(self, expected: Option<Stamp>, modified_at: i64) -> io::Result<Put> {
        let since = Duration::from_millis(u64::try_from(modified_at).unwrap_or_default());
        self.file.set_modified((UNIX_EPOCH + since).min(SystemTime::now()))?;
        self.file.sync_all()?;
        let written = self.file.metadata()?;
        let current = match self.folder.open_file(&self.name) {
            Ok(file) => Some(Stamp::of(&file.metadata()?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        if current != expected {
            return Ok(Put::Changed);
        }
        let is_placed = match &expected {
            Some(expected) => self.replace(expected)?,
            None => match self.folder.place(&self.temporary, &self.folder, &self.name) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
                placed => placed.map(|()| true)?,
            },
        };
        if !is_placed {
            return Ok(Put::Changed);
        }
        // Of the open file, not of the path: another program may replace the file at any time.
        let stamp = Stamp::of_moved(&written, &self.file.metadata()?);
        self.folder.sync()?;
        Ok(Put::Done(stamp))
    }

    /// Replaces the file at the place. Answers `false` if that is another one than expected: then
    /// nothing was replaced.
    fn replace(&self, expected: &Stamp) -> io::Result<bool> {
        let (temporary, name) = (&self.temporary, &self.name);
        match self.folder.exchange(temporary, name) {
            Ok(true) => {}
            Ok(false) => return self.folder.replace(temporary, name).map(|()| true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(error),
        }
        // Another program may have changed the file after it was looked at. The file that was
        // replaced, which is the temporary one now, tells.
        let replaced = self.folder.open_file(temporary).and_then(|file| file.metadata());
        if replaced.is_ok_and(|replaced| Stamp::of(&replaced).has_text_of(expected)) {
            return Ok(true);
        }
        self.folder.exchange(temporary, name)?;
        Ok(false)
    }

    /// Gives the file the permissions of the one that it will replace.
    fn copy_mode(&self) -> io::Result<()> {
        match self.folder.open_file(&self.name) {
            Ok(old) => self.file.set_permissions(old.metadata()?.permissions()),
            Err(_) => Ok(()),
        }
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        // After a successful `put` there is no such file.
        _ = self.folder.remove(&self.temporary);
    }
}

/// The folders and the name of a file below a directory. This is the only function that turns the
/// path of a document into names of files.
fn split(path: &str) -> io::Result<(Vec<&str>, &str)> {
    let mut names: Vec<_> = path.split('/').collect();
    let is_unsafe = |name: &&str| {
        matches!(*name, "" | "." | "..")
            || name.len() > MAX_NAME
            || name.contains(['\0', '\\'])
            || cfg!(windows) && name.contains(':')
    };
    if names.iter().any(is_unsafe) {
        return Err(invalid("its path is not a path below the directory"));
    }
    let name = names.pop().unwrap_or_default();
    Ok((names, name))
}

fn invalid(message: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message)
}

/// Says what is wrong with a text that cannot be read.
fn explain(error: io::Error) -> io::Error {
    match error.kind() {
        io::ErrorKind::InvalidData => invalid("it is not UTF-8 text"),
        _ => error,
    }
}

#[cfg(test)]
mod tests;
