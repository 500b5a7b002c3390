//! An HTTP client for URLs that others have chosen: webhooks, agent cards, key sets.
//!
//! A server that sends requests to such URLs can be used to reach what the sender of the URL
//! cannot reach: services of its own machine and network, and the metadata service of a cloud.
//! [`OutgoingClient`] prevents this. It is not for URLs of the application itself, such as those
//! of a model provider or of a collector of spans.
//!
//! - Only `http` and `https`, without a user name or a password in the URL.
//! - Every address of the host must be public. The addresses are checked when the connection is
//!   opened, so a name that changes its addresses after [`OutgoingClient::check`] is refused too.
//! - Redirects are not followed and proxy variables are ignored.
//! - Connecting, the whole request and the response are limited.
//!
//! [`OutgoingPolicy`] has exceptions, for development and for hosts that the operator trusts.
//!
//! ```
//! use oxikit_outgoing::{OutgoingPolicy, Url};
//!
//! let policy = OutgoingPolicy::default();
//! let url = |text| Url::parse(text).unwrap();
//! assert!(policy.check(&url("https://example.com/hook")).is_ok());
//! // Both are 127.0.0.1.
//! assert!(policy.check(&url("http://2130706433/")).is_err());
//! assert!(policy.check(&url("http://[::ffff:7f00:1]/")).is_err());
//! assert!(policy.allow_loopback().check(&url("http://2130706433/")).is_ok());
//! ```

#![warn(clippy::missing_errors_doc, clippy::missing_panics_doc)]

mod client;
mod error;
mod network;
mod policy;
mod resolver;

pub use client::{OutgoingClient, OutgoingRequest, OutgoingResponse};
pub use error::OutgoingError;
pub use network::{InvalidNetwork, Network};
pub use policy::OutgoingPolicy;
pub use reqwest::{Request, Response, StatusCode, header::HeaderMap};
pub use resolver::Resolver;
pub use url::Url;
