//! The errors that users of the studio read. Everything else is logged, and the caller gets the
//! standard text of its code.

use oxikit::{Status, StatusCode};

/// A failure that is explained to the user.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum UserError {
    #[error("the question is empty: write what you want to know")]
    EmptyQuestion,
    #[error("the folder `{0}` is not below the folder of documents")]
    FolderOutside(String),
    #[error("there are no readable documents in `{0}`: it takes .md, .txt, .csv and .html files")]
    NoDocuments(String),
    #[error("nothing was indexed yet: call the flow `indexDocuments` first")]
    NotIndexed,
    #[error("the city `{0}` is not known to the weather service")]
    UnknownCity(String),
    #[error("the page `{url}` cannot be read: {reason}")]
    Page { url: String, reason: String },
    #[error("the agent `{0}` cannot be reached; is it running?")]
    AgentDown(String),
    #[error("the agent `{agent}` needs an answer first: {question}")]
    Question { agent: String, question: String },
}

impl From<UserError> for Status {
    fn from(error: UserError) -> Self {
        let code = match &error {
            UserError::EmptyQuestion | UserError::FolderOutside(_) => StatusCode::InvalidArgument,
            UserError::NoDocuments(_) | UserError::UnknownCity(_) => StatusCode::NotFound,
            UserError::NotIndexed | UserError::Question { .. } => StatusCode::FailedPrecondition,
            UserError::Page { .. } | UserError::AgentDown(_) => StatusCode::Unavailable,
        };
        Status::public(code, error.to_string()).caused_by(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_reaches_the_user() {
        let status = Status::from(UserError::UnknownCity("Atlantis".to_owned()));
        assert_eq!(status.code(), StatusCode::NotFound);
        assert_eq!(
            status.outgoing().message,
            "the city `Atlantis` is not known to the weather service"
        );
        assert_eq!(
            status.cause::<UserError>(),
            Some(&UserError::UnknownCity("Atlantis".to_owned()))
        );
    }
}
