//! How a store fails.

use oxikit_wire::StatusCode;

use crate::Status;

/// Why a store did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// There is no such thing, or it is somebody else's: the answer is the same.
    #[error("`{0}` is not there")]
    NotFound(String),
    /// The id is taken.
    #[error("`{0}` is there already")]
    Exists(String),
    /// Another writer was faster, or holds the lease. Trying again may work.
    #[error("`{0}` was changed by another writer")]
    Conflict(String),
    /// The writer's lease has gone to another one. It must not try again.
    #[error("the lease on `{0}` was lost to another writer")]
    Fenced(String),
    /// Nothing can be added any more.
    #[error("`{0}` has ended")]
    Ended(String),
    /// The call makes no sense.
    #[error("{0} cannot be used")]
    Invalid(&'static str),
    /// A limit is used up.
    #[error("no room for `{0}`: {1}")]
    Full(String, &'static str),
    /// The caller's own update function said no; nothing was written.
    #[error("the update was refused: {0}")]
    Refused(Status),
    /// The store could not be reached. Whether a write arrived is not known.
    #[error("the store did not answer")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// What is stored cannot be read.
    #[error("`{0}` is damaged")]
    Damaged(String, #[source] Box<dyn std::error::Error + Send + Sync>),
}

impl From<StoreError> for Status {
    fn from(error: StoreError) -> Self {
        let code = match &error {
            StoreError::NotFound(_) => StatusCode::NotFound,
            StoreError::Exists(_) => StatusCode::AlreadyExists,
            StoreError::Conflict(_) | StoreError::Fenced(_) => StatusCode::Aborted,
            StoreError::Ended(_) => StatusCode::FailedPrecondition,
            StoreError::Invalid(_) => StatusCode::InvalidArgument,
            StoreError::Full(..) => StatusCode::ResourceExhausted,
            StoreError::Refused(status) => return status.clone(),
            StoreError::Unavailable(_) => {
                return Self::new(StatusCode::Unavailable, error.to_string()).caused_by(error);
            }
            StoreError::Damaged(..) => {
                return Self::new(StatusCode::DataLoss, error.to_string()).caused_by(error);
            }
        };
        // The others name an id that the caller has sent, and nothing else.
        Self::public(code, error.to_string())
    }
}
