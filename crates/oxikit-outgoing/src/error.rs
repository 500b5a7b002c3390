//! Why a request was refused or had no response.

use std::error::Error;
use std::io;
use std::net::IpAddr;

use oxikit_core::{Status, StatusCode};
use url::Host;

pub(crate) type BoxError = Box<dyn Error + Send + Sync>;

/// Why a request was refused or had no response.
///
/// The text may be shown to the person who chose the URL: it is the same for a name that does not
/// exist and for a name in a private network, and the same for every way in which a server can
/// fail to answer. [`source`](Error::source) has the details, for the log.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OutgoingError {
    /// The URL is not for HTTP.
    #[error("the URL must begin with `https://` or `http://`")]
    Scheme,
    /// The policy requires https for this host.
    #[error("`{0}` must be reached by https, not by plain http")]
    PlainHttp(String),
    /// The URL has a user name or a password.
    #[error("the URL must not contain a user name or a password")]
    Credentials,
    /// The host has no address, or one of its addresses is not allowed. For a name this may be
    /// temporary, because an unanswered DNS request is reported in the same way.
    #[error("`{host}` has no address that may be used: the host must exist and be public")]
    Address {
        /// The host of the URL.
        host: String,
        /// Which of the two it was.
        source: BoxError,
    },
    /// The name or the value of a header has characters that are not allowed there, such as a
    /// line break.
    #[error("the header `{0}` has characters that are not allowed in a header")]
    Header(String),
    /// The server could not be reached, or did not send a complete response in time.
    #[error("`{host}` did not respond, or its response was incomplete")]
    NoResponse {
        /// The host of the URL.
        host: String,
        /// The failure of the connection.
        source: BoxError,
    },
    /// The body of the response is larger than the policy allows.
    #[error("the response of `{host}` is larger than {limit} bytes")]
    TooLarge {
        /// The host of the URL.
        host: String,
        /// The maximum size in bytes.
        limit: usize,
    },
    /// The client could not be made, for example because there are no root certificates.
    #[error("the client for outgoing requests cannot be set up")]
    Setup(#[source] BoxError),
}

impl From<OutgoingError> for Status {
    fn from(error: OutgoingError) -> Self {
        let text = error.to_string();
        let status = match &error {
            OutgoingError::Scheme
            | OutgoingError::PlainHttp(_)
            | OutgoingError::Credentials
            | OutgoingError::Address { .. }
            | OutgoingError::Header(_) => Self::invalid_argument(text),
            OutgoingError::NoResponse { .. } | OutgoingError::TooLarge { .. } => {
                Self::new(StatusCode::Unavailable, text)
            }
            OutgoingError::Setup(_) => Self::internal(text),
        };
        status.caused_by(error)
    }
}

/// Why a host has no address that may be used; for the log.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AddressError {
    #[error("the name could not be resolved")]
    Unresolved(#[source] io::Error),
    #[error("the name was not resolved in time")]
    TimedOut,
    #[error("the name has no address")]
    NoAddress,
    #[error("the address {0} is not public, and the policy does not allow it")]
    NotAllowed(IpAddr),
}

impl AddressError {
    pub(crate) fn of(self, host: &Host) -> OutgoingError {
        OutgoingError::Address { host: host.to_string(), source: BoxError::from(self) }
    }
}
