//! The address of a manager, and opening a WebSocket to it.

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

/// Timeout of each step: name lookup, TCP connect, TLS and WebSocket handshake.
const STEP_TIMEOUT: Duration = Duration::from_secs(2);

/// The URL of a manager, checked and split.
#[derive(Debug, Clone)]
pub(crate) struct ManagerAddress {
    url: Uri,
    host: String,
    port: u16,
    tls: Option<Tls>,
}

/// A TCP connection to a manager, plain or with TLS.
type Stream = Either<TcpStream, Secured>;

impl ManagerAddress {
    /// Parses a URL such as `ws://localhost:3200`. For `wss://`, the certificates in the file
    /// `roots` are trusted in addition to those of the system.
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

    /// Host and port, for logs. The path may contain a secret.
    pub(super) fn address(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// Opens a WebSocket to the first address of the host that accepts a TCP connection.
    pub(super) async fn connect(&self) -> Result<WebSocketStream<Stream>, Error> {
        let lookup = lookup_host((self.host.as_str(), self.port));
        let mut failure = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
        for address in with_timeout(lookup).await? {
            match with_timeout(TcpStream::connect(address)).await {
                Ok(stream) => {
                    // Chunks are small and must not wait for Nagle's algorithm.
                    stream.set_nodelay(true)?;
                    let stream = match &self.tls {
                        Some(tls) => Either::Right(with_timeout(tls.secure(stream)).await?),
                        None => Either::Left(stream),
                    };
                    let config = Some(connection::config());
                    let handshake =
                        tokio_tungstenite::client_async_with_config(&self.url, stream, config);
                    let upgraded = tokio::time::timeout(STEP_TIMEOUT, handshake).await;
                    return Ok(upgraded.map_err(|_| Error::Io(timed_out()))??.0);
                }
                Err(error) => failure = error,
            }
        }
        Err(failure.into())
    }
}

/// Limits a step to [`STEP_TIMEOUT`].
async fn with_timeout<T>(step: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    tokio::time::timeout(STEP_TIMEOUT, step).await.unwrap_or_else(|_| Err(timed_out()))
}

fn timed_out() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "no answer within 2 s")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_websocket_urls_are_accepted() {
        let parse = |url| ManagerAddress::parse(url, None);
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
