//! Why a request is refused, without the form of a version or binding.

use oxikit_core::ports::StoreError;
use oxikit_core::{Registry, Status, StatusCode};
use oxikit_wire::a2a::{A2aError, ErrorKind};

/// The reason why a method is not carried out.
#[derive(Debug)]
pub(super) enum Refusal {
    /// An error that the protocol has.
    Protocol(A2aError),
    /// Any other error. Clients read its text only if it is public.
    Status(Status),
}

impl Refusal {
    pub(super) fn of(kind: ErrorKind) -> Self {
        Self::Protocol(A2aError::new(kind))
    }

    pub(super) fn invalid(why: impl Into<String>) -> Self {
        Self::Protocol(A2aError::invalid_params(why))
    }

    pub(super) fn unsupported(why: impl Into<String>) -> Self {
        Self::Protocol(A2aError::new(ErrorKind::UnsupportedOperation).with_detail(why))
    }

    pub(super) fn internal(why: impl Into<String>) -> Self {
        Self::Status(Status::internal(why))
    }

    /// The error of the protocol, and the code for the access log. A failure of the server is
    /// logged under the key of the agent.
    pub(super) fn report(&self, registry: &Registry, action: &str) -> (A2aError, StatusCode) {
        match self {
            Self::Protocol(error) => (error.clone(), error.kind.grpc_status()),
            Self::Status(status) => {
                let outgoing = registry.report_failure(action, None, status);
                let error = A2aError::new(ErrorKind::InternalError).with_detail(outgoing.message);
                (error, status.code())
            }
        }
    }
}

impl From<A2aError> for Refusal {
    fn from(error: A2aError) -> Self {
        Self::Protocol(error)
    }
}

impl From<StoreError> for Refusal {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NotFound(_) => Self::of(ErrorKind::TaskNotFound),
            StoreError::Full(_, why) => Self::unsupported(why),
            error => Self::Status(error.into()),
        }
    }
}

impl From<Status> for Refusal {
    fn from(status: Status) -> Self {
        match status.code() {
            StatusCode::InvalidArgument if status.is_public() => Self::invalid(status.message()),
            _ => Self::Status(status),
        }
    }
}
