//! The errors of the prompt library.

use std::sync::Arc;

use oxikit_core::ports::StoreError;
use oxikit_core::{Status, StatusCode};
use oxikit_wire::prompts::ErrorCode;

use crate::document::{Document, Kind};
use crate::text::Conflict;

/// The error of an operation of [`Prompts`](crate::Prompts).
///
/// The texts are for the person who has sent the request: they name ids, and files relative to
/// their registered directory.
///
/// ```
/// use oxikit_prompts::{Kind, PromptsError};
/// use oxikit_wire::prompts::ErrorCode;
///
/// let error = PromptsError::NotFound { kind: Some(Kind::Fragment), id: "tone".to_owned() };
/// assert_eq!(error.to_string(), "Fragment 'tone' not found");
/// assert_eq!(error.code(), ErrorCode::NotFound);
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PromptsError {
    /// There is no document with this id, or it was deleted.
    #[error("{} '{id}' not found", kind.map_or("Prompt", kind_name))]
    NotFound {
        /// The kind that was asked for; `None` if any would do.
        kind: Option<Kind>,
        /// The id as it was sent.
        id: String,
    },
    /// Several documents have this name.
    #[error("'{id}' may be any of {}: use one of these ids", candidates.join(", "))]
    Ambiguous {
        /// The name as it was sent.
        id: String,
        /// The ids of the documents.
        candidates: Vec<String>,
    },
    /// There is a document or a file with this id already. Nothing was changed.
    #[error("'{0}' already exists: choose another id")]
    Exists(String),
    /// The id is part of a path of the API.
    #[error("'{0}' is a reserved name: choose another id")]
    Reserved(String),
    /// The request asks for something that is not possible. The text says what.
    #[error("{0}")]
    Invalid(String),
    /// The revision does not exist.
    #[error("'{id}' has no revision {revision}")]
    NoRevision {
        /// The document.
        id: String,
        /// The number or label as it was sent.
        revision: String,
    },
    /// There is no registered directory with this path, name or key.
    #[error("there is no registered directory '{0}'")]
    NoDirectory(String),
    /// The content is larger than the server accepts. It was not stored.
    #[error("the content has {bytes} bytes, at most {max} are allowed")]
    TooLarge {
        /// Length of the content in bytes.
        bytes: usize,
        /// Maximum length in bytes.
        max: usize,
    },
    /// The server accepts no changes.
    #[error("the prompts of this server are read-only")]
    ReadOnly,
    /// The document changed in the same places, and the submission asked not to merge. The
    /// submission is in the history as `refused`.
    #[error("'{}' was changed in the same place by somebody else", document.id)]
    Conflict {
        /// The current document.
        document: Arc<Document>,
        /// The places.
        conflicts: Vec<Conflict>,
    },
    /// The document has another revision than the submission expects. The submission is in the
    /// history as `refused`.
    #[error("'{}' has revision {}, not the expected one", document.id, document.rev)]
    Changed {
        /// The current document.
        document: Arc<Document>,
    },
    /// The history could not be read or written.
    #[error("the history could not be read or written: {0}")]
    Store(#[from] StoreError),
    /// A file could not be read or written. The text names it and says what to do.
    #[error("{0}")]
    File(String),
    /// An earlier submission with the same `op` was refused with this error.
    #[error("{message}")]
    Repeated {
        /// The code of the first answer.
        code: ErrorCode,
        /// The text of the first answer.
        message: String,
    },
    /// The library is being closed.
    #[error("the prompt manager is shutting down: try again")]
    Closed,
}

impl PromptsError {
    /// The code of the live protocol.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::NotFound { .. } | Self::NoRevision { .. } | Self::NoDirectory(_) => {
                ErrorCode::NotFound
            }
            Self::Ambiguous { .. } | Self::Reserved(_) | Self::Invalid(_) => ErrorCode::BadRequest,
            Self::Exists(_) | Self::Conflict { .. } | Self::Changed { .. } => ErrorCode::Conflict,
            Self::TooLarge { .. } => ErrorCode::TooLarge,
            Self::ReadOnly => ErrorCode::ReadOnly,
            Self::Store(_) | Self::File(_) | Self::Closed => ErrorCode::Storage,
            Self::Repeated { code, .. } => *code,
        }
    }

    /// The error for a document that does not exist.
    pub(crate) fn not_found(id: impl Into<String>, kind: Option<Kind>) -> Self {
        Self::NotFound { kind, id: id.into() }
    }
}

impl From<PromptsError> for Status {
    fn from(error: PromptsError) -> Self {
        let code = match &error {
            PromptsError::NotFound { .. }
            | PromptsError::NoRevision { .. }
            | PromptsError::NoDirectory(_) => StatusCode::NotFound,
            PromptsError::Exists(_) => StatusCode::AlreadyExists,
            PromptsError::Ambiguous { .. }
            | PromptsError::Reserved(_)
            | PromptsError::Invalid(_)
            | PromptsError::TooLarge { .. } => StatusCode::InvalidArgument,
            PromptsError::ReadOnly | PromptsError::Changed { .. } => StatusCode::FailedPrecondition,
            PromptsError::Conflict { .. } => StatusCode::Aborted,
            PromptsError::Repeated { code, .. } => repeated_code(*code),
            PromptsError::Closed => StatusCode::Unavailable,
            PromptsError::Store(_) | PromptsError::File(_) => {
                return Self::new(StatusCode::Unavailable, error.to_string()).caused_by(error);
            }
        };
        Self::public(code, error.to_string())
    }
}

fn repeated_code(code: ErrorCode) -> StatusCode {
    match code {
        ErrorCode::Conflict => StatusCode::Aborted,
        ErrorCode::BadRequest | ErrorCode::TooLarge => StatusCode::InvalidArgument,
        ErrorCode::NotFound => StatusCode::NotFound,
        ErrorCode::ReadOnly => StatusCode::FailedPrecondition,
        ErrorCode::Storage => StatusCode::Unavailable,
        ErrorCode::Unauthorized => StatusCode::PermissionDenied,
    }
}

/// The name of a kind at the beginning of a sentence.
pub(crate) fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Prompt => "Prompt",
        Kind::Fragment => "Fragment",
    }
}
