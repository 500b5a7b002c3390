//! Files with damaged pages made good again: what can be read goes into a new file.
//!
//! The damaged file is copied aside first and stays as it is until the new one is complete
//! on the disk; then the new one takes its place. A process that is killed in between leaves
//! the damaged file in its place.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use oxikit_core::timestamp;
use rusqlite::Connection;
use rusqlite::config::DbConfig;

use super::connection::{self, OpenError, Schema, private_file};
use super::failure::{Failure, Outcome};
use super::{SqliteOptions, first_pages};

/// What has come of a repair.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Repaired {
    /// A copy of the file as it was.
    pub copy: PathBuf,
    /// What was saved, by kind.
    pub parts: Vec<SavedPart>,
}

/// How much of a kind of things was saved.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SavedPart {
    /// Such as `traces`.
    pub name: &'static str,
    /// So many are in the new file.
    pub saved: u64,
    /// So many are known of and cannot be read.
    pub lost: u64,
    /// Whether others may be lost that nothing is known of.
    pub may_be_more: bool,
}

/// Why a file was not repaired. It is as it was.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RepairError {
    /// The file is not one to be repaired: it belongs to another program or to a newer
    /// version.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// A file cannot be read or written.
    #[error("the files cannot be copied: {0}")]
    File(#[from] io::Error),
    /// The new file cannot be written.
    #[error("the new file cannot be written: {0}")]
    Write(String),
}

/// What is wrong with a file, in the words of SQLite; nothing if it is whole.
pub(super) fn check(path: &Path, schema: &Schema) -> Result<Vec<String>, OpenError> {
    let connection = connection::reader(path, &SqliteOptions::default())?;
    schema.version(&connection)?;
    let mut check = connection.prepare("PRAGMA quick_check(10)")?;
    let rows = check.query_map([], |row| row.get::<_, String>(0))?;
    // A check that cannot go on has found something, too.
    let said: Vec<String> = rows.map(|row| row.unwrap_or_else(|error| error.to_string())).collect();
    Ok(if said == ["ok"] { Vec::new() } else { said })
}

/// Makes a new file out of what `salvage` takes from the damaged one.
pub(super) fn repair(
    path: &Path,
    schema: &Schema,
    salvage: impl FnOnce(&Connection, &Connection) -> Outcome<Vec<SavedPart>>,
) -> Result<Repaired, RepairError> {
    let stamp = timestamp::now().replace(':', "-");
    let (copy, fresh) = (beside(path, &format!(".damaged-{stamp}")), beside(path, ".repaired"));
    let work = beside(path, ".repairing");
    remove_with_logs(&fresh)?;
    copy_with_log(path, &copy)?;
    let saved = read_damaged(&copy, &work, schema).and_then(|old| {
        let new = connection::writer(&fresh, &SqliteOptions::default(), schema)?;
        // Nobody else sees it until it is complete and on the disk.
        new.pragma_update(None, "synchronous", "OFF").map_err(OpenError::from)?;
        let parts = salvage(&old, &new).map_err(write_error)?;
        finish(new, &fresh)?;
        Ok(parts)
    });
    remove_with_logs(&work)?;
    remove(&beside(&copy, "-shm"))?;
    // SQLite makes an empty one to read with.
    let log = beside(&copy, "-wal");
    if fs::metadata(&log).is_ok_and(|log| log.len() == 0) {
        remove(&log)?;
    }
    let parts = match saved {
        Ok(parts) => parts,
        Err(error) => {
            remove_with_logs(&copy)?;
            remove_with_logs(&fresh)?;
            return Err(error);
        }
    };
    // These belong to the old file; the new one is complete by itself.
    remove(&beside(path, "-wal"))?;
    remove(&beside(path, "-shm"))?;
    fs::rename(&fresh, path)?;
    sync_folder(path)?;
    Ok(Repaired { copy, parts })
}

/// The copy of the damaged file, to read from. If the pages that say what is in it cannot be
/// read, another copy with such pages of a new file is tried: every file of a store begins
/// with the same tables in the same places.
fn read_damaged(copy: &Path, work: &Path, schema: &Schema) -> Result<Connection, RepairError> {
    match open_to_read(copy, schema) {
        Err(OpenError::NotADatabase | OpenError::Damaged(_)) => {
            remove_with_logs(work)?;
            let template = beside(work, ".empty");
            remove_with_logs(&template)?;
            let empty = connection::writer(&template, &SqliteOptions::default(), schema)?;
            finish(empty, &template)?;
            copy_with_log(copy, work)?;
            first_pages::transplant(&template, work)?;
            remove_with_logs(&template)?;
            let connection = connection::reader(work, &SqliteOptions::default());
            Ok(connection.map_err(OpenError::from)?)
        }
        opened => Ok(opened?),
    }
}

/// Opens a file that is not to be changed, not even when it is closed.
fn open_to_read(path: &Path, schema: &Schema) -> Result<Connection, OpenError> {
    let connection = connection::reader(path, &SqliteOptions::default())?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    schema.version(&connection)?;
    // Each is looked for, since a part of the list may be damaged.
    for table in schema.tables {
        connection.prepare(&format!("SELECT * FROM {table}")).map_err(
            |error| match OpenError::from(error) {
                OpenError::Sqlite(error) => OpenError::Damaged(error),
                error => error,
            },
        )?;
    }
    Ok(connection)
}

/// Brings all of the new file onto the disk, and into the file itself.
fn finish(new: Connection, path: &Path) -> Result<(), RepairError> {
    let flush = "PRAGMA synchronous = FULL; PRAGMA wal_checkpoint(TRUNCATE)";
    new.execute_batch(flush).map_err(OpenError::from)?;
    new.close().map_err(|(_, error)| OpenError::from(error))?;
    Ok(File::open(path)?.sync_all()?)
}

fn write_error(failure: Failure) -> RepairError {
    match failure {
        Failure::Sql(error) => RepairError::Write(error.to_string()),
        failure => RepairError::Write(format!("{failure:?}")),
    }
}

/// A file beside another, named as that with an ending.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// Copies a database with its write-ahead log, for nobody else to read.
fn copy_with_log(from: &Path, to: &Path) -> io::Result<()> {
    for ending in ["", "-wal"] {
        let (from, to) = (beside(from, ending), beside(to, ending));
        let mut source = match File::open(&from) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && !ending.is_empty() => continue,
            opened => opened?,
        };
        if source.metadata()?.len() == 0 && !ending.is_empty() {
            continue;
        }
        let mut copy = private_file().open(&to)?;
        copy.set_len(0)?;
        io::copy(&mut source, &mut copy)?;
        copy.sync_all()?;
    }
    Ok(())
}

fn remove_with_logs(path: &Path) -> io::Result<()> {
    ["", "-wal", "-shm"].iter().try_for_each(|ending| remove(&beside(path, ending)))
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Makes a new name last.
fn sync_folder(path: &Path) -> io::Result<()> {
    match path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        Some(folder) if cfg!(unix) => File::open(folder)?.sync_all(),
        _ => Ok(()),
    }
}
