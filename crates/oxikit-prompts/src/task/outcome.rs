//! The answer to a change. It is kept beside its revision for a retry with the same `op`.

use oxikit_wire::prompts::{ErrorCode, ErrorInfo};
use serde::{Deserialize, Serialize};

use crate::error::PromptsError;
use crate::requests::Submitted;
use crate::text::Conflict;

/// The answer to a change.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Outcome {
    /// The document's revision after the change.
    pub(crate) rev: u64,
    pub(crate) hash: String,
    pub(crate) merged: bool,
    pub(crate) conflicts: Vec<Conflict>,
    /// Why the change was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<ErrorInfo>,
}

impl Outcome {
    /// The answer to a refused change.
    pub(super) fn refused(refusal: &Refusal, max_content: usize) -> Self {
        let (code, message) = refusal.describe(max_content);
        Self { error: Some(ErrorInfo { code, message }), ..Self::default() }
    }

    /// The form in the store.
    pub(super) fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads the form in the store. An unreadable one is no answer.
    pub(super) fn from_json(json: &str) -> Option<Self> {
        serde_json::from_str(json).ok()
    }

    /// The answer for the caller. `at` is the time of the revision.
    pub(super) fn answer(self, at: i64) -> Result<Submitted, PromptsError> {
        if let Some(ErrorInfo { code, message }) = self.error {
            return Err(PromptsError::Repeated { code, message });
        }
        let Self { rev, hash, merged, conflicts, .. } = self;
        Ok(Submitted { rev, hash, merged, conflicts, at })
    }
}

/// Why a change is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Refusal {
    NotFound,
    Exists,
    ReadOnly,
    Conflict(Vec<Conflict>),
    Changed,
    TooLarge(usize),
    NoRevision(String),
    Invalid(String),
    File(String),
}

impl Refusal {
    /// The code and the text for the author.
    fn describe(&self, max_content: usize) -> (ErrorCode, String) {
        match self {
            Self::NotFound => (ErrorCode::NotFound, "the document was deleted".to_owned()),
            Self::Exists => (ErrorCode::Conflict, "the document exists already".to_owned()),
            Self::ReadOnly => (ErrorCode::ReadOnly, PromptsError::ReadOnly.to_string()),
            Self::Conflict(_) => (
                ErrorCode::Conflict,
                "the document was changed in the same place by somebody else".to_owned(),
            ),
            Self::Changed => {
                (ErrorCode::Conflict, "the document has another revision than expected".to_owned())
            }
            Self::TooLarge(bytes) => (
                ErrorCode::TooLarge,
                PromptsError::TooLarge { bytes: *bytes, max: max_content }.to_string(),
            ),
            Self::NoRevision(revision) => {
                (ErrorCode::NotFound, format!("there is no revision {revision} with a text"))
            }
            Self::Invalid(message) => (ErrorCode::BadRequest, message.clone()),
            Self::File(message) => (ErrorCode::Storage, message.clone()),
        }
    }
}
