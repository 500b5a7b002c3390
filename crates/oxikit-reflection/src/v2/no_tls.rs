//! Replaces `tls` without the feature `wss`: every `wss://` URL is an error.

use std::convert::Infallible;
use std::io;
use std::path::Path;

use oxikit_core::Status;
use tokio::net::TcpStream;

/// A placeholder; no value of it is ever used.
pub(super) type Secured = TcpStream;

/// Cannot be constructed.
#[derive(Debug, Clone)]
pub(super) struct Tls(Infallible);

impl Tls {
    pub(super) fn new(_: &str, _: Option<&Path>) -> Result<Self, Status> {
        Err(Status::invalid_argument(
            "the address of the manager has the scheme `wss`: build the application with the \
             feature `wss` of `oxikit-serve`",
        ))
    }

    pub(super) async fn secure(&self, _: TcpStream) -> io::Result<Secured> {
        match self.0 {}
    }
}
