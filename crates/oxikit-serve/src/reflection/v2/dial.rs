//! How a manager is reached.

use std::io;
use std::path::Path;
use std::time::Duration;

use oxikit_core::Status;
use tokio::net::{TcpStream, lookup_host};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Error;
use tokio_tungstenite::tungstenite::http::Uri;
use tokio_util::either::Either;

use super::connection;
use super::tls::{Secured, Tls};

/// Each step of a dial takes no longer.
const PATIENCE: Duration = Duration::from_secs(2);

/// Where a manager listens.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    url: Uri,
    host: String,
    port: u16,
    tls: Option<Tls>,
}

/// A connection to a manager, plain or encrypted.
type Wire = Either<TcpStream, Secured>;

impl Target {
    /// Reads a URL such as `ws://localhost:3200`. For `wss://` the certificates in this
    /// file are trusted beside those of the system.
    pub(crate) fn parse(url: &str, roots: Option<&Path>) -> Result<Self, Status> {
        let refuse = |why: &str| {
            Status::invalid_argument(format!(
                "the address of the manager {why}: it must be like `ws://localhost:3200`"
            ))
        };
        let url: Uri = url.parse().map_err(|_| refuse("is not a URL"))?;
        let is_secure = match url.scheme_str() {
            Some("ws") => false,
            Some("wss") => true,
            Some(other) => return Err(refuse(&format!("has the scheme `{other}`"))),
            None => return Err(refuse("has no scheme")),
        };
        let host = url.host().filter(|host| !host.is_empty());
        let host = host.ok_or_else(|| refuse("has no host"))?;
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        let port = url.port_u16().unwrap_or(if is_secure { 443 } else { 80 });
        let tls = is_secure.then(|| Tls::new(&host, roots)).transpose()?;
        Ok(Self { url, host, port, tls })
    }

    /// For logs: the path may hold a secret.
    pub(super) fn address(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// Opens a socket at the first address of the host where somebody listens.
    pub(super) async fn dial(&self) -> Result<WebSocketStream<Wire>, Error> {
        let lookup = lookup_host((self.host.as_str(), self.port));
        let mut failure = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
        for address in in_time(lookup).await? {
            match in_time(TcpStream::connect(address)).await {
                Ok(stream) => {
                    stream.set_nodelay(true)?;
                    let stream = match &self.tls {
                        Some(tls) => Either::Right(in_time(tls.secure(stream)).await?),
                        None => Either::Left(stream),
                    };
                    let config = Some(connection::config());
                    let shake =
                        tokio_tungstenite::client_async_with_config(&self.url, stream, config);
                    let shaken = tokio::time::timeout(PATIENCE, shake).await;
                    return Ok(shaken.map_err(|_| Error::Io(too_late()))??.0);
                }
                Err(error) => failure = error,
            }
        }
        Err(failure.into())
    }
}

async fn in_time<T>(step: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    tokio::time::timeout(PATIENCE, step).await.unwrap_or_else(|_| Err(too_late()))
}

fn too_late() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "no answer within 2 s")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_sockets_are_dialled() {
        let parse = |url| Target::parse(url, None);
        let refused = |url| parse(url).unwrap_err().message().to_owned();
        assert!(refused("http://localhost:3200").contains("the scheme `http`"));
        assert!(refused("localhost").contains("no scheme"));
        assert!(refused("ws://a b").contains("not a URL"));
        assert_eq!(parse("ws://[::1]:3200/x").unwrap().address(), "::1:3200");
        assert_eq!(parse("ws://localhost?token=s").unwrap().address(), "localhost:80");
        #[cfg(feature = "wss")]
        assert_eq!(parse("wss://localhost?token=s").unwrap().address(), "localhost:443");
        #[cfg(not(feature = "wss"))]
        assert!(refused("wss://localhost:3200").contains("the feature `wss`"));
    }
}
