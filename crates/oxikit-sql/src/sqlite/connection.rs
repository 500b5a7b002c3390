//! Opening the file.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use super::SqliteOptions;

/// What every SQLite file begins with.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// The tables of a store.
#[derive(Debug)]
pub(super) struct Schema {
    /// Marks the files of this store, so that none is taken for one of another.
    pub(super) application: i32,
    /// Tables that every version of this store has. A file without the mark that has
    /// them was written before files were marked.
    pub(super) tables: &'static [&'static str],
    /// The steps from an empty file to the tables of this version. A step is never
    /// changed once it was released; new ones are added at the end.
    pub(super) steps: &'static [&'static str],
}

/// Why a store could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The file or its folder cannot be made or read.
    #[error("the file of the store cannot be used; check its folder and its permissions")]
    File(#[from] std::io::Error),
    /// SQLite does not accept it.
    #[error("SQLite cannot open the store; is the disk full, or the file locked?")]
    Sqlite(#[source] rusqlite::Error),
    /// The path names a folder, a pipe or a device.
    #[error("the path does not name a regular file: move away what is there")]
    NotAFile,
    /// The file has other content than a database.
    #[error("the file is no SQLite database, or its first page is damaged")]
    NotADatabase,
    /// The pages that say what is in the database cannot be read.
    #[error("the database is damaged")]
    Damaged(#[source] rusqlite::Error),
    /// A newer version has changed the tables.
    #[error("the store was written by a newer version (tables {found}, known {known}): update")]
    TooNew {
        /// The version of the tables in the file.
        found: u32,
        /// The newest one that this version knows.
        known: u32,
    },
    /// The file belongs to another kind of store.
    #[error("the file is the database of another program or store: give this one its own file")]
    Foreign,
}

/// The connection that writes. Makes the file, for nobody else to read, and brings
/// its tables up to date.
pub(super) fn writer(
    path: &Path,
    options: &SqliteOptions,
    schema: &Schema,
) -> Result<Connection, OpenError> {
    make_file(path)?;
    let mut connection = connect(path, options, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    // Before anything is changed: the file may be another program's.
    schema.version(&connection)?;
    // Counts only while there are no tables; gives room back after a prune.
    connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    enter_wal(&connection, options.patience)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    // A page that every turn writes goes into the file once in so many.
    connection.pragma_update(None, "wal_autocheckpoint", 4000)?;
    connection.pragma_update(None, "journal_size_limit", 64 * 1024 * 1024)?;
    if let Some(pages) = options.max_pages {
        connection.pragma_update(None, "max_page_count", pages)?;
    }
    migrate(&mut connection, schema)?;
    Ok(connection)
}

/// A connection that only reads.
pub(super) fn reader(path: &Path, options: &SqliteOptions) -> rusqlite::Result<Connection> {
    let connection = connect(path, options, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.pragma_update(None, "query_only", true)?;
    Ok(connection)
}

fn connect(path: &Path, options: &SqliteOptions, mode: OpenFlags) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(path, mode | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    // A damaged page is an error when it is loaded, and not when its cells are used.
    connection.pragma_update(None, "cell_size_check", true)?;
    // Less than the caller's patience, so that it hears the reason.
    connection.busy_timeout(options.patience.mul_f64(0.8))?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(connection)
}

/// Two processes that open a new file at once may get in each other's way here,
/// where SQLite does not wait.
fn enter_wal(connection: &Connection, patience: Duration) -> rusqlite::Result<()> {
    let end = std::time::Instant::now() + patience;
    loop {
        match connection.pragma_update(None, "journal_mode", "WAL") {
            Err(error) if is_busy(&error) && std::time::Instant::now() < end => {
                std::thread::sleep(Duration::from_millis(5));
            }
            other => return other,
        }
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy)
}

/// Takes the steps that are missing, as one transaction: of several processes that
/// open a file at once, one makes them and the others find them made.
fn migrate(connection: &mut Connection, schema: &Schema) -> Result<(), OpenError> {
    let known = schema.steps.len() as u32;
    if schema.version(connection)? == known && schema.has_mark(connection)? {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let found = schema.version(&transaction)?;
    if found > known {
        return Err(OpenError::TooNew { found, known });
    }
    for step in &schema.steps[found as usize..] {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, "application_id", schema.application)?;
    transaction.pragma_update(None, "user_version", known)?;
    Ok(transaction.commit()?)
}

impl Schema {
    /// How many steps the file has taken. A file that is not one of this store is
    /// refused: it has another mark, or no mark and tables of others.
    pub(super) fn version(&self, connection: &Connection) -> Result<u32, OpenError> {
        // All is read of one state of the file: another process may be making its tables.
        let is_alone = connection.is_autocommit();
        let _reading = is_alone.then(|| connection.unchecked_transaction()).transpose()?;
        let version = pragma(connection, "user_version")?;
        if !self.has_mark(connection)? {
            let tables = table_names(connection)?;
            let has = |table: &&str| tables.iter().any(|found| found == table);
            let is_empty = tables.is_empty() && version == 0;
            let is_own = version != 0 && self.tables.iter().all(has);
            if pragma(connection, "application_id")? != 0 || !(is_empty || is_own) {
                return Err(OpenError::Foreign);
            }
        }
        Ok(u32::try_from(version).unwrap_or(u32::MAX))
    }

    fn has_mark(&self, connection: &Connection) -> rusqlite::Result<bool> {
        Ok(pragma(connection, "application_id")? == i64::from(self.application))
    }
}

fn pragma(connection: &Connection, name: &str) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, name, |row| row.get(0))
}

fn table_names(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut select = connection.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'")?;
    let names = select.query_map([], |row| row.get(0))?;
    names.collect()
}

impl From<rusqlite::Error> for OpenError {
    fn from(error: rusqlite::Error) -> Self {
        match error.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => Self::NotADatabase,
            Some(ErrorCode::DatabaseCorrupt) => Self::Damaged(error),
            _ => Self::Sqlite(error),
        }
    }
}

fn make_file(path: &Path) -> Result<(), OpenError> {
    // To open a pipe would wait for somebody at its other end.
    if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return Err(OpenError::NotAFile);
    }
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        private_folder().create(folder)?;
    }
    // SQLite gives its other files the rights of this one.
    let mut file = private_file().open(path)?;
    // SQLite would take a file of a few bytes for an empty one, and write over it.
    let mut start = [0; MAGIC.len()];
    match file.metadata()?.len() {
        0 => Ok(()),
        length if length < MAGIC.len() as u64 => Err(OpenError::NotADatabase),
        _ => {
            file.read_exact(&mut start)?;
            if start == *MAGIC { Ok(()) } else { Err(OpenError::NotADatabase) }
        }
    }
}

fn private_folder() -> fs::DirBuilder {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

/// Makes a file, or opens it, for the user of the process only.
pub(super) fn private_file() -> fs::OpenOptions {
    let mut options = fs::OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}
