//! Limits of the resources that one client, and all clients together, may use.

use std::time::Duration;

/// Limits on the resources that clients may use. All of them are always on.
///
/// ```
/// use std::time::Duration;
///
/// let mut limits = oxikit_http::Limits::default();
/// limits.body_bytes = 1 << 20;
/// limits.drain_time = Duration::from_secs(5);
/// ```
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Limits {
    /// Maximum number of bytes of the request line and the headers, at least 8 KiB. More are
    /// answered with 431. Default: 16 KiB.
    pub header_bytes: usize,
    /// Maximum number of header fields. More are answered with 431. Default: 100.
    pub header_fields: usize,
    /// Time to send the headers. A slower connection is closed. Default: 10 s.
    pub header_time: Duration,
    /// Maximum number of bytes of a request body. More are answered with 413. Default: 16 MiB.
    pub body_bytes: usize,
    /// Time to send a body of up to 1 MiB; each further MiB adds a thirtieth of it. A slower
    /// body is answered with 408. Default: 30 s.
    pub body_time: Duration,
    /// Time within which a client must read at least one byte of its response. The
    /// connection of a slower one is closed. Default: 10 s.
    pub stalled_reader_time: Duration,
    /// Maximum number of open connections. More are answered with 503. Default: 16,384.
    pub connections: usize,
    /// Maximum number of requests at the same time on one HTTP/2 connection; more wait at the
    /// client. 0 leaves the server with HTTP/1.1 only. Without the feature `http2` it has no
    /// effect. Default: 0; `oxikit-serve` with A2A over gRPC: 128.
    pub http2_streams: u32,
    /// Maximum number of requests that are handled at the same time. More are answered with
    /// 503. Default: 16,384.
    pub requests: usize,
    /// Maximum number of wrong API keys per address and minute. More are answered with 429;
    /// the right key is still accepted. Default: 10.
    pub wrong_keys: u32,
    /// Time for open requests to end after a shutdown began. Then they are cut. Default: 30 s.
    pub drain_time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            header_bytes: 16 * 1024,
            header_fields: 100,
            header_time: Duration::from_secs(10),
            body_bytes: 16 * 1024 * 1024,
            body_time: Duration::from_secs(30),
            stalled_reader_time: Duration::from_secs(10),
            connections: 16_384,
            http2_streams: 0,
            requests: 16_384,
            wrong_keys: 10,
            drain_time: Duration::from_secs(30),
        }
    }
}

impl Limits {
    /// Time for a body of this many bytes: with the defaults 30 s, and 1 s more per MiB.
    pub fn time_for_body(&self, length: usize) -> Duration {
        self.body_time + self.body_time / 30 * u32::try_from(length >> 20).unwrap_or(u32::MAX)
    }
}
