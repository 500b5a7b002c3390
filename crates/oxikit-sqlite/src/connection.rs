//! Opens connections to a database file, and migrates its tables.
//!
//! A file is created readable for its user only. It is opened only if its mark
//! (`application_id`) or its tables show that it belongs to this store: a wrong path must not
//! change the database of another program.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};

use super::FileOptions;

#[cfg(test)]
mod tests;

/// The first bytes of every SQLite file.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// The tables of a store.
#[derive(Debug)]
pub struct Schema {
    /// Marks the files of this store, so that none is taken for one of another.
    pub application: i32,
    /// Tables that every version of this store has. A file without the mark that has
    /// them was written before files were marked.
    pub tables: &'static [&'static str],
    /// Number of versions before the first one that was released. A file of one of them
    /// is refused.
    pub unreleased: u32,
    /// The steps from an empty file to the tables of this version. A step is never
    /// changed once it was released; new ones are added at the end.
    pub steps: &'static [&'static str],
}

/// The reason why a store could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The file or its folder cannot be made or read.
    #[error("the file of the store cannot be used; check its folder and its permissions")]
    File(#[from] std::io::Error),
    /// SQLite cannot open or change the file, for example because the disk is full.
    #[error("SQLite cannot open the store; is the disk full, or the file locked?")]
    Sqlite(#[source] rusqlite::Error),
    /// The path names a folder, a pipe or a device.
    #[error("the path does not name a regular file: move away what is there")]
    NotAFile,
    /// The file has other content than a database.
    #[error("the file is not an SQLite database, or its first page is damaged")]
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
    /// The tables are those of a version that was never released.
    #[error(
        "the file was written by a version that was never released (tables {found}) and cannot \
         be read: move or delete it"
    )]
    Unreleased {
        /// The version of the tables in the file.
        found: u32,
    },
    /// The file belongs to another kind of store.
    #[error("the file is the database of another program or store: give this one its own file")]
    Foreign,
}

