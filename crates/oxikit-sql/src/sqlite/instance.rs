//! Detects ended processes: every open store holds the lock of a file beside the database.
//!
//! The operating system releases the lock when the process ends, however it ends. A store
//! that can take the lock of another one knows that the other's leases are free, and need
//! not wait for them to expire.

use std::fs::{self, File, TryLockError};
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};

use oxikit_sqlite::connection::private_file;

/// This store among all that have the file open. Dropping it removes its file.
#[derive(Debug)]
pub(super) struct Instance {
    /// Random hexadecimal digits, which leases name as their holder.
    id: String,
    /// The beginning of the paths of all such files.
    prefix: PathBuf,
    /// Keeps the lock while it is open.
    _file: File,
}

impl Instance {
    /// Creates the file of this store, and removes those of closed stores.
    pub(super) fn enter(database: &Path) -> std::io::Result<Self> {
        let mut prefix = database.as_os_str().to_owned();
        prefix.push("-alive-");
        let prefix = PathBuf::from(prefix);
        remove_dead(&prefix);
        loop {
            let id = format!("{:032x}", fastrand::u128(..));
            let path = path_of(&prefix, &id);
            let file = private_file().open(&path)?;
            file.lock()?;
            // Between creating and locking it, another store may have found it unlocked and
            // removed it.
            if path.try_exists()? {
                return Ok(Self { id, prefix, _file: file });
            }
        }
    }

    /// The id that leases of this store have.
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// Whether another store was closed, or its process has ended. `false` if that cannot be
    /// found out: its leases then expire.
    pub(super) fn is_gone(&self, id: &str) -> bool {
        let is_id = id.len() == 32 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_id && id != self.id && is_unlocked(&path_of(&self.prefix, id))
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        _ = fs::remove_file(path_of(&self.prefix, &self.id));
    }
}

/// The path of the file of a store.
fn path_of(prefix: &Path, id: &str) -> PathBuf {
    let mut path = prefix.as_os_str().to_owned();
    path.push(id);
    path.into()
}

/// Whether no process holds the lock. A missing file was removed by its store.
fn is_unlocked(path: &Path) -> bool {
    match File::open(path) {
        Ok(file) => match file.try_lock() {
            // The lock that was just taken is released when `file` is dropped.
            Ok(()) => true,
            Err(TryLockError::WouldBlock | TryLockError::Error(_)) => false,
        },
        Err(error) => error.kind() == ErrorKind::NotFound,
    }
}

/// Removes the files of closed stores. One that cannot be removed is left: it is empty.
fn remove_dead(prefix: &Path) {
    let (Some(folder), Some(name)) = (prefix.parent(), prefix.file_name()) else { return };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let name = name.to_string_lossy();
    let files = fs::read_dir(folder).into_iter().flatten().filter_map(Result::<_, Error>::ok);
    for file in files.filter(|file| file.file_name().to_string_lossy().starts_with(&*name)) {
        if is_unlocked(&file.path()) {
            _ = fs::remove_file(file.path());
        }
    }
}
