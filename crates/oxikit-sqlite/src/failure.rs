//! Failures of transactions and reads, before a store turns them into its own errors.
//!
//! The failures are about rows and files. [`Failure::about`] adds the id that the caller knows.

use std::sync::Arc;

use oxikit_core::ports::StoreError;
use rusqlite::ErrorCode;

use super::file_check::DELETED;

/// The result of a piece of work on a connection.
pub type Outcome<T> = Result<T, Failure>;

/// Why a piece of work on a connection did not succeed.
#[derive(Debug, Clone)]
pub enum Failure {
    /// SQLite failed. Shared by all jobs of the transaction.
    Sql(Arc<rusqlite::Error>),
    /// The rows changed since the caller read them. Read them again and retry.
    Stale,
    /// There is no row with this id.
    NotFound,
    /// The id is taken.
    Exists,
    /// Another writer holds the lease or changed the row.
    Conflict,
    /// The lease has gone to another writer.
    Fenced,
    /// The stream has ended: nothing can be appended.
    Ended,
    /// A limit is reached; the text names it.
    Full(&'static str),
    /// The call makes no sense; the text says what cannot be used.
    Invalid(&'static str),
    /// A stored value is invalid; the text says which.
    Damaged(&'static str),
    /// The writer or a reader did not answer in time, or the store is being closed. A write
    /// may still have been committed.
    Timeout,
    /// The file was deleted or replaced.
    FileDeleted,
}

impl Failure {
    /// The failure as an error of the port. `id` names the affected thing, such as a session.
    /// SQLite's own error is its source and not part of its text, which clients may read.
    ///
    /// ```
    /// use oxikit_core::ports::StoreError;
    /// use oxikit_sqlite::Failure;
    ///
    /// let error = Failure::Full("the stream is too long").about("stream-1");
    /// assert!(matches!(error, StoreError::Full(id, _) if id == "stream-1"));
    /// ```
    pub fn about(self, id: &str) -> StoreError {
        let id = id.to_owned();
        match self {
            Self::Sql(error) => about_sql(id, error),
            Self::Stale | Self::Conflict => StoreError::Conflict(id),
            Self::NotFound => StoreError::NotFound(id),
            Self::Exists => StoreError::Exists(id),
            Self::Fenced => StoreError::Fenced(id),
            Self::Ended => StoreError::Ended(id),
            Self::Full(why) => StoreError::Full(id, why),
            Self::Invalid(what) => StoreError::Invalid(what),
            Self::Damaged(why) => StoreError::Damaged(id, why.into()),
            Self::Timeout => StoreError::Unavailable("SQLite did not answer in time".into()),
            Self::FileDeleted => StoreError::Unavailable(DELETED.into()),
        }
    }

    /// Whether a page or a value cannot be read. Then other rows may still be readable, and a
    /// [repair](crate::repair) can save them.
    pub fn is_damage(&self) -> bool {
        match self {
            Self::Damaged(_) => true,
            Self::Sql(error) => match error.sqlite_error_code() {
                // A bad sector of the disk is reported as an I/O failure.
                Some(code) => matches!(
                    code,
                    ErrorCode::DatabaseCorrupt
                        | ErrorCode::NotADatabase
                        | ErrorCode::SystemIoFailure
                ),
                None => !matches!(**error, rusqlite::Error::QueryReturnedNoRows),
            },
            _ => false,
        }
    }
}

/// Converts an error of SQLite by its code.
fn about_sql(id: String, error: Arc<rusqlite::Error>) -> StoreError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => StoreError::Full(id, "the disk is full"),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::SystemIoFailure) => {
            StoreError::Damaged(id, Box::new(error))
        }
        Some(_) => StoreError::Unavailable(Box::new(error)),
        // A value of another type than its column, or text that is not UTF-8.
        None => StoreError::Damaged(id, Box::new(error)),
    }
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(Arc::new(error))
    }
}
