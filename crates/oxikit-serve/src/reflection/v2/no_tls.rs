//! Without the feature `wss` there is no TLS.

use std::convert::Infallible;
use std::io;
use std::path::Path;

use oxikit_core::Status;
use tokio::net::TcpStream;

/// There is none.
pub(super) type Secured = TcpStream;

/// Never made.
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
