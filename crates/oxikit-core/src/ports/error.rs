//! The errors of stores, and the status that a caller gets for each.

use oxikit_wire::StatusCode;

use crate::Status;

/// The error of a store operation.
///
/// Converted to a [`Status`], it is public unless the store itself has failed: the texts name
/// only ids that the caller has sent.
///
/// ```
/// use oxikit_core::ports::StoreError;
/// use oxikit_core::{Status, StatusCode};
///
/// let status = Status::from(StoreError::Conflict("session-7".to_owned()));
/// assert_eq!(status.code(), StatusCode::Aborted);
/// assert!(status.is_public());
/// ```
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The thing with this id does not exist, or it belongs to another owner. The error is the
    /// same, so that a caller cannot find out which ids exist.
    #[error("`{0}` does not exist")]
    NotFound(String),
    /// The id is already used.
    #[error("`{0}` already exists")]
    Exists(String),
    /// Another writer was faster, or holds the lease. A retry may succeed.
    #[error("`{0}` was changed by another writer")]
    Conflict(String),
    /// Another writer has taken the lease. The writer must stop and not retry: the other one may
    /// have continued from an older state.
    #[error("the lease on `{0}` was lost to another writer")]
    Fenced(String),
    /// The stream has ended: nothing can be added to it.
    #[error("`{0}` has ended")]
    Ended(String),
    /// An argument is invalid, such as a blank id.
    #[error("{0} cannot be used")]
    Invalid(&'static str),
    /// A limit of the store is reached; the second text names it.
    #[error("no room for `{0}`: {1}")]
    Full(String, &'static str),
    /// The update function of the caller has returned this error; nothing was written.
    #[error("the update was refused: {0}")]
    Refused(Status),
    /// The store could not be reached. Whether a write arrived is not known.
    #[error("the store did not answer")]
    Unavailable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The stored data cannot be read.
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
