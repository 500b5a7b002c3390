//! What goes wrong inside of a transaction.

use std::sync::Arc;

use oxikit_core::ports::StoreError;
use rusqlite::ErrorCode;

use super::file_check::DELETED;

pub(super) type Outcome<T> = Result<T, Failure>;

/// Why a piece of work on a connection did not succeed.
#[derive(Debug, Clone)]
pub(super) enum Failure {
    /// The database; shared by all whose transaction it was.
    Sql(Arc<rusqlite::Error>),
    /// What was read before is not what is there now: read again.
    Stale,
    /// There is no such thing.
    NotFound,
    /// The id is taken.
    Exists,
    /// Another writer has it.
    Conflict,
    /// The lease has gone to another writer.
    Fenced,
    /// Nothing can be added any more.
    Ended,
    /// A limit is used up.
    Full(&'static str),
    /// What is stored makes no sense.
    Damaged(&'static str),
    /// Nobody answered in time, or the store is being closed.
    Silent,
    /// The file was deleted or replaced.
    Gone,
}

impl Failure {
    /// The failure as the port knows it; `id` is what the caller asked for. What
    /// SQLite says stays inside, as the source.
    pub(super) fn about(self, id: &str) -> StoreError {
        let id = id.to_owned();
        match self {
            Self::Sql(error) => about_sql(id, error),
            Self::Stale | Self::Conflict => StoreError::Conflict(id),
            Self::NotFound => StoreError::NotFound(id),
            Self::Exists => StoreError::Exists(id),
            Self::Fenced => StoreError::Fenced(id),
            Self::Ended => StoreError::Ended(id),
            Self::Full(why) => StoreError::Full(id, why),
            Self::Damaged(why) => StoreError::Damaged(id, why.into()),
            Self::Silent => StoreError::Unavailable("SQLite did not answer in time".into()),
            Self::Gone => StoreError::Unavailable(DELETED.into()),
        }
    }

    /// Whether what is stored cannot be read, as far as it was looked at.
    pub(super) fn is_damage(&self) -> bool {
        match self {
            Self::Damaged(_) => true,
            Self::Sql(error) => match error.sqlite_error_code() {
                // A disk that cannot read a part of the file is an error of input and output.
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

fn about_sql(id: String, error: Arc<rusqlite::Error>) -> StoreError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => StoreError::Full(id, "the disk is full"),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::SystemIoFailure) => {
            StoreError::Damaged(id, Box::new(error))
        }
        Some(_) => StoreError::Unavailable(Box::new(error)),
        // A value of another type than its column has, or text that is none.
        None => StoreError::Damaged(id, Box::new(error)),
    }
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(Arc::new(error))
    }
}