/// Opens the connection that writes. Creates the file, readable for its user only, and
/// migrates its tables to the current version.
///
/// # Errors
/// If the file belongs to another program or a newer version, is damaged or cannot be opened.
pub fn writer(
    path: &Path,
    options: &FileOptions,
    schema: &Schema,
) -> Result<Connection, OpenError> {
    make_file(path)?;
    let mut connection = connect(path, options, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    // Before anything is changed: the file may be another program's.
    schema.version(&connection)?;
    // Has an effect only while there are no tables. `vacuum` can then shrink the file after
    // rows were deleted.
    connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    enter_wal(&connection, options.timeout)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    // Pages. A page that every turn changes is written to the database once per checkpoint,
    // so rare checkpoints save writes; the default is 1,000.
    connection.pragma_update(None, "wal_autocheckpoint", 4000)?;
    connection.pragma_update(None, "journal_size_limit", 64 * 1024 * 1024)?;
    if let Some(pages) = options.max_pages {
        connection.pragma_update(None, "max_page_count", pages)?;
    }
    migrate(&mut connection, schema)?;
    Ok(connection)
}

/// Opens a file of any version of the store, and does not migrate it.
///
/// # Errors
/// If the file belongs to another program, is damaged or cannot be opened.
pub fn of_any_version(
    path: &Path,
    options: &FileOptions,
    schema: &Schema,
) -> Result<Connection, OpenError> {
    let connection = connect(path, options, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    schema.check_owner(&connection)?;
    Ok(connection)
}

/// Opens a connection that only reads.
///
/// # Errors
/// If SQLite cannot open the file.
pub fn reader(path: &Path, options: &FileOptions) -> rusqlite::Result<Connection> {
    let connection = connect(path, options, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    connection.pragma_update(None, "query_only", true)?;
    Ok(connection)
}

/// Opens a connection with the settings that all of them have.
fn connect(path: &Path, options: &FileOptions, mode: OpenFlags) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(path, mode | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    // A damaged page is an error when it is loaded, and not when its cells are used.
    connection.pragma_update(None, "cell_size_check", true)?;
    // Shorter than the caller's timeout, so that the caller receives SQLite's own error.
    connection.busy_timeout(options.timeout.mul_f64(0.8))?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(connection)
}

/// Switches the file to write-ahead logging. SQLite fails at once here, whatever the busy
/// timeout is, if another process opens the same new file: so this tries again.
fn enter_wal(connection: &Connection, timeout: Duration) -> rusqlite::Result<()> {
    let end = std::time::Instant::now() + timeout;
    loop {
        match connection.pragma_update(None, "journal_mode", "WAL") {
            Err(error) if is_busy(&error) && std::time::Instant::now() < end => {
                std::thread::sleep(Duration::from_millis(5));
            }
            other => return other,
        }
    }
}

/// Whether another process has locked the file.
fn is_busy(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy)
}

/// Executes the missing steps in one transaction. If several processes open a file at the
/// same time, one of them migrates it; the others wait and find the current version.
fn migrate(connection: &mut Connection, schema: &Schema) -> Result<(), OpenError> {
    let known = schema.unreleased + schema.steps.len() as u32;
    if schema.version(connection)? == known && schema.has_mark(connection)? {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let found = schema.version(&transaction)?;
    if found > known {
        return Err(OpenError::TooNew { found, known });
    }
    let taken = found.saturating_sub(schema.unreleased);
    for step in &schema.steps[taken as usize..] {
        transaction.execute_batch(step)?;
    }
    transaction.pragma_update(None, "application_id", schema.application)?;
    transaction.pragma_update(None, "user_version", known)?;
    Ok(transaction.commit()?)
}

impl Schema {
    /// The version of the tables in the file: 0 if there are none, else the number of
    /// unreleased versions and of the steps that were taken.
    ///
    /// # Errors
    /// If the file belongs to another store or to an unreleased version.
    pub fn version(&self, connection: &Connection) -> Result<u32, OpenError> {
        let version = self.check_owner(connection)?;
        match (1..=self.unreleased).contains(&version) {
            true => Err(OpenError::Unreleased { found: version }),
            false => Ok(version),
        }
    }

    /// The version of the tables in the file, released or not. A file that is not one of
    /// this store is refused: it has another mark, or no mark and tables of others.
    fn check_owner(&self, connection: &Connection) -> Result<u32, OpenError> {
        // One transaction, so that all pragmas are read from the same state of the file:
        // another process may be creating its tables.
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

    /// Whether the header of the file has the mark of this store.
    fn has_mark(&self, connection: &Connection) -> rusqlite::Result<bool> {
        Ok(pragma(connection, "application_id")? == i64::from(self.application))
    }
}

/// The value of a pragma that is a number.
fn pragma(connection: &Connection, name: &str) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, name, |row| row.get(0))
}

/// The names of all tables of the database.
///
/// # Errors
/// If the list of tables cannot be read.
pub fn table_names(connection: &Connection) -> rusqlite::Result<Vec<String>> {
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

/// Creates the file and its folder if they do not exist. Refuses a file that is certainly not a
/// database: SQLite would overwrite a short one.
fn make_file(path: &Path) -> Result<(), OpenError> {
    // Opening a pipe would block until another process opens its other end.
    if fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return Err(OpenError::NotAFile);
    }
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        private_folder().create(folder)?;
    }
    // SQLite creates the log beside it with the same permissions.
    let mut file = private_file().open(path)?;
    // SQLite would take a file of a few bytes for an empty database and overwrite it.
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

/// Options that create a folder, with its parents, for its user only.
fn private_folder() -> fs::DirBuilder {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

/// Options that open a file, or create it readable for its user only. The content of an existing
/// file is kept.
pub fn private_file() -> fs::OpenOptions {
    let mut options = fs::OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}
