//! Repairs a damaged file: the readable rows are copied into a new file.
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
use super::{FileOptions, first_pages};

/// The result of a repair.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Repaired {
    /// A copy of the file as it was.
    pub copy: PathBuf,
    /// The numbers of saved and lost rows, by kind.
    pub parts: Vec<SavedPart>,
}

/// The numbers of saved and lost rows of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SavedPart {
    /// Name of the kind, such as `traces`.
    pub name: &'static str,
    /// Number of rows in the new file.
    pub saved: u64,
    /// Number of rows that are known and cannot be read.
    pub lost: u64,
    /// Whether more rows may be lost, whose ids cannot be read either.
    pub may_be_more: bool,
}

impl SavedPart {
    /// The numbers of one kind. `is_whole` says whether the ids of all rows are known.
    pub fn new(name: &'static str, saved: u64, lost: u64, is_whole: bool) -> Self {
        Self { name, saved, lost, may_be_more: !is_whole }
    }
}

/// Why a file was not repaired. The file is unchanged.
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

/// Checks a file with SQLite's `quick_check`. Returns up to 10 of its messages, none if the
/// file is intact.
///
/// # Errors
/// If the file cannot be opened, or belongs to another store.
pub fn check(path: &Path, schema: &Schema) -> Result<Vec<String>, OpenError> {
    let connection = connection::reader(path, &FileOptions::default())?;
    schema.version(&connection)?;
    let mut check = connection.prepare("PRAGMA quick_check(10)")?;
    let rows = check.query_map([], |row| row.get::<_, String>(0))?;
    // A check that fails midway has found damage, too.
    let messages: Vec<String> =
        rows.map(|row| row.unwrap_or_else(|error| error.to_string())).collect();
    Ok(if messages == ["ok"] { Vec::new() } else { messages })
}

/// Replaces the damaged file with a new one, into which `salvage` copies the rows of the
/// first connection (damaged) to the second (new).
///
/// # Errors
/// If the file belongs to another store, or a file cannot be copied or written. The damaged
/// file is then still in its place.
pub fn repair(
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
        let new = connection::writer(&fresh, &FileOptions::default(), schema)?;
        // The new file gets its final name only after `finish` has synced it: commits need
        // not wait for the disk.
        new.pragma_update(None, "synchronous", "OFF").map_err(OpenError::from)?;
        let parts = salvage(&old, &new).map_err(write_error)?;
        finish(new, &fresh)?;
        Ok(parts)
    });
    remove_with_logs(&work)?;
    remove(&beside(&copy, "-shm"))?;
    // SQLite creates an empty log to read with.
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
    // These belong to the damaged file. `finish` has moved all of the new file's log into it.
    remove(&beside(path, "-wal"))?;
    remove(&beside(path, "-shm"))?;
    fs::rename(&fresh, path)?;
    sync_folder(path)?;
    Ok(Repaired { copy, parts })
}

/// Opens the copy of the damaged file. If its schema pages cannot be read, another copy gets
/// those of a new file: every file of a store has the same tables with the same root pages.
fn read_damaged(copy: &Path, work: &Path, schema: &Schema) -> Result<Connection, RepairError> {
    match open_to_read(copy, schema) {
        Err(OpenError::NotADatabase | OpenError::Damaged(_)) => {
            remove_with_logs(work)?;
            let template = beside(work, ".empty");
            remove_with_logs(&template)?;
            let empty = connection::writer(&template, &FileOptions::default(), schema)?;
            finish(empty, &template)?;
            copy_with_log(copy, work)?;
            first_pages::transplant(&template, work)?;
            remove_with_logs(&template)?;
            let connection = connection::reader(work, &FileOptions::default());
            Ok(connection.map_err(OpenError::from)?)
        }
        opened => Ok(opened?),
    }
}

/// Opens a file without changing it: closing it does not move the log into it.
fn open_to_read(path: &Path, schema: &Schema) -> Result<Connection, OpenError> {
    let connection = connection::reader(path, &FileOptions::default())?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    schema.version(&connection)?;
    // A damaged part of the schema shows only when its table is used.
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

/// Moves the log of the new file into it and syncs it to the disk.
fn finish(new: Connection, path: &Path) -> Result<(), RepairError> {
    let flush = "PRAGMA synchronous = FULL; PRAGMA wal_checkpoint(TRUNCATE)";
    new.execute_batch(flush).map_err(OpenError::from)?;
    new.close().map_err(|(_, error)| OpenError::from(error))?;
    Ok(File::open(path)?.sync_all()?)
}

/// An error of copying the rows. Damage of the old file is not an error here: its rows are
/// counted as lost.
fn write_error(failure: Failure) -> RepairError {
    match failure {
        Failure::Sql(error) => RepairError::Write(error.to_string()),
        failure => RepairError::Write(format!("{failure:?}")),
    }
}

/// The path with an ending appended to its file name.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// Copies a database and its write-ahead log, readable for their user only.
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

/// Removes a database with its log and its index of the log.
fn remove_with_logs(path: &Path) -> io::Result<()> {
    ["", "-wal", "-shm"].iter().try_for_each(|ending| remove(&beside(path, ending)))
}

/// Removes a file, if it exists.
fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Syncs the folder, so that the rename survives a power cut.
fn sync_folder(path: &Path) -> io::Result<()> {
    match path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        Some(folder) if cfg!(unix) => File::open(folder)?.sync_all(),
        _ => Ok(()),
    }
}
