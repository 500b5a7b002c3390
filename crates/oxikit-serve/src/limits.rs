//! What a peer may use up.

use std::time::Duration;

/// What a peer may use up before it is refused. All are on.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Limits {
    /// Bytes of a request line with its headers, at least 8 KiB; more is 431.
    pub header_bytes: usize,
    /// Number of header fields; more is 431.
    pub header_fields: usize,
    /// Time to send the headers; then the connection is closed.
    pub header_time: Duration,
    /// Bytes of a body; more is 413.
    pub body_bytes: usize,
    /// Time to send a body of up to 1 MiB, and a thirtieth more a MiB; then 408.
    pub body_time: Duration,
    /// Time without a byte being taken by a reader; then the connection is closed.
    pub stalled_reader_time: Duration,
    /// Connections at a time; more are answered with 503.
    pub connections: usize,
    /// Requests being worked on at a time; more are answered with 503.
    pub requests: usize,
    /// Wrong API keys in a minute by one address; more are answered with 429. The right
    /// one is let in all the same.
    pub wrong_keys: u32,
    /// Time for open requests to end after shutdown began; then they are cut.
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
            requests: 16_384,
            wrong_keys: 10,
            drain_time: Duration::from_secs(30),
        }
    }
}

impl Limits {
    /// Time for a body of this length: 30 s, and 1 s more a MiB.
    pub(crate) fn time_for_body(&self, length: usize) -> Duration {
        self.body_time + self.body_time / 30 * u32::try_from(length >> 20).unwrap_or(u32::MAX)
    }
}
