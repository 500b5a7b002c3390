//! Who is alive: every open store holds the lock of a file beside the database.
//!
//! The system gives the lock back when a process ends, however it ends. So whoever
//! finds it free knows at once that the holder of a lease is gone.

use std::fs::{self, File, TryLockError};
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};

use super::connection::private_file;

#[derive(Debug)]
pub(super) struct Instance {
    id: String,
    /// What the names of such files begin with.
    prefix: PathBuf,
    /// Its lock is what this is about.
    _file: File,
}

impl Instance {
    /// Makes the file of this store, and removes those of stores that are gone.
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
            // Between the two lines another store may have taken it for a dead one.
            if path.try_exists()? {
                return Ok(Self { id, prefix, _file: file });
            }
        }
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// Whether another store has been closed, or its process is gone. In doubt, no:
    /// then its leases run out in their time.
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

fn path_of(prefix: &Path, id: &str) -> PathBuf {
    let mut path = prefix.as_os_str().to_owned();
    path.push(id);
    path.into()
}

fn is_unlocked(path: &Path) -> bool {
    match File::open(path) {
        Ok(file) => match file.try_lock() {
            Ok(()) => true,
            Err(TryLockError::WouldBlock | TryLockError::Error(_)) => false,
        },
        Err(error) => error.kind() == ErrorKind::NotFound,
    }
}

/// What cannot be removed stays: it is a name and no bytes.
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
