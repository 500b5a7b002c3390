//! The columns and rows of the two matrices.

use super::faults::{CLIENT_FAULTS, Fault, SERVER_FAULTS};

/// Programs that oxikit is tried with, in one direction.
pub(super) struct Table {
    /// The role of the other side, `client` or `server`.
    pub(super) peer: &'static str,
    /// The other side and the binding. `as 0.3` is a peer of both versions, used as if it had
    /// version 0.3 only.
    pub(super) columns: &'static [(&'static str, &'static str)],
    pub(super) faults: &'static [Fault],
}

/// Official clients with our server.
pub(super) const CLIENTS: Table = Table {
    peer: "client",
    columns: &[
        ("js 0.3.4", "JSONRPC"),
        ("js 0.3.14", "JSONRPC"),
        ("js 0.3.14", "HTTP+JSON"),
        ("js 0.3.14", "GRPC"),
        ("js 1.3.0", "JSONRPC"),
        ("js 1.3.0", "HTTP+JSON"),
        ("js 1.3.0", "GRPC"),
        ("js 1.3.0 as 0.3", "JSONRPC"),
        ("js 1.3.0 as 0.3", "HTTP+JSON"),
        ("js 1.3.0 as 0.3", "GRPC"),
        ("py 0.3.26", "JSONRPC"),
        ("py 0.3.26", "HTTP+JSON"),
        ("py 0.3.26", "GRPC"),
        ("py 1.3.0", "JSONRPC"),
        ("py 1.3.0", "HTTP+JSON"),
        ("py 1.3.0", "GRPC"),
        ("py 1.3.0 as 0.3", "JSONRPC"),
        ("py 1.3.0 as 0.3", "HTTP+JSON"),
        ("py 1.3.0 as 0.3", "GRPC"),
        ("rust 0.2.9", "JSONRPC"),
        ("rust 0.2.9", "HTTP+JSON"),
        ("rust 0.2.9", "GRPC"),
    ],
    faults: &CLIENT_FAULTS,
};

/// Our client with official servers.
pub(super) const SERVERS: Table = Table {
    peer: "server",
    columns: &[
        ("js 0.3.14", "JSONRPC"),
        ("js 0.3.14", "HTTP+JSON"),
        ("js 0.3.14", "GRPC"),
        ("js 1.3.0", "JSONRPC"),
        ("js 1.3.0", "HTTP+JSON"),
        ("js 1.3.0", "GRPC"),
        ("js 1.3.0 as 0.3", "JSONRPC"),
        ("js 1.3.0 as 0.3", "HTTP+JSON"),
        ("js 1.3.0 as 0.3", "GRPC"),
        ("py 0.3.26", "JSONRPC"),
        ("py 0.3.26", "HTTP+JSON"),
        ("py 0.3.26", "GRPC"),
        ("py 1.3.0", "JSONRPC"),
        ("py 1.3.0", "HTTP+JSON"),
        ("py 1.3.0", "GRPC"),
        ("py 1.3.0 as 0.3", "JSONRPC"),
        ("py 1.3.0 as 0.3", "HTTP+JSON"),
        ("py 1.3.0 as 0.3", "GRPC"),
    ],
    faults: &SERVER_FAULTS,
};

pub(super) const CASES: [&str; 17] = [
    "card",
    "send",
    "send without waiting",
    "stream",
    "message",
    "ask and answer",
    "ask in a stream",
    "fail",
    "cancel",
    "resubscribe",
    "push",
    "push for a running task",
    "unknown task",
    "unknown task in a stream",
    "cancel too late",
    "auth refused",
    "auth accepted",
];
