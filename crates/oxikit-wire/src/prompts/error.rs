//! Errors in messages.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Why a request was refused.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// Another edit has changed the same text, and the request asked not to merge.
    Conflict,
    /// The request cannot be read, or asks for something that is not possible.
    BadRequest,
    /// The content is larger than the server accepts.
    TooLarge,
    /// The document, or the revision, does not exist.
    NotFound,
    /// The server, or the folder of the document, accepts no changes.
    ReadOnly,
    /// The store or the file could not be written. The content was not accepted.
    Storage,
    /// The client may not do this.
    Unauthorized,
}

impl ErrorCode {
    /// Every code.
    pub const ALL: [Self; 7] = [
        Self::Conflict,
        Self::BadRequest,
        Self::TooLarge,
        Self::NotFound,
        Self::ReadOnly,
        Self::Storage,
        Self::Unauthorized,
    ];
}

/// The error of an `update_status`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorInfo {
    /// The kind of error, for programs.
    pub code: ErrorCode,
    /// The error, for people.
    pub message: String,
}
